#!/usr/bin/python3
"""clang over the commands of a build folder, as many files at once as there are CPUs.

    tests/lint.py BUILD             clang-tidy (.clang-tidy) on what differs from main
    tests/lint.py BUILD --all       on every file
    tests/lint.py BUILD --syntax    clang's warnings as errors on every file; makes no object

clang's warnings come from its front end, so that --syntax finds what a whole build with clang would.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What gcc alone understands.
GCC_ONLY = re.compile(r"-Wno-(maybe-uninitialized|restrict)$")


def sources(one):
    """What a command compiles: its file, or each file that meson put together in one (unity)."""
    path = Path(one["directory"]) / one["file"]
    if not re.search(r"-unity\d+\.cpp$", one["file"]):
        return [path.resolve()]
    return [Path(p).resolve() for p in re.findall(r"#include<(.*)>", path.read_text())]


def commands(build):
    """The compiler's arguments of each of our source files, on its own: of two targets, the first
    one's. They are left where clang-tidy, and an editor, can read them: BUILD/lint."""
    files = {}
    for one in json.loads((build / "compile_commands.json").read_text()):
        if one["file"].endswith(".cpp"):
            for path in sources(one):
                command = one["command"].replace(f"-c {one['file']}", f"-c {shlex.quote(str(path))}")
                files.setdefault(os.path.relpath(path, ROOT),
                                 {**one, "file": str(path), "command": command})
    (build / "lint").mkdir(exist_ok=True)
    (build / "lint" / "compile_commands.json").write_text(json.dumps(list(files.values()), indent=1))
    return files


def changed():
    """What differs from main, commits and the working tree, and what git does not know yet."""
    def git(*arguments):
        run = subprocess.run(["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True)
        return run.stdout.split()
    since = git("merge-base", "HEAD", "main") or git("rev-parse", "HEAD")
    return set(git("diff", "--name-only", since[0])) | set(
        git("ls-files", "--others", "--exclude-standard"))


def includers(files, of):
    """A changed header is looked at through one source file of its folder that includes it."""
    chosen = {f for f in of if f in files}
    for header in (f for f in of if f.endswith(".hpp")):
        own = header[:-4] + ".cpp"
        near = [own] if own in files else [
            f for f in files if f'#include "{header}"' in (ROOT / f).read_text()]
        chosen |= set(near[:1])
    return chosen


def syntax(one):
    words = shlex.split(one["command"])
    if Path(words[0]).name == "ccache":
        words = words[1:]
    kept = [w for w in words[1:] if not GCC_ONLY.match(w) and w not in ("-c", "-MD")]
    for option in ("-o", "-MQ", "-MF"):
        while option in kept:
            at = kept.index(option)
            del kept[at:at + 2]
    return ["clang++", *kept, "-fsyntax-only", "-Werror", "-Wno-bitwise-instead-of-logical",
            "-Wno-unknown-warning-option"]


def tidy(one, build):
    return ["clang-tidy", "--quiet", "-p", str(build / "lint"), "--warnings-as-errors=*", one["file"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--syntax", action="store_true")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    files = commands(build)
    chosen = sorted(files if arguments.all or arguments.syntax else includers(files, changed()))

    def look(name):
        one = files[name]
        command = syntax(one) if arguments.syntax else tidy(one, build)
        run = subprocess.run(command, cwd=one["directory"], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
        # clang-tidy counts what it kept to itself.
        said = "\n".join(line for line in run.stdout.splitlines()
                         if not re.match(r"\d+ warnings? (generated|treated)|Suppressed|Use -header",
                                         line))
        if said and run.returncode != 0:
            print(said, flush=True)
        return run.returncode != 0

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        bad = sum(pool.map(look, chosen))
    print(f"{len(chosen)} files looked at, {bad} with faults")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
