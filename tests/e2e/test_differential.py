"""The same frames to hectod and to Linux alone: every difference is none, or in the table of docs/differences.md.

tests/differential/run.py does it with as many frames, and of a seed, as one likes.
"""

import os
import random
import sys
import time
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "differential"))

import beds  # noqa: E402
import cases  # noqa: E402
import compare  # noqa: E402
import frames  # noqa: E402
from lab import wait_for  # noqa: E402

FRAMES = int(os.environ.get("HECTO_FRAMES", 3000))


def test_hectod_does_what_linux_does(lab):
    hectod, linux = beds.hectod_bed(lab), beds.linux_bed(lab)
    try:
        seed = random.randrange(1 << 31)
        print(f"seed {seed}")
        maker = frames.Maker(seed, beds.MACS)
        result = compare.run(hectod, linux, (maker.make(number) for number in range(FRAMES)))
        print(result)
        assert not result.wrong
        assert result.agreed + sum(result.allowed.values()) == FRAMES
        assert result.agreed > 0.85 * FRAMES and result.again <= 0.005 * FRAMES
        here, there = result.unresolved
        assert abs(here - there) <= max(10, 0.3 * there), "neighbors that do not answer"
        totals = hectod.router.get("/v1/drops")["totals"]
        assert totals["received"] >= FRAMES and totals["transmitted"] > 0.2 * FRAMES, totals
    finally:
        hectod.close()
        linux.close()


@pytest.fixture
def two(lab):
    """Makes both beds, with the same commands."""
    made = []

    def make(commands):
        made.extend((beds.hectod_bed(lab, commands=commands), beds.linux_bed(lab, commands=commands)))
        return made
    yield make
    for bed in made:
        bed.close()


def both_say(hectod, linux, frame):
    """What both say to it. Where they differ they are asked once more, after the second in which a sender may share
    its rate with another one, and listened to for longer: a busy machine answers late."""
    here, there = (compare.said_to(bed, frame) for bed in (hectod, linux))
    if here != there:
        time.sleep(1.1)
        here, there = (compare.said_to(bed, frame, quiet=0.5) for bed in (hectod, linux))
    assert here == there, f"{frame.what}\n hectod: {compare.said_of(here)}\n Linux: {compare.said_of(there)}"
    return here


def switches(hectod, name="a0"):
    return next(i for i in hectod.router.get("/v1/interfaces")["interfaces"] if i["name"] == name)["switches"]


def test_the_mtu_of_a_route_is_its_packets(two):
    hectod, linux = two(cases.MTU_ROUTES)
    wait_for(lambda: hectod.router.explain("fd00:92::1")["match"] is not None
             and hectod.router.explain("10.95.0.1")["match"] is not None, 5, "the routes are there")
    longer = cut = answered = 0
    for frame in cases.of_mtus(cases.Made(beds.MACS)):
        came = both_say(hectod, linux, frame)
        fits = len(frame.data) - 14 <= (1500 if "10.93." in frame.what else 1300)
        longer += not fits
        cut += len(came) == 2 and came[0][0] == "b"
        answered += came[0][0] == "a"
        assert fits == (len(came) == 1 and came[0][0] == "b"), frame.what
    assert (longer, cut, answered) == (24, 9, 15)
    assert hectod.router.punted("too_big") == 0, "the fast path forwards, cuts and answers"
    assert hectod.router.get("/v1/drops")["totals"]["fragments"] == cut


def test_redirects_are_linuxs(two):
    hectod, linux = two(cases.REDIRECT_COMMANDS)
    for bed in (hectod, linux):
        bed.in_linux("sysctl -qw net.ipv4.conf.a0.send_redirects=1")
    wait_for(lambda: switches(hectod)["send_redirects"] and hectod.router.has_neighbor("fe80::99")
             and hectod.router.explain("2001:db8:98::1")["match"] is not None, 5, "hectod knows all of it")
    made = cases.Made(beds.MACS)
    for frame, told in cases.of_redirects(made):
        came = both_say(hectod, linux, frame)
        redirects = [data for wire, data in came if wire == "a" and compare.is_redirect(data)]
        assert len(redirects) == told, f"{frame.what}: {compare.said_of(came)}"
    time.sleep(1.1)  # nor does it share its rate with one of those
    # One source goes on and on: nothing is lost, and it is told once in a second.
    for _ in range(50):
        hectod.send(made.udp("10.1.0.16", "203.0.113.7"))
    came = [data for wire, data in hectod.collect() if not compare.is_noise(data)]
    told = [data for data in came if compare.is_redirect(data)]
    assert (len(came) - len(told), len(told)) == (50, 1)
    hectod.in_linux("sysctl -qw net.ipv4.conf.a0.send_redirects=0")
    wait_for(lambda: not switches(hectod)["send_redirects"], 5, "the switch is off")
    before = hectod.router.punted("redirect")
    assert before > 0
    came = compare.said_to(hectod, made.udp("10.1.0.17", "203.0.113.7"))
    assert [compare.is_redirect(data) for _, data in came] == [False], compare.said_of(came)
    assert hectod.router.punted("redirect") == before, "nor does Linux see it"


def test_the_switches_hold(two):
    hectod, linux = two([])
    made = cases.Made(beds.MACS)
    usual = {"forwarding_ipv4": True, "forwarding_ipv6": True, "rp_filter": "off", "send_redirects": False,
             "accept_local": False}
    wait_for(lambda: switches(hectod) == usual, 5, "hectod knows the beds' switches")
    as_usual = [both_say(hectod, linux, frame) for frame in cases.of_switches(made)]
    for key, value, default, seen in cases.SWITCHES:
        for bed in (hectod, linux):
            bed.in_linux(f"sysctl -qw net.{key}={value}")
        wait_for(lambda: switches(hectod) == {**usual, **seen}, 5, f"hectod follows {key}")
        said = [both_say(hectod, linux, frame) for frame in cases.of_switches(made)]
        if "accept_local" in key:
            said.append(both_say(hectod, linux, made.udp("10.2.0.254", frames.B4)))
            assert len(said[-1]) == 1
        elif key != "ipv6.conf.a0.forwarding":
            assert [len(s) for s in said] != [len(s) for s in as_usual] or "inbound" in key, f"{key} changes nothing"
        for bed in (hectod, linux):
            bed.in_linux(f"sysctl -qw net.{key}={default}")
        wait_for(lambda: switches(hectod) == usual, 5, f"hectod follows {key} back")
    assert hectod.router.dropped("not_forwarding") > 0 and hectod.router.dropped("urpf") > 0


def test_own_addresses_as_sources(two):
    """accept_local beside rp_filter: strict takes the interface's own, loose all that are the router's."""
    hectod, linux = two([])
    made = cases.Made(beds.MACS)
    own, of_others = "10.1.0.254", "10.2.0.254"
    for rp_filter, mode, accept, passing in ((1, "strict", 0, []), (1, "strict", 1, [own]),
                                             (2, "loose", 0, []), (2, "loose", 1, [own, of_others])):
        for bed in (hectod, linux):
            bed.in_linux(f"sysctl -qw net.ipv4.conf.a0.rp_filter={rp_filter} net.ipv4.conf.a0.accept_local={accept}")
        wait_for(lambda: (switches(hectod)["rp_filter"], switches(hectod)["accept_local"]) == (mode, accept == 1), 5,
                 "hectod follows")
        for source in (own, of_others):
            said = both_say(hectod, linux, made.udp(source, frames.B4))
            assert len(said) == (source in passing), (mode, accept, source)
    for bed in (hectod, linux):
        bed.in_linux("sysctl -qw net.ipv4.conf.a0.rp_filter=0 net.ipv4.conf.a0.accept_local=0")


def test_the_table_of_differences_is_written_down():
    page = (Path(__file__).parents[2] / "docs" / "differences.md").read_text()
    differences, _, switches_ = page.partition("## Switches")
    rows = {line for line in differences.splitlines() if line.startswith("| ") and not line.startswith("| what is sent")}
    assert rows == {row for *_, row in compare.ALLOWED}
    for key, *_ in cases.SWITCHES:
        assert key.replace("conf.a0", "conf.IFACE") in switches_.replace("{all,IFACE}", "IFACE") or \
            key.replace("conf.all", "conf.{all,IFACE}") in switches_, key
