"""`make bench-gate`: what its verdict says of figures, and what it says when it cannot run."""

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import gate  # noqa: E402

# What it asks of a hecto-bench: options in --help, figures in a file.
FAKE = """#!/usr/bin/python3
import json, sys
words = sys.argv[1:]
if "--help" in words:
    print("{help}")
    sys.exit(0)
if "{fails}" == words[0]:
    print("dropped 3 packets: no_route")
    sys.exit(1)
cost = {cost} * (1 if words[0] == "ipsec" or ("--cache" in words) == ("--cache" in "{help}") else 100)
forward = {{series: {{"cycles_per_packet": cost}} for series in ("floor", "ipv4", "ipv6")}}
rows = [{{"direction": d, "size": s, "ns": cost}} for s in ("64", "1400") for d in ("encap", "decap")]
with open(words[words.index("--json") + 1], "w") as out:
    json.dump(forward if words[0] == "forward" else {{"rows": rows}}, out)
"""


def pairs_of(old, new):
    return [{"old": {"ipv4": a}, "new": {"ipv4": b}} for a, b in zip(old, new)]


def verdict_of(old, new):
    return gate.judge(pairs_of(old, new))[0]["verdict"]


def test_a_loss_is_one_beyond_the_spread_of_the_pairs():
    assert verdict_of([100] * 7, [103] * 7) == "lost"
    assert verdict_of([100] * 7, [97] * 7) == "won"
    assert verdict_of([100] * 7, [100.5] * 7) == "same"  # below what code accounts for
    spread = [99, 100, 101, 103, 105, 106, 107]
    assert verdict_of([100] * 7, spread) == "same"  # 3 %, and the middle half lies 5 % apart
    assert verdict_of([100] * 7, [one + 3 for one in spread]) == "lost"
    assert verdict_of([100] * 3, [80, 103, 103]) == "noise"  # nor does one of three say nothing
    # The machine slows down by half on the way: for both.
    assert verdict_of([100, 110, 120, 130, 140, 150, 150], [103, 113, 124, 134, 144, 155, 154]) == "lost"


def test_noise_is_no_pass():
    rows = gate.judge(pairs_of([100] * 7, [80, 90, 95, 100, 105, 110, 120]))
    assert rows[0]["verdict"] == "noise"
    code, line = gate.conclude(rows)
    assert code == 1 and "too noisy to say: ipv4" in line and "raise PAIRS" in line


def test_the_worst_counts():
    rows = gate.judge([{"old": {"a": 1, "b": 1}, "new": {"a": 0.5, "b": 1.2}}] * 5)
    assert [row["verdict"] for row in rows] == ["won", "lost"]
    assert gate.conclude(rows) == (1, "lost: b")
    assert gate.conclude(rows[:1]) == (0, "nothing lost")
    assert "+20.0%" in gate.table(rows)


@pytest.mark.parametrize("pairs, said", [
    (pairs_of([1, 1], [1, 1]), "use 3 or more"),
    ([{"old": {"a": 1}, "new": {}}] * 5, "not all runs have a"),
    ([{"old": {"a": 0}, "new": {"a": 1}}] * 5, "not above 0"),
    ([{"old": {"a": 1}, "new": {"a": 1, "b": 1}}] * 5, "take a later BASE"),
])
def test_figures_that_say_nothing_are_refused(pairs, said):
    with pytest.raises(gate.Problem, match=said):
        gate.judge(pairs)


@pytest.fixture
def run(tmp_path):
    def program(path, cost, help="--cache", fails=""):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FAKE.format(cost=cost, help=help, fails=fails))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def gate_of(*words, code):
        done = subprocess.run([ROOT / "bench/gate.py", "--build", tmp_path / "build", "--pairs", "3", *words],
                              capture_output=True, text=True, timeout=120, cwd=tmp_path)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    gate_of.program = program
    gate_of.new = lambda cost, **more: program(tmp_path / "build/bench/hecto-bench", cost, **more)
    gate_of.path = tmp_path
    return gate_of


def test_both_programs_take_turns_and_the_figures_are_kept(run):
    old = run.program(run.path / "old", 100)
    run.new(104)
    said = run("--old", old, "--json", "figures.json", code=1)
    assert "lost: floor, cycles, ipv4, cycles" in said and "ESP decap 1400 B, ns" in said
    assert len(json.loads((run.path / "figures.json").read_text())["pairs"]) == 3
    assert "lost: floor" in run("--verdict", "figures.json", code=1)
    run.new(99.5)
    assert "nothing lost" in run("--old", old, code=0)


def test_a_base_without_rings_is_named_with_what_to_do(run):
    old = run.program(run.path / "old", 100, help="--burst")
    run.new(100)
    assert "has no --cache" in run("--old", old, code=2)
    assert "nothing lost" in run("--old", old, "--legacy", code=0)


def test_a_run_that_fails_is_named(run):
    old = run.program(run.path / "old", 100, fails="ipsec")
    run.new(100)
    said = run("--old", old, code=2)
    assert "dropped 3 packets" in said and "ipsec failed (exit code 1)" in said


def test_what_cannot_be_compared_with_is_named(run):
    assert "make build" in run("--base", "HEAD", code=2)
    run.new(100)
    assert "as in make bench-gate BASE=main" in run(code=2)
    (run.path / "empty.json").write_text("{}")
    assert "no figures of bench-gate" in run("--verdict", "empty.json", code=2)
    assert "no figures of bench-gate" in run("--verdict", "none.json", code=2)
    repository = run.path / "repository"
    git = ["git", "-C", repository, "-c", "user.name=t", "-c", "user.email=t@example.net"]
    subprocess.run(["git", "init", "-q", repository], check=True)
    (repository / "meson.build").write_text("project('broken', 'no-such-language')\n")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "broken"], check=True)
    assert "BASE=nowhere: no such commit here" in run("--root", repository, "--base", "nowhere", code=2)
    said = run("--root", repository, "--base", "HEAD", code=2)
    assert "does not build here" in said and "no-such-language" in said and ".log" in said
