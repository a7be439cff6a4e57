"""The bed of two customers' VRFs (bed.py), for all tests that want it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import bed as beds  # noqa: E402
import uml  # noqa: E402


@pytest.fixture(scope="session")
def bed():
    reason = uml.missing()
    if reason:
        pytest.skip(reason)
    made = beds.Bed()
    try:
        made.boot()
        made.make_vrfs()
        yield made
    except BaseException:
        print(made.guest.console())
        raise
    finally:
        made.close()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    bed = item.funcargs.get("bed") if hasattr(item, "funcargs") else None
    if report.failed and call.when == "call" and bed is not None:
        report.sections.append(("the guest's logs", bed.logs()))
