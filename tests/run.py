#!/usr/bin/python3
"""Runs every test of a build folder: the house, documents, unit tests, then end-to-end tests.

    tests/run.py BUILD                              all of them
    tests/run.py BUILD -t 'Routing.*' -k flap       unit tests and end-to-end tests by name
    tests/run.py BUILD --unit-only --suites lookup,rib --build
    tests/run.py BUILD --write-least-counts         after tests were added or taken away

Quiet where all is well. The last line holds the counts of all kinds together. A suite that has
fewer tests than tests/least-counts.txt says fails.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as xml
from collections import Counter
from pathlib import Path

import docs_links
import house

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "bench"))
import results_page  # noqa: E402

LEAST_COUNTS = HERE / "least-counts.txt"
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

    def total(self):
        return self.passed + self.failed + sum(self.skipped.values())

    def fail(self, line):
        self.failed += 1
        self.failures.append(line)

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


def check_tree(kind, checker):
    """The tree against its drawing, or its links, and the check against faults made on purpose."""
    counts = Counts()
    started = time.monotonic()
    faults = checker.check(HERE.parent)
    wrong, tries = checker.self_test()
    counts.passed = tries - len(wrong) + (1 if not faults else 0)
    for fault in faults:
        counts.fail(fault)
    for line in wrong:
        counts.fail(f"{Path(checker.__file__).name} --self-test: {line}")
    report(kind, "", counts, time.monotonic() - started)
    return counts


def unit(test, chosen, patience):
    counts = Counts()
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.xml"
        environment = {**os.environ, **SANITIZERS, **(test.get("env") or {}),
                       "GTEST_OUTPUT": f"xml:{result}", "GTEST_COLOR": "no"}
        if chosen:
            environment["GTEST_FILTER"] = chosen
        started = time.monotonic()
        try:
            # A program that hangs is no reason for the rest to hang.
            run = subprocess.run(test["cmd"], env=environment, cwd=test.get("workdir") or folder,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 errors="replace", timeout=patience * (test.get("timeout") or 120))
            code, output = run.returncode, run.stdout
        except FileNotFoundError:
            code, output = "no program: run \"make build\"", ""
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
        counts.fail(f"{test['name']}: ended with {code}")
    if counts.total() > 0 or not chosen:
        report("unit", test["name"], counts, seconds)
    if code != 0:
        print("\n".join(tail(interesting(output) or output)))
    return counts


# Files whose tests wait more than they work, and hold nobody to a rate; those that take longest first. Two
# further pytests run them beside the rest, a file at a time.
# What reserves hugepages of the machine, and gives them back, is no such file: others would have them taken away.
WAITING = ("test_bonds", "test_sflow", "test_static_vrfs", "test_restart", "test_bond_partners", "test_cluster",
           "test_routing_daemons", "test_web", "test_vrrp", "test_anycast", "test_rules", "test_ipfix", "test_metrics",
           "test_changes", "test_features", "test_nat", "test_flows", "test_service", "test_configuration",
           "test_mistakes", "test_qinq", "test_capture", "test_filter_tables", "test_persist", "test_first_hour",
           "test_completion", "test_many_boxes", "test_linux_selftests")
LANES_OF_WAITING = 2
SLOWEST_SHOWN = 6


class EndToEnd:
    """Each lane is a thread that runs a pytest for what it takes off its queue."""

    def __init__(self, build, expression, folder):
        self.environment = {**os.environ, **SANITIZERS, "HECTO_BUILD": str(build), "PYTHONDONTWRITEBYTECODE": "1"}
        self.expression, self.folder = expression, Path(folder)
        self.counts, self.seconds, self.lock, self.runs = Counts(), Counter(), threading.Lock(), 0

    def run(self, files):
        with self.lock:
            self.runs += 1
            result = self.folder / f"{self.runs}.xml"
        command = [sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=short", f"--junitxml={result}",
                   "-p", "no:cacheprovider", "-o", "junit_logging=no"]
        command += ["-k", self.expression] if self.expression else []
        # The long lane shows how far it is; the others what failed, in one piece.
        output = {} if len(files) > 1 else {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        run = subprocess.run([*command, *map(str, files)], env=self.environment, cwd=HERE.parent, text=True,
                             errors="replace", **output)
        with self.lock:
            if run.returncode not in (0, 5) and run.stdout:
                print(run.stdout, flush=True)
            before = self.counts.failed
            add_results(result, self.counts, self.seconds)
            if run.returncode not in (0, 5) and self.counts.failed == before:  # 5: nothing chosen by -k
                self.counts.fail(f"e2e: pytest ended with {run.returncode}")

    def drain(self, queue):
        while True:
            with self.lock:
                files = queue.pop(0) if queue else None
            if files is None:
                return
            self.run(files)


def end_to_end(build, expression):
    started = time.monotonic()
    beside = [HERE / "e2e" / f"{name}.py" for name in WAITING]
    rest = [[HERE / "e2e", *(f"--ignore={file}" for file in beside)]]
    waiting = [[file] for file in beside]
    with tempfile.TemporaryDirectory() as folder:
        whole = EndToEnd(build, expression, folder)
        lanes = [threading.Thread(target=whole.drain, args=(queue,)) for queue in [rest] + [waiting] * LANES_OF_WAITING]
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join()
    counts = whole.counts
    report("e2e", "", counts, time.monotonic() - started)
    if not expression:
        slowest = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in whole.seconds.most_common(SLOWEST_SHOWN))
        print(f"      the slowest files: {slowest}")
    return counts


def add_results(result, counts, seconds):
    for case in xml.parse(result).getroot().iter("testcase") if result.exists() else []:
        file = next((part for part in case.get("classname").split(".") if part.startswith("test_")), "")
        seconds[file] += float(case.get("time") or 0)
        name = f"{case.get('classname')}.{case.get('name')}"
        if case.find("failure") is not None or case.find("error") is not None:
            counts.failed += 1
            counts.failures.append(name)
        elif (skipped := case.find("skipped")) is not None:
            counts.skipped[skipped.get("message")] += 1
        else:
            counts.passed += 1


def introspect(build, what):
    told = subprocess.run(["meson", "introspect", f"--{what}", str(build)], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    return json.loads(told)


def build_programs(build, tests):
    """Builds what these tests run and read, no more."""
    files = {target["id"]: target["filename"] for target in introspect(build, "targets")}
    wanted = {file for test in tests for target in test["depends"] for file in files[target]}
    wanted |= {test["cmd"][0] for test in tests if test["cmd"][0].startswith(str(build))}
    relative = sorted(str(Path(file).relative_to(build)) for file in wanted)
    subprocess.run(["ninja", "-C", str(build), "--quiet", *relative], check=True)


def read_least_counts():
    """(least count, the package without which it is not built or empty) by suite."""
    least = {}
    for line in LEAST_COUNTS.read_text().splitlines():
        if words := line.split("#")[0].split():
            least[words[0]] = (int(words[1]), words[2] if len(words) > 2 else "")
    return least


def hold_against_least(ran, suites, all_kinds):
    """Suites that shrank or went away, of which nobody would hear otherwise."""
    counts = Counts()
    least = read_least_counts()
    left_out = [suite for suite in least if suites and suite not in suites and suite != "e2e"]
    if left_out:
        counts.skipped[f"left out here: {', '.join(left_out)}"] = len(left_out)
    for suite, had in ran.items():
        if suite not in least:
            counts.fail(f"{suite}: not in {LEAST_COUNTS.name}: run tests/run.py with "
                        "--write-least-counts")
        elif had < least[suite][0]:
            counts.fail(f"{suite}: {had} tests, {LEAST_COUNTS.name} asks for {least[suite][0]}: "
                        "where they were taken away on purpose, lower it there")
    for suite, (_, package) in least.items():
        if suite in ran or suite in left_out or (suite == "e2e" and not all_kinds):
            continue
        if package:
            counts.skipped[f"{suite}: not built, {package} is missing"] += 1
        else:
            counts.fail(f"{suite}: in {LEAST_COUNTS.name}, but no suite of this build")
    return counts


def write_least_counts(ran, all_ran):
    least = read_least_counts()
    for suite, had in ran.items():
        least[suite] = (had, least.get(suite, (0, ""))[1])
    for suite, (_, package) in list(least.items()):
        if all_ran and suite not in ran and not package:
            del least[suite]
    comment = [line for line in LEAST_COUNTS.read_text().splitlines() if line.startswith("#")]
    lines = [f"{suite:<20} {had:>4} {package}".rstrip()
             for suite, (had, package) in sorted(least.items())]
    LEAST_COUNTS.write_text("\n".join(comment + lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--unit-only", action="store_true")
    parser.add_argument("--e2e-only", action="store_true")
    parser.add_argument("-t", dest="filter", help="GoogleTest's choice of unit tests")
    parser.add_argument("-k", dest="expression", help="pytest's choice of end-to-end tests")
    parser.add_argument("--suites", help="these unit-test programs alone: names with commas")
    parser.add_argument("--build", dest="build_first", action="store_true",
                        help="build first what is run, and no more")
    parser.add_argument("--patience", type=int, default=3,
                        help="so many times the time that meson gives a program; then it hangs")
    parser.add_argument("--write-least-counts", action="store_true")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    chosen = arguments.filter or arguments.expression
    # A choice of one kind alone leaves out the other.
    with_units = not arguments.e2e_only and (arguments.filter or not arguments.expression)
    with_e2e = not arguments.unit_only and (arguments.expression or not arguments.filter)
    suites = arguments.suites.split(",") if arguments.suites else []
    counts, ran = Counts(), {}
    if with_units and not arguments.unit_only and not chosen:
        counts.add(check_tree("house", house))
        counts.add(check_tree("docs", docs_links))
        counts.add(check_tree("results", results_page))
    if with_units:
        tests = [test for test in introspect(build, "tests")
                 # A program that has a filter of its own would take no other.
                 if not (arguments.filter and any("gtest_filter" in a for a in test["cmd"]))
                 and (not suites or test["name"] in suites)]
        if arguments.build_first:
            build_programs(build, tests)
        for test in tests:
            of_test = unit(test, arguments.filter, arguments.patience)
            ran[test["name"]] = of_test.total()
            counts.add(of_test)
    if with_e2e:
        of_e2e = end_to_end(build, arguments.expression)
        ran["e2e"] = of_e2e.total()
        counts.add(of_e2e)
    if chosen and sum(ran.values()) == 0:
        counts.fail(f"no test is called {chosen}")
    if arguments.write_least_counts:
        if chosen:
            parser.error("--write-least-counts: not with tests chosen by name")
        write_least_counts(ran, with_units and with_e2e and not suites)
    elif not chosen and with_units:
        counts.add(hold_against_least(ran, suites, with_e2e))
    for reason, times in sorted(counts.skipped.items()):
        print(f"skipped ({times}): {reason}")
    for failure in counts.failures:
        print(f"failed: {failure}")
    print(f"{counts.passed} passed, {counts.failed} failed, {sum(counts.skipped.values())} skipped")
    return 1 if counts.failed else 0


if __name__ == "__main__":
    sys.exit(main())
