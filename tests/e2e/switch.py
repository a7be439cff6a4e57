"""An Ethernet switch of somebody else's: Open vSwitch in user space."""

import os

from lab import sh, wait_for


class Switch:
    """A userspace bridge of Open vSwitch in a namespace, with a run folder and a database of its own."""

    def __init__(self, lab, name):
        self.space = lab.namespace(name)
        self.folder = lab.folder / name
        self.folder.mkdir()
        self.environment = dict(os.environ, OVS_RUNDIR=str(self.folder), OVS_LOGDIR=str(self.folder),
                                OVS_DBDIR=str(self.folder))
        database = f"unix:{self.folder}/db.sock"
        self.run("ovsdb-tool", "create", self.folder / "conf.db", "/usr/share/openvswitch/vswitch.ovsschema")
        self.space.start(["ovsdb-server", f"--remote=p{database}", self.folder / "conf.db"],
                         env=self.environment)
        wait_for(lambda: (self.folder / "db.sock").exists(), 10, "ovsdb-server")
        self.database = database
        self.vsctl("--no-wait", "init")
        self.space.start(["ovs-vswitchd", database, "--pidfile", "--disable-system"], env=self.environment)
        self.vsctl("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev")

    def run(self, *words):
        return sh(self.space.words([str(word) for word in words]), env=self.environment)

    def vsctl(self, *words):
        return self.run("ovs-vsctl", f"--db={self.database}", "--timeout=15", *words)

    def show(self, command, name):
        return self.run("ovs-appctl", "-t", "ovs-vswitchd", command, name)

    def plug(self, space, name):
        """A cable from the switch to an interface of that name in another namespace."""
        port = f"{space.name[-6:]}-{name}"
        sh(["ip", "link", "add", port, "netns", self.space.name, "type", "veth", "peer", "name", name,
            "netns", space.name])
        for where, each in ((self.space, port), (space, name)):
            where.sh(f"ethtool -K {each} tx off", check=False)
            where.sh(f"ip link set {each} up")
        self.vsctl("add-port", "br0", port)
