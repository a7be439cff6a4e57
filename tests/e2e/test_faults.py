"""What goes wrong around the router: one clear line, and it goes on where it can."""

import os
import time

import pytest
import yaml

from conftest import PORTS, make_pair
from lab import HECTO, HECTOD, sh, wait_for


def error_lines(out):
    return [line for line in out.splitlines() if " error" in line]


def test_second_instance_on_the_socket_is_refused(pair):
    other = pair.lab.router("s")
    config = other.write({"ports": {"n0": {"device": "net_null0"}},
                          "api": {"socket": str(pair.router.socket)}})
    assert config["api"]["socket"] == str(pair.router.socket)
    out = other.space.sh([HECTOD, other.file], check=False)
    errors = error_lines(out)
    assert len(errors) == 1 and str(pair.router.socket) in errors[0], out
    pair.a.ping("10.2.0.1")
    assert pair.router.get("/v1/summary")["pid"] == pair.router.process.pid


def test_socket_of_a_dead_router_is_taken_over(lab):
    pair = make_pair(lab)
    pair.router.process.kill()
    pair.router.process.wait()
    assert pair.router.socket.exists()
    pair.router.launch()
    pair.router.wait_ready()
    wait_for(lambda: " 1 received" in pair.a.ping("10.2.0.1", count=1, timeout=1, ok=False), 10,
             "it routes again")


def test_memory_that_is_not_there_is_refused(lab):
    router = lab.router()
    router.write({"ports": {"n0": {"device": "net_null0"}}, "linux": "off", "memory": "600GiB"})
    out = router.space.sh([HECTOD, router.file], check=False, timeout=20)
    line = router.file.read_text().splitlines().index("memory: 600GiB") + 1
    assert f"hecto.yaml:{line}: memory: 614400 MiB are not there" in out, out
    assert len(out.splitlines()) == 1, out


def test_memory_that_others_have_is_refused(lab):
    """Less than the machine has, and more than is free: the start itself says so."""
    meminfo = dict(line.split(":") for line in open("/proc/meminfo"))
    mib = {name: int(meminfo[name].split()[0]) // 1024 for name in ("MemTotal", "MemAvailable")}
    wanted = (mib["MemTotal"] + mib["MemAvailable"]) // 2
    router = lab.router()
    router.write({"ports": {"n0": {"device": "net_null0"}}, "linux": "off",
                  "memory": f"{wanted}MiB"})
    errors = error_lines(router.space.sh([HECTOD, router.file], check=False, timeout=20))
    assert len(errors) == 1 and "MiB of hugepages are free" in errors[0], errors


def test_an_unknown_log_level_is_wrong_usage(lab):
    out = sh([HECTOD, "--log-level", "loud", lab.folder / "none.yaml"], check=False)
    assert "--log-level" in out and "loud not in {trace,debug,info,warn,error}" in out, out


def test_missing_configuration_file(lab):
    out = sh([HECTOD, lab.folder / "none.yaml"], check=False)
    assert out.strip().splitlines() == [f"{lab.folder}/none.yaml: cannot be opened: "
                                        "No such file or directory"], out


@pytest.mark.parametrize("text, said", [
    ("ports: {a0: {device: eth9}}\nworkerz: 3\n", "hecto.yaml:2: workerz"),
    ("ports:\n  a0: {device: eth9, mtu: 90000}\n", "hecto.yaml:2: ports.a0.mtu: 90000"),
    ("ports:\n  a0: {device: eth9, mtu: [1]}\n", "hecto.yaml:2: ports.a0.mtu"),
    ("ports: {a0: {device: eth9}\n", "hecto.yaml:"),
    ("", "hecto.yaml"),
])
def test_wrong_file_is_named_by_line_and_key(lab, text, said):
    file = lab.folder / "hecto.yaml"
    file.write_text(text)
    for words in ([HECTOD, file], [HECTO, "check", file]):
        out = sh(words, check=False)
        assert said in out, out


def test_check_is_silent_when_all_is_right(lab):
    file = lab.folder / "hecto.yaml"
    file.write_text(yaml.safe_dump({"ports": PORTS}))
    assert sh([HECTO, "check", file]) == ""


def test_missing_kernel_interface_is_named(lab):
    router = lab.router()
    router.write({"ports": {"a0": {"device": "nothere0"}}})
    out = router.space.sh([HECTOD, router.file], check=False)
    errors = error_lines(out)
    assert len(errors) == 1 and "nothere0" in errors[0], out
    assert "stopped" not in out, "what never ran does not stop"
    assert not os.path.exists(f"/run/netns/{router.linux}"), "a namespace was left behind"


def test_start_says_what_memory_it_took(pair):
    """Hugepages where enough are free, ordinary pages where not: the first line says which."""
    lines = [line for line in pair.router.log().splitlines() if " hecto on DPDK" in line]
    assert len(lines) == 1 and "hugepages" in lines[0], pair.router.log()


def test_namespace_removed_while_running(pair):
    """What the fast path knows goes on; the loss is said once, with what to do."""
    sh(["ip", "netns", "del", pair.router.linux])
    wait_for(lambda: pair.router.linux in " ".join(pair.router.get("/v1/summary")["warnings"]), 10,
             "the operator is told")
    pair.a.ping("10.2.0.1", count=5)
    lines = [line for line in pair.router.log().splitlines()
             if pair.router.linux in line and (" warn" in line or " error" in line)]
    assert len(lines) == 1, pair.router.log()


def test_kernel_port_that_vanishes(pair):
    """b's wire is cut away for good: b0 is down and named; a0 goes on."""
    pair.router.space.sh("ip link del vb")
    def told():
        ports = {p["name"]: p for p in pair.router.get("/v1/ports")["ports"]}
        warnings = " ".join(pair.router.get("/v1/summary")["warnings"])
        return not ports["b0"]["link"]["up"] and "b0" in warnings
    wait_for(told, 10, "b0 is down and the operator is told")
    pair.a.ping("10.1.0.254")
    pair.a.ping("10.2.0.1", count=2, timeout=1, ok=False)
    lines = [line for line in pair.router.log().splitlines()
             if "b0" in line and (" warn" in line or " error" in line)]
    assert len(lines) == 1, pair.router.log()


def test_port_taken_out_after_it_vanished(pair):
    pair.router.space.sh("ip link del vb")
    time.sleep(0.5)
    less = {**pair.config, "ports": {"a0": pair.config["ports"]["a0"]}}
    pair.router.write(less)
    pair.router.cli("reload")
    assert [p["name"] for p in pair.router.get("/v1/ports")["ports"]] == ["a0"]
    pair.a.ping("10.1.0.254")


def test_twin_removed_in_linux(pair):
    """Somebody deletes a TAP: said, and the other ports go on."""
    pair.router.linux_sh("ip link del b0")
    wait_for(lambda: "b0" in " ".join(pair.router.get("/v1/summary")["warnings"]), 10,
             "the operator is told")
    pair.a.ping("10.1.0.254")


def test_clean_end_leaves_nothing(lab):
    pair = make_pair(lab)
    pair.router.stop()
    assert not pair.router.socket.exists()
    assert not os.path.exists(f"/run/netns/{pair.router.linux}")
