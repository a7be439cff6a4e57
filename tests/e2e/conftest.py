"""The beds that tests start from: `lab` (bare), `pair` (two hosts and a router between them)."""

import os
import time
from types import SimpleNamespace

import pytest

import lab as labs


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if call.when == "call":
        item.failed = report.failed
        the_lab = item.funcargs.get("lab") if hasattr(item, "funcargs") else None
        if report.failed and the_lab is not None:
            report.sections.append(("hectod's log", the_lab.logs()))


def pytest_collection_modifyitems(items):
    if os.geteuid() == 0:
        return
    for item in items:
        item.add_marker(pytest.mark.skip(reason="end-to-end tests need root: network namespaces"))


@pytest.fixture(scope="session", autouse=True)
def built():
    for program in (labs.HECTOD, labs.HECTO):
        if not program.exists():
            pytest.exit(f"{program} is not there: run \"make build\", or set HECTO_BUILD", 1)


@pytest.fixture
def lab(request):
    the_lab = labs.Lab()
    problems = []
    try:
        yield the_lab
    finally:
        # After a failure the balance has nothing to add; the cleaning up is the same.
        problems = the_lab.close(check=not getattr(request.node, "failed", True))
    if problems:
        pytest.fail("\n".join(problems))


PORTS = {
    "a0": {"device": "va", "addresses": ["10.1.0.254/24", "fd00:1::fe/64"]},
    "b0": {"device": "vb", "addresses": ["10.2.0.254/24", "fd00:2::fe/64"]},
}


def make_pair(lab, config=None, mtu=1500, start=True, ports=None):
    """a (10.1.0.1, fd00:1::1) -- a0 router b0 -- b (10.2.0.1, fd00:2::1)."""
    router = lab.router()
    a = lab.host("a", router.space, "va", ["10.1.0.1/24", "fd00:1::1/64"],
                 ["10.1.0.254", "fd00:1::fe"], mtu=mtu)
    b = lab.host("b", router.space, "vb", ["10.2.0.1/24", "fd00:2::1/64"],
                 ["10.2.0.254", "fd00:2::fe"], mtu=mtu)
    whole = {"ports": {name: dict(port) for name, port in (ports or PORTS).items()}}
    if mtu != 1500:
        for port in whole["ports"].values():
            port.setdefault("mtu", mtu)
    whole.update(config or {})
    if start:
        router.start(whole)
    return SimpleNamespace(lab=lab, router=router, a=a, b=b, config=whole)


@pytest.fixture
def pair(lab):
    bed = make_pair(lab)
    # Both neighbors known: what follows sees the fast path.
    for address in ("10.2.0.1", "fd00:2::1"):
        bed.a.ping(address, count=1, ok=False)
        bed.a.ping(address, count=1)
    time.sleep(0.1)
    return bed
