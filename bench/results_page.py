#!/usr/bin/python3
"""The tables of docs/benchmarks.md from the results that are kept in docs/results.

    bench/results_page.py                    says where page and results differ; silent when nowhere
    bench/results_page.py --write            writes the tables
    bench/results_page.py --keep NAME FILE --command TEXT
                                             keeps what `hecto-bench forward`, `ipsec` or `lookup` wrote (--json)
    bench/results_page.py --self-test        against faults made on purpose

Between `<!-- results/NAME: begin -->` and its end stands what docs/results/NAME.json gives, and nothing by
hand. A table whose JSON is gone stands between `<!-- measured at COMMIT: begin -->` and its end, and names
that commit in its text. Other tables the page must not have.
"""

import argparse
import datetime
import json
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE, RESULTS = "docs/benchmarks.md", "docs/results"
REMEDY = "write it with bench/results_page.py --write"
BLOCK = re.compile(r"<!-- (results/|measured at )(\S+): begin -->\n(.*?)<!-- \1\2: end -->\n", re.S)
MARKER = re.compile(r"<!-- (?:results/|measured at )\S+: (?:begin|end) -->")
TABLE = re.compile(r"^\|[-|: ]+\|$", re.M)
COMMIT = re.compile(r"[0-9a-f]{7,40}")
STATES = ("warm", "stream", "cold", "polluted")


class Problem(Exception):
    """One line for who runs this: what is wrong, and what to do about it."""


# ---- A result in; what it is of, and its figures as Markdown, out ----

def table(head, rows):
    lines = ["| " + " | ".join(line) + " |" for line in (head, *rows)]
    lines.insert(1, "|" + "---|" * len(head))
    return re.sub(r"\| +(?=\|)", "| ", "\n".join(lines)) + "\n"


def forward(result):
    rows = []
    for point in result["points"]:
        for series in ("floor", "ipv4", "ipv6"):
            if (figures := point.get(series)) is None:
                continue
            over = series != "floor"
            rows.append([point["cache"], str(point["burst"]), series.replace("ip", "IP"), f"{figures['mpps']:.1f}",
                         f"{figures['cycles_per_packet']:.1f}",
                         f"{figures['cycles_over_floor']:.1f}" if over else "",
                         f"{figures['cycles_over_floor_spread']:.1f}" if over else ""])
    return (f"{result['machine']}, TSC {result['tsc_hz'] / 1e9:.1f} GHz, {result['dpdk']}, "
            f"{'hugepages' if result['hugepages'] else 'ordinary pages'}, look-up {result['isa']}; "
            f"{result['routes']:,} routes ({result['table']}), {result['next_hops']} next hops, "
            f"{result['verified']:,} packets verified.",
            table(["packets from", "burst", "", "Mpps", "cycles a packet", "over the floor", "its spread"], rows))


def lookup(result):
    cycles = {}
    for row in result["rows"]:
        cycles.setdefault((row["family"], row["destinations"], row["engine"]), {})[row["state"]] = row["cycles"]
    rows = [[f"IPv{family} {destinations}", engine, *(f"{of[state]:.1f}" for state in STATES)]
            for (family, destinations, engine), of in sorted(cycles.items())]
    machine, routes = result["machine"], result["table"]
    return (f"{machine['name']}, TSC {machine['tsc_hz'] / 1e9:.1f} GHz, {machine['dpdk']}, {machine['memory']}, "
            f"hecto's kernels {machine['isa']}; {routes['routes4']:,} IPv4 and {routes['routes6']:,} IPv6 routes "
            f"({routes['name']}), {routes['next_hops']} next hops, batches of {result['method']['batch']}, medians of "
            f"{result['method']['rounds']} passes.",
            table(["cycles a look-up", "", *STATES], rows))


def ipsec(result):
    ways = {}
    for row in result["rows"]:
        ways.setdefault((row["algorithm"], row["size"], row["tunnels"], row["workers"]), {})[row["direction"]] = row
    rows = [[algorithm, size, f"{tunnels:,}", str(workers),
             *(f"{of[way][key]:.{digits}f}" if key != "share_of_raw" else f"{100 * of[way][key]:.0f} %"
               for way in ("encap", "decap") for key, digits in (("ns", 0), ("gbps", 1), ("share_of_raw", 0)))]
            for (algorithm, size, tunnels, workers), of in ways.items()]
    machine = result["machine"]
    pages = "hugepages" if any(pages["all"] for pages in machine["hugepages"].values()) else "ordinary pages"
    return (f"{machine['name']}, {machine['dpdk']}, {result['crypto']}, {pages}; {result['routes']:,} routes, burst "
            f"{result['burst']}, packets from {result['cache']}.",
            table(["algorithm", "bytes", "tunnels", "workers", "encap, ns a packet", "Gb/s", "of raw", "decap, ns",
                   "Gb/s", "of raw"], rows))


KINDS = {"points": forward, "alone": ipsec, "rows": lookup}  # by the first that a result has


def kind_of(result):
    for key, kind in KINDS.items():
        if isinstance(result, dict) and key in result:
            return kind
    raise Problem("not of `hecto-bench forward`, `ipsec` or `lookup`")


def render(kept):
    about, figures = kind_of(kept["result"])(kept["result"])
    about = f"Measured at `{kept['commit']}`, {kept['date']}, by `{kept['command']}`: {about}"
    return textwrap.fill(about, 118, break_long_words=False, break_on_hyphens=False) + "\n\n" + figures


# ---- The page ----

def read_results(root):
    texts = {}
    for file in sorted((root / RESULTS).glob("*.json")):
        if file.stem.startswith("offload-"):  # of bench/offload/device.sh: docs/offload.md quotes them
            continue
        try:
            texts[file.stem] = render(json.loads(file.read_text()))
        except (ValueError, KeyError, TypeError, Problem) as error:
            raise Problem(f"{RESULTS}/{file.name}: no kept result ({type(error).__name__}: {error}); "
                          "keep it again with bench/results_page.py --keep") from None
    return texts


def check_block(kind, name, body, texts):
    if kind == "measured at ":
        if not COMMIT.fullmatch(name):
            return f"measured at {name}: no commit"
        return None if f"`{name}`" in body else f"measured at {name}: its text does not name `{name}`"
    if name not in texts:
        return (f"results/{name}: there is no {RESULTS}/{name}.json; bring it back, or say at which commit "
                "the figures were measured")
    return None if body == texts[name] else f"results/{name}: not what {RESULTS}/{name}.json gives; {REMEDY}"


def check(root):
    root = Path(root)
    try:
        texts = read_results(root)
        page = (root / PAGE).read_text()
    except (Problem, OSError) as problem:
        return [str(problem)]
    faults, shown = [], []
    for kind, name, body in BLOCK.findall(page):
        if fault := check_block(kind, name, body, texts):
            faults.append(f"{PAGE}: {fault}")
        if kind == "results/":
            shown.append(name)
    for name in texts:
        if shown.count(name) != 1:
            faults.append(f"{PAGE}: results/{name} stands there {shown.count(name)} times; once is right")
    rest = BLOCK.sub("", page)
    faults += [f"{PAGE}: {marker} has not its other half" for marker in MARKER.findall(rest)]
    for place in TABLE.finditer(rest):
        head = rest[:place.start()].splitlines()[-1]
        faults.append(f"{PAGE}: the table {head} is of no kept result; keep its JSON, or put it between "
                      "<!-- measured at COMMIT: begin --> and end")
    return faults


def write(root):
    texts = read_results(root)
    page = root / PAGE

    def fresh(block):
        kind, name, body = block.groups()
        text = texts.get(name, body) if kind == "results/" else body
        return f"<!-- {kind}{name}: begin -->\n{text}<!-- {kind}{name}: end -->\n"

    page.write_text(BLOCK.sub(fresh, page.read_text()))


def keep(root, name, file, command):
    try:
        result = json.loads(Path(file).read_text())
        kind_of(result)
    except (OSError, ValueError, Problem) as error:
        raise Problem(f"{file}: {error}; write it with hecto-bench --json") from None

    def git(*arguments):
        return subprocess.run(["git", "-C", root, *arguments], check=True, capture_output=True, text=True).stdout.strip()

    # What was kept before, and the page, were not measured.
    if git("status", "--porcelain", "--untracked-files=no", "--", ".", f":!{RESULTS}", f":!{PAGE}"):
        raise Problem("the tree differs from its commit, so no commit says what was measured; commit first")
    kept = {"commit": git("rev-parse", "--short=9", "HEAD"), "date": datetime.date.today().isoformat(),
            "command": command, "result": result}
    (root / RESULTS).mkdir(exist_ok=True)
    (root / RESULTS / f"{name}.json").write_text(json.dumps(kept, indent=1) + "\n")


# ---- Faults made on purpose ----

FIGURES = {"mpps": 50.04, "cycles_per_packet": 52.0, "cycles_over_floor": 30.06, "cycles_over_floor_spread": 1.0}
FORWARD = {"machine": "CPU", "tsc_hz": 2e9, "dpdk": "DPDK", "hugepages": True, "isa": "avx2", "routes": 1000,
           "table": "t", "next_hops": 4, "verified": 10,
           "points": [{"cache": "l2", "burst": 64, "floor": FIGURES, "ipv4": FIGURES, "ipv6": FIGURES}]}
LOOKUP = {"machine": {"name": "CPU", "tsc_hz": 2e9, "dpdk": "DPDK", "memory": "hugepages", "isa": "avx2"},
          "table": {"name": "t", "routes4": 1000, "routes6": 10, "next_hops": 4},
          "method": {"batch": 256, "rounds": 11},
          "rows": [{"family": 4, "destinations": "zipf", "engine": "hecto", "state": state, "cycles": 4.25}
                   for state in STATES]}
WAY = {"algorithm": "gcm", "size": "64", "tunnels": 1000, "workers": 1, "ns": 97.4, "gbps": 5.62, "share_of_raw": 0.391}
IPSEC = {"alone": [], "burst": 64, "cache": "l2", "crypto": "ipsec-mb", "routes": 1000,
         "machine": {"name": "CPU", "dpdk": "DPDK", "hugepages": {"2048kB": {"all": 1, "free": 0}}},
         "rows": [{**WAY, "direction": "encap"}, {**WAY, "direction": "decap", "ns": 105.2}]}
OF = {"commit": "abcdef123", "date": "2026-01-02", "command": "hecto-bench"}


def sound_files():
    results = {"a": {**OF, "result": FORWARD}, "b": {**OF, "result": LOOKUP}, "c": {**OF, "result": IPSEC}}
    page = "# Page\nprose\n"
    for name, kept in results.items():
        page += f"<!-- results/{name}: begin -->\n{render(kept)}<!-- results/{name}: end -->\n"
    page += "<!-- measured at 1234567: begin -->\nAt `1234567`:\n| x |\n|---|\n<!-- measured at 1234567: end -->\n"
    return {PAGE: page, **{f"{RESULTS}/{name}.json": json.dumps(kept) for name, kept in results.items()}}


SPOILED = {
    "a figure changed by hand": (PAGE, "| 30.1 |", "| 29.1 |", f"results/a: not what {RESULTS}/a.json gives; write it"),
    "a figure of the other kind": (PAGE, "| 4.2 |", "| 4.1 |", "results/b: not what"),
    "a figure of the third kind": (PAGE, "| 39 % |", "| 40 % |", "results/c: not what"),
    "a result that changed": (f"{RESULTS}/a.json", "52.0", "53.0", "results/a: not what"),
    "a result of nothing": (f"{RESULTS}/a.json", '"points"', '"dots"', "a.json: no kept result (Problem: not of"),
    "a result that is cut": (f"{RESULTS}/b.json", '"rows"', "", "b.json: no kept result (JSONDecodeError"),
    "a result without its commit": (f"{RESULTS}/b.json", '"commit"', '"at"', "b.json: no kept result (KeyError"),
    "a result that is not shown": (PAGE, "results/b: ", "results/d: ", "results/b stands there 0 times"),
    "a result that is gone": (PAGE, "results/b: ", "results/d: ", "there is no docs/results/d.json"),
    "a table by hand": (PAGE, "prose\n", "prose\n| a | b |\n|---|---|\n", "the table | a | b | is of no kept result"),
    "a marker alone": (PAGE, "<!-- results/a: end -->\n", "", "results/a: begin --> has not its other half"),
    "figures of no commit": (PAGE, "measured at 1234567: ", "measured at noon: ", "measured at noon: no commit"),
    "a commit that is not named": (PAGE, "At `1234567`", "Once", "does not name `1234567`"),
}


def keeping():
    """What is kept names the commit that was measured; a tree that is none is refused."""
    with tempfile.TemporaryDirectory() as folder:
        root, name = Path(folder), ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        (root / "docs").mkdir()
        (root / "source").write_text("a")
        for arguments in (["init", "-q"], ["add", "source"], [*name, "commit", "-qm", "a"]):
            subprocess.run(["git", "-C", folder, *arguments], check=True)
        (root / "forward.json").write_text(json.dumps(FORWARD))
        keep(root, "a", root / "forward.json", "x")
        kept = json.loads((root / RESULTS / "a.json").read_text())
        head = subprocess.run(["git", "-C", folder, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
        if not head.stdout.startswith(kept["commit"]) or kept["result"] != FORWARD:
            return f"kept {kept}"
        subprocess.run(["git", "-C", folder, "add", "docs"], check=True)
        keep(root, "a", root / "forward.json", "y")  # a second result of the same commit
        (root / "source").write_text("b")
        try:
            keep(root, "a", root / "forward.json", "x")
        except Problem as problem:
            return None if "commit first" in str(problem) else str(problem)
        return "a changed tree was taken for its commit"


def self_test():
    def faults_of(files, mended=False):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            if mended:
                write(Path(folder))
            return check(folder)

    wrong, sound = [], sound_files()
    if faults := faults_of(sound):
        wrong.append(f"a sound page: {faults}")
    for what, (name, old, new, expected) in SPOILED.items():
        faults = faults_of({**sound, name: sound[name].replace(old, new)})
        if not any(expected in fault for fault in faults):
            wrong.append(f"{what}: not found; found: {faults}")
    spoiled = {**sound, PAGE: sound[PAGE].replace("| 30.1 |", "| 29.1 |")}
    if faults := faults_of(spoiled, mended=True):
        wrong.append(f"--write left faults: {faults}")
    if fault := keeping():
        wrong.append(f"--keep: {fault}")
    return wrong, 3 + len(SPOILED)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--keep", nargs=2, metavar=("NAME", "FILE"))
    parser.add_argument("--command", help="what was run, as it stands on the page")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        faults, _ = self_test()
    elif options.keep:
        if not options.command:
            raise Problem("--command is not given: say what was run")
        keep(ROOT, *options.keep, options.command)
        return 0
    else:
        if options.write:
            write(ROOT)
        faults = check(ROOT)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Problem as problem:
        print(problem, file=sys.stderr)
        sys.exit(2)
