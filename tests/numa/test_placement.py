"""Everything that moves a packet lies on the socket of its NIC: planned, and as it runs."""

from pathlib import Path

import pytest
from conftest import NICS, configuration, memory_by_node, ping_across, plan, queue_sockets

import lab as labs


def threads(pid):
    """{name: cpus} of the process's threads."""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            lines = (task / "status").read_text().splitlines()
        except OSError:
            continue  # the thread of a request that is over
        status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
        found[status["Name"]] = status["Cpus_allowed_list"]
    return found


def test_the_plan_knows_where_each_nic_lies(bed):
    text, answer = plan(bed, configuration())
    placed = {port["name"]: port for port in answer["placement"]["ports"]}
    assert {nic.socket for nic in NICS} == {0, 1}
    for nic in NICS:
        assert placed[nic.port]["socket_known"], text
        assert placed[nic.port]["socket"] == nic.socket, text
        line = next(line for line in text.splitlines() if line.startswith(nic.port))
        assert f"socket {nic.socket}  PCIe" in line, text
    assert queue_sockets(answer["placement"]["workers"]) == {nic.port: {nic.socket} for nic in NICS}
    assert "Traffic between em0 vio0 (socket 0) and vio1 vmx0 (socket 1) crosses sockets." in \
        answer["warnings"]
    assert not any("Hugepages" in warning for warning in answer["warnings"]), text


def test_each_queue_is_polled_on_its_nics_socket(right):
    workers = right.get("/v1/workers")["workers"]
    assert queue_sockets(workers) == {nic.port: {nic.socket} for nic in NICS}
    assert all(worker["remote_queues"] == 0 for worker in workers)
    for port in right.get("/v1/ports")["ports"]:
        polled = sum(queue["port"] == port["name"] for w in workers for queue in w["queues"])
        assert polled == port["queues"]["rx"], port
    assert "of another socket" not in right.cli("show", "workers")


def test_pools_and_tables_lie_on_their_socket(right):
    pools = right.get("/v1/pools")["pools"]
    assert {name: pool["socket"] for pool in pools for name in pool["ports"]} == \
        {nic.port: nic.socket for nic in NICS}
    summary = right.get("/v1/summary")
    assert summary["sockets"] == [0, 1]
    assert [table["replicas"] for table in summary["tables"]] == [2, 2]
    memory = memory_by_node(summary["pid"])
    for node in (0, 1):
        assert memory.get(("huge", node), 0) >= 32 << 20, memory  # a pool and its rings
        assert memory.get((f"bind:{node}", node), 0) >= 4 << 20, memory  # tables, as far as written
        assert memory.get((f"bind:{node}", 1 - node), 0) == 0, memory


def test_control_keeps_a_core(right):
    summary, workers = right.get("/v1/summary"), right.get("/v1/workers")["workers"]
    cpus = {worker["cpu"] for worker in workers}
    assert summary["control_cpu"] not in cpus
    assert len(cpus) == len(workers) == 3  # of four cores
    pinned = threads(summary["pid"])
    assert pinned["hectod"] == str(summary["control_cpu"]), pinned
    assert {int(on) for name, on in pinned.items() if "worker" in name} == cpus, pinned


PAIRS = [("em0", "vmx0"), ("vio0", "vio1"), ("vmx0", "vio0"), ("vio1", "em0")]


@pytest.mark.parametrize("source, target", PAIRS)
def test_packets_cross(right, bed, source, target):
    ping_across(right, bed, source, target)
    totals = right.check_balance()
    assert totals["transmitted"] >= 10


@pytest.mark.parametrize("nic", NICS, ids=[nic.port for nic in NICS])
def test_a_pulled_cable_is_seen(right, monitor, nic):
    def up():
        ports = {port["name"]: port for port in right.get("/v1/ports")["ports"]}
        return ports[nic.port]["link"]["up"]
    assert up()
    try:
        monitor.set_link(nic, False)
        labs.wait_for(lambda: not up(), 10, f"{nic.port} is down")
        assert right.get("/v1/summary")["ports_up"] == len(NICS) - 1
        shown = next(line for line in right.cli("show", "ports").splitlines()
                     if line.startswith(nic.port))
        assert " down " in shown
    finally:
        monitor.set_link(nic, True)
    labs.wait_for(up, 10, f"{nic.port} is up again")
