"""IPsec never leaks while hectod starts, nor where Linux has more policies than there is room for.

What is sent carries MARK, as in test_leaks.
"""

import json
import subprocess
import sys
import time

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from conftest import make_pair
from esp import ipsec_section, is_esp
from lab import sh, wait_for
from test_features import port_mac
from test_leaks import FAR, MARK, THERE, marked, policy, tunnels
from wire import Wire

SENDER = """
import socket, sys, time
frame, seconds = bytes.fromhex(sys.argv[1]), float(sys.argv[2])
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
wire.bind(("e0", 0))
sent, begin = 0, time.monotonic()
while (now := time.monotonic() - begin) < seconds:
    for _ in range(int(now * 20000) - sent):
        try:
            wire.send(frame)
        except OSError:
            pass
        sent += 1
    time.sleep(0.001)
"""


def plaintext_at_start(lab):
    """A pair that is not started, its configuration, and a frame of a's for behind the tunnel."""
    pair = make_pair(lab, start=False)
    config = {**pair.config, "routes": [{"to": "10.100.0.0/16", "via": THERE}],
              "neighbors": [{"interface": "b0", "address": THERE, "mac": pair.b.mac}]}
    mac = json.loads(pair.router.space.sh("ip -json link show va"))[0]["address"]
    frame = Ether(dst=mac, src=pair.a.mac) / IP(src="10.1.0.1", dst=FAR) / UDP(dport=9) / MARK
    return pair, config, bytes(frame)


def test_nothing_leaves_in_clear_while_it_starts(lab):
    """20,000 packets/s from before the start until ESP flows, several times."""
    made = tunnels()
    pair, config, frame = plaintext_at_start(lab)
    config["ipsec"] = ipsec_section(made)
    router, refused = pair.router, 0
    for turn in range(4):
        with Wire(pair.b) as at_b:
            sender = pair.a.start([sys.executable, "-c", SENDER, frame.hex(), "60"])
            time.sleep(0.3)
            router.start(config, wait=False)
            first = at_b.receive(
                lambda p: marked(p) or is_esp(p, made[0].from_hecto.spi), 1, 30)
            assert first and not marked(first[0]), (turn, first, router.log())
            assert not at_b.receive(marked, 1, 0.5), f"start {turn}: it left in the clear"
            router.wait_ready()
            refused += router.dropped("not_ready")
            sender.terminate()
            sender.wait(10)
            router.check_balance()
            router.stop()
    assert refused > 0, "no start had anything to hold back: nothing was tried"


def needs_xfrm(router):
    if "no IPsec" in router.log() or "no XFRM" in router.log():
        pytest.skip("this kernel has no XFRM")


def test_nothing_leaves_in_clear_before_the_policies_of_linux_are_read(lab):
    """One that discards is in the kernel before hectod starts, behind a thousand of others."""
    pair, config, frame = plaintext_at_start(lab)
    router = pair.router
    sh(["ip", "netns", "add", router.linux])
    batch = "".join(f"policy add src 172.16.{n // 256}.{n % 256}/32 dst 10.0.0.0/8 dir out "
                    "action allow priority 9\n" for n in range(1000))
    done = subprocess.run(["nsenter", f"--net=/run/netns/{router.linux}", "--", "ip", "-batch", "-",
                           ], input="".join("xfrm " + line + "\n" for line in
                                            batch.splitlines()), text=True, capture_output=True)
    if done.returncode != 0:
        pytest.skip(f"this kernel has no XFRM: {done.stderr[:200]}")
    router.linux_sh("ip xfrm policy add src 10.1.0.0/16 dst 10.100.0.0/16 dir out action block")
    refused = 0
    for turn in range(3):
        with Wire(pair.b) as at_b:
            sender = pair.a.start([sys.executable, "-c", SENDER, frame.hex(), "60"])
            time.sleep(0.3)
            router.start(config)
            wait_for(lambda: router.dropped("policy_discard") > 100, 20, "the policy holds")
            assert not at_b.receive(marked, 1, 1), f"start {turn}: it left in the clear"
            refused += router.dropped("not_ready")
            sender.terminate()
            sender.wait(10)
            router.check_balance()
            router.stop()
    assert refused > 0, "no start had anything to hold back: nothing was tried"


def test_a_policy_for_which_there_is_no_room_lets_nothing_pass(lab):
    """Of the kernel, behind those that ipsec.max_policies takes."""
    section = {"max_policies": 1, "policies": [
        policy("out", "10.1.0.0/24", "10.2.0.0/30", action="bypass", priority=5)]}
    pair = make_pair(lab, config={"ipsec": section})
    router = pair.router
    needs_xfrm(router)
    pair.b.sh("ip address add 10.2.0.9/24 dev e0")
    for far in ("10.2.0.1", "10.2.0.9"):
        wait_for(lambda far=far: " 1 received" in pair.a.ping(far, count=1, ok=False), 10, far)
    router.linux_sh("ip xfrm policy add src 10.7.0.0/16 dst 10.8.0.0/16 dir out action block "
                    "priority 9")
    wait_for(lambda: "is left out" in router.log(), 5, "it is said")
    to = Ether(dst=port_mac(router, "a0"))
    with Wire(pair.a) as at_a, Wire(pair.b) as at_b:
        at_a.send(to / IP(src="10.1.0.1", dst="10.2.0.9") / UDP(dport=9) / MARK)
        assert not at_b.receive(marked, 1, 1), "it left in the clear"
        assert router.dropped("policy_left_out") >= 1, router.get("/v1/drops")
        at_a.send(to / IP(src="10.1.0.1", dst="10.2.0.1") / UDP(dport=9) / MARK)
        assert at_b.receive(marked, 1), "a better policy lets it pass"
        # Gone again: all are read again, and nothing is left out.
        router.linux_sh("ip xfrm policy flush")

        def passes():
            at_a.send(to / IP(src="10.1.0.1", dst="10.2.0.9") / UDP(dport=9) / MARK)
            return at_b.receive(marked, 1, 0.3)
        wait_for(passes, 30, "what no policy is for passes again")
