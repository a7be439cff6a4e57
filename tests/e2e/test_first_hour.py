"""docs/first-hour.md, command by command: eth1 and eth2 are veths in a namespace that plays the
machine, the provider (BIRD) and a host of the LAN stand behind them.

The router's files are the test's: /etc/hecto/hecto.yaml, the namespace `hecto` and /etc/frr/hecto
have its names. What cannot be done here is named below; a command of the page that is neither run
nor named fails the test.
"""

import re
import shlex
import shutil
from pathlib import Path

import pytest
import yaml

from lab import HECTO, sh, wait_for

PAGE = Path(__file__).parents[2] / "docs" / "first-hour.md"
FRR = Path("/usr/lib/frr")

# It would change the machine that the tests run on, or needs what is not there.
NOT_HERE = {
    "apt install ./hecto_*.deb frr ethtool": "no package is built for this test",
    "systemctl enable --now hectod": "hectod is started as the unit would start it",
    "hecto doctor /etc/hecto/hecto.yaml --fix": "reserves hugepages of this machine",
    "systemctl stop hectod": "no systemd",
    "hecto prepare /etc/hecto/hecto.yaml": "reserves hugepages of this machine",
    "systemctl enable hecto-prepare": "no systemd",
    "systemctl start hectod": "no systemd",
}

BIRD = """
router id 192.0.2.254;
log stderr all;
protocol device {}
protocol static far { ipv4; route 203.0.113.0/24 unreachable; }
protocol bgp hecto {
  local 192.0.2.254 as 65002; neighbor 192.0.2.1 as 65001; connect delay time 1;
  ipv4 { import none; export where proto = "far"; next hop self; };
}
"""


def blocks(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE.read_text(), re.S | re.M)


def block(kind, path):
    """The file that a block shows: its first line is a comment with the path."""
    (text,) = [text for text in blocks(kind) if text.split("\n")[0].split()[-1] == path]
    return text


def commands():
    return [line for text in blocks("sh") for line in text.splitlines()]


class Bed:
    """The machine of the page."""

    def __init__(self, lab):
        self.router = lab.router()
        self.provider = lab.host("p", self.router.space, "eth1", ["192.0.2.254/24"])
        self.host = lab.host("h", self.router.space, "eth2", ["198.51.100.9/24"], ["198.51.100.1"])
        self.provider.sh("ip address add 203.0.113.9/32 dev lo")
        # So that answers come back though the provider imports nothing.
        self.provider.sh("ip route add 198.51.100.0/24 via 192.0.2.1")
        self.name = self.router.linux
        self.frr = Path("/etc/frr") / self.name
        self.sockets = Path("/var/run/frr") / self.name
        conf = lab.folder / "bird.conf"
        conf.write_text(BIRD)
        sh(["bird", "-p", "-c", conf])
        self.provider.start(["bird", "-f", "-c", conf, "-s", lab.folder / "bird.ctl"])

    def write_files(self):
        self.router.write(yaml.safe_load(block("yaml", "/etc/hecto/hecto.yaml")))
        self.frr.mkdir(parents=True)
        self.sockets.mkdir(parents=True)
        shutil.chown(self.sockets, "frr", "frr")
        (self.frr / "frr.conf").write_text(block("text", "/etc/frr/hecto/frr.conf"))

    def run(self, command, check=True):
        """A line of the page, on the machine of the page."""
        words = shlex.split(command)
        words = [word.replace("/etc/hecto/hecto.yaml", str(self.router.file))
                 .replace("/etc/frr/hecto", str(self.frr)) for word in words]
        if words[0] == "hecto":
            words = [str(HECTO), "--socket", str(self.router.socket), *words[1:]]
        elif words[:4] == ["ip", "netns", "exec", "hecto"]:
            words = ["ip", "netns", "exec", self.name, *words[4:]]
        words = [self.name if word == "hecto" and words[i - 1] == "-N" else word
                 for i, word in enumerate(words)]
        if words[0] in ("ip", "vtysh") and words[1] in ("netns", "-N"):
            return sh(words, check=check)
        # With a sysfs of that namespace, which doctor reads.
        return sh(["ip", "netns", "exec", self.router.space.name, *words], check=check)

    def end(self):
        for file in self.sockets.glob("*.pid"):
            pid = file.read_text().strip()
            sh(["kill", pid], check=False)
            wait_for(lambda: not Path(f"/proc/{pid}").exists(), 20, f"{file.stem} ends")
        shutil.rmtree(self.sockets, ignore_errors=True)
        shutil.rmtree(self.frr, ignore_errors=True)


@pytest.fixture
def bed(lab):
    for program in (FRR / "zebra", shutil.which("bird") or "/usr/sbin/bird"):
        if not Path(program).exists():
            pytest.skip(f"{program} is not installed: make deps")
    bed = Bed(lab)
    try:
        yield bed
    finally:
        bed.end()


def test_every_command_of_the_first_hour(bed):
    bed.write_files()
    told = {}
    for command in commands():
        if command == "systemctl enable --now hectod":
            bed.router.launch()
            bed.router.wait_ready()
        if command in NOT_HERE:
            continue
        if command.startswith("hecto show routes --protocol bgp"):
            wait_for(lambda: bed.router.route_count("bgp") == 1, 30, "the BGP route is in the FIB")
        if command.startswith("hecto trace"):
            bed.host.start(["ping", "-n", "-i", "0.2", "203.0.113.9"])
        # doctor: this machine may well have problems, and says so by its code.
        told[command] = bed.run(command, check="doctor" not in command)

    assert "eth1@" in told["ip -brief link"] and "eth2@" in told["ip -brief link"]
    assert told["hecto check /etc/hecto/hecto.yaml"] == ""
    assert re.search(r"^wan0 +eth1 ", told["hecto plan /etc/hecto/hecto.yaml"], re.M)
    assert "this machine has no eth" not in told["hecto doctor /etc/hecto/hecto.yaml"]
    assert re.search(r"^wan0 .* 192\.0\.2\.1/24",
                     told["ip netns exec hecto ip -brief address"], re.M)
    assert " 3 received" in told["ip netns exec hecto ping -c 3 192.0.2.254"]
    assert "192.0.2.254" in told["hecto show neighbors"]
    assert "192.0.2.254" in told["vtysh -N hecto -c 'show bgp summary'"]
    assert "203.0.113.0/24" in told["hecto show routes --protocol bgp"]
    assert "192.0.2.254" in told["hecto show routes 203.0.113.9"]
    assert "= transmitted on wan0" in told["hecto trace --to 203.0.113.9 -n 1"]
    assert "lan0" in told["hecto diff"] and "urpf" in told["hecto diff"]
    assert "urpf: loose" in bed.run("hecto show config")
    assert told["hecto confirm"] == ""
    bed.host.ping("203.0.113.9")


def test_what_is_not_tried_stands_on_the_page():
    page = commands()
    assert [command for command in NOT_HERE if command not in page] == []
    assert len(page) == len(set(page)), "one command twice: the answers would be mixed up"
