"""What the API was asked to keep is there again after a restart, without a service manager: a file in
the state directory. And the disks that it may meet: full, read-only, damaged."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import make_pair
from lab import HECTO, wait_for
from service_manager import ServiceManager

SA = {"source": "10.2.0.254", "destination": "10.2.0.1", "spi": 0x1001, "reqid": 7,
      "cipher": "aes-128-gcm", "key": "0x" + "0123456789abcdef" * 2 + "deadbeef", "persist": True}
POLICY = {"direction": "out", "source": "10.1.0.0/16", "destination": "198.51.100.0/24",
          "persist": True,
          "protect": {"source": "10.2.0.254", "destination": "10.2.0.1", "reqid": 7}}


def end(router, how):
    router.process.send_signal(how)
    router.process.wait(30)


def restart(router, how, prefix=()):
    end(router, how)
    router.launch(prefix)
    return router.wait_ready()


def post(router, path, body):
    status, answer = router.request("POST", path, body)
    assert status == 200, answer


def sa(router):
    return next((one for one in router.get("/v1/ipsec")["sas"] if one["spi"] == "0x00001001"), None)


def warnings(router):
    return [line for line in router.get("/v1/summary")["warnings"] if line.startswith("persist: ")]


def test_routes_sas_and_policies_outlive_each_end(pair):
    """And the SA sends no number twice; what is deleted, or did not ask for it, does not come back."""
    router = pair.router
    router.cli("route", "add", "203.0.113.0/24", "via", "10.2.0.1", "--persist")
    router.cli("route", "add", "192.0.2.0/24", "via", "10.2.0.1")
    post(router, "/v1/ipsec/sas", SA)
    post(router, "/v1/ipsec/policies", POLICY)
    router.cli("route", "add", "198.51.100.0/24", "via", "10.2.0.1", "--persist")
    assert "api (persist)" in router.cli("show", "routes", "--all")
    assert "persist" in router.cli("show", "ipsec")
    kept = router.folder / "state"
    assert sorted(oct(file.stat().st_mode & 0o777) for file in kept.iterdir()) == ["0o600"] * 2
    sent = 0
    for how in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
        pair.a.ping("198.51.100.7", "-i", "0.01", count=20, ok=False, timeout=1)
        wait_for(lambda: sa(router)["sequence"] >= sent + 20, 5, "it sends")
        sent = sa(router)["sequence"]
        restart(router, how)
        assert router.explain("203.0.113.9")["match"]["prefix"] == "203.0.113.0/24"
        assert router.explain("192.0.2.9")["match"] is None
        assert sa(router)["persist"] and sa(router)["sequence"] >= sent
        assert [policy["persist"] for policy in router.get("/v1/ipsec")["policies"]] == [True]
        assert not warnings(router)
        sent = sa(router)["sequence"]
        pair.a.ping("10.2.0.1")
    router.cli("route", "delete", "--all")
    router.request("DELETE", "/v1/ipsec/sas?destination=10.2.0.1&spi=0x1001")
    router.request("DELETE", "/v1/ipsec/policies", POLICY)
    restart(router, signal.SIGKILL)
    assert router.get("/v1/routes")["counts"]["by_origin"]["api"] == 0
    assert not router.get("/v1/ipsec")["sas"] and not router.get("/v1/ipsec")["policies"]
    assert not list(kept.glob("*.kept"))


def test_they_are_there_under_a_service_manager_as_well(lab):
    bed = make_pair(lab, start=False)
    router = bed.router
    router.write(bed.config)
    service = ServiceManager(router)
    service.start()
    router.cli("route", "add", "203.0.113.0/24", "via", "10.2.0.1", "--persist")
    post(router, "/v1/ipsec/sas", SA)
    for kill in (False, True):
        service.restart(kill)
        assert router.explain("203.0.113.9")["match"]["prefix"] == "203.0.113.0/24"
        assert sa(router)["persist"]


def test_a_full_disk_refuses_and_changes_nothing(lab):
    """Of its own: 64 KiB, full but for what is there."""
    bed = make_pair(lab, start=False)
    router = bed.router
    router.write(bed.config)
    state = router.folder / "state"
    state.mkdir()
    router.launch(["unshare", "--mount", "sh", "-c",
                   f'mount -t tmpfs -o size=64k,nr_inodes=8 tmpfs {state} && exec "$@"', "sh"])
    router.wait_ready()
    router.cli("route", "add", "203.0.113.0/24", "via", "10.2.0.1", "--persist")
    inside = ["nsenter", "--mount", f"--target={router.process.pid}"]
    subprocess.run([*inside, "sh", "-c", f"cat /dev/zero > {state}/other 2>&-"], check=False)
    refused = subprocess.run(
        [HECTO, "--socket", router.socket, "route", "add", "198.51.100.0/24", "via", "10.2.0.1",
         "--persist"], capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "No space left on device; nothing was changed" in refused.stderr
    assert router.explain("198.51.100.9")["match"] is None
    status, answer = router.request("POST", "/v1/ipsec/sas", SA)
    assert status == 409 and "No space left on device" in answer["error"]
    assert "0123456789abcdef" not in json.dumps(answer)
    assert sa(router) is None
    names = subprocess.run([*inside, "ls", state], capture_output=True, text=True, check=True).stdout
    assert sorted(re.sub(r".*\.", "", name) for name in names.split()) == ["kept", "other"]
    subprocess.run([*inside, "rm", state / "other"], check=True)
    post(router, "/v1/ipsec/sas", SA)


READ_ONLY = 'mount --bind {0} {0} && mount -o remount,bind,ro {0} && exec "$@"'


def test_a_state_directory_that_is_read_only_or_damaged(pair):
    """Said where the operator looks; routes of before are there, SAs are not, and nothing is written."""
    router = pair.router
    router.cli("route", "add", "203.0.113.0/24", "via", "10.2.0.1", "--persist")
    post(router, "/v1/ipsec/sas", SA)
    state = router.folder / "state"
    before = {file.name: file.read_bytes() for file in state.iterdir()}
    end(router, signal.SIGKILL)
    router.launch(["unshare", "--mount", "sh", "-c", READ_ONLY.format(state), "sh"])
    router.wait_ready()
    assert router.explain("203.0.113.9")["match"]["prefix"] == "203.0.113.0/24"
    assert sa(router) is None
    said = warnings(router)
    assert len(said) == 1 and "SA 10.2.0.1 0x00001001" in said[0], said
    assert "Read-only file system" in said[0]
    out = subprocess.run([HECTO, "--socket", router.socket, "route", "add", "198.51.100.0/24", "via",
                          "10.2.0.1", "--persist"], capture_output=True, text=True, check=False)
    assert out.returncode == 1 and "Read-only file system; nothing was changed" in out.stderr
    assert {file.name: file.read_bytes() for file in state.iterdir()} == before

    end(router, signal.SIGKILL)
    damaged = next(state.glob("*.kept"))
    damaged.write_bytes(damaged.read_bytes()[:-30])
    router.launch()
    router.wait_ready()
    said = warnings(router)
    assert len(said) == 1 and f"{damaged} is damaged" in said[0], said
    assert router.explain("203.0.113.9")["match"] is None
    pair.a.ping("10.2.0.1")


@pytest.mark.parametrize("folder", ["/run", "/run/hecto"])
def test_a_run_that_is_read_only(lab, folder):
    """hectod ends with one line that says what to do; nothing is made, and it starts once that is done."""
    bed = make_pair(lab, start=False)
    router = bed.router
    router.socket = Path(f"/run/hecto/{router.name}-{os.getpid()}.sock")
    router.write(bed.config)
    os.makedirs("/run/hecto", exist_ok=True)
    links = router.space.sh("ip -o link")
    router.launch(["unshare", "--mount", "sh", "-c", READ_ONLY.format(folder), "sh"])
    assert router.process.wait(30) == 1, router.log()
    errors = [line for line in router.log().splitlines() if "error" in line]
    assert len(errors) == 1, router.log()
    assert "/run/hecto" in errors[0] and "Read-only file system" in errors[0]
    assert "; make it writable: " in errors[0], errors[0]
    assert router.space.sh("ip -o link") == links
    router.launch()
    router.wait_ready()
    bed.a.ping("10.2.0.1")
