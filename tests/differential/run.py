#!/usr/bin/env python3
"""The same frames to hectod and to Linux alone, and every difference: none, or in the table of allowed ones.

    tests/differential/run.py BUILD --frames 15000 --seed 1
"""

import argparse
import os
import random
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--frames", type=int, default=15000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    arguments = parser.parse_args()
    os.environ["HECTO_BUILD"] = str(arguments.build.resolve())
    sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
    import beds
    import compare
    import frames
    from lab import Lab
    print(f"seed {arguments.seed}", flush=True)
    lab = Lab()
    try:
        hectod, linux = beds.hectod_bed(lab), beds.linux_bed(lab)
        maker = frames.Maker(arguments.seed, beds.MACS)
        result = compare.run(hectod, linux, (maker.make(n) for n in range(arguments.frames)))
        hectod.router.check_balance()
        print(result)
    finally:
        problems = lab.close(check=False)
    for problem in problems:
        print(problem)
    return 1 if result.wrong or problems else 0


if __name__ == "__main__":
    sys.exit(main())
