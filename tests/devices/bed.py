"""The bed: hectod in a guest of user-mode Linux, four hosts around it, two customers with the same addresses.

    red left   10.1.0.1 ── rl0 ┐                    ┌ rr0 ── 10.2.0.1  red right
                               ├  hectod (guest)    ┤
    blue left  10.1.0.1 ── bl0 ┘  VRFs red, blue    └ br0 ── 10.2.0.1  blue right
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "xfrm"), str(HERE.parent / "e2e")]
import lab as labs  # noqa: E402
import uml  # noqa: E402

PORTS = {"rl0": "10.1.0", "rr0": "10.2.0", "bl0": "10.1.0", "br0": "10.2.0"}
SIX = {"rl0": "fd00:1", "rr0": "fd00:2", "bl0": "fd00:1", "br0": "fd00:2"}
VRFS = {"red": 10, "blue": 20}


class Bed:
    def __init__(self):
        self.lab = labs.Lab()
        self.space = self.lab.namespace("w")
        for port in PORTS:
            self.space.sh(f"ip tuntap add {port} mode tap")
            self.space.sh(f"ip link set {port} up")
        self.guest = uml.Guest("router", self.lab.folder, self.space, list(PORTS), 700)
        self.hosts = {}

    def boot(self, tables=()):
        self.guest.wait_up()
        for module in ("vrf", "8021q", "bridge", "macvlan"):
            self.guest.sh(["modprobe", "-d", "/mnt", module], check=False)
        for i in range(len(PORTS)):  # which opens the TAP, in the namespace where it is
            self.guest.sh(f"ip link set eth{i} up promisc on")
        for port, net in PORTS.items():
            host = self.hosts[port] = self.lab.namespace(port)
            self.space.sh(f"ip link set {port} netns {host.name}")
            host.sh(f"ip link set {port} up")
            for command in (f"ip address add {net}.1/24 dev {port}",
                            f"ip address add {SIX[port]}::1/64 dev {port} nodad",
                            f"ip route add default via {net}.254",
                            f"ip -6 route add default via {SIX[port]}::fe"):
                host.sh(command)
        file = self.lab.folder / "hecto.yaml"
        file.write_text(labs.yaml.safe_dump({
            "memory": "160MiB", "idle_sleep_us": 1000, "tables": {"ipv4_engine": "compact", **dict(tables)},
            "api": {"socket": "/run/api.sock"}, "linux": {"namespace": "hecto"},
            "ports": {port: {"device": f"net_af_packet{i},iface=eth{i}"}
                      for i, port in enumerate(PORTS)}}))
        self.guest.spawn(f"{labs.HECTOD} {file}", "/run/hectod.log")
        try:
            labs.wait_for(lambda: self.api("summary"), 60, "hectod answers", 0.3)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.guest.sh('cat /run/hectod.log')}") from None

    def make_vrfs(self):
        """As the kernel's documentation says: local behind the VRFs' rule, each closed by a default."""
        for vrf, table in VRFS.items():
            self.linux(f"ip link add {vrf} type vrf table {table}")
            self.linux(f"ip link set {vrf} up")
            for option in ("-4", "-6"):
                self.linux(f"ip {option} route add unreachable default metric 4278198272 table {table}")
        for option in ("-4", "-6"):
            self.linux(f"ip {option} rule add pref 32765 lookup local")
            self.linux(f"ip {option} rule del pref 0")
        for port, net in PORTS.items():
            self.linux(f"ip link set {port} master {'red' if port[0] == 'r' else 'blue'}")
            self.linux(f"ip address add {net}.254/24 dev {port}")
            self.linux(f"ip address add {SIX[port]}::fe/64 dev {port} nodad")
        for port in PORTS:  # the hosts are known, so that the fast path has them
            for address in (f"{PORTS[port]}.254", f"{SIX[port]}::fe"):
                labs.wait_for(lambda: self.ping(port, address, 1) == 1, 20, f"{port} reaches the router")

    def linux(self, command, **more):
        """In the namespace of Linux's side."""
        return self.guest.sh(["nsenter", "--net=/run/netns/hecto", "--", *command.split()], **more)

    def api(self, noun):
        status, body = self.guest.get("/run/api.sock", f"/v1/{noun}")
        assert status == 200, body
        return json.loads(body)

    def ping(self, port, address, count):
        """Answers."""
        out = self.hosts[port].sh(["ping", "-n", "-q", "-i", "0.05", "-W", 2, "-c", count, address], check=False)
        return int(out.split(" received")[0].split()[-1])

    def came(self, port, version=4):
        """Echo requests that this host has had."""
        name = "Icmp" if version == 4 else "Icmp6"
        path = "/proc/net/snmp" if version == 4 else "/proc/net/snmp6"
        text = self.hosts[port].sh(["cat", path])
        if version == 6:
            return int(text.split("Icmp6InEchos")[1].split()[0])
        names, values = [line.split() for line in text.splitlines() if line.startswith(f"{name}:")]
        return int(values[names.index("InEchos")])

    def totals(self):
        return self.api("drops")["totals"]

    def drops(self, reason):
        return sum(r["packets"] for r in self.api("drops")["drops"] if r["reason"] == reason)

    def logs(self):
        return "\n".join([self.guest.sh(["tail", "-n", "30", "/run/hectod.log"], check=False),
                          self.linux("ip rule", check=False), self.linux("ip route show table all", check=False),
                          json.dumps(self.api("tables")), json.dumps(self.api("drops"))])

    def close(self):
        self.guest.end()
        self.lab.close(check=False)
