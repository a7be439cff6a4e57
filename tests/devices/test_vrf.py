"""VRFs of a real kernel (`ip link ... type vrf`) over hectod's twins."""

import lab as labs

COUNT = 40


def test_two_customers_with_the_same_addresses(bed):
    for version, far in ((4, "10.2.0.1"), (6, "fd00:2::1")):
        for left, right, other in (("rl0", "rr0", "br0"), ("bl0", "br0", "rr0")):
            assert bed.ping(left, far, 3) > 0
            before, elsewhere, punted = bed.came(right, version), bed.came(other, version), bed.totals()["punted"]
            assert bed.ping(left, far, COUNT) == COUNT
            assert bed.came(right, version) - before == COUNT, f"{left}: to the right of its own VRF"
            assert bed.came(other, version) == elsewhere, "and not to the other one"
            assert bed.totals()["punted"] - punted < COUNT, "by the fast path"


def test_shown(bed):
    tables = {table["table"]: table for table in bed.api("tables")["tables"]}
    assert tables[10]["vrf"] == "red" and tables[10]["interfaces"] == ["rl0", "rr0"], tables
    assert tables[20]["vrf"] == "blue" and tables[20]["ipv4_prefixes"] >= 6, tables
    interfaces = {i["name"]: i for i in bed.api("interfaces")["interfaces"]}
    assert interfaces["rl0"]["vrf"] == "red" and interfaces["br0"]["vrf"] == "blue"
    rules = [rule for rule in bed.api("rules")["rules"] if "l3mdev" in rule["rule"]]
    assert len(rules) == 2 and all(rule["done_by"] == "hecto" for rule in rules), rules
    assert not any("policy rules" in line for line in bed.api("summary")["warnings"])
    answer = bed.api("routes?address=10.2.0.1&from=10.1.0.1&interface=bl0")
    assert "br0" in str(answer), answer


def test_own_addresses_answer_in_their_vrf(bed):
    for port, address in (("rl0", "10.2.0.254"), ("bl0", "10.1.0.254"), ("rl0", "fd00:2::fe")):
        labs.wait_for(lambda: bed.ping(port, address, 5) == 5, 20, f"{address} answers {port}")


def test_nothing_leaks_and_a_route_may(bed):
    bed.hosts["br0"].sh("ip address add 10.77.0.1/32 dev lo")
    bed.linux("ip route add 10.77.0.0/24 via 10.2.0.1 dev br0 table 20")
    labs.wait_for(lambda: bed.ping("bl0", "10.77.0.1", 3) == 3, 10, "blue has it")
    assert bed.ping("rl0", "10.77.0.1", 3) == 0, "red has not"
    # A route of red's by blue's interface.
    bed.linux("ip route add 10.77.0.0/24 via 10.2.0.1 dev br0 table 10")
    before = bed.came("br0")
    labs.wait_for(lambda: bed.ping("rl0", "10.77.0.1", 1) >= 0 and bed.came("br0") > before, 10, "red sends it there")
    bed.linux("ip route del 10.77.0.0/24 table 10")


def test_ecmp_and_blackhole_in_a_vrf(bed):
    bed.linux("ip route add blackhole 10.88.0.0/24 table 10")
    before = {drop["reason"]: drop["packets"] for drop in bed.api("drops")["drops"]}.get("blackhole", 0)
    labs.wait_for(lambda: bed.ping("rl0", "10.88.0.1", 1) == 0 and
                  {d["reason"]: d["packets"] for d in bed.api("drops")["drops"]}.get("blackhole", 0) > before,
                  10, "the fast path drops it")


def test_an_interface_set_down_is_read_again_alone(bed):
    """Own addresses of a VRF are routes of its table, with the interface's name on them."""
    def read(line):
        return bed.guest.sh(["cat", "/run/hectod.log"]).count(line)
    whole, alone = "reading Linux's state again", "reading again what leaves by it: link bl0"
    before, already = read(whole), read(alone)
    bed.linux("ip link set bl0 down")
    labs.wait_for(lambda: read(alone) > already, 10, "it is read again")
    labs.wait_for(lambda: "fd00:1::fe/128" not in {r["prefix"] for r in bed.api("routes?table=20")["routes"]}, 10,
                  "Linux has taken its address away")
    bed.linux("ip link set bl0 up")
    bed.linux("ip address add fd00:1::fe/64 dev bl0 nodad", check=False)
    labs.wait_for(lambda: bed.ping("bl0", "10.2.0.1", 3) == 3, 15, "it is back")
    assert read(whole) == before, "nothing else was read for it"


def test_an_interface_leaves_its_vrf_and_comes_back(bed):
    bed.linux("ip link set rr0 nomaster")
    labs.wait_for(lambda: next(i for i in bed.api("interfaces")["interfaces"] if i["name"] == "rr0")["vrf"] is None,
                  10, "it has left")
    labs.wait_for(lambda: bed.ping("rl0", "10.2.0.1", 1) == 0, 10, "red has no way to it")
    bed.linux("ip link set rr0 master red")
    if "10.2.0.254" not in bed.linux("ip address show dev rr0"):
        bed.linux("ip address add 10.2.0.254/24 dev rr0")
    labs.wait_for(lambda: bed.ping("rl0", "10.2.0.1", 3) == 3, 15, "it is back")


def test_a_vrf_that_is_deleted_with_its_members(bed):
    """The last one: what was in blue is in main then."""
    bed.linux("ip link del blue")
    labs.wait_for(lambda: all(i["vrf"] != "blue" for i in bed.api("interfaces")["interfaces"]), 10, "it is gone")
    assert bed.ping("rl0", "10.2.0.1", 5) == 5, "red goes on"
    labs.wait_for(lambda: bed.totals()["in_flight"] == 0, 10, "nothing is under way")
    t = bed.totals()
    assert t["received"] + t["injected"] + t["fragments"] == t["transmitted"] + t["punted"] + t["dropped"], t
