"""What a guest of two NUMA nodes has: NICs of three makes, a wire and a host to each."""

import json
import os
import re
import sys
import termios
import tty
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "e2e"))
import lab as labs  # noqa: E402

PCI = Path("/sys/bus/pci/devices")


@dataclass
class Nic:
    port: str    # hectod's name for it
    pci: str
    socket: int  # as the kernel tells it
    wire: int    # of run.py's list; QEMU calls the NIC's end wireN

    @property
    def router_address(self):
        return f"10.{self.wire + 1}.0.254"

    @property
    def host_address(self):
        return f"10.{self.wire + 1}.0.1"


# The order is that of run.py's NICS.
FOUND = [("em0", "0000:41:00.0"), ("vmx0", "0000:81:00.0"), ("vio0", "0000:42:00.0"),
         ("vio1", "0000:82:00.0")]
NICS = [Nic(port, pci, int((PCI / pci / "numa_node").read_text()), wire)
        for wire, (port, pci) in enumerate(FOUND)]


class WiredHost(labs.Namespace):
    """A namespace that has taken the kernel's NIC at the other end of a wire."""

    def __init__(self, lab, nic):
        super().__init__(lab, f"host{nic.wire}")
        mac = f"02:00:00:00:00:0{nic.wire}"
        name = next(link.name for link in Path("/sys/class/net").iterdir()
                    if (link / "address").read_text().strip() == mac)
        labs.sh(["ip", "link", "set", name, "netns", self.name, "name", "e0"])
        self.sh("ip link set e0 up")
        self.sh(["ip", "address", "add", f"{nic.host_address}/24", "dev", "e0"])
        self.sh(["ip", "route", "add", "default", "via", nic.router_address])

    def ping(self, address, count=5, size=56):
        return self.sh(["ping", "-n", "-i", "0.2", "-c", count, "-W", 5, "-M", "do", "-s", size,
                        address], check=False)


class Monitor:
    """QEMU's own, at the other end of the second serial line."""

    def __init__(self):
        self.line = os.open("/dev/ttyS1", os.O_RDWR | os.O_NOCTTY)
        tty.setraw(self.line)

    def order(self, words):
        termios.tcflush(self.line, termios.TCIFLUSH)  # what it answered before
        # The first line ends what the terminal had echoed to it before it was raw.
        os.write(self.line, f"\n{words}\n".encode())

    def set_link(self, nic, on):
        self.order(f"set_link wire{nic.wire} {'on' if on else 'off'}")

    def take_out(self, nic):
        self.order(f"device_del nic{nic.wire}")

    def put_back(self, nic):
        """As run.py plugs a virtio NIC."""
        self.order(f"device_add virtio-net-pci,netdev=wire{nic.wire},id=nic{nic.wire},"
                   f"bus=slot{nic.wire},romfile=,mac=02:00:00:00:01:0{nic.wire},"
                   "iommu_platform=on,disable-legacy=on")


@pytest.fixture(scope="session")
def monitor():
    return Monitor()


@pytest.fixture(scope="session")
def bed():
    """The lab that lasts as long as the guest."""
    labs.sh([labs.HECTO, "bind", *(nic.pci for nic in NICS)])
    lab = labs.Lab()
    lab.hosts = {nic.port: WiredHost(lab, nic) for nic in NICS}
    yield lab
    lab.close(check=False)


def configuration(ports=None, **more):
    # An emulated CPU has better to do than to look for packets or to clear large pools.
    nics = {nic.port: {"device": nic.pci, "addresses": [f"{nic.router_address}/24"],
                       "rx_descriptors": 512, "tx_descriptors": 512} for nic in NICS}
    return {"idle_sleep_us": 5000, "ports": ports or nics, **more}


def run_router(bed, name, config):
    """hectod until the tests that share it are done; then every packet and mbuf is counted."""
    router = bed.router(name)
    try:
        yield router.start(config)
        router.finish()
    except BaseException:
        print(bed.logs())
        raise
    finally:
        bed.routers.remove(router)
        if router.process is not None:
            router.process.terminate()
            labs.end(router.process)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    bed = item.funcargs.get("bed") if hasattr(item, "funcargs") else None
    if report.failed and bed is not None:
        report.sections.append(("hectod's log", bed.logs()))


@pytest.fixture(scope="module")
def right(bed):
    """`workers: auto`."""
    yield from run_router(bed, "right", configuration())


def memory_by_node(pid):
    """Pages of /proc/PID/numa_maps as {(kind, node): bytes}; kind is huge, bind:N or default."""
    found = {}
    for line in Path(f"/proc/{pid}/numa_maps").read_text().splitlines():
        words = line.split()
        page = int(re.search(r"kernelpagesize_kB=(\d+)|$", line)[1] or 4) * 1024
        kind = "huge" if "huge" in words else words[1]
        for node, pages in re.findall(r" N(\d+)=(\d+)", line):
            key = kind, int(node)
            found[key] = found.get(key, 0) + int(pages) * page
    return found


def plan(bed, config):
    file = bed.folder / "plan.yaml"
    file.write_text(labs.yaml.safe_dump(config))
    text = labs.sh([labs.HECTO, "plan", file])
    return text, json.loads(labs.sh([labs.HECTO, "plan", file, "--json"]))


def queue_sockets(workers):
    """{port: sockets of the workers that poll it}."""
    sockets = {}
    for worker in workers:
        for queue in worker["queues"]:
            sockets.setdefault(queue["port"], set()).add(worker["socket"])
    return sockets


def ping_across(router, bed, source, target, size=56):
    """Packets and the counters of both ports on the way."""
    def packets():
        return {p["name"]: (p["rx"]["packets"], p["tx"]["packets"])
                for p in router.get("/v1/ports")["ports"]}
    count = 5
    other = next(nic for nic in NICS if nic.port == target)
    bed.hosts[source].ping(other.host_address, count=1)  # neighbors
    before = packets()
    out = bed.hosts[source].ping(other.host_address, count, size)
    assert f" {count} received" in out, \
        out + router.cli("show", "ports") + router.cli("show", "drops")
    after = packets()
    for port in (source, target):
        received, sent = (after[port][way] - before[port][way] for way in (0, 1))
        # ARP may be among them.
        assert count <= received <= count + 4 and count <= sent <= count + 4, (before, after)
    for port in after.keys() - {source, target}:
        assert after[port][1] - before[port][1] <= 2, (before, after)
