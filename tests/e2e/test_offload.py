"""Look-ups and ESP on a device: here CPU threads that run the device's functions, driven as a GPU is."""

import json
import os
import platform
import signal
import subprocess
from pathlib import Path

import pytest
import yaml

from conftest import PORTS, make_pair
from lab import wait_for
from stream import Stream
from test_ipsec import gateways


# CPU threads answer late where CPUs are few and busy; that is not what is tested here.
HOST = {"device": "host", "deadline_us": 1_000_000}


def start(lab, **offload):
    pair = make_pair(lab, start=False)
    pair.router.start({"ports": {name: dict(port) for name, port in PORTS.items()},
                       "offload": {**HOST, **offload}})
    return pair


def offload(pair):
    return pair.router.get("/v1/offload")


def work(pair, kind):
    return next(w for w in offload(pair)["work"] if w["kind"] == kind)


@pytest.fixture
def always(lab):
    """Every look-up goes there, whatever it costs."""
    pair = start(lab, lookup="always")
    wait_for(lambda: offload(pair)["devices"][0]["state"] == "ready", 10, "the device is ready")
    return pair


def test_look_ups_go_to_the_device_and_packets_arrive_in_order(always):
    pair = always
    pair.a.ping("10.2.0.1")
    pair.a.ping("fd00:2::1")
    with Stream(pair.a, pair.b, "10.2.0.1") as v4, \
            Stream(pair.a, pair.b, "fd00:2::1", port=7001) as v6:
        wait_for(lambda: work(pair, "ipv4")["batches"]["packets"] > 500, 10, "packets went there")
        wait_for(lambda: work(pair, "ipv6")["batches"]["packets"] > 500, 10, "packets went there")
    v4.expect_no_loss()
    v6.expect_no_loss()
    for kind in ("ipv4", "ipv6"):
        row = work(pair, kind)
        assert row["mode"] == "always" and row["side"] == "device" and row["why"] == "configured"
        assert row["batches"]["completed"] > 0 and row["in_flight"] == 0
    pair.router.check_balance()
    said = pair.router.cli("show", "offload")
    assert "host" in said and "ready" in said and "to the device, configured" in said


def test_a_shader_thread_merges_what_workers_hand_over(lab):
    pair = start(lab, lookup="always", shader=True)
    wait_for(lambda: offload(pair)["devices"][0]["state"] == "ready", 10, "the device is ready")
    pair.a.ping("10.2.0.1")
    with Stream(pair.a, pair.b, "10.2.0.1") as stream:
        wait_for(lambda: work(pair, "ipv4")["batches"]["packets"] > 500, 10, "packets went there")
    stream.expect_no_loss()
    shader = offload(pair)["devices"][0]["shader"]
    assert shader["jobs"] >= shader["batches"] > 0 and shader["dropped"] == 0
    pair.router.check_balance()


def test_routes_change_under_look_ups_on_the_device(always):
    """A route that comes, moves and goes: the device's table follows, nothing beside it is lost."""
    pair = always
    pair.b.sh("ip address add 10.9.0.1/32 dev lo")
    pair.a.ping("10.2.0.1")
    before = offload(pair)["devices"][0]["generation_ipv4"]
    with Stream(pair.a, pair.b, "10.2.0.1") as beside:
        for _ in range(5):
            pair.router.linux_sh("ip route add 10.9.0.0/16 via 10.2.0.1")
            wait_for(lambda: pair.router.explain("10.9.0.1")["match"]["prefix"] == "10.9.0.0/16",
                     5, "the route is there")
            pair.a.ping("10.9.0.1", count=1)
            pair.router.linux_sh("ip route replace blackhole 10.9.0.0/16")
            wait_for(lambda: pair.a.ping("10.9.0.1", count=1, timeout=1, ok=False)
                     .count("0 received"), 5, "the black hole is seen")
            pair.router.linux_sh("ip route del 10.9.0.0/16")
    beside.expect_no_loss()
    assert offload(pair)["devices"][0]["generation_ipv4"] > before + 5
    assert work(pair, "ipv4")["batches"]["completed"] > 100


def test_a_trace_and_a_reload_pass_by_what_is_in_flight(always):
    pair = always
    pair.a.ping("10.2.0.1")
    with Stream(pair.a, pair.b, "10.2.0.1") as stream:
        traced = pair.router.cli("trace", "--count", "3")
        assert "lookup" in traced
        config = {"ports": {**{name: dict(port) for name, port in PORTS.items()},
                            "extra": {"device": "net_null0", "addresses": ["10.3.0.254/24"]}},
                  "offload": {**HOST, "lookup": "always"}}
        for ports in (config, {**config, "ports": {n: dict(p) for n, p in PORTS.items()}}):
            pair.router.write(ports)
            pair.router.cli("reload")
    stream.expect_no_loss()
    wanted = {**config, "offload": "none",
              "ports": {name: dict(port) for name, port in PORTS.items()}}
    pair.router.write(wanted)
    refused = pair.router.cli("reload", check=False)
    assert "offload" in refused and "restart hectod" in refused


def test_a_device_that_answers_late_is_left_and_tried_again_and_no_packet_is_lost(lab):
    pair = start(lab, lookup="always", deadline_us=10)
    pair.a.ping("10.2.0.1")
    # So slow that the device's thread sleeps between two packets.
    with Stream(pair.a, pair.b, "10.2.0.1", rate=500) as stream:
        wait_for(lambda: offload(pair)["devices"][0]["stops"] >= 2, 30,
                 "it was stopped, started and stopped again")
    stream.expect_no_loss()
    batches = work(pair, "ipv4")["batches"]
    assert batches["late"] + batches["abandoned"] > 0
    assert "late answers" in pair.router.log() and "next start in" in pair.router.log()


@pytest.mark.parametrize("name, kind, lookup, shader",
                         [("aes-256-gcm", "gcm", "never", False),
                          ("aes-128-cbc hmac-sha1", "cbc", "always", True)])
def test_esp_goes_to_the_device_both_ways(lab, name, kind, lookup, shader):
    """Two gateways with a device each: one seals what the other opens, in order, and none is lost."""
    first, second, a, b = gateways(lab, name, offload={**HOST, "lookup": lookup, "ipsec": "always",
                                                       "shader": shader})

    def rows(router):
        return {row["kind"]: row for row in router.get("/v1/offload")["work"]}

    for router in (first, second):
        wait_for(lambda router=router: router.get("/v1/offload")["devices"][0]["state"] == "ready",
                 10, "the device is ready")
        assert router.get("/v1/offload")["keys"] == 2
    with Stream(a, b, "10.2.0.1") as there, Stream(b, a, "10.1.0.1", port=7001) as back, \
            Stream(a, b, "fd00:2::1", port=7002) as v6:
        for router in (first, second):
            wait_for(lambda router=router: all(
                rows(router)[f"{way}-{kind}"]["batches"]["packets"] > 500
                for way in ("open", "seal")), 20, "packets went there both ways")
    for stream in (there, back, v6):
        stream.expect_no_loss()
    for router in (first, second):
        for way in ("open", "seal"):
            row = rows(router)[f"{way}-{kind}"]
            assert row["mode"] == "always" and row["side"] == "device", row
            assert row["batches"]["completed"] > 0 and row["in_flight"] == 0, row
        assert ("ipv4" in rows(router)) == (lookup == "always")
        for reason in ("esp_replay", "esp_bad_icv", "policy_mismatch"):
            assert router.dropped(reason) == 0, router.get("/v1/drops")
        router.check_balance()
        assert f"seal-{kind}: to the device, configured" in router.cli("show", "offload")
    # What is in flight when its SA goes.
    with Stream(a, b, "10.2.0.1", port=7003):
        first.write({**yaml.safe_load(first.file.read_text()), "ipsec": {}})
        first.cli("reload")
        wait_for(lambda: first.get("/v1/offload")["keys"] == 0, 10, "the keys are forgotten")
    first.check_balance()


def test_auto_leaves_an_idle_router_to_its_cpu_and_says_why(lab):
    pair = start(lab)
    wait_for(lambda: offload(pair)["devices"][0]["state"] == "ready", 10, "the device is ready")
    pair.a.ping("10.2.0.1", count=20)
    wait_for(lambda: work(pair, "ipv4")["why"] in ("low load", "measuring"), 10, "a decision")
    assert work(pair, "ipv4")["side"] == "cpu"
    assert "on the CPU" in pair.router.cli("show", "offload")


def test_without_a_gpu_auto_is_none_and_a_gpu_by_name_is_refused(lab):
    pair = make_pair(lab)
    answer = offload(pair)
    if answer["devices"]:
        pytest.skip("this machine has a GPU")
    assert answer["found"].startswith("none (") and not answer["work"]
    assert pair.router.cli("show", "offload").startswith("no device: none (")
    second = lab.router("second", pair.router.space)
    second.start({"ports": {"x0": {"device": "net_null0"}}, "linux": False,
                  "offload": {"device": "cuda:0"}}, wait=False)
    assert second.process.wait(20) == 1
    assert "offload.device: cuda:0" in second.log()
    second.process = None


def test_the_report_of_the_build_reads_what_nvcc_says():
    root = Path(__file__).parents[2]
    subprocess.run([root / "bench" / "offload" / "gpu_report.py", "--self-test"], check=True)


def test_the_helper_is_killed_and_started_again_and_no_packet_is_lost(always):
    """The process with the device, not its keeper; the router says why."""
    pair = always
    pair.a.ping("10.2.0.1")
    pid = pair.router.process.pid

    def children(of):
        return [int(child) for child in Path(f"/proc/{of}/task/{of}/children").read_text().split()]

    def device():
        return [child for keeper in children(pid) for child in children(keeper)]

    wait_for(lambda: len(device()) == 1, 5, "the device has a process")
    first = device()[0]
    with Stream(pair.a, pair.b, "10.2.0.1", rate=500) as stream:
        os.kill(first, signal.SIGKILL)
        wait_for(lambda: offload(pair)["devices"][0]["stops"] >= 1, 10, "its end is seen")
        wait_for(lambda: offload(pair)["devices"][0]["state"] == "ready", 20, "it is back")
        packets = work(pair, "ipv4")["batches"]["packets"]
        wait_for(lambda: work(pair, "ipv4")["batches"]["packets"] > packets, 10, "it has the work again")
    stream.expect_no_loss()
    assert device() and device()[0] != first
    assert "the helper ended: signal 9 (SIGKILL); the work goes on here" in pair.router.log()
    pair.router.check_balance()


def test_the_script_for_a_gpu_machine_builds_and_runs_a_kind(tmp_path):
    """Of the sources alone, without meson and DPDK, as it is on a machine that only has a compiler."""
    root = Path(__file__).parents[2]
    env = {**os.environ, "OUT": str(tmp_path), "BUILD": str(tmp_path / "objects"), "DEVICE": "host",
           "TESTS": "0", "TABLE": "", "QUICK": "1", "KINDS": "seal-gcm 64", "COMMIT": "cafe"}
    run = subprocess.run([root / "bench" / "offload" / "device.sh"], cwd=root, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, timeout=600, env={**env, "BUILD_ONLY": "1"})
    assert run.returncode == 0 and "built: " in run.stdout, run.stdout
    # The CPU's side of a comparison is hectod's: all its kernels for this kind of machine, and used.
    arm = platform.machine() == "aarch64"
    kernels = {file.stem for file in (root / "lookup").glob("kernel_*.cpp")
               if file.stem == "kernel_scalar" or ("neon" in file.stem) == arm}
    assert {file.name.split(".")[0] for file in tmp_path.glob("objects/lookup_kernel_*.o")} == {
        f"lookup_{kernel}" for kernel in kernels}
    jobs = (tmp_path / "objects" / "jobs").read_text()
    for kernel in kernels - {"kernel_scalar"}:
        assert f"-DLOOKUP_HAVE_{kernel.removeprefix('kernel_').upper()} " in jobs
    # Once more with compilers that do nothing: what was built stays.
    nothing = tmp_path / "nothing"
    nothing.write_text("#!/bin/sh\nexit 0\n")
    nothing.chmod(0o755)
    run = subprocess.run([root / "bench" / "offload" / "device.sh"], cwd=root, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, timeout=300, env={**env, "CXX": str(nothing)})
    assert run.returncode == 0 and "written: " in run.stdout, run.stdout
    result = json.loads(next(tmp_path.glob("offload-cpu-*.json")).read_text())
    assert result["commit"] == "cafe" and result["failed"] == [] and list(result["kinds"]) == ["seal-gcm 64"]
    kind = result["kinds"]["seal-gcm 64"]
    assert kind["check"]["rows"][0]["checked"] > 0 and kind["time"]["rows"][0]["items_per_s"] > 0
