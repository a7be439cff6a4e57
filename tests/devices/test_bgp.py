"""FRR in the router's namespace, with a BGP of its own in each VRF: both customers announce the same prefix, and one
takes over what the other is to share. BIRD speaks for the customers' routers."""

import shutil
from pathlib import Path

import lab as labs
import pytest

FRR = "/usr/lib/frr"
PEERS = {"rr0": ("red", 65010), "br0": ("blue", 65020)}

OF_A_VRF = """
router bgp 65001 vrf {vrf}
 bgp router-id 10.2.0.254
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 neighbor 10.2.0.1 remote-as {number}
 neighbor 10.2.0.1 timers connect 1
 neighbor fd00:2::1 remote-as {number}
 neighbor fd00:2::1 timers connect 1
 address-family ipv4 unicast
  neighbor 10.2.0.1 activate
  {more}
 address-family ipv6 unicast
  neighbor fd00:2::1 activate
 exit-address-family
"""

# Its own before red's, of which else the older one is.
BLUE_TAKES = "import vrf red\n  neighbor 10.2.0.1 weight 100"

BIRD = """
router id 10.2.0.1;
protocol device {{}}
protocol static s4 {{ ipv4; {v4} }}
protocol static s6 {{ ipv6; route 2001:db8:77::/48 unreachable; }}
protocol bgp b4 {{
  local 10.2.0.1 as {number}; neighbor 10.2.0.254 as 65001; connect delay time 1;
  ipv4 {{ import none; export where proto = "s4"; next hop self; }};
}}
protocol bgp b6 {{
  local fd00:2::1 as {number}; neighbor fd00:2::fe as 65001; connect delay time 1;
  ipv6 {{ import none; export where proto = "s6"; next hop self; }};
}}
"""


@pytest.fixture(name="peers")
def run_peers(bed):
    """FRR and both BIRDs, with an address behind each prefix."""
    for program in (f"{FRR}/bgpd", shutil.which("bird") or "/usr/sbin/bird"):
        if not Path(program).exists():
            pytest.skip(f"{program} is not installed: make deps")
    daemons = []
    try:
        for port, (vrf, number) in PEERS.items():
            prefixes = ["203.0.113.0/24"] + (["198.51.100.0/24"] if vrf == "red" else [])
            for address in ("203.0.113.1/32", "198.51.100.1/32"):
                bed.hosts[port].sh(f"ip address add {address} dev lo")
            bed.hosts[port].sh("ip address add 2001:db8:77::1/128 dev lo")
            config = bed.lab.folder / f"bird-{vrf}.conf"
            config.write_text(BIRD.format(v4="".join(f"route {p} unreachable; " for p in prefixes), number=number))
            labs.sh(["bird", "-p", "-c", config])
            daemons.append(bed.hosts[port].start(["bird", "-f", "-c", config, "-s", bed.lab.folder / f"bird-{vrf}.ctl"]))
        config = bed.lab.folder / "frr.conf"
        config.write_text("hostname router\n" + "".join(
            OF_A_VRF.format(vrf=vrf, number=number, more=BLUE_TAKES if vrf == "blue" else "")
            for vrf, number in PEERS.values()))
        bed.guest.sh(["sh", "-c", f"mkdir -p /run/frr && cp {config} /run/frr/ && chown -R frr:frr /run/frr"])
        for daemon in ("zebra", "bgpd"):
            bed.guest.spawn(f"nsenter --net=/run/netns/hecto -- {FRR}/{daemon} -f /run/frr/frr.conf -P 0 "
                            f"-i /run/frr/{daemon}.pid", f"/run/{daemon}.log")
            labs.wait_for(lambda: bed.guest.sh(["test", "-e", f"/run/frr/{daemon}.vty"], check=False) == "", 20,
                          f"{daemon} runs")
        yield
    finally:
        bed.guest.sh(["pkill", "-x", "bgpd|zebra"], check=False)
        for daemon in daemons:
            daemon.terminate()


def routes(bed, vrf):
    return {route["prefix"] for route in bed.api(f"routes?table={vrf}&protocol=bgp")["routes"]}


def test_bgp_in_two_vrfs(bed, peers):
    of_both = {"203.0.113.0/24", "2001:db8:77::/48"}
    labs.wait_for(lambda: routes(bed, "red") == {*of_both, "198.51.100.0/24"}, 60, "red's routes", 0.5)
    labs.wait_for(lambda: routes(bed, "blue") == {*of_both, "198.51.100.0/24"}, 60, "blue's, and one of red's", 0.5)
    for left, right, other in (("rl0", "rr0", "br0"), ("bl0", "br0", "rr0")):
        for version, address in ((4, "203.0.113.1"), (6, "2001:db8:77::1")):
            before, elsewhere = bed.came(right, version), bed.came(other, version)
            assert bed.ping(left, address, 20) == 20, f"{left} to {address}"
            assert (bed.came(right, version) - before, bed.came(other, version) - elsewhere) == (20, 0)
    # Answers go to red's 10.1.0.1: it is enough that the requests come where they are to.
    before, elsewhere = bed.came("rr0"), bed.came("br0")
    bed.ping("bl0", "198.51.100.1", 20)
    assert (bed.came("rr0") - before, bed.came("br0") - elsewhere) == (20, 0), "a route of red's, leaked to blue"
