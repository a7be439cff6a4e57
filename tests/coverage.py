#!/usr/bin/python3
"""What tests reach, by room: builds and runs them in a folder with -Db_coverage=true, then a table.

    tests/coverage.py BUILD [--e2e]       --e2e: end-to-end tests, too (root, minutes)
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def measured(build):
    """Of each file: lines and branches there are, and are reached."""
    out = build / "coverage.json"
    subprocess.run(["gcovr", "--root", str(ROOT), "--object-directory", str(build),
                    "-j", str(os.cpu_count()), "--exclude", "tests/", "--exclude", "build",
                    # Branches that the compiler made, for exceptions, are nobody's question.
                    "--exclude-throw-branches", "--exclude-unreachable-branches",
                    "--json-summary", str(out), str(build)], check=True, cwd=ROOT)
    return json.loads(out.read_text())["files"]


def rooms_in_order():
    lines = (ROOT / "docs" / "house.txt").read_text().splitlines()
    return [words[0] for line in lines if (words := line.split("#")[0].split())]


def share(covered, total):
    return f"{covered:>6} / {total:<6} {100 * covered / total:>5.1f} %" if total else f"{'-':>22}"


def table(files):
    rooms = {room: [0, 0, 0, 0] for room in rooms_in_order()}
    for file in files:
        sums = rooms.setdefault(os.path.dirname(file["filename"]), [0, 0, 0, 0])
        for i, key in enumerate(("line_covered", "line_total", "branch_covered", "branch_total")):
            sums[i] += file[key]
    print(f"{'room':<28} {'lines':^22}   {'branches':^22}")
    for room, sums in rooms.items():
        if sums[1]:
            print(f"{room:<28} {share(*sums[:2])}   {share(*sums[2:])}")
    total = [sum(column) for column in zip(*rooms.values())]
    print(f"{'all':<28} {share(*total[:2])}   {share(*total[2:])}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--e2e", action="store_true")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    for old in build.rglob("*.gcda"):  # of an earlier run
        old.unlink()
    # Without optimization, and counting: some programs take twenty times as long.
    command = [str(ROOT / "tests" / "run.py"), str(build), "--patience", "20"]
    if arguments.e2e:
        subprocess.run(["ninja", "-C", str(build), "--quiet"], check=True)
    else:
        command += ["--unit-only", "--build"]
    tested = subprocess.run(command)
    table(measured(build))
    return tested.returncode


if __name__ == "__main__":
    sys.exit(main())
