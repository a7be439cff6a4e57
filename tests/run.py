#!/usr/bin/python3
"""Runs every test of a build folder: the unit tests, then the end-to-end tests.

    tests/run.py BUILD [--unit-only] [--e2e-only] [-k EXPRESSION]

Quiet where all is well. The last line holds the counts of both kinds together.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
SANITIZERS = {
    # Whole stacks: suppressions name libraries, and DPDK has no frame pointers.
    "ASAN_OPTIONS": "fast_unwind_on_malloc=0:detect_stack_use_after_return=1:exitcode=86",
    "LSAN_OPTIONS": f"suppressions={HERE / 'lsan.supp'}:print_suppressions=0",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1:exitcode=86",
    "TSAN_OPTIONS": f"suppressions={HERE / 'tsan.supp'}:exitcode=86",
}


class Counts:
    def __init__(self):
        self.passed = self.failed = 0
        self.skipped = Counter()  # by reason
        self.failures = []

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.failures += other.failures


def report(kind, name, counts, seconds):
    skipped = sum(counts.skipped.values())
    print(f"{kind:<5} {name:<12} {counts.passed:>5} passed"
          f"{f', {counts.failed} failed' if counts.failed else ''}"
          f"{f', {skipped} skipped' if skipped else ''}  {seconds:.1f} s", flush=True)


def tail(text, lines=60):
    shown = text.splitlines()
    cut = len(shown) - lines
    return ([f"... {cut} lines before"] if cut > 0 else []) + shown[-lines:]


def interesting(output):
    """What a GoogleTest program printed, without the tests that passed."""
    kept, block = [], []
    for line in output.splitlines():
        if line.startswith("[ RUN      ]"):
            kept += block if block and not block[0].startswith("[ RUN") else []
            block = [line]
        elif line.startswith("[       OK ]"):
            block = []
        elif line.startswith("[  FAILED  ]") and block:
            kept += block + [line]
            block = []
        elif not line.startswith(("[---", "[===", "[ PASSED", "[  SKIPPED")):
            block.append(line)
    return "\n".join(kept + block)


def unit(test):
    counts = Counts()
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.xml"
        environment = {**os.environ, **SANITIZERS, **(test.get("env") or {}),
                       "GTEST_OUTPUT": f"xml:{result}", "GTEST_COLOR": "no"}
        started = time.monotonic()
        try:
            # A program that hangs is no reason for the rest to hang.
            run = subprocess.run(test["cmd"], env=environment, cwd=test.get("workdir") or folder,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 errors="replace", timeout=3 * (test.get("timeout") or 120))
            code, output = run.returncode, run.stdout
        except subprocess.TimeoutExpired as expired:
            code, output = "a timeout", (expired.stdout or b"").decode(errors="replace")
        seconds = time.monotonic() - started
        cases = list(xml.parse(result).getroot().iter("testcase")) if result.exists() else []
    for case in cases:
        if case.find("failure") is not None:
            counts.failed += 1
            counts.failures.append(f"{test['name']}: {case.get('classname')}.{case.get('name')}")
        elif (skipped := case.find("skipped")) is not None:
            reason = (skipped.get("message") or "no reason given").strip().splitlines()
            counts.skipped[reason[-1]] += 1
        elif case.get("result") == "completed":
            counts.passed += 1
    # A crash, a timeout or a sanitizer's report leaves no failed case behind.
    if code != 0 and counts.failed == 0:
        counts.failed = 1
        counts.failures.append(f"{test['name']}: ended with {code}")
    report("unit", test["name"], counts, seconds)
    if code != 0:
        print("\n".join(tail(interesting(output) or output)))
    return counts


def end_to_end(build, expression):
    counts = Counts()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.xml"
        command = [sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=short",
                   f"--junitxml={result}", "-p", "no:cacheprovider", "-o", "junit_logging=no"]
        command += ["-k", expression] if expression else []
        environment = {**os.environ, **SANITIZERS, "HECTO_BUILD": str(build),
                       "PYTHONDONTWRITEBYTECODE": "1"}
        run = subprocess.run(command + [str(HERE / "e2e")], env=environment, cwd=HERE.parent)
        cases = xml.parse(result).getroot().iter("testcase") if result.exists() else []
        for case in cases:
            name = f"{case.get('classname')}.{case.get('name')}"
            if case.find("failure") is not None or case.find("error") is not None:
                counts.failed += 1
                counts.failures.append(name)
            elif (skipped := case.find("skipped")) is not None:
                counts.skipped[skipped.get("message")] += 1
            else:
                counts.passed += 1
    if run.returncode not in (0, 5) and counts.failed == 0:  # 5: nothing chosen by -k
        counts.failed = 1
        counts.failures.append(f"e2e: pytest ended with {run.returncode}")
    report("e2e", "", counts, time.monotonic() - started)
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--unit-only", action="store_true")
    parser.add_argument("--e2e-only", action="store_true")
    parser.add_argument("-k", dest="expression", help="pytest's choice of end-to-end tests")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    counts = Counts()
    if not arguments.e2e_only:
        told = subprocess.run(["meson", "introspect", "--tests", str(build)], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        for test in json.loads(told):
            counts.add(unit(test))
    if not arguments.unit_only:
        counts.add(end_to_end(build, arguments.expression))
    for reason, times in sorted(counts.skipped.items()):
        print(f"skipped ({times}): {reason}")
    for failure in counts.failures:
        print(f"failed: {failure}")
    print(f"{counts.passed} passed, {counts.failed} failed, {sum(counts.skipped.values())} skipped")
    return 1 if counts.failed else 0


if __name__ == "__main__":
    sys.exit(main())
