"""hecto-bench throughput: a real hectod over memif, and what becomes of it."""

import json
import os
import signal
import subprocess
from types import SimpleNamespace

import pytest

from lab import BUILD, SLOWER, wait_for

BENCH = BUILD / "bench" / "hecto-bench"
SEARCH = ["--search-seconds", "4", "--trial-seconds", "0.1", "--decide-seconds", "0.3",
          "--latency-seconds", "0.2"]


@pytest.fixture
def bench(lab):
    """Starts it with a small table and a folder of its own for what it leaves behind."""
    table = lab.folder / "table.txt"
    table.write_text("".join(f"10.{i // 256}.{i % 256}.0/24\n2001:db8:{i:x}::/48\n"
                             for i in range(1000)))
    rest = lab.folder / "tmp"
    rest.mkdir()
    result = lab.folder / "result.json"
    started = []

    def start(*words):
        process = subprocess.Popen(
            [BENCH, "throughput", "--table", table, "--json", result, *words], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(rest)})
        started.append(process)
        return process

    def end(process, timeout=60):
        out, err = process.communicate(timeout=timeout * SLOWER)
        assert not list(rest.iterdir()), "files are left behind"
        return SimpleNamespace(code=process.returncode, out=out, err=err,
                               result=json.loads(result.read_text()) if result.exists() else None)

    def hectod(process):
        """The process id of its router, once the generator is connected."""
        def connected():
            assert process.poll() is None, process.communicate()
            log = next(rest.glob("hecto-throughput-*/log"))
            return log.read_text().count("link up") == 2
        wait_for(lambda: list(rest.glob("hecto-throughput-*/log")), 20, "hectod starts")
        wait_for(connected, 20, "the generator is connected")
        return int(subprocess.check_output(["pgrep", "-x", "-P", str(process.pid), "hectod"]))

    yield SimpleNamespace(start=start, end=end, hectod=hectod,
                          run=lambda *words: end(start(*words)))
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()


def gone(pid):
    return not os.path.exists(f"/proc/{pid}")


def test_throughput_of_one_size(bench):
    for _ in range(3):  # where the machine takes the generator's CPU away it says so, and no result
        process = bench.start("--sizes", "64", "--families", "4,6", *SEARCH)
        pid = bench.hectod(process)
        ended = bench.end(process)
        if "falls further and further behind" not in ended.err:
            break
    assert ended.code == 0, ended.err + ended.out
    assert gone(pid)
    assert [(r["family"], r["size"]) for r in ended.result["results"]] == [(4, "64"), (6, "64")]
    assert ended.result["table"]["ipv4"] == ended.result["table"]["ipv6"] == 1000
    for row in ended.result["results"]:
        assert row["max_pps"] > 0 and row["trials"], row
        assert row["counters"]["received"] >= row["counters"]["transmitted"] > 0
        assert row["wrong"] == {}, row["wrong"]  # also each destination's next hop
        assert 0 <= row["search_seconds"] <= 4.5 * SLOWER
        for goal in ("ndr", "pdr"):
            assert 0 <= row[goal]["pps"] <= max(t["pps"] for t in row["trials"])
            assert row[goal]["gbps"] == pytest.approx(row[goal]["pps"] * 64 * 8 / 1e9)
        for level in row["latency"]:
            q = level["latency_ns"]
            assert q["min"] <= q["p50"] <= q["p99"] <= q["p99_99"] <= q["max"]
            assert level["device"]["load_percent"] >= 0


def test_a_router_that_dies_in_the_search_is_named(bench):
    process = bench.start("--sizes", "64,128", "--families", "4", "--search-seconds", "60")
    pid = bench.hectod(process)
    os.kill(pid, signal.SIGKILL)
    ended = bench.end(process)
    assert ended.code == 1, ended.err + ended.out
    assert f"hectod (process {pid}) has ended: signal 9 (Killed)" in ended.err, ended.err
    assert ended.result["partial"] and "signal 9" in ended.result["error"]
    assert len(ended.result["results"]) <= 1
    assert all(row["partial"] for row in ended.result["results"])


def test_a_wire_has_no_throughput(bench):
    wire = ("--dut", "none", "--ports", "net_ring0,net_ring0", "--mac", "02:00:00:00:00:01",
            "--sizes", "64", "--families", "4", "--load", "10kpps", "--load-seconds", "0.1")
    ended = bench.run(*wire)
    assert ended.code == 1
    assert "packets came back unchanged: TTL as it was sent: a wire or a bridge" in ended.err, ended.err
    assert ended.result["partial"] and not ended.result["results"]
    ended = bench.run(*wire, "--expect", "wire")
    assert ended.code == 0, ended.err
    row, = ended.result["results"]
    assert row["latency"][0]["lost"] == 0 and row["wrong"] == {}


@pytest.fixture
def box(lab, monkeypatch):
    """A box that `ssh` reaches: a shell of this one, as sshd would start it."""
    folder = lab.folder / "bin"
    folder.mkdir()
    said = lab.folder / "ssh.said"
    (folder / "ssh").write_text(f"""#!/bin/sh
printf '%s\\n' "$@" > {said}
for word; do :; done
exec sh -c "exec $word"
""")
    (folder / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return SimpleNamespace(said=lambda: said.read_text().splitlines())


WIRE = ("--dut", "none", "--ports", "net_ring0,net_ring0", "--mac", "02:00:00:00:00:01", "--expect", "wire",
        "--sizes", "64,128", "--families", "4")


def test_generator_on_another_box(bench, box):
    ended = bench.run(*WIRE, "--load", "10kpps", "--load-seconds", "0.5",
                      "--generator", "root@far", "--generator-program", BENCH)
    assert ended.code == 0, ended.err
    assert box.said() == ["-T", "--", "root@far", f"'{BENCH}' generate --serve"]
    assert "generator on root@far" in ended.out
    assert ended.result["generator"]["box"] == "root@far" and ended.result["generator"]["machine"]["name"]
    for row, size in zip(ended.result["results"], ("64", "128"), strict=True):
        level = row["latency"][0]
        assert row["size"] == size and row["wrong"] == {}
        assert level["lost"] == 0 and level["offered"] > 1000
        q = level["latency_ns"]
        assert q["min"] <= q["p50"] <= q["p99"] <= q["max"] and q["count"] > 1000


def test_generator_there_that_cannot_is_named(bench, box):
    load = ("--load", "10kpps", "--load-seconds", "60")
    for words, code, line in (
            ((*WIRE, *load, "--generator", "far", "--generator-program", "/nonexistent/bench"), 1,
             "far: ssh, or hecto-bench there, has ended: exit code 127"),
            ((*WIRE, *load, "--generator", "far", "--generator-program", "/bin/echo"), 1,
             "far: what it says is no answer"),
            ((*WIRE, *load, "--generator", "-oProxyCommand=id"), 2, "is no host"),
            (("--generator", "far"), 2, "--generator belongs to --dut none")):
        ended = bench.run(*words)
        assert ended.code == code, ended.err
        assert line in ended.err and ended.err.count("\n") == 1, ended.err


def test_generator_there_ends_with_us_and_is_missed(bench, box):
    words = (*WIRE, "--load", "10kpps", "--load-seconds", "60", "--generator", "far", "--generator-program", BENCH)

    def server(process):
        def found():
            assert process.poll() is None, process.communicate()
            return subprocess.run(["pgrep", "-x", "-P", str(process.pid), "hecto-bench"],
                                  capture_output=True, text=True).stdout.split()
        wait_for(found, 20, "it runs there")
        return int(found()[0])

    process = bench.start(*words)
    pid = server(process)
    for _ in range(2):
        assert process.stdout.readline()
    process.send_signal(signal.SIGINT)
    ended = bench.end(process)
    assert ended.result["results"][0]["latency"][0]["offered"] < 500_000, "it ended early there, too"
    wait_for(lambda: gone(pid), 10, "it has gone there")

    process = bench.start(*words)
    pid = server(process)
    for _ in range(2):
        assert process.stdout.readline()
    os.kill(pid, signal.SIGKILL)
    ended = bench.end(process)
    assert ended.code == 1 and "far: ssh, or hecto-bench there, has ended: signal 9" in ended.err, ended.err


def test_reconfiguration_loses_no_packet(bench):
    # A ring of 16384 packets holds what comes while somebody else has the CPU.
    ended = bench.run("--sizes", "128", "--families", "4", "--load", "20kpps", "--ring", "14",
                      "--load-seconds", "0.5", "--blackout", "--blackout-seconds", "2")
    assert ended.code == 0, ended.err + ended.out
    rows = {row["change"]: row for row in ended.result["results"][0]["blackout"]}
    assert list(rows) == ["routes", "reload", "port"]
    for row in rows.values():
        assert row["lost"] == 0 and row["blackout_ms"] == 0, ended.out
        assert row["changes"] > 0 and row["offered"] > 1000, ended.out


def test_ctrl_c_ends_a_soak_well(bench):
    process = bench.start("--sizes", "64", "--families", "6", "--load", "10kpps", "--ring", "14",
                          "--soak", "1h", "--interval", "0.5")
    pid = bench.hectod(process)
    for _ in range(5):  # three lines of header, two intervals
        assert process.stdout.readline()
    process.send_signal(signal.SIGINT)
    ended = bench.end(process)
    assert ended.code == 0, ended.err + ended.out
    assert gone(pid)
    soak = ended.result["results"][0]["soak"]
    assert soak["interrupted"] and soak["intervals"] >= 2 and soak["offered"] > 0
    assert "ended by you" in ended.out


def test_what_cannot_be_done_is_one_line(bench):
    for words, code, line in (
            (["--hectod", "/bin/false"], 1, "hectod (process"),
            (["--hectod", "/nonexistent/hectod"], 1, "/nonexistent/hectod: cannot be run"),
            (["--sizes", "32"], 2, '--sizes: "32" is no size'),
            (["--load", "fast"], 2, '--load: "fast" is no rate'),
            (["--dut", "none"], 2, "--dut none wants --ports"),
            (["--dut", "none", "--ports", "a,b", "--mac", "2"], 2, "is no MAC address")):
        ended = bench.run(*words)
        assert ended.code == code, ended.err
        assert line in ended.err and ended.err.count("\n") == 1, ended.err
