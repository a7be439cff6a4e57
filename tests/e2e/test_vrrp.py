"""Two routers with one address (VRRP, by keepalived): one is killed, the other one goes on.

    a ── switch ─┬─ a0 r1 b0 ─┬─ switch ── b
                 └─ a0 r2 b0 ─┘
"""

import os
import shutil
import signal
import subprocess
import time

import pytest

from lab import wait_for
from stream import Stream
from switch import Switch

RATE = 1000
INSTANCE = """
vrrp_instance {name} {{
  state BACKUP
  interface {port}
  virtual_router_id {number}
  priority {priority}
  advert_int 0.2
  garp_master_delay 1
  virtual_ipaddress {{ {address}/24 dev {port} }}
}}"""


class Keepalived:
    def __init__(self, router, priority):
        self.router, self.folder = router, router.folder
        sides = (("left", "a0", 51, "10.1.0.250"), ("right", "b0", 52, "10.2.0.250"))
        (self.folder / "keepalived.conf").write_text(
            "global_defs { vrrp_version 3\n script_user root\n }\n"
            "vrrp_sync_group both { group {\n left\n right\n } }\n" +
            "".join(INSTANCE.format(name=name, port=port, number=number, priority=priority, address=address)
                    for name, port, number, address in sides))
        self.start()

    def start(self):
        folder = self.folder
        self.process = subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{self.router.linux}", "--", "keepalived", "-n", "-l", "-P",
             "-f", folder / "keepalived.conf", "-p", folder / "k.pid", "-r", folder / "v.pid"],
            stdout=subprocess.DEVNULL, stderr=open(folder / "keepalived.log", "a"), start_new_session=True)
        self.router.lab.cleanups.append(self.stop)

    def stop(self):
        """Killed, children and all."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def is_master(router):
    return "10.1.0.250" in router.linux_sh("ip address show", check=False)


def start(lab, left, right, name, number):
    space = lab.namespace(f"{name}x")
    for switch, port in ((left, "va"), (right, "vb")):
        switch.plug(space, port)
    router = lab.router(name, space)
    router.start({"ports": {"a0": {"device": "va", "addresses": [f"10.1.0.{number}/24"]},
                            "b0": {"device": "vb", "addresses": [f"10.2.0.{number}/24"]}}})
    return router


@pytest.mark.skipif(shutil.which("keepalived") is None, reason="apt-get install keepalived")
@pytest.mark.skipif(shutil.which("ovs-vswitchd") is None, reason="apt-get install openvswitch-switch")
def test_a_master_is_killed(lab):
    left, right = Switch(lab, "left"), Switch(lab, "right")
    a = lab.host("a", left.space, "pa", ["10.1.0.1/24"], ["10.1.0.250"])
    b = lab.host("b", right.space, "pb", ["10.2.0.1/24"], ["10.2.0.250"])
    left.vsctl("add-port", "br0", "pa")
    right.vsctl("add-port", "br0", "pb")
    r1, r2 = start(lab, left, right, "r1", 253), start(lab, left, right, "r2", 254)
    first = Keepalived(r1, 200)
    Keepalived(r2, 100)
    wait_for(lambda: is_master(r1) and not is_master(r2), 20, "the first one is the master")
    wait_for(lambda: a.ping("10.2.0.1", count=3), 20, "packets pass")
    before = r1.get("/v1/drops")["totals"]["transmitted"]
    with Stream(a, b, "10.2.0.1", rate=RATE) as stream:
        time.sleep(1)
        assert r1.get("/v1/drops")["totals"]["transmitted"] - before > RATE / 2, "by the first one"
        r1.process.kill()
        first.stop()
        wait_for(lambda: is_master(r2), 10, "the second one is the master")
        time.sleep(1)
    print(f"master killed: {stream.lost} of {stream.sent} packets lost at {RATE} a second")
    assert stream.last > stream.sent - RATE, "it goes on"
    assert stream.lost < 2.5 * RATE, (stream.lost, stream.gaps)
    # It comes back, and takes over again: nothing but what Linux has to learn is lost.
    r1.process.wait()
    r1.launch()
    r1.wait_ready()
    with Stream(a, b, "10.2.0.1", rate=RATE) as stream:
        first.start()
        wait_for(lambda: is_master(r1) and not is_master(r2), 20, "the first one is the master again")
        time.sleep(2)
    print(f"it comes back: {stream.lost} of {stream.sent} packets lost at {RATE} a second")
    assert stream.lost < RATE, (stream.lost, stream.gaps)
