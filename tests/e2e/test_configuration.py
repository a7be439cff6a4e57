"""The configuration as a whole: what check refuses, who changed what, the way back from a reload."""

import os
import subprocess

import pytest
import yaml

from conftest import PORTS
from lab import HECTO, HECTOD, SLOWER, sh, wait_for
from stream import Stream
from test_privileges import pid_of, threads

ROUTE = {"routes": [{"to": "10.9.0.0/16", "via": "10.2.0.1"}]}


def routed(pair):
    return pair.router.explain("10.9.0.1")["match"] is not None


def lines_of(pair, words):
    return [line for line in pair.router.log().splitlines() if words in line]


def warnings(pair):
    """What the summary says of the configuration."""
    return [line for line in pair.router.get("/v1/summary")["warnings"]
            if "hecto.yaml" in line or "candidate.yaml" in line or "confirm" in line]


@pytest.mark.parametrize("more, said", [
    ({"routes": [{"to": "0.0.0.0/0", "via": "172.16.0.1"}]}, "172.16.0.1 is on no interface"),
    ({"workers": {0: [4000]}}, "workers: there is no core 4000"),
    ({"control_core": 4000}, "control_core: there is no core 4000"),
    ({"memory": "900GiB"}, "memory: 921600 MiB are not there"),
    ({"route_files": ["none.txt"]}, "none.txt: cannot be opened"),
    ({"sets": {"s": {"file": "none.txt"}}}, "none.txt: cannot be opened"),
    ({"api": {"read_group": "nosuchgroup"}}, "there is no group nosuchgroup"),
    ({"ports": {"a0": {"device": "va", "vlans": {i: {} for i in range(1, 1024)}}}},
     "1024 interfaces"),
])
def test_check_refuses_what_hectod_refuses_in_the_same_words(lab, more, said):
    file = lab.folder / "hecto.yaml"
    file.write_text(yaml.safe_dump({"ports": PORTS, **more}))
    by_check = sh([HECTO, "check", file], check=False)
    assert said in by_check and len(by_check.splitlines()) == 1, by_check
    for words in ([HECTOD, file], [HECTOD, "--check", file]):
        assert sh(words, check=False) == by_check
    # The file alone may be right for another machine.
    elsewhere = sh([HECTO, "check", "--elsewhere", file], check=False)
    assert elsewhere in ("", by_check), elsewhere


def test_every_change_leaves_a_line_that_says_who(pair):
    router = pair.router
    router.cli("route", "add", "10.9.0.0/16", "via", "10.2.0.1")
    router.cli("route", "add", "10.8.0.0/16", "via", "172.16.0.1", check=False)
    table = pair.lab.folder / "table.txt"
    table.write_text("10.77.0.0/24\n10.77.1.0/24\n")
    router.cli("load-routes", table, "--via", "10.2.0.1")
    router.cli("show", "routes")
    router.cli("diff")
    router.file.write_text("ports: {a0: {device: va, mtuu: 1400}}\n")
    router.cli("reload", check=False)
    audit = [line.split("audit: ")[1] for line in lines_of(pair, "audit: ")]
    assert len(audit) == 4, audit
    assert audit[0].startswith('route add {"to":"10.9.0.0/16","via":[{"gateway":"10.2.0.1"}]} by '
                               "root (uid 0), pid "), audit
    assert audit[0].endswith(": done, 1 changed")
    assert "10.8.0.0/16" in audit[1] and ": refused: " in audit[1] and "172.16.0.1" in audit[1]
    assert audit[2].startswith('load-routes of 26 bytes {"via":"10.2.0.1"} by root')
    assert "2 added" in audit[2]
    assert audit[3].startswith("reload by root (uid 0), pid ") and "mtuu" in audit[3], audit
    router.process.send_signal(1)
    wait_for(lambda: len(lines_of(pair, "audit: reload (SIGHUP) by root (uid 0), pid "
                                        f"{os.getpid()}: refused")) == 1, 5, "SIGHUP is audited")


def test_a_file_that_is_not_what_runs_is_said(pair):
    assert pair.router.get("/v1/summary")["config_on_disk"] == "same"
    pair.router.write({**pair.config, **ROUTE})
    assert pair.router.get("/v1/summary")["config_on_disk"] == "changed"
    assert "is not what runs: hecto diff" in pair.router.cli("show", "summary").replace("\n", " ")
    assert "+ route {to: 10.9.0.0/16, via: 10.2.0.1}" in pair.router.cli("diff")
    assert not routed(pair), "diff changes nothing"
    pair.router.cli("reload")
    assert routed(pair)
    assert pair.router.get("/v1/summary")["config_on_disk"] == "same"
    assert "nothing to change" in pair.router.cli("diff")
    assert not warnings(pair)
    pair.router.file.unlink()
    assert pair.router.get("/v1/summary")["config_on_disk"] == "unreadable"


def test_rollback_goes_one_reload_back(pair):
    with Stream(pair.a, pair.b, "10.2.0.1") as stream:
        assert "there was no reload" in pair.router.cli("rollback", check=False)
        pair.router.write({**pair.config, **ROUTE})
        pair.router.cli("reload")
        assert routed(pair)
        assert "- route {to: 10.9.0.0/16, via: 10.2.0.1}" in pair.router.cli("rollback")
        # Linux had it, too, and tells some time later that it is gone.
        wait_for(lambda: not routed(pair), 5, "the route goes")
        assert pair.router.get("/v1/summary")["config_on_disk"] == "changed"
    stream.expect_no_loss()


def test_without_confirmation_the_earlier_configuration_comes_back(pair):
    with Stream(pair.a, pair.b, "10.2.0.1") as stream:
        pair.router.write({**pair.config, **ROUTE})
        out = pair.router.cli("reload", "--confirm", f"{5 * SLOWER}s")
        assert "not confirmed" in out and "a restart of hectod meanwhile reads" in out, out
        assert routed(pair)
        assert any("comes back in" in line for line in warnings(pair))
        wait_for(lambda: not routed(pair), 20, "the earlier one is back")
    stream.expect_no_loss()
    assert len(lines_of(pair, "was not confirmed in time: the configuration before it runs")) == 1
    assert "nothing waits" in pair.router.cli("confirm", check=False)


def test_control_goes_on_while_what_comes_back_is_read(pair):
    """A route file of the earlier configuration from a disk that takes its time: a pipe into which nobody writes yet.
    Who reads it has no privileges of control's."""
    routes = pair.router.folder / "routes"
    routes.write_text("10.9.0.0/16 via 10.2.0.1\n")
    pair.router.write({**pair.config, "route_files": [str(routes)]})
    pair.router.cli("reload")
    pair.router.write(pair.config)
    pair.router.cli("reload", "--confirm", f"{2 * SLOWER}s")
    assert not routed(pair)
    routes.unlink()
    os.mkfifo(routes)
    with Stream(pair.a, pair.b, "10.2.0.1") as stream:
        with open(routes, "w") as pipe:  # from here on it is being read
            for _ in range(20):
                assert pair.router.request("GET", "/v1/ports", timeout=5)[0] == 200
            able = [task for task, status in threads(pair.router) if int(status["CapPrm"], 16) != 0]
            assert able == [pid_of(pair.router)]
            assert not routed(pair)
            pipe.write("10.9.0.0/16 via 10.2.0.1\n")
        wait_for(lambda: routed(pair), 10, "the earlier one is back")
    stream.expect_no_loss()
    assert len(lines_of(pair, "was not confirmed in time: the configuration before it runs")) == 1


def test_what_is_confirmed_stays(pair):
    pair.router.write({**pair.config, **ROUTE})
    pair.router.cli("reload", "--confirm", f"{5 * SLOWER}s")
    assert pair.router.cli("confirm") == ""
    assert pair.router.get("/v1/summary")["unconfirmed_s"] is None
    until = pair.router.get("/v1/summary")["uptime_s"] + 5 * SLOWER + 2
    wait_for(lambda: pair.router.get("/v1/summary")["uptime_s"] >= until, 20, "the time is over")
    assert routed(pair) and not warnings(pair)


def test_a_second_reload_amid_is_refused(pair):
    pair.router.write({**pair.config, **ROUTE})
    pair.router.cli("reload", "--confirm", "1h")
    pair.router.write(pair.config)
    for words in (["reload"], ["reload", "--confirm", "1h"]):
        assert "is not confirmed" in pair.router.cli(*words, check=False)
    assert routed(pair)
    pair.router.cli("rollback")
    assert not routed(pair)
    pair.router.cli("reload")


def test_a_restart_amid_reads_the_file_that_hectod_was_started_with(pair):
    """A candidate beside it is tried: a crash, or a reboot, brings back what was there before."""
    candidate = pair.router.folder / "candidate.yaml"
    candidate.write_text(yaml.safe_dump({**yaml.safe_load(pair.router.file.read_text()), **ROUTE}))
    out = pair.router.cli("reload", "--confirm", "1h", candidate)
    assert f"meanwhile reads {pair.router.file}" in " ".join(out.split()), out
    assert any("a restart reads" in line for line in warnings(pair))
    assert routed(pair)
    pair.router.process.kill()
    pair.router.process.wait()
    pair.router.launch()
    pair.router.wait_ready()
    assert not routed(pair)
    summary = pair.router.get("/v1/summary")
    assert summary["unconfirmed_s"] is None and summary["config_on_disk"] == "same"


def test_a_namespace_that_nobody_else_sees_is_said(lab):
    """`ip netns exec` gives a mount namespace of its own; a name made before is seen by all."""
    said = "only hectod sees the namespace"
    router = lab.router()
    router.write({"ports": {"n0": {"device": "net_null0"}}})
    for made_before in (False, True):
        if made_before:
            sh(["ip", "netns", "add", router.linux])
        with open(router.log_file, "w") as log:
            router.process = subprocess.Popen(
                ["ip", "netns", "exec", router.space.name, HECTOD, router.file], stdout=log,
                stderr=log)
        router.wait_ready()
        assert (said in router.log()) == (not made_before), router.log()
        reached = sh(["nsenter", "-t", router.process.pid, "-m", "ip", "netns", "exec",
                      router.linux, "ip", "link"], check=False)
        assert " n0: " in reached, reached
        router.stop()
        sh(["ip", "netns", "del", router.linux], check=False)
