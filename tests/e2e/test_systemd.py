"""The unit under a real systemd: PID 1 of namespaces of its own, on this machine's files."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lab import HECTOD, sh, wait_for

UNITS = Path(__file__).parents[2] / "packaging"
SYSTEMD = Path("/lib/systemd/systemd")
TARGET = "[Unit]\nDefaultDependencies=no\nAllowIsolate=yes\nWants=systemd-journald.service\n"
CONFIG = "ports:\n  a0: {device: va, addresses: [10.1.0.254/24]}\n"


def unit(name, folder):
    """As it is installed, but for where things are, and for targets that a bare systemd lacks."""
    text = (UNITS / name).read_text()
    text = text.replace("/usr/bin/hectod", str(HECTOD)).replace(
        "/etc/hecto/hecto.yaml", str(folder / "hecto.yaml"))
    text = re.sub(r"(?m)^(After|Before|Wants)=network.*\n", "", text)
    # The file lies below /tmp here.
    text = re.sub(r"(?m)^(PrivateTmp|ConfigurationDirectory|Documentation)=.*\n", "", text)
    return text.replace("[Unit]", "[Unit]\nDefaultDependencies=no", 1)


class Systemd:
    def __init__(self, folder):
        self.folder = folder
        folder.chmod(0o755)
        (folder / "hecto.yaml").write_text(CONFIG)
        (folder / "units").mkdir()
        (folder / "units" / "hecto-test.target").write_text(TARGET)
        for name in ("hectod.service", "hecto-netns.service"):
            (folder / "units" / name).write_text(unit(name, folder))
        script = folder / "start"
        script.write_text(
            "set -e\nip link set lo up\nip link add va type veth peer name vb\n"
            "ip link set va up\nip link set vb up\nip address add 10.1.0.1/24 dev vb\n"
            "ethtool -K vb tx off >/dev/null\n"
            "mount -t tmpfs tmpfs /run\nmkdir -p /run/systemd/system /run/lock\n"
            f"cp {folder}/units/* /run/systemd/system/\n"
            "exec env -i container=hecto-test PATH=$PATH /lib/systemd/systemd --system "
            "--unit=hecto-test.target --log-target=console --show-status=0\n")
        with open(folder / "out", "w") as out:
            self.process = subprocess.Popen(
                ["unshare", "-p", "-f", "-m", "--mount-proc", "-C", "-u", "-i", "-n",
                 "bash", script], stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        try:
            wait_for(lambda: self.run("systemctl is-system-running", check=False).strip()
                     in ("running", "degraded"), 20, "systemd runs")
        except AssertionError:
            self.close()
            pytest.skip("no systemd can run here: " + (folder / "out").read_text()[-300:])

    def pid(self):
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return children.read_text().split()[0]

    def run(self, command, check=True):
        words = command.split() if isinstance(command, str) else command
        try:
            pid = self.pid()
        except (OSError, IndexError):
            return ""
        return sh(["nsenter", "-t", pid, "-p", "-m", "-n", "-C", "-u", "-i", "--", *words],
                  check=check)

    def show(self, what, of="hectod"):
        return self.run(f"systemctl show {of} -p {what} --value").strip()

    def journal(self):
        return self.run("journalctl -u hectod --no-pager -o cat", check=False)

    def linux(self, command):
        return self.run(f"ip netns exec hecto {command}")

    def twin(self):
        """Its index and whether it has its carrier."""
        line = self.linux("ip -o link show a0")
        return line.split(":")[0], "LOWER_UP" in line

    def close(self):
        self.process.terminate()
        sh(["pkill", "-KILL", "-P", str(self.process.pid)], check=False)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@pytest.fixture
def systemd(tmp_path):
    if not SYSTEMD.exists() or not shutil.which("journalctl"):
        pytest.skip("systemd is not installed")
    systemd = Systemd(tmp_path)
    try:
        yield systemd
    finally:
        systemd.close()


def ping(systemd):
    return "1 received" in systemd.run("ping -c 1 -W 1 10.1.0.254", check=False)


def test_the_unit_under_systemd(systemd):
    systemd.run("systemctl start hectod")
    wait_for(lambda: ping(systemd), 20, "it forwards; " + systemd.journal())
    assert "(net_af_xdp)" in systemd.journal(), "the unit's capabilities do for AF_XDP"
    assert "is not on the list" not in systemd.journal()
    twin = systemd.twin()
    assert twin[1] and int(systemd.show("NFileDescriptorStore")) >= 2

    systemd.run("systemctl restart hectod")
    wait_for(lambda: ping(systemd), 20, "it forwards again")
    assert systemd.twin() == twin, "the twin is the same device"

    systemd.run("systemctl kill -s KILL hectod")
    wait_for(lambda: systemd.show("NRestarts") == "1" and systemd.show("ActiveState") == "active",
             20, "systemd starts it again")
    wait_for(lambda: ping(systemd), 20, "it forwards again")
    assert systemd.twin() == twin
    assert systemd.journal().count("taken over") == 2

    file = systemd.folder / "hecto.yaml"
    file.write_text(CONFIG.replace("10.1.0.254/24]", "10.1.0.254/24, 10.9.0.1/24]"))
    systemd.run("systemctl reload hectod")
    wait_for(lambda: "10.9.0.1" in systemd.linux("ip address show a0"), 10, "the file is read")

    systemd.run("systemctl stop hectod")
    assert systemd.show("Result") == "success" and systemd.show("NFileDescriptorStore") == "0"
    wait_for(lambda: "a0" not in systemd.linux("ip -br link"), 5, "its twin is gone")


def test_a_wrong_file_does_not_take_the_running_one_away(systemd):
    systemd.run("systemctl start hectod")
    wait_for(lambda: ping(systemd), 20, "it forwards")
    (systemd.folder / "hecto.yaml").write_text(CONFIG + "nonsense: 1\n")
    systemd.run("systemctl reload hectod", check=False)
    assert ping(systemd) and systemd.show("ActiveState") == "active"
    wait_for(lambda: "nonsense" in systemd.journal(), 5, "it is said")
