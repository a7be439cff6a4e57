#!/usr/bin/python3
"""Runs every fuzz target for some seconds, from the corpus that the project keeps.

    tests/fuzz/run.py BUILD [--seconds S] [--target NAME]

What a run finds new goes to BUILD/corpus; what ends a target, to BUILD/crashes, and its path is
printed. An input worth keeping is copied to tests/fuzz/corpus/TARGET by hand, under a name that says
what it is.
"""

import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Files of the project that are seeds as they lie.
MORE_SEEDS = {"box": ["config/boxes"], "config": ["config/examples"]}
LONGEST_INPUT_S = 10


def run(build, target, seconds):
    """The line to print, and whether all is well."""
    grown = build / "corpus" / target
    crashes = build / "crashes"
    for folder in (grown, crashes):
        folder.mkdir(parents=True, exist_ok=True)
    seeds = [HERE / "corpus" / target] + [ROOT / more for more in MORE_SEEDS.get(target, [])]
    missing = [seed for seed in seeds if not seed.is_dir()]
    if missing:
        return f"fuzz {target:<12} {missing[0].relative_to(ROOT)}: no seeds; make some", False
    command = [str(build / "tests" / "fuzz" / f"fuzz_{target}"), str(grown), *map(str, seeds),
               f"-max_total_time={seconds}", f"-timeout={LONGEST_INPUT_S}",
               f"-artifact_prefix={crashes}/{target}-", "-print_final_stats=1", "-verbosity=1"]
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=1", "UBSAN_OPTIONS":
                   "print_stacktrace=1"}
    try:
        ran = subprocess.run(command, env=environment, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace",
                             timeout=seconds + 300)
    except subprocess.TimeoutExpired:
        return f"fuzz {target:<12} did not end {300} s after its time", False
    said = ran.stdout
    if ran.returncode == 0:
        tries = re.search(r"number_of_executed_units: (\d+)", said)
        covered = re.findall(r"cov: (\d+)", said)
        return (f"fuzz {target:<12} {tries[1] if tries else '?':>9} inputs, "
                f"{covered[-1] if covered else '?':>6} edges"), True
    kept = re.search(r"Test unit written to (\S+)", said)
    # The report, without the course of the run before it.
    report = [line for line in said.splitlines() if not line.startswith(("#", "INFO:", "stat::"))]
    return "\n".join(report[:60] + [f"fuzz {target:<12} ended with {ran.returncode}; the input: "
                                    f"{kept[1] if kept else 'not written'}"]), False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--target")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    targets = sorted(path.stem.removeprefix("fuzz_") for path in HERE.glob("fuzz_*.cpp"))
    if arguments.target:
        targets = [target for target in targets if target == arguments.target]
        if not targets:
            parser.error(f"no such target: {arguments.target}")
    subprocess.run(["ninja", "-C", str(build), "--quiet",
                    *(f"tests/fuzz/fuzz_{target}" for target in targets)], check=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        good = 0
        for line, well in pool.map(lambda t: run(build, t, arguments.seconds), targets):
            print(line, flush=True)
            good += well
    print(f"{good} passed, {len(targets) - good} failed, 0 skipped")
    return 0 if good == len(targets) else 1


if __name__ == "__main__":
    sys.exit(main())
