"""Policers with a bucket for each prefix of a set: who floods pays for it, and nobody else."""

import time

from scapy.layers.l2 import Ether
from scapy.packet import Raw

from test_filters import A4, A6, B6, Bed, udp
from wire import Wire

SETS = {"homes": ["10.1.0.1/32", "10.1.0.2/32", "10.1.0.0/24", "fd00:1::/64"]}


def each(rate="8kbps", burst="20kB", end="source"):
    rule = {"name": "udp", "protocol": "udp", "dport": 7, "police": "fair"}
    rule["from" if end == "source" else "to"] = "homes"
    return {"sets": SETS, "policers": {"fair": {"rate": rate, "burst": burst, "each": end}},
            "filters": {"edge": {"in": ["a0"], "rules": [rule]}}}


def policer(bed):
    found, = bed.router.get("/v1/filters")["policers"]
    return found


def test_one_source_floods_and_the_others_are_untouched(lab):
    bed = Bed(lab, each())
    flood, quiet = udp(7) / Raw(b"x" * 900), [udp(7, "10.1.0.2"), udp(7, "10.1.0.77"), udp(7, A6, B6)]
    packets = []
    for n in range(150):
        packets += [flood] + ([quiet[n // 10 % 3] / Raw(b"y" * 900)] if n % 10 == 0 else [])
    passed = set(bed.passes(packets))
    sent = {"flood": {i for i, p in enumerate(packets) if p.src == A4}}
    sent["others"] = set(range(len(packets))) - sent["flood"]
    assert sent["others"] <= passed, f"{len(sent['others'] - passed)} of those within their rate are lost"
    # 20 kB hold 21 packets of about 950 bytes; 8 kb/s bring one a second.
    assert 20 <= len(sent["flood"] & passed) <= 30
    found = policer(bed)
    assert found["prefixes"] == 4 and found["green"]["packets"] == len(passed), found
    assert found["red"]["packets"] == len(packets) - len(passed) == bed.router.dropped("policed"), found
    only, = found["exceeding"]
    assert (only["prefix"], only["set"], only["packets"]) == ("10.1.0.1/32", "homes", found["red"]["packets"]), only
    shown = bed.router.cli("show", "filters")
    assert "10.1.0.1/32" in shown and "homes" in shown, shown
    bed.router.check_balance()


def test_a_bucket_for_each_destination(lab):
    bed = Bed(lab, each(end="destination") | {"sets": {"homes": ["10.2.0.1/32", "fd00:2::/64"]}})
    flood = [udp(7) / Raw(b"x" * 900)] * 60
    passed = bed.passes(flood + [udp(7, A6, B6) / Raw(b"y" * 900)] * 5)
    assert [i for i in passed if i >= 60] == [60, 61, 62, 63, 64]
    assert 20 <= len([i for i in passed if i < 60]) <= 30
    assert policer(bed)["exceeding"][0]["prefix"] == "10.2.0.1/32"


def test_the_set_changes_under_traffic(lab):
    """What stays within its rate loses nothing, and a bucket that is empty stays so, while others come and go."""
    bed = Bed(lab, each(rate="8Mbps", burst="30kB"))
    before = policer(bed)["green"]["packets"]
    with Wire(bed.a) as near, Wire(bed.b) as far:
        frame = Ether(dst=bed.mac["a0"]) / udp(7, "10.1.0.2") / b"<steady>"
        for n in range(30):
            near.send(frame, count=10)
            prefixes = [f"10.1.{100 + n}.{i}/32" for i in range(50)]
            bed.router.cli("set", "add" if n % 2 == 0 else "delete", "homes",
                           *[p.replace(f".{100 + n}.", f".{100 + n - n % 2}.") for p in prefixes])
        seen = far.receive(lambda f: b"<steady>" in bytes(f), 300, 5.0)
    assert len(seen) == 300
    found = policer(bed)
    assert found["green"]["packets"] - before == 300 and found["red"]["packets"] == 0 and found["prefixes"] == 4, found


def test_an_empty_bucket_stays_empty_while_its_set_changes(lab):
    bed = Bed(lab, each())
    flood = [udp(7) / Raw(b"x" * 900)] * 60
    assert len(bed.passes(flood)) >= 20
    begun = time.monotonic()
    bed.router.cli("set", "add", "homes", "10.1.5.0/24")
    assert len(bed.passes(flood)) <= 3 + (time.monotonic() - begun) * 1.1
    assert len(bed.passes([udp(7, "10.1.5.1") / Raw(b"x" * 900)] * 10)) == 10, "one that comes is full"
    bed.router.cli("set", "delete", "homes", A4 + "/32")
    assert len(bed.passes(flood)) >= 20, "by the prefix around it, which is full"
    bed.router.check_balance()


def test_a_million_prefixes_and_what_is_refused(lab):
    listed = lab.folder / "homes.txt"
    listed.write_text("".join(f"10.{64 + (n >> 16)}.{n >> 8 & 255}.{n & 255}/32\n" for n in range(1_000_000)))
    config = each()
    config["sets"] = {"homes": {"file": str(listed)}}
    bed = Bed(lab, config)
    flood = [udp(7, "10.70.1.2") / Raw(b"x" * 900)] * 60
    passed = bed.passes(flood + [udp(7, "10.79.66.63") / Raw(b"x" * 900)] * 20)
    assert [i for i in passed if i >= 60] == list(range(60, 80))
    assert 20 <= len([i for i in passed if i < 60]) <= 30
    found = policer(bed)
    assert found["prefixes"] == 1_000_000 and found["exceeding"][0]["prefix"] == "10.70.1.2/32", found
    # What a million take is one of few; five are too many, which is said with what they would take.
    wrong = dict(bed.config)
    wrong["policers"] = {f"p{n}": {"rate": "8kbps", "burst": "20kB", "each": "source"} for n in range(5)}
    wrong["filters"] = {"edge": {"in": ["a0"], "rules": [{"from": "homes", "police": f"p{n}"} for n in range(5)]}}
    said = bed.reload(wrong, check=False)
    assert "5000000 prefixes" in said and "915 MiB" in said, said
    assert policer(bed)["prefixes"] == 1_000_000
    bed.router.check_balance()
