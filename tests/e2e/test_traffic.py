"""hecto-bench generate against a router in another process: counts agree, faults are named."""

import json
import os
import signal
import subprocess
import time

import yaml
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from lab import BUILD, SLOWER, sh, wait_for
from memif_peer import MemifPeer

BENCH = BUILD / "bench" / "hecto-bench"
RATE = 3_000 // SLOWER  # what waits while a busy machine runs others fits the rings


def write_spec(lab, spec):
    file = lab.folder / "traffic.yaml"
    file.write_text(yaml.safe_dump(spec, sort_keys=False))
    return file


def command(file, *options):
    return [BENCH, "generate", file, "--json", "-", "--cpus", "0", "--settle", 2, *options]


def generate(space, file, *options):
    run = subprocess.run([str(word) for word in space.words(command(file, *options))],
                         capture_output=True, text=True, timeout=60 * SLOWER)
    assert run.returncode == 0, run.stderr + run.stdout[-2000:]
    return json.loads(run.stdout)


def start(space, file, *options):
    return subprocess.Popen([str(word) for word in space.words(command(file, *options))],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    out, errors = process.communicate(timeout=30 * SLOWER)
    return process.returncode, json.loads(out), errors


def expect_no_loss(result, streams):
    assert [s["name"] for s in result["streams"]] == streams
    for stream in result["streams"]:
        assert stream["sent"] > 0
        assert stream["received"] == stream["sent"], result
        assert stream["duplicated"] == stream["reordered"] == 0, result
        latency = stream["latency_ns"]
        assert latency["count"] == stream["sent"]
        assert 0 < latency["p50"] <= latency["p99"] <= latency["p99_99"] <= latency["max"]
    assert result["foreign"] == 0 and result["wrong"] == {}, result
    assert not result["partial"]


def memif_bed(lab):
    """A router with two memif servers, and a generator's spec with the clients."""
    sockets = [lab.folder / name for name in ("a.sock", "b.sock")]
    hosts = {"10.2.0.1": "b0", "fd00:2::1": "b0"}
    router = lab.router().start({
        "linux": False,
        "ports": {f"{name}0": {"device": f"net_memif{i},role=server,socket={sockets[i]},"
                                         "socket-abstract=no",
                               "addresses": [f"10.{i + 1}.0.254/24", f"fd00:{i + 1}::fe/64"]}
                  for i, name in enumerate("ab")},
        "neighbors": [{"address": address, "interface": port, "mac": "02:00:00:00:00:0b"}
                      for address, port in hosts.items()],
        "routes": [{"to": "10.9.0.0/16", "via": "10.2.0.1"},
                   {"to": "fd00:9::/32", "via": "fd00:2::1"}],
    })
    mac = next(p["mac"] for p in router.get("/v1/ports")["ports"] if p["name"] == "a0")
    spec = {
        "ports": {name: {"device": f"net_memif{i},role=client,socket={sockets[i]},"
                                   "socket-abstract=no"} for i, name in enumerate("ab")},
        "streams": {
            "small": {"destinations": "10.9.0.0/16", "flows": 100, "destination_mac": mac},
            "imix": {"size": "imix", "destinations": "10.9.0.0/16", "destination_mac": mac},
            "v6": {"family": "ipv6", "size": [64, 80, 512], "destinations": "fd00:9::/32",
                   "destination_mac": mac},
        },
        "rate": f"{RATE}pps",
        "duration": 1,
    }
    return router, spec


def test_all_that_is_sent_over_memif_comes_back(lab):
    router, spec = memif_bed(lab)
    file = write_spec(lab, spec)
    result = generate(router.space, file)
    expect_no_loss(result, ["small", "imix", "v6"])
    totals = router.check_balance()
    assert totals["received"] == totals["transmitted"] == result["sent"]
    # The same again: a router keeps its memif while generators come and go.
    spec["streams"]["lost"] = {"destinations": "10.66.0.1",
                               "destination_mac": spec["streams"]["small"]["destination_mac"]}
    result = generate(router.space, write_spec(lab, spec), "--duration", "0.2")
    lost = next(s for s in result["streams"] if s["name"] == "lost")
    assert lost["received"] == 0 and lost["lost"] == lost["sent"] > 0
    # No route: Linux would tell the sender.
    assert router.dropped("no_linux") == lost["sent"]
    assert result["lost"] == lost["sent"]


def test_what_comes_back_wrong_is_named_and_lost(lab):
    """A router that sends elsewhere, back, or to another MAC address than the traffic file says."""
    router, spec = memif_bed(lab)
    macs = {port["name"]: port["mac"] for port in router.get("/v1/ports")["ports"]}
    there = {"destinations": "10.9.0.0/16", "destination_mac": macs["a0"]}
    spec["streams"] = {
        "right": {**there, "size": "imix", "expect": {"destination_mac": "02:00:00:00:00:0b"}},
        "astray": {**there, "to": "a"},
        "back": {**there, "from": "b", "to": "a", "destination_mac": macs["b0"]},
        "other": {**there, "expect": {"destination_mac": "02:00:00:00:00:0c"}},
        "far": {**there, "family": "ipv6", "destinations": "fd00:9::/32", "expect": {"hops": 2}},
        "wire": {**there, "expect": "wire"},
    }
    result = generate(router.space, write_spec(lab, spec), "--duration", "0.3")
    streams = {stream["name"]: stream for stream in result["streams"]}
    assert streams["right"]["received"] == streams["right"]["sent"] > 0 and streams["right"]["wrong"] == {}
    for name, wrong in (("astray", "misrouted"), ("back", "reflected"), ("other", "destination_mac"),
                        ("far", "hop_limit"), ("wire", "hop_limit")):
        stream = streams[name]
        assert stream["received"] == 0 and stream["lost"] == stream["sent"] > 0, stream
        assert stream["wrong"] == {wrong: stream["sent"]}, stream
    assert result["foreign"] == 0
    unchecked, = (line for line in result["not_checked"] if "MAC" in line)
    assert unchecked.startswith("astray, back, far: destination MAC not checked: ")


def test_a_wire_is_no_router(lab):
    space = lab.namespace("g")
    spec = {"ports": {"loop": {"device": "net_ring0"}}, "streams": {"s": {}}, "duration": 0.05,
            "rate": "10kpps"}
    result = generate(space, write_spec(lab, spec))
    assert result["received"] == 0 and result["wrong"] == {"unchanged": result["sent"]}, result
    spec["streams"]["s"]["expect"] = "wire"
    result = generate(space, write_spec(lab, spec))
    assert result["received"] == result["sent"] > 0 and result["wrong"] == {}, result


def test_a_router_that_dies_leaves_a_partial_result(lab):
    router, spec = memif_bed(lab)
    file = write_spec(lab, spec)
    process = start(router.space, file, "--duration", "60")
    wait_for(lambda: router.get("/v1/drops")["totals"]["received"] > 100, 20, "traffic flows")
    router.process.kill()
    router.process.wait()
    out, errors = process.communicate(timeout=30 * SLOWER)
    router.process = None
    result = json.loads(out)
    assert process.returncode == 1
    assert result["partial"] and result["sent"] > 0
    assert "port a (net_memif0): no link" in errors or "port b (net_memif1): no link" in errors
    assert result["problem"] in errors


def test_a_memif_peer_that_goes_again_and_again(lab):
    """In the midst of its bursts, each time: DPDK unmaps the rings that the worker reads."""
    router, _ = memif_bed(lab)
    mac = next(p["mac"] for p in router.get("/v1/ports")["ports"] if p["name"] == "a0")
    frame = bytes(Ether(dst=mac, src="02:00:00:00:00:0a") / IP(src="10.1.0.1", dst="10.9.0.1") /
                  UDP(sport=1, dport=9) / bytes(18))
    taken = 0
    for _ in range(int(os.environ.get("HECTO_MEMIF_DISCONNECTS", 100))):
        peer = MemifPeer(lab.folder / "a.sock", frame)
        last, turns = peer.fill(), 0
        end = time.monotonic() + 10 * SLOWER
        while turns < 20 and time.monotonic() < end:  # emptied again and again
            tail = peer.fill()
            turns += tail != last
            last = tail
        assert turns == 20, "the router takes what is sent"
        peer.fill()
        peer.go()
        taken += 1
        assert router.process.poll() is None, f"it ended after {taken} disconnects"
    assert router.get("/v1/drops")["totals"]["received"] > 20 * taken
    router.check_balance()


def test_an_interrupt_keeps_what_was_counted(lab):
    router, spec = memif_bed(lab)
    process = start(router.space, write_spec(lab, spec), "--duration", "60")
    wait_for(lambda: router.get("/v1/drops")["totals"]["received"] > 100, 20, "traffic flows")
    process.send_signal(signal.SIGINT)
    code, result, _ = finish(process)
    assert code == 1
    assert result["partial"]
    assert 0 < result["seconds"] < 60
    assert result["received"] == result["sent"] > 0


def kernel_bed(lab):
    """One namespace with both of the generator's interfaces, the router's in another."""
    router = lab.router()
    space = lab.namespace("g")
    for port in ("a", "b"):
        sh(["ip", "link", "add", f"g{port}", "netns", space.name, "type", "veth",
            "peer", "name", f"v{port}", "netns", router.space.name])
        router.space.sh(f"ip link set v{port} up")
        space.sh(f"ip link set g{port} up")
    router.start({"ports": {
        "a0": {"device": "va", "addresses": ["10.1.0.254/24", "fd00:1::fe/64"]},
        "b0": {"device": "vb", "addresses": ["10.2.0.254/24", "fd00:2::fe/64"]}}})
    spec = {
        "ports": {name: {"device": f"g{name}",
                         "addresses": [f"10.{i}.0.1/24", f"fd00:{i}::1/64"],
                         "gateways": [f"10.{i}.0.254", f"fd00:{i}::fe"]}
                  for i, name in ((1, "a"), (2, "b"))},
        "streams": {"there": {"size": [64, 512], "destinations": "10.2.0.1"},
                    "back": {"from": "b", "to": "a", "destinations": "10.1.0.1"},
                    "v6": {"family": "ipv6", "size": 100, "destinations": "fd00:2::1"}},
        "rate": f"{RATE // 3}pps",
        "duration": 1,
    }
    return router, space, spec


def test_kernel_interfaces_find_the_router_by_themselves(lab):
    """MAC addresses by ARP and neighbor discovery, in both directions: nothing is configured."""
    router, space, spec = kernel_bed(lab)
    result = generate(space, write_spec(lab, spec))
    for stream in result["streams"]:
        # Linux may take the first packets until it knows where the generator is.
        assert stream["received"] == stream["sent"] > 0, result
    drivers = {port["driver"] for port in result["ports"]}
    assert drivers <= {"net_af_xdp", "net_af_packet"}
    assert router.has_neighbor("10.2.0.1")
    assert router.has_neighbor("fd00:2::1")


def test_a_port_that_vanishes_is_named(lab):
    router, space, spec = kernel_bed(lab)
    process = start(space, write_spec(lab, spec), "--duration", "60")
    wait_for(lambda: router.get("/v1/drops")["totals"]["received"] > 100, 20, "traffic flows")
    time.sleep(0.2)
    space.sh("ip link del gb")
    code, result, errors = finish(process)
    assert code == 1
    assert result["partial"] and result["sent"] > 0
    assert "port b (" in errors and "has gone" in errors, errors


def test_what_cannot_be_is_refused_with_its_place(lab):
    space = lab.namespace("g")
    spec = {"ports": {"a": {"device": "net_ring0", "line": "10Gbps"}}, "streams": {"s": {}},
            "duration": 0.1}
    cases = [
        (2, {**spec, "streams": {"s": {"sise": 64}}}, "streams.s.sise: unknown key", ()),
        (1, {**spec, "rate": "20Mpps"}, "no rate that port a can do: its line takes 14.881Mpps", ()),
        (1, spec, "CPU 4000: this process may not use it", ("--cpus", "4000")),
        (1, {**spec, "ports": {"a": {"device": "no-such0"}}}, "no such kernel interface", ()),
        (1, {**spec, "ports": {"a": {"device": "net_ring0", "addresses": ["10.0.0.1/24"],
                                  "gateways": ["10.0.0.2"]}}},
         "the gateway 10.0.0.2 did not tell its MAC address", ()),
    ]
    for code, wrong, words, options in cases:
        run = subprocess.run(
            [str(word) for word in space.words([BENCH, "generate", write_spec(lab, wrong),
                                                *options])],
            capture_output=True, text=True, timeout=60)
        assert run.returncode == code, run
        assert words in run.stderr and len(run.stderr.splitlines()) == 1, run.stderr
    usage = subprocess.run([BENCH, "generate", write_spec(lab, spec), "--rate", "3Tpps"],
                           capture_output=True, text=True, timeout=60)
    assert usage.returncode != 0 and "is not a rate" in usage.stderr
