"""hecto bind, unbind and prepare on a kernel that has an IOMMU: what unit tests play on files."""

import json
from pathlib import Path

import yaml

import lab as labs
from conftest import NICS, PCI, configuration

BOUND = Path("/var/lib/hecto/bound.json")
EM, VMX, VIO, VIO1 = (nic.pci for nic in NICS)
DISK = "0000:43:00.0"


def hecto(*words, ok=True):
    out = labs.sh([labs.HECTO, *words], check=ok)
    return out.strip().splitlines()


def refused(*words):
    (line,) = hecto(*words, ok=False)
    assert line.startswith("hecto: "), line
    return line


def driver(pci):
    link = PCI / pci / "driver"
    return link.resolve().name if link.exists() else ""


def interface(pci):
    (found,) = (PCI / pci).glob("virtio*/net/*")
    return found.name


def remembered():
    return {entry["pci"]: (entry["driver"], entry["interface"])
            for entry in json.loads(BOUND.read_text())["devices"]}


def test_a_nic_goes_to_vfio_and_comes_back_as_it_was():
    name = interface(VIO)
    assert hecto("bind", name) == [f"{VIO}: vfio-pci, had virtio-pci as {name}"]
    assert driver(VIO) == "vfio-pci"
    assert remembered() == {VIO: ("virtio-pci", name)}
    assert hecto("bind", VIO) == [f"{VIO}: vfio-pci has it already"]
    assert hecto("unbind", VIO) == [f"{VIO}: virtio-pci, as before"]
    assert (driver(VIO), interface(VIO)) == ("virtio-pci", name)
    assert remembered() == {}


def test_a_name_of_the_operators_comes_back_too():
    name = interface(VIO)
    labs.sh(["ip", "link", "set", name, "down"])
    labs.sh(["ip", "link", "set", name, "name", "wan7"])
    hecto("bind", "wan7")
    hecto("unbind", VIO)
    assert interface(VIO) == "wan7", "the kernel brings its own name, hecto the one of before"
    labs.sh(["ip", "link", "set", "wan7", "name", name])


def test_all_or_none():
    assert "no such device" in refused("bind", VIO, "0000:99:00.0")
    assert driver(VIO) == "virtio-pci"
    assert remembered() == {}


def test_vfs_are_made_bound_and_taken_away():
    """QEMU has no NIC with SR-IOV; to the kernel's PCI code one device's VFs are as another's."""
    count = PCI / DISK / "sriov_numvfs"
    assert hecto("bind", "--vfs", "2", DISK)[0] == f"{DISK}: 2 VFs made"
    functions = [(PCI / DISK / f"virtfn{i}").resolve().name for i in range(2)]
    assert (driver(DISK), [driver(pci) for pci in functions]) == ("nvme", ["vfio-pci"] * 2)
    assert count.read_text() == "2\n"
    assert (PCI / DISK / "sriov_drivers_autoprobe").read_text() == "1\n"
    assert hecto("bind", "--vfs", "2", DISK) == \
        [f"{pci}: vfio-pci has it already" for pci in functions]
    assert "has 2 VFs already" in refused("bind", "--vfs", "1", DISK)
    assert hecto("unbind", DISK)[-1] == f"{DISK}: its VFs are gone"
    assert (count.read_text(), remembered()) == ("0\n", {})
    assert "makes 2 VFs at most" in refused("bind", "--vfs", "3", DISK)


def test_the_default_route_stays():
    name = interface(VIO)
    labs.sh(["ip", "link", "set", name, "up"])
    labs.sh(["ip", "address", "add", "192.0.2.1/24", "dev", name])
    labs.sh(["ip", "route", "add", "default", "via", "192.0.2.254"])
    try:
        assert f"the default route goes by {name}; --force" in refused("bind", VIO)
        assert driver(VIO) == "virtio-pci"
    finally:
        labs.sh(["ip", "route", "del", "default"])
        labs.sh(["ip", "address", "flush", "dev", name])


def as_the_unit(*words):
    """With the capabilities of hecto-prepare.service."""
    text = (Path(__file__).parents[2] / "packaging" / "hecto-prepare.service").read_text()
    (line,) = [line for line in text.splitlines() if line.startswith("CapabilityBoundingSet=")]
    names = ",".join("+" + name.removeprefix("CAP_").lower()
                     for name in line.partition("=")[2].split())
    return labs.sh(["setpriv", f"--bounding-set=-all,{names}", "--inh-caps=-all", "--no-new-privs",
                    labs.HECTO, *words])


def test_prepare_does_hugepages_and_every_nic_of_the_file(tmp_path):
    before = {pci: driver(pci) for pci in (EM, VMX, VIO, VIO1)}
    file = tmp_path / "hecto.yaml"
    file.write_text(yaml.safe_dump(configuration()))
    done = as_the_unit("prepare", file)
    assert {driver(pci) for pci in before} == {"vfio-pci"}, done
    free = sum(int((pages / "free_hugepages").read_text()) << 21 for pages in
               Path("/sys/devices/system/node").glob("node*/hugepages/hugepages-2048kB"))
    planned = json.loads("\n".join(hecto("plan", file, "--json")))["placement"]["memory_bytes"]
    assert free >= planned + planned // 8, (free, planned, done)
    again = hecto("prepare", file)
    assert sorted(again) == [f"{pci}: vfio-pci has it already" for pci in sorted(before)]
    problems = [f["name"] for f in json.loads("\n".join(hecto("doctor", file, "--json", ok=False)))
                ["findings"] if f["severity"] == "problem"]
    assert not {"binding", "device", "iommu", "vfio", "hugepages"} & set(problems), problems
    hecto("unbind", "--all")
    assert {pci: driver(pci) for pci in before} == before
    assert remembered() == {}
