"""Unit tests that want a kernel with ESP, in a guest."""

import re

import pytest

import lab as labs
import uml

TEST = labs.BUILD / "tests" / "unit" / "linux-test"


def test_unit_tests_of_xfrm_on_a_kernel_with_esp():
    reason = uml.missing()
    if reason:
        pytest.skip(reason)
    lab = labs.Lab()
    guest = None
    try:
        guest = uml.Guest("unit", lab.folder, lab.namespace("u"), [])
        guest.wait_up()
        said = guest.sh([TEST, "--gtest_filter=Xfrm*:ExemptTwin*", "--gtest_brief=1"], timeout=200,
                        check=False)
        assert re.search(r"\[  PASSED  \] [3-9]\d tests", said), said
        assert "SKIPPED" not in said and "FAILED" not in said, said
    finally:
        if guest is not None:
            guest.end()
        lab.close(check=False)
