#!/usr/bin/python3
"""The program of another commit against this one, in turn: what became slower fails.

    make bench-gate BASE=main             builds BASE under build/bench-gate/, once, and runs both
    bench/gate.py --verdict FILE          judges figures that were written before (--json)

Runs: forward (floor, IPv4, IPv6; packets from a second-level cache) and ipsec (AES-128-GCM, 64 and
1,400 bytes, in and out). A pair is one run of each program; who is first changes from pair to pair.
A figure is lost where the median of new / old lies above 1 by more than the pairs' middle half
spreads, and by more than 2.5 %. Where that spread is over 10 % nothing can be said, which fails, too.
Exit code: 0 nothing lost, 1 lost or not to be said, 2 could not be run.
"""

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LEAST_LOSS = 0.025  # the same program against itself differs by up to 2.3 % in 3 pairs
MOST_SPREAD = 0.10
PRIORITY = 20
SAME_OPTIONS = ("buildtype", "optimization", "debug", "b_lto", "b_ndebug", "b_pgo", "cpp_args", "cpp_link_args")
SERIES = ("floor", "ipv4", "ipv6")
FORWARD = ["forward", "--rounds", "7", "--round-ms", "30"]
IPSEC = ["ipsec", "--algorithm", "aes-128-gcm", "--size", "64,1400", "--tunnels", "1", "--workers", "1",
         "--no-control", "--no-peers", "--rounds", "5", "--round-ms", "20"]
RING = {"forward": ["--cache", "l2"], "ipsec": ["--cache", "l2"]}
# What a base without rings and interface counters measures.
WITHOUT_RING = {"forward": ["--cache", "l1", "--no-counters"], "ipsec": ["--cache", "l1"]}


class Problem(Exception):
    """One line for who runs this: what is wrong, and what to do about it."""


# ---- The verdict: figures in, rows out ----

def spread_of(ratios):
    low, _, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return high - low


def judge(pairs):
    """[{"old": {figure: cost}, "new": {...}}, ...] -> a row for each figure, in the order of the first pair."""
    if len(pairs) < 3:
        raise Problem(f"{len(pairs)} pairs say nothing; use 3 or more")
    rows = []
    for figure in pairs[0]["old"]:
        try:
            old, new = ([float(pair[side][figure]) for pair in pairs] for side in ("old", "new"))
        except KeyError:
            raise Problem(f"not all runs have {figure}; measure again") from None
        if min(old + new) <= 0:
            raise Problem(f"{figure} is not above 0 in all runs; measure again")
        ratios = [one / other for one, other in zip(new, old)]
        loss = statistics.median(ratios) - 1
        spread = spread_of(ratios)
        verdict = ("noise" if spread > MOST_SPREAD else
                   "lost" if loss > max(LEAST_LOSS, spread) else
                   "won" if -loss > max(LEAST_LOSS, spread) else "same")
        rows.append({"figure": figure, "old": statistics.median(old), "new": statistics.median(new),
                     "change": loss, "spread": spread, "verdict": verdict})
    missing = {figure for pair in pairs for figure in pair["new"]} - set(pairs[0]["old"])
    if missing:
        raise Problem(f"the base does not measure {', '.join(sorted(missing))}; take a later BASE")
    return rows


def table(rows):
    lines = [f"{'':<28}{'old':>10}{'new':>10}{'change':>10}{'spread':>9}"]
    for row in rows:
        lines.append(f"{row['figure']:<28}{row['old']:>10.1f}{row['new']:>10.1f}{row['change']:>+10.1%}"
                     f"{row['spread']:>9.1%}  {row['verdict']}")
    return "\n".join(lines)


def conclude(rows):
    """Exit code and the last line."""
    lost = [row["figure"] for row in rows if row["verdict"] == "lost"]
    noise = [row["figure"] for row in rows if row["verdict"] == "noise"]
    if lost:
        return 1, f"lost: {', '.join(lost)}"
    if noise:
        return 1, (f"too noisy to say: {', '.join(noise)}; stop other work on this machine, or raise PAIRS")
    return 0, "nothing lost"


# ---- The base: a worktree, built once ----

def commit_of(root, base):
    found = subprocess.run(["git", "-C", root, "rev-parse", "--verify", "--quiet", f"{base}^{{commit}}"],
                           stdout=subprocess.PIPE, text=True)
    if found.returncode != 0:
        raise Problem(f"BASE={base}: no such commit here; fetch it, or name one of `git log --oneline`")
    return found.stdout.strip()


def build_options(build):
    """What `build` was configured with, so that both programs are."""
    told = subprocess.run(["meson", "introspect", "--buildoptions", str(build)], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    options = json.loads(told.stdout) if told.returncode == 0 else []
    text = {option["name"]: option["value"] for option in options if option["name"] in SAME_OPTIONS}
    return [f"-D{name}={','.join(value) if isinstance(value, list) else value}" for name, value in sorted(text.items())]


def build_base(root, build, commit):
    options = build_options(build)
    key = hashlib.sha256(" ".join(options).encode()).hexdigest()[:6]
    folder = Path(build).resolve() / "bench-gate" / f"{commit[:12]}-{key}"
    program, log = folder / "build/bench/hecto-bench", folder.with_suffix(".log")
    if program.exists():
        return program
    folder.parent.mkdir(parents=True, exist_ok=True)
    print(f"building {commit[:12]} in {folder}; its log is {log}", flush=True)
    steps = [["meson", "setup", folder / "build", folder, *options],
             ["ninja", "-C", folder / "build", "bench/hecto-bench"]]
    if not (folder / "meson.build").exists():
        steps.insert(0, ["git", "-C", root, "worktree", "add", "--force", "--detach", folder, commit])
    with open(log, "w") as out:
        for step in steps:
            if step[1] == "setup" and (folder / "build/build.ninja").exists():
                continue
            if subprocess.run(step, stdout=out, stderr=subprocess.STDOUT).returncode != 0:
                last = log.read_text().strip().splitlines()[-3:]
                raise Problem("\n".join([*last, f"BASE={commit[:12]} does not build here ({' '.join(map(str, step[:3]))}"
                                         f" …, see {log}); take another BASE"]))
    return program


# ---- The runs ----

def has_ring(program):
    helped = subprocess.run([program, "forward", "--help"], stdout=subprocess.PIPE, text=True)
    return "--cache" in helped.stdout


def real_time():
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except PermissionError:
        pass


def run(program, words, more, folder):
    file = Path(folder) / "figures.json"
    file.unlink(missing_ok=True)
    done = subprocess.run([program, *words, *more, "--root", ROOT, "--json", file], preexec_fn=real_time,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0 or not file.exists():
        last = done.stdout.strip().splitlines()[-3:]
        raise Problem("\n".join([*last, f"{program} {words[0]} failed (exit code {done.returncode}); "
                                 f"run it alone: {' '.join([*words, *more])}"]))
    return json.loads(file.read_text())


def figures_of(program, options, folder):
    forward = run(program, FORWARD, options["forward"], folder)
    figures = {f"{series}, cycles": forward[series]["cycles_per_packet"] for series in SERIES}
    for row in run(program, IPSEC, options["ipsec"], folder)["rows"]:
        figures[f"ESP {row['direction']} {row['size']} B, ns"] = row["ns"]
    return figures


def measure(old, new, legacy, pairs):
    """`legacy`: the base has no rings; both measure without."""
    if has_ring(old) and legacy:
        raise Problem("this BASE has --cache: leave LEGACY out, or the two are not measured alike")
    if not has_ring(old) and not legacy:
        raise Problem("this BASE has no --cache: its ports have no rings and count nothing; take a later BASE, or "
                      "say LEGACY=1, and both are measured without")
    options = {"new": WITHOUT_RING, "old": {"forward": [], "ipsec": []}} if legacy else {"new": RING, "old": RING}
    programs = {"old": old, "new": new}
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(pairs):
            sides = ("old", "new") if turn % 2 == 0 else ("new", "old")
            found.append({side: figures_of(programs[side], options[side], folder) for side in sides})
            print(f"pair {turn + 1} of {pairs}", file=sys.stderr, flush=True)
    return found


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=ROOT, help="the repository")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="of the new program")
    parser.add_argument("--base", help="commit of the old one")
    parser.add_argument("--old", type=lambda name: Path(name).resolve(), help="instead of --base: a hecto-bench")
    parser.add_argument("--legacy", action="store_true", help="without rings and interface counters, as old ones have it")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--json", type=Path, help="also write figures and verdict here")
    parser.add_argument("--verdict", type=Path, help="judge such a file, run nothing")
    return parser.parse_args()


def pairs_in(file):
    try:
        return json.loads(file.read_text())["pairs"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Problem(f"{file}: no figures of bench-gate ({type(error).__name__}); write them with --json") from None


def main():
    options = arguments()
    if options.verdict:
        pairs = pairs_in(options.verdict)
    else:
        new = options.build / "bench/hecto-bench"
        if not new.exists():
            raise Problem(f"{new} is not there; `make build` first")
        if not options.base and not options.old:
            raise Problem("BASE is not given; say what to compare with, as in make bench-gate BASE=main")
        old = options.old or build_base(options.root, options.build, commit_of(options.root, options.base))
        pairs = measure(old, new, options.legacy, options.pairs)
    try:
        rows = judge(pairs)
        code, line = conclude(rows)
        print(f"{table(rows)}\n{line}")
    finally:
        if options.json:
            options.json.parent.mkdir(parents=True, exist_ok=True)
            options.json.write_text(json.dumps({"base": options.base, "pairs": pairs}, indent=1) + "\n")
    return code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Problem as problem:
        print(problem, file=sys.stderr)
        sys.exit(2)
    except (OSError, ValueError, KeyError) as error:
        print(f"bench-gate could not run: {type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(2)
