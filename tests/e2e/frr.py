"""FRR, unmodified, in a router's namespace, as `ip netns exec` would start it."""

import os
import pwd
import shutil
import subprocess
from pathlib import Path

import pytest

from lab import sh, wait_for

FRR = Path("/usr/lib/frr")


def need(*programs):
    for program in programs:
        if not Path(program).exists():
            pytest.skip(f"{program} is not installed: make deps")


class Frr:
    """The daemons named, with one configuration, in the namespace of the router's twins."""

    def __init__(self, router, config, daemons=("zebra", "bgpd", "ospfd")):
        need(*(FRR / daemon for daemon in daemons))
        self.router, self.name, self.config, self.daemons = router, router.linux, config, daemons
        self.folder = Path("/var/run/frr") / self.name
        self.processes = []

    def start(self):
        account = pwd.getpwnam("frr")
        self.folder.mkdir(parents=True)
        for folder in (self.folder.parent, self.folder):
            os.chown(folder, account.pw_uid, account.pw_gid)
        config = self.folder / "frr.conf"
        config.write_text(self.config)
        os.chown(config, account.pw_uid, account.pw_gid)

        for daemon in self.daemons:
            words = ["nsenter", f"--net=/run/netns/{self.router.linux}", "--", str(FRR / daemon),
                     "-N", self.name, "-f", str(config), "-P", "0",
                     "-i", str(self.folder / f"{daemon}.pid")]
            process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.processes.append(process)
            wait_for((self.folder / f"{daemon}.vty").exists, 10, f"{daemon} runs")

    def ask(self, command):
        return sh(["vtysh", "-N", self.name, "-c", command], check=False)

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.rmtree(Path("/etc/frr") / self.name, ignore_errors=True)
