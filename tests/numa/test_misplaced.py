"""Workers on the wrong socket: that works, and is told. NICs that come and go while hectod runs."""

import copy

import pytest
from conftest import configuration, ping_across, plan, run_router

import lab as labs

WRONG = {"workers": {1: [2, 3]}, "control_core": 0}
WITHOUT_NICS = configuration(**WRONG, ports={"gen0": {"device": "net_null0,no-rx=1"}})


def with_nics(*names):
    config = copy.deepcopy(WITHOUT_NICS)
    for name in names:
        config["ports"][name] = {**configuration()["ports"][name], "mtu": 9000,
                                 "rx_descriptors": 256, "tx_descriptors": 256}
    return config


@pytest.fixture(scope="module")
def router(bed):
    """All workers on socket 1; started without any NIC."""
    yield from run_router(bed, "wrong", WITHOUT_NICS)


@pytest.fixture(scope="module")
def jumbo_hosts(bed):
    hosts = [bed.hosts[name] for name in ("em0", "vmx0")]
    for host in hosts:
        host.sh("ip link set e0 mtu 9000")
    yield
    for host in hosts:
        host.sh("ip link set e0 mtu 1500")


def reload(router, config):
    router.write(config)
    return router.cli("reload")


def test_the_plan_warns_of_workers_on_the_other_socket(bed):
    text, answer = plan(bed, configuration(**WRONG))
    for port in ("em0", "vio0"):
        assert f"{port} is on socket 0, which has no worker: its queues are polled across " \
               "sockets, from 1." in answer["warnings"], text
    assert not any(line.startswith(("vmx0 is on", "vio1 is on")) for line in answer["warnings"])


def test_nics_come_by_a_reload_and_polls_across_sockets_are_told(router, bed, jumbo_hosts):
    reload(router, with_nics("em0", "vmx0"))
    sockets = {name: pool["socket"] for pool in router.get("/v1/pools")["pools"]
               for name in pool["ports"]}
    assert (sockets["em0"], sockets["vmx0"]) == (0, 1)  # where the NIC writes
    workers = router.get("/v1/workers")["workers"]
    assert {worker["socket"] for worker in workers} == {1}
    assert [worker["remote_queues"] for worker in workers] == [1, 1]  # em0's two
    assert "polls 1 queue of another socket; see hecto plan" in router.cli("show", "workers")
    assert router.get("/v1/summary")["sockets"] == [1]  # one replica of the tables
    ping_across(router, bed, "em0", "vmx0", size=8972)


def test_a_nic_that_went_comes_back(router, bed, jumbo_hosts):
    reload(router, with_nics("em0"))
    reload(router, with_nics("em0", "vmx0"))
    ping_across(router, bed, "em0", "vmx0", size=8972)


def test_a_nic_of_another_hectod_is_named(router):
    file = router.folder / "second.yaml"
    file.write_text(labs.yaml.safe_dump({**with_nics("em0"), "linux": "off"}))
    said = labs.sh([labs.HECTOD, file], check=False)
    other = f"another hectod (pid {router.process.pid}) has it"
    assert f"port em0 (0000:41:00.0): {other}" in said, said
