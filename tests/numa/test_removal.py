"""A NIC that is taken out of its slot while hectod has it, and put back."""

import pytest
from conftest import NICS, PCI, configuration, ping_across, run_router

import lab as labs

GONE = NICS[-1]


@pytest.fixture(scope="module")
def router(bed):
    yield from run_router(bed, "removal", configuration())


def port(router):
    return next(p for p in router.get("/v1/ports")["ports"] if p["name"] == GONE.port)


def test_one_that_is_taken_out_is_let_go_and_the_others_go_on(router, bed, monitor):
    ping_across(router, bed, GONE.port, "em0")
    monitor.take_out(GONE)
    labs.wait_for(lambda: not (PCI / GONE.pci).exists(), 60, "the kernel has let it go")
    labs.wait_for(lambda: f"{GONE.pci} is gone" in port(router)["trouble"], 10, "it is shown")
    assert not port(router)["link"]["up"]
    assert f"port {GONE.port}: {GONE.pci} is gone; its interfaces are down" in router.log()
    ping_across(router, bed, "em0", "vmx0")
    router.check_balance()


def test_and_is_used_again_when_it_is_back(router, bed, monitor):
    monitor.put_back(GONE)
    labs.wait_for(lambda: (PCI / GONE.pci).exists(), 60, "the kernel has it")
    labs.sh([labs.HECTO, "bind", GONE.pci])
    labs.wait_for(lambda: port(router)["link"]["up"], 60, "it is used again")
    ping_across(router, bed, GONE.port, "em0")
