"""What a running hectod has given up, and who may do what by its API."""

import grp
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from conftest import make_pair
from lab import HECTO, HECTOD, SANITIZED, sh, wait_for
from test_ports import with_c

NOBODY = 65534
UNIT = Path(__file__).parents[2] / "packaging" / "hectod.service"
CAPABILITIES = {"net_admin": 12, "net_raw": 13, "sys_admin": 21, "bpf": 39}
SYS_execve, SYS_unshare = 59, 272


def threads(router):
    """Of each thread its name and the fields of its status."""
    found = []
    for task in Path(f"/proc/{pid_of(router)}/task").iterdir():
        try:
            text = (task / "status").read_text()
        except FileNotFoundError:  # a thread that looks into another namespace has ended
            continue
        status = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
        found.append((int(task.name), status))
    return found


def pid_of(router):
    """nsenter replaces itself, so the process is hectod's own."""
    return router.process.pid


def bits(names):
    return sum(1 << CAPABILITIES[name] for name in names)


@pytest.mark.skipif(SANITIZED, reason="a sanitizer's build has no filter")
def test_control_keeps_four_capabilities_and_the_other_threads_none(pair):
    pid = pid_of(pair.router)
    seen = threads(pair.router)
    assert len(seen) >= 6, seen  # control, a worker, the slow path, DPDK's, the log, the API
    for task, status in seen:
        assert status["NoNewPrivs"] == "1", (task, status)
        assert status["Seccomp"] == "2", (task, status)
        effective, permitted = int(status["CapEff"], 16), int(status["CapPrm"], 16)
        if task == pid:
            # Where the limit on locked memory cannot be lifted, ipc_lock stays for AF_XDP.
            assert permitted & ~(1 << 14) == bits(CAPABILITIES), hex(permitted)
        else:
            assert effective == permitted == 0, (task, status["Name"], hex(permitted))
    # Workers and the slow path have a second filter over the first, and so has the API.
    filters = sorted(int(status["Seccomp_filters"]) for _, status in seen)
    assert filters[0] == 1 and filters.count(2) >= 4, filters
    assert "privileges: control keeps net_admin, net_raw, sys_admin, bpf" in pair.router.log()
    assert "other threads none; no new privileges; system calls are filtered" in pair.router.log()


def test_all_goes_on_with_that_a_port_of_each_kind_comes_and_goes(pair):
    """AF_XDP with its program and map, AF_PACKET, a TAP device: opened by the confined process."""
    c = pair.lab.host("c", pair.router.space, "vc", ["10.3.0.1/24"], ["10.3.0.254"])
    for device in ("vc", "net_af_packet0,iface=vc"):
        pair.router.write(with_c(pair, device=device))
        pair.router.cli("reload")
        c.ping("10.2.0.1", count=1, ok=False)
        c.ping("10.2.0.1")
        pair.router.write(pair.config)
        pair.router.cli("reload")
    pair.router.linux_sh("ip link add link a0 name a0.7 type vlan id 7", check=False)
    assert "is not on the list" not in pair.router.log()
    pair.router.stop()
    assert not Path(f"/run/netns/{pair.router.linux}").exists(), "its name is taken away at the end"


def test_unconfined_keeps_all_and_says_so(lab):
    router = lab.router()
    lab.host("a", router.space, "va", ["10.1.0.1/24"])
    router.write({"ports": {"a0": {"device": "va", "addresses": ["10.1.0.254/24"]}}})
    with open(router.log_file, "a") as log:
        router.process = subprocess.Popen(
            router.space.words([HECTOD, "--unconfined", router.file]), stdout=log, stderr=log)
    router.wait_ready()
    assert {status["Seccomp"] for _, status in threads(router)} == {"0"}
    assert "--unconfined: all are kept" in router.log()


def as_nobody(group, *words):
    """The exit code and what was said, by a user who is in one group alone."""
    groups = ["--clear-groups"] if group is None else [f"--groups={group}"]
    run = subprocess.run(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", *groups, *map(str, words)],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    return run.returncode, run.stdout


@pytest.fixture
def three_groups(lab):
    """A router whose roles are groups that every Debian has, and the way to its socket."""
    names = {"read_group": "games", "operate_group": "tape", "admin_group": "sudo"}
    for name in names.values():
        try:
            grp.getgrnam(name)
        except KeyError:
            pytest.skip(f"there is no group {name} here")
    router = lab.router()
    for folder in (lab.folder, router.folder):
        folder.chmod(0o755)
    command = lab.folder / "hecto"  # the build's folder may be closed to others
    shutil.copy(HECTO, command)
    command.chmod(0o755)
    make_pair_of(router, lab, {"api": {"socket": str(router.socket), **names}})

    def hecto(group, *words):
        gid = None if group is None else grp.getgrnam(group).gr_gid
        return as_nobody(gid, command, "--socket", router.socket, *words)
    return router, hecto


def make_pair_of(router, lab, more):
    lab.host("a", router.space, "va", ["10.1.0.1/24"])
    router.start({"ports": {"a0": {"device": "va", "addresses": ["10.1.0.254/24"]}}, **more})


def test_roles_are_groups(three_groups):
    router, hecto = three_groups
    code, said = hecto(None, "show", "ports")
    assert code == 1 and "no role" in said and said.count("\n") == 1, said
    assert hecto("games", "show", "ports")[0] == 0
    code, said = hecto("games", "reload")
    assert code == 1 and "needs the role admin; yours is read" in said, said
    assert said.count("\n") == 1, said
    code, said = hecto("games", "trace", "--count", "1")
    assert code == 1 and "needs the role operate; yours is read" in said, said
    code, said = hecto("tape", "reload")
    assert code == 1 and "needs the role admin; yours is operate" in said, said
    code, said = hecto("sudo", "reload")
    assert code == 0, said
    router.cli("reload")  # root needs no group


def test_a_group_that_is_not_there_is_refused_at_the_start(lab):
    router = lab.router()
    lab.host("a", router.space, "va", ["10.1.0.1/24"])
    router.start({"ports": {"a0": {"device": "va", "addresses": ["10.1.0.254/24"]}},
                  "api": {"socket": str(router.socket), "read_group": "no-such-group-here"}},
                 wait=False)
    assert router.process.wait(60) == 1
    assert "api.read_group: there is no group no-such-group-here" in router.log()
    router.process = None


def test_a_reload_reads_nothing_outside_its_folder(pair):
    """Nor quotes it; and what it may not read it does not open, by a link neither."""
    secret = pair.lab.folder / "secret.yaml"
    secret.write_text("root-password: hunter2\n")
    router = pair.router

    def refused(path):
        status, answer = router.request("POST", "/v1/reload", {"file": str(path)})
        assert status == 409, answer
        assert "hunter2" not in str(answer) and "root-password" not in str(answer), answer
        assert "a running hectod reads nothing else" in answer["problems"][0], answer
    refused(secret)
    refused("/etc/shadow")
    link = router.folder / "link.yaml"
    link.symlink_to(secret)
    refused(link)
    inside = router.folder / "inside.yaml"
    config = yaml.safe_load(router.file.read_text())
    for more in ({"route_files": ["../secret.yaml"]}, {"route_files": ["/etc/shadow"]}):
        inside.write_text(yaml.safe_dump({**config, **more}))
        refused(inside)
    inside.write_text(yaml.safe_dump(config))
    status, answer = router.request("POST", "/v1/reload", {"file": str(inside)})
    assert status == 200, answer


def test_a_reload_brings_no_device_that_writes_files(pair):
    target = pair.router.folder / "written.pcap"
    config = yaml.safe_load(pair.router.file.read_text())
    config["ports"]["c0"] = {"device": f"net_pcap0,iface=va,tx_pcap={target}"}
    pair.router.file.write_text(yaml.safe_dump(config))
    status, answer = pair.router.request("POST", "/v1/reload")
    assert status == 409 and "reads or writes a file" in answer["problems"][0], answer
    assert not target.exists()


def test_the_unit_says_the_same():
    """systemd's own judgement of the unit; 2.9 when this was written, and README says of what."""
    tool = shutil.which("systemd-analyze")
    if tool is None:
        pytest.skip("systemd-analyze is not here")
    out = sh([tool, "security", "--offline=true", "--no-pager", UNIT], check=False)
    if "Unknown option" in out or "unrecognized option" in out:
        pytest.skip("systemd-analyze is too old to look at a file")
    last = [line for line in out.splitlines() if "Overall exposure level" in line][0]
    assert float(last.split(":")[1].split()[0]) < 3.0, last
    text = UNIT.read_text()
    assert "CapabilityBoundingSet=CAP_NET_ADMIN CAP_NET_RAW CAP_SYS_ADMIN CAP_BPF CAP_IPC_LOCK\n" \
        in text, \
        "what hectod keeps (router/process/privileges/privileges.cpp) is what the unit gives"


def capabilities_of_the_unit():
    names = "+net_admin,+net_raw,+sys_admin,+bpf,+ipc_lock"
    return ["setpriv", "--bounding-set=-all," + names, "--inh-caps=-all"]


def test_it_starts_with_no_more_than_the_unit_gives(lab):
    """The capabilities of the unit are enough for a start with AF_XDP ports and twins."""
    router = lab.router()
    a = lab.host("a", router.space, "va", ["10.1.0.1/24"])
    router.start({"ports": {"a0": {"device": "va", "addresses": ["10.1.0.254/24"]}}},
                 prefix=capabilities_of_the_unit())
    a.ping("10.1.0.254")
    assert os.stat(router.socket).st_mode & 0o777 == 0o660


@pytest.mark.skipif(SANITIZED, reason="a sanitizer makes calls of its own")
def test_it_forwards_in_the_sandbox_of_the_unit(lab):
    """A read-only file system and the unit's system calls: start, forwarding both ways, a port that
    comes by a reload, the end."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze, which knows systemd's sets of system calls, is not here")
    pair = make_pair(lab, start=False)
    router = pair.router
    sh(["ip", "netns", "add", router.linux])  # hecto-netns.service
    Path("/run/dpdk").mkdir(exist_ok=True)  # RuntimeDirectory=, and so is the lab's folder
    Path("/run/hecto").mkdir(exist_ok=True)
    sandbox = ["unshare", "--mount", sys.executable, Path(__file__).with_name("sandbox.py"), UNIT,
               lab.folder, "/run/dpdk", "/run/hecto", "--"]
    late = lab.host("c", router.space, "vc", ["10.3.0.1/24"])
    router.start(pair.config, prefix=[*capabilities_of_the_unit(), *sandbox])
    pair.a.ping("10.2.0.1")
    pair.a.ping("10.1.0.254")
    config = yaml.safe_load(router.file.read_text())
    config["ports"]["c0"] = {"device": "vc", "addresses": ["10.3.0.254/24"]}
    router.file.write_text(yaml.safe_dump(config))
    router.cli("reload")
    late.ping("10.3.0.254")
    # It is the sandbox that it ran in.
    inside = ["nsenter", f"--mount=/proc/{pid_of(router)}/ns/mnt"]
    for path in ("/etc/hecto-was-here", "/usr/hecto-was-here", "/var/hecto-was-here"):
        assert "Read-only file system" in sh([*inside, "touch", path], check=False), path
    for path in ("/proc/sys/kernel/printk", "/sys/kernel/mm/ksm/run"):
        assert "Read-only" in sh([*inside, "sh", "-c", f"echo 1 > {path}"], check=False), path
    assert router.linux_sh("cat /proc/sys/net/ipv4/ip_forward") == "1\n"
    for bad in ("not permitted", "Read-only"):
        assert bad not in router.log(), router.log()


def test_sighup_reloads_with_what_is_left(pair):
    pair.router.write({**pair.config, "burst": 32})
    pair.router.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "reload: ~ burst: 64 -> 32" in pair.router.log(), 10, "the reload")
