"""Two routers on one machine, and what a dead one leaves: nobody takes anything away from one that
lives, and nothing of the dead stands in the way."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import PORTS, make_pair
from lab import HECTOD, Lab, NeighborLimits, sh, wait_for
from test_faults import error_lines
from xdp import attach_in, program_on

LOCKS = Path("/run/hecto/locks")
DPDK = Path("/run/dpdk")


def refused(router, file):
    """The one line with which a second router ends, having touched nothing."""
    before = router.space.sh("ip -details link show")
    started = time.monotonic()
    run = subprocess.run(router.space.words([HECTOD, file]), capture_output=True, text=True,
                         timeout=60)
    out = run.stdout + run.stderr
    assert run.returncode == 1, out
    errors = error_lines(out)
    assert len(errors) == 1 and f"(pid {router.process.pid})" in errors[0], out
    assert router.space.sh("ip -details link show") == before
    assert time.monotonic() - started < 30
    return errors[0]


def lock_files(pid):
    return [f for f in LOCKS.glob("*.lock") if f.read_text().split()[:1] == [str(pid)]]


def test_the_same_file_twice(pair):
    """The second names who has the socket, and the first goes on with its program."""
    program = program_on(pair.router.space, "va")
    assert program is not None
    line = refused(pair.router, pair.router.file)
    assert str(pair.router.socket) in line
    assert program_on(pair.router.space, "va") == program
    pair.a.ping("10.2.0.1")
    assert pair.router.get("/v1/summary")["pid"] == pair.router.process.pid


@pytest.mark.parametrize("shared", ["device", "namespace"])
def test_another_file_for_the_same_thing(pair, shared):
    other = pair.lab.folder / "other.yaml"
    device = "va" if shared == "device" else "net_null0"
    space = f"{pair.router.linux}o" if shared == "device" else pair.router.linux
    other.write_text(f"ports: {{x0: {{device: {device}}}}}\n"
                     f"api: {{socket: {pair.lab.folder}/other.sock}}\nlinux: {{namespace: {space}}}\n")
    line = refused(pair.router, other)
    assert ("port x0 (va)" if shared == "device" else f"namespace {space}") in line, line
    assert not Path(f"/run/netns/{pair.router.linux}o").exists()
    pair.a.ping("10.2.0.1")


def test_a_reload_takes_no_device_of_another(lab):
    pair = make_pair(lab)
    pair.lab.host("c", pair.router.space, "vc", ["10.3.0.1/24"])
    second = lab.router("s", space=pair.router.space)
    second.start({"ports": {"c0": {"device": "vc", "addresses": ["10.3.0.254/24"]}}})
    pair.router.write({**pair.config, "ports": {**PORTS, "x0": {"device": "vc"}}})
    out = pair.router.cli("reload", check=False)
    assert f"(pid {second.process.pid})" in out, out
    pair.a.ping("10.2.0.1")
    assert [p["name"] for p in pair.router.get("/v1/ports")["ports"]] == ["a0", "b0"]
    # And takes it once it is free.
    second.stop()
    pair.router.cli("reload")
    assert len(pair.router.get("/v1/ports")["ports"]) == 3


def test_two_namespaces_may_have_devices_of_one_name(lab):
    first = make_pair(lab)
    other = lab.router("s")
    lab.host("d", other.space, "va", ["10.1.0.1/24"], ["10.1.0.254"])
    other.start({"ports": {"a0": PORTS["a0"]}})
    first.a.ping("10.1.0.254")
    other.stop()


def test_a_foreign_program_is_not_taken_off(lab):
    pair = make_pair(lab, start=False)
    attach_in(pair.router.space, "va")
    foreign = program_on(pair.router.space, "va")
    pair.router.write(pair.config)
    out = pair.router.space.sh([HECTOD, pair.router.file], check=False)
    errors = error_lines(out)
    assert len(errors) == 1 and f"id {foreign}" in errors[0] and "xdp off" in errors[0], out
    assert program_on(pair.router.space, "va") == foreign
    pair.router.space.sh("ip link set dev va xdp off")
    pair.router.launch()
    pair.router.wait_ready()


def test_a_program_of_a_dead_router_is_replaced(lab):
    pair = make_pair(lab)
    dead = pair.router.process.pid
    left = program_on(pair.router.space, "va")
    pair.router.process.kill()
    pair.router.process.wait()
    assert program_on(pair.router.space, "va") == left and lock_files(dead)
    pair.router.launch()
    pair.router.wait_ready()
    assert program_on(pair.router.space, "va") not in (None, left)
    assert not lock_files(dead)
    wait_for(lambda: " 1 received" in pair.a.ping("10.2.0.1", count=1, timeout=1, ok=False), 10,
             "it routes again")


def gro(space, interface="va"):
    line = next(line for line in space.sh(f"ethtool -k {interface}").splitlines() if "generic-receive-offload" in line)
    return line.split(": ")[1].startswith("on")


def test_offloads_of_a_port_are_off_and_come_back(lab):
    """GRO joins packets, which a router must not have: off while hectod runs, and as it was when it has ended, however
    it ended. What was off stays off."""
    pair = make_pair(lab, start=False)
    space = pair.router.space
    space.sh("ethtool -K va gro on")
    space.sh("ethtool -K vb gro off")
    def now():
        return gro(space), gro(space, "vb")
    assert now() == (True, False)
    pair.router.start(pair.config)
    assert now() == (False, False)
    line = next(each for each in pair.router.log().splitlines() if "of va off till it ends" in each)
    assert "port a0: " in line and "rx-gro" in line, line
    pair.router.stop()
    assert now() == (True, False), "an end in order"

    pair.router.start(pair.config)
    dead = pair.router.process.pid
    pair.router.process.kill()
    pair.router.process.wait()
    assert now() == (False, False), "nobody was there to do it"
    pair.router.launch()
    pair.router.wait_ready()
    assert now() == (False, False) and not lock_files(dead)
    # A port that a reload takes out gives its device back as it was, and turns it off when it is back.
    whole = pair.config
    only_b = dict(whole, ports={"b0": whole["ports"]["b0"]})
    for config, wanted in ((only_b, (True, False)), (whole, (False, False))):
        pair.router.write(config)
        assert pair.router.request("POST", "/v1/reload")[0] == 200
        assert now() == wanted
    pair.router.stop()
    assert now() == (True, False), "the next one knows what the one that was killed had found"


def test_a_start_that_fails_leaves_offloads_as_they_were(lab):
    pair = make_pair(lab, start=False)
    pair.router.space.sh("ethtool -K va gro on")
    pair.config["ports"]["c0"] = {"device": "no-such-device", "addresses": ["10.3.0.254/24"]}
    pair.router.start(pair.config, wait=False)
    wait_for(lambda: pair.router.process.poll() is not None, 20, "it ends by itself")
    pair.router.stop(code=1)
    assert "there is no such kernel interface" in pair.router.log()
    assert gro(pair.router.space)


def test_coalesced_packets_are_counted_and_named(lab):
    """By AF_PACKET, to which the far end's TSO gives segments as one packet; and its unfinished checksums."""
    pair = make_pair(lab, ports={
        "a0": {"device": "net_af_packet0,iface=va", "addresses": ["10.1.0.254/24"]},
        "b0": {"device": "vb", "addresses": ["10.2.0.254/24"]}})
    wait_for(lambda: " 1 received" in pair.a.ping("10.2.0.1", count=1, timeout=1, ok=False), 10, "b is known")
    port = next(p for p in pair.router.get("/v1/ports")["ports"] if p["name"] == "a0")
    assert (port["rx"]["coalesced"], port["rx"]["unfinished"], port["trouble"]) == (0, 0, []), port
    pair.a.sh("ethtool -K e0 tx on tso on gso on sg on")
    sender = ("import socket, time\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
              "s.setsockopt(17, 103, 1200)\n"  # UDP_SEGMENT
              "t = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
              "for _ in range(50):\n"
              "  s.sendto(bytes(2400), ('10.2.0.1', 9)); t.sendto(bytes(99), ('10.2.0.1', 9)); time.sleep(0.01)")

    def told():
        pair.a.sh([sys.executable, "-c", sender])
        port = next(p for p in pair.router.get("/v1/ports")["ports"] if p["name"] == "a0")
        return port if len(port["trouble"]) == 2 else None
    port = wait_for(told, 10, "packets come joined")
    assert "longer than a frame of its MTU 1500" in port["trouble"][0], port
    assert "ethtool -K va gro off lro off" in port["trouble"][0], port
    assert "unfinished TCP or UDP checksums" in port["trouble"][1] and "tx off" in port["trouble"][1], port
    assert port["rx"]["coalesced"] >= 50 and port["rx"]["unfinished"] >= 3, port
    assert pair.router.dropped("bad_total_length") >= 50, "cut by the ring's frames"
    out = pair.router.cli("show", "ports")
    assert "coalesced" in out and "ethtool -K" in out, out


def test_our_program_taken_off_comes_back(pair):
    """Under traffic: what is lost is lost for about a second."""
    program = program_on(pair.router.space, "va")
    pair.a.start("ping -n -i 0.05 10.2.0.1")
    pair.router.space.sh("ip link set dev va xdp off")
    wait_for(lambda: program_on(pair.router.space, "va") == program, 10, "it is attached again")
    wait_for(lambda: " 1 received" in pair.a.ping("10.2.0.1", count=1, timeout=1, ok=False), 10,
             "it routes again")
    assert pair.router.log().count("took hecto's XDP program off va") == 1, pair.router.log()


def test_a_program_in_place_of_ours_is_told_and_left(pair):
    space = pair.router.space
    program = program_on(space, "va")
    pair.router.process.send_signal(signal.SIGSTOP)  # or ours were back before it
    space.sh("ip link set dev va xdp off")
    attach_in(space, "va")
    pair.router.process.send_signal(signal.SIGCONT)
    foreign = program_on(space, "va")

    def trouble():
        port = next(p for p in pair.router.get("/v1/ports")["ports"] if p["name"] == "a0")
        return " ".join(port["trouble"])
    assert foreign not in (None, program)
    wait_for(lambda: f"id {foreign}" in trouble(), 10, "the operator is told")
    assert program_on(space, "va") == foreign
    assert "trouble" in pair.router.cli("show", "ports")
    space.sh("ip link set dev va xdp off")
    wait_for(lambda: program_on(space, "va") == program and trouble() == "", 10, "ours is back")
    pair.a.ping("10.2.0.1", count=1, ok=False)
    pair.a.ping("10.2.0.1")


def test_a_port_that_goes_takes_no_foreign_program_with_it(lab):
    pair = make_pair(lab)
    space = pair.router.space
    program = program_on(space, "va")
    wait_for(lambda: program_on(space, "va") is not None, 5, "ours is there")
    # In the place of ours, before it can be put back.
    pair.router.process.send_signal(signal.SIGSTOP)
    space.sh("ip link set dev va xdp off")
    attach_in(space, "va")
    pair.router.process.send_signal(signal.SIGCONT)
    foreign = program_on(space, "va")
    assert foreign not in (None, program)
    pair.router.stop()
    assert program_on(space, "va") == foreign


def test_a_clean_end_leaves_no_lock_and_no_folder(lab):
    pair = make_pair(lab)
    pid = pair.router.process.pid
    assert len(lock_files(pid)) >= 4  # socket, two devices, namespace
    pair.router.stop()
    assert not lock_files(pid)
    assert not (DPDK / f"hecto-{pid}").exists()


def test_the_lab_puts_back_the_limits_that_hectod_raised():
    """They are the machine's; the lab closes so after a failure as well."""
    def now():
        return {value.split("=")[0]: int(value.split("=")[1]) for value in NeighborLimits().values}
    before = NeighborLimits()
    if not before.values:
        pytest.skip("Linux's limits of neighbors are out of sight here")
    third = "net.ipv4.neigh.default.gc_thresh3"
    try:
        sh([*before.words, "sysctl", "-qw", "net.ipv4.neigh.default.gc_thresh1=500",
            "net.ipv4.neigh.default.gc_thresh2=1000", f"{third}=2000"])
        set_here, lab = now(), Lab()
        try:
            make_pair(lab)
            assert now()[third] > 2000
        finally:
            lab.close(check=False)
        assert now() == set_here
    finally:
        before.put_back()


def test_what_is_left_in_run_dpdk_is_swept(lab):
    """Folders of ours whose process is gone; nobody else's."""
    dead = subprocess.Popen(["true"])
    dead.wait()
    DPDK.mkdir(exist_ok=True)
    ours, others = DPDK / f"hecto-{dead.pid}", DPDK / f"rte-{dead.pid}"
    alive = DPDK / f"hecto-{os.getpid()}"
    for folder in (ours, others, alive):
        folder.mkdir(exist_ok=True)
        (folder / "config").write_text("x")
    foreign_lock = LOCKS / "notes.lock"
    LOCKS.mkdir(parents=True, exist_ok=True)
    foreign_lock.write_text("not hecto's\n")
    dead_lock = LOCKS / "api-nothing.lock"
    dead_lock.write_text(f"{dead.pid}\n")
    try:
        router = lab.router()
        router.start({"ports": {"n0": {"device": "net_null0"}}, "linux": "off"})
        assert not ours.exists() and others.exists() and alive.exists()
        assert foreign_lock.exists() and not dead_lock.exists()
        router.process.send_signal(signal.SIGKILL)
        router.process.wait()
        killed = router.process.pid
        router.process = None
        again = lab.router("s").start({"ports": {"n0": {"device": "net_null0"}}, "linux": "off"})
        assert not (DPDK / f"hecto-{killed}").exists()
        again.stop()
    finally:
        for folder in (others, alive, ours):
            if folder.exists():
                (folder / "config").unlink()
                folder.rmdir()
        foreign_lock.unlink()


def test_two_starts_at_once(lab):
    """Of many that begin in one instant with one file, one lives."""
    pair = make_pair(lab, start=False)
    pair.router.write(pair.config)
    logs = [pair.router.folder / f"log{i}" for i in range(6)]
    racers = []
    for log in logs:
        with open(log, "w") as out:
            racers.append(subprocess.Popen(pair.router.space.words([HECTOD, pair.router.file]),
                                           stdout=out, stderr=out))
    try:
        wait_for(lambda: sum(r.poll() is None for r in racers) == 1, 30, "one is left")
        alive, = (r for r in racers if r.poll() is None)
        wait_for(lambda: pair.router.get("/v1/summary")["pid"] == alive.pid, 20, "it answers")
        assert [r.poll() for r in racers if r is not alive] == [1] * 5
    finally:
        for racer in racers:
            racer.terminate()
        codes = [racer.wait(30) for racer in racers]
    assert sorted(codes) == [0, 1, 1, 1, 1, 1], [log.read_text() for log in logs]
