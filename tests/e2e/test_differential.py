"""The same frames to hectod and to Linux alone: every difference is none, or in the table of docs/differences.md.

tests/differential/run.py does it with as many frames, and of a seed, as one likes.
"""

import os
import random
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "differential"))

import beds  # noqa: E402
import compare  # noqa: E402
import frames  # noqa: E402

FRAMES = int(os.environ.get("HECTO_FRAMES", 3000))


def test_hectod_does_what_linux_does(lab):
    hectod, linux = beds.hectod_bed(lab), beds.linux_bed(lab)
    try:
        seed = random.randrange(1 << 31)
        print(f"seed {seed}")
        maker = frames.Maker(seed, beds.MACS)
        result = compare.run(hectod, linux, (maker.make(number) for number in range(FRAMES)))
        print(result)
        assert not result.wrong
        assert result.agreed + sum(result.allowed.values()) == FRAMES
        assert result.agreed > 0.85 * FRAMES and result.again <= 0.005 * FRAMES
        here, there = result.unresolved
        assert abs(here - there) <= max(10, 0.3 * there), "neighbors that do not answer"
        totals = hectod.router.get("/v1/drops")["totals"]
        assert totals["received"] >= FRAMES and totals["transmitted"] > 0.2 * FRAMES, totals
    finally:
        hectod.close()
        linux.close()


def test_the_table_of_differences_is_written_down():
    page = (Path(__file__).parents[2] / "docs" / "differences.md").read_text()
    missing = [why for *_, why in compare.ALLOWED if why not in page]
    assert not missing, missing
