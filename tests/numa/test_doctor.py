"""hecto doctor --fix on a kernel: what it writes holds, and what it says undoes it."""

import json
import subprocess
from pathlib import Path

import yaml

import lab as labs
from conftest import NICS, configuration

LIMIT = Path("/proc/sys/net/ipv4/neigh/default/gc_thresh3")
KEPT = Path("/etc/sysctl.d/90-hecto.conf")


def doctor(file, *options):
    return json.loads(labs.sh([labs.HECTO, "doctor", file, "--json", *options], check=False))


def names(answer):
    return {finding["name"] for finding in answer["findings"]}


def test_fix_mends_says_how_to_undo_it_and_persists(tmp_path):
    file = tmp_path / "hecto.yaml"
    # More than the guest has reserved.
    file.write_text(yaml.safe_dump(configuration(memory="700MiB")))
    before, found = LIMIT.read_text(), names(doctor(file))
    assert {"neighbor_limits", "hugepages", "binding"} <= found, found
    answer = doctor(file, "--fix", "--persist")
    try:
        assert answer["failed"] == [], answer
        assert LIMIT.read_text() == "131072\n"
        assert not {"neighbor_limits", "hugepages"} & names(answer), answer
        assert "binding" in names(answer), "NICs are for hecto bind"
        assert "net.ipv4.neigh.default.gc_thresh3 = 131072\n" in KEPT.read_text()
        labs.sh(["sysctl", "-p", KEPT])
    finally:
        for fixed in answer["fixed"]:
            subprocess.run(fixed["undo"], shell=True, check=True)
    assert LIMIT.read_text() == before
    assert not KEPT.exists() and not Path("/etc/tmpfiles.d/hecto.conf").exists()
    assert names(doctor(file)) == found


def test_nics_that_are_polled_from_the_other_socket(tmp_path):
    file = tmp_path / "hecto.yaml"
    file.write_text(yaml.safe_dump(configuration(workers={0: [1]})))
    crossing = [f["what"] for f in doctor(file)["findings"] if f["name"] == "numa"]
    far = [nic for nic in NICS if nic.socket == 1]
    assert crossing == [f"{nic.port}: on socket 1, polled from socket 0"
                        for nic in sorted(far, key=lambda nic: nic.port)], crossing
