"""The search of hecto-bench throughput beside the reference implementation of MLRsearch, over simulated devices."""

import os
import random
import sys
from pathlib import Path

import pytest

from lab import BUILD

sys.path.append(str(Path(__file__).parents[1] / "differential"))

import search_reference as search  # noqa: E402
from search_reference import OPTIONS, Device  # noqa: E402

MODEL = BUILD / "tests" / "differential" / "search-model"
WIDTH = OPTIONS["width"]


@pytest.fixture(scope="module")
def mlrsearch():
    package, why = search.load_reference(BUILD)
    if package is None:
        pytest.skip(why)
    return package


def expect_same(mlrsearch, device, within=0.0, options=None):
    """Lower and upper bounds lie within the goal's width of one another, and `within` beyond that."""
    asked = {**OPTIONS, **(options or {})}
    mine, theirs = search.ours(MODEL, device, options), search.reference(mlrsearch, device, options)
    for ratio, (lower, upper), (their_lower, their_upper) in zip(asked["goals"], mine, theirs):
        said = f"{device.name}, loss {ratio}: {lower:.0f} to {upper:.0f}, MLRsearch {their_lower:.0f} to {their_upper:.0f}"
        assert (lower > 0) == (their_lower > 0) and (upper > 0) == (their_upper > 0), said
        for one, other in ((lower, their_lower), (upper, their_upper)):
            assert abs(one - other) <= (asked["width"] + within) * max(one, other), said
        if lower > 0 and upper > 0:
            assert upper - lower <= asked["width"] * upper * 1.0001, said
    return mine


@pytest.mark.parametrize("capacity", [5e3, 1.234e6, 10e6, 14.88e6, 39.9e6])
def test_a_sharp_limit_is_found_alike(mlrsearch, capacity):
    for (lower, upper), ratio in zip(expect_same(mlrsearch, Device("sharp", search.sharp(capacity))),
                                     OPTIONS["goals"]):
        limit = capacity / (1 - ratio)
        assert lower <= limit and (upper > limit or lower == OPTIONS["max_pps"])


@pytest.mark.parametrize("exceed", [0.0, 0.5])
@pytest.mark.parametrize("goals", [[0.0], [0.0, 0.005], [0.001, 0.01, 0.05]])
def test_loss_that_grows_slowly_is_bounded_alike(mlrsearch, goals, exceed):
    device = Device("gradual", search.gradual(4e6, 12e6))
    expect_same(mlrsearch, device, options={"goals": goals, "exceed": exceed})


@pytest.mark.parametrize("seed", range(5))
def test_stalls_of_the_machine_mislead_neither(mlrsearch, seed):
    device = Device("stalls", search.stalls(search.sharp(7e6), 0.1, 0.02), seed)
    for lower, _ in expect_same(mlrsearch, device, within=WIDTH):
        assert lower <= 7e6 / (1 - 0.005)


@pytest.mark.parametrize("seed", range(5))
def test_a_device_that_is_unsteady_is_bounded_alike(mlrsearch, seed):
    device = Device("unsteady", search.unsteady(7e6, 0.02), seed)
    expect_same(mlrsearch, device, within=2 * 0.02)


def test_any_device_and_goal(mlrsearch):
    told = os.environ.get("HECTO_TEST_SEED", "random")
    seed = random.randrange(1 << 31) if told == "random" else int(told)
    print(f"seed {seed}")
    dice = random.Random(seed)
    for _ in range(100):
        capacity = 10 ** dice.uniform(5, 7.5)  # with fewer packets a single one decides
        device = Device("any", dice.choice((search.sharp(capacity),
                                            search.gradual(capacity, capacity * dice.uniform(1.2, 4)))))
        expect_same(mlrsearch, device, options={
            "goals": sorted({0.0, dice.choice((1e-4, 0.005, 0.02))}), "width": 10 ** dice.uniform(-2.5, -1.3),
            "exceed": dice.choice((0.0, 0.25, 0.5)), "sum_s": dice.choice((1.0, 3.0, 21.0))})


def test_what_never_loses_and_what_always_does(mlrsearch):
    (lower, upper), _ = expect_same(mlrsearch, Device("no limit", search.sharp(1e12)))
    assert (lower, upper) == (OPTIONS["max_pps"], 0)
    (lower, _), _ = expect_same(mlrsearch, Device("nothing through", lambda load, dice: 1.0))
    assert lower == 0


def test_a_search_that_errs_is_seen(mlrsearch):
    """The test's own test: devices that differ by two widths."""
    mine = search.ours(MODEL, Device("mine", search.sharp(7e6)))
    theirs = search.reference(mlrsearch, Device("theirs", search.sharp(7e6 * (1 + 2.5 * WIDTH))))
    assert all(abs(a[0] - b[0]) > WIDTH * b[0] for a, b in zip(mine, theirs))
