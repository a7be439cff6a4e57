#!/usr/bin/python3
"""Holds the tree against its drawing, docs/house.txt; each fault is a line that says what to do.

    tests/house.py [FOLDER]       the tree there (default: this one)
    tests/house.py --self-test    faults made on purpose, each of which has to be found
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import unity

DRAWING = "docs/house.txt"
DPDK = "router/dataplane/core/dpdk.hpp"
SOURCE, HEADER = (".cpp", ".cu"), (".hpp", ".h", ".cuh")
# Above every room, and included by none.
TOP = ("bench", "tests", "demo")
# What a part of the house may include besides itself; parts that are not here: everything.
MAY_INCLUDE = {
    "base": (),
    "lookup": ("base",),
    "gpu_offload": ("base", "lookup"),
    "config": ("base", "lookup"),
}
# Rooms that are built and tested without DPDK, with all that is below them.
NO_DPDK = ("base", "lookup", "gpu_offload", "config", "router/rib", "router/ipsec", "router/linux",
           "router/sflow", "router/ipfix", "router/api/http", "router/api", "router/cli")
NOT_NO_DPDK = ("router/api/show", "router/api/metrics", "router/api/backend")
# Built by scripts of their own.
NO_MESON = {
    "bench/offload/device_main.cpp": "bench/offload/device.sh",
    "bench/offload/kernels.cu": "bench/offload/device.sh",
}
# Reasons that no test brings about, and why: none.
UNTESTED_REASONS = {}
# Reasons that nothing gives, and why they are there: none.
UNUSED_REASONS = {}


def inside(path, folders):
    return any(path == f or path.startswith(f + "/") for f in folders)


def room_of(path):
    return os.path.dirname(path)


class Tree:
    def __init__(self, root):
        self.root = Path(root)
        self.files = sorted(self._list())
        self.code = [f for f in self.files if f.endswith(SOURCE + HEADER)]
        self.known = set(self.code)
        self.includes = {f: self._includes(f) for f in self.code}

    def _list(self):
        git = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=self.root,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if git.returncode == 0:
            return [f for f in git.stdout.splitlines() if (self.root / f).is_file()]
        files = [f.relative_to(self.root) for f in self.root.rglob("*") if f.is_file()]
        return [str(f) for f in files if not f.parts[0].startswith(("build", "."))]

    def text(self, path):
        return (self.root / path).read_text(errors="replace")

    def _includes(self, path):
        """(line number, what stands between the quotes or brackets, is ours) of each."""
        found = []
        for number, line in enumerate(self.text(path).splitlines(), 1):
            if match := re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line):
                found.append((number, match[2], match[1] == '"' or match[2] in self.known))
        return found


def drawing(tree, faults):
    rooms = []
    for line in tree.text(DRAWING).splitlines():
        if word := line.split("#")[0].split():
            rooms.append(word[0])
    have = {room_of(f) for f in tree.code}
    for room in sorted(have - set(rooms)):
        mirrored = room.removeprefix("tests/unit/")
        if room.startswith("tests/unit/"):
            # As deep as the rooms are drawn: tests/unit/router/api tests router/api and below.
            if mirrored not in rooms and not any(r.startswith(mirrored + "/") for r in rooms):
                faults.append(f"{room}/ mirrors no room: name it as the room that it tests")
        elif not inside(room, ("tests", "demo")):
            faults.append(f"{room}/ is not in {DRAWING}: add a line where it stands, above all "
                          "rooms that it includes")
    for room in rooms:
        if room not in have:
            faults.append(f"{DRAWING} names {room}/, which has no sources: take the line out")
    return {room: storey for storey, room in enumerate(rooms)}


def check_arrows(tree, storeys, faults):
    for path, includes in tree.includes.items():
        here = room_of(path)
        for number, what, ours in includes:
            where = f"{path}:{number}"
            if not ours:
                continue
            if what not in tree.known:
                faults.append(f'{where} includes "{what}", which is not there: write the path '
                              "from the top of the tree")
                continue
            there = room_of(what)
            part, other = path.split("/")[0], what.split("/")[0]
            if other != part and other in TOP and part != "tests":
                faults.append(f'{where} includes "{what}": nothing outside includes {other}/; '
                              "move what it needs to a room below both")
            elif other != part and other not in MAY_INCLUDE.get(part, (other,)):
                faults.append(f'{where} includes "{what}": {part}/ includes only '
                              f"{', '.join(MAY_INCLUDE[part]) or 'nothing of ours'}; move what it "
                              "needs down, or itself up")
            elif here in storeys and there in storeys and storeys[there] > storeys[here]:
                faults.append(f'{where} includes "{what}": {here}/ stands below {there}/ in '
                              f"{DRAWING}; move what it needs down, or itself up")


def check_circles(tree, faults):
    """Files that include each other: arrows go down between files, too."""
    done, way = set(), []

    def visit(path):
        if path in way:
            circle = way[way.index(path):] + [path]
            faults.append(f"{' -> '.join(circle)}: a circle of includes; declare ahead in one")
            return
        if path in done:
            return
        way.append(path)
        for _, what, ours in tree.includes.get(path, []):
            if ours:
                visit(what)
        way.pop()
        done.add(path)

    for path in tree.code:
        visit(path)


def check_dpdk(tree, faults):
    """DPDK's headers come after dpdk.hpp, which puts in order those that depend on an order."""
    reaches = {}

    def through(path):
        """Whether the file includes dpdk.hpp, at any depth."""
        if path not in reaches:
            reaches[path] = False  # while under way
            reaches[path] = path == DPDK or any(
                ours and through(what) for _, what, ours in tree.includes.get(path, []))
        return reaches[path]

    for path, includes in tree.includes.items():
        without = inside(room_of(path), NO_DPDK) and not inside(room_of(path), NOT_NO_DPDK)
        before = False
        for number, what, ours in includes:
            where = f"{path}:{number}"
            if ours and through(what):
                before = True
                if without:
                    faults.append(f'{where} includes "{what}", and with it DPDK, which '
                                  f"{room_of(path)}/ is built without: move what it needs down")
            elif not ours and what.startswith("rte_") and path != DPDK:
                if without:
                    faults.append(f"{where} includes <{what}>: {room_of(path)}/ is built without "
                                  "DPDK; move what needs it to router/dataplane/")
                elif not before:
                    faults.append(f'{where} includes <{what}> before "{DPDK}": include that '
                                  "first (`make format` puts them in order)")


def check_sources(tree, faults):
    """Every source file belongs to a target."""
    named = set()
    for build in tree.files:
        if os.path.basename(build) == "meson.build":
            text = re.sub(r"#.*", "", tree.text(build))
            for name in re.findall(r"'([^'\n]+)'", text):
                if name.endswith(SOURCE):
                    named.add(os.path.normpath(os.path.join(room_of(build), name)))
    for path in tree.code:
        if not path.endswith(SOURCE) or path in named:
            continue
        if path in NO_MESON and os.path.basename(path) in tree.text(NO_MESON[path]):
            continue
        build = "tests/unit" if path.startswith("tests/unit/") else room_of(path)
        faults.append(f"{path} is in no library and no program: name it in {build}/meson.build")


def check_reasons(tree, faults):
    """Every reason is brought about by a test, which says it as Reason::kX or by its name."""
    if "base/reason.hpp" not in tree.files:
        return
    enum = re.search(r"enum class Reason[^{]*\{(.*?)\}", tree.text("base/reason.hpp"), re.S)[1]
    constants = re.findall(r"^\s*(k\w+)", re.sub(r"//.*", "", enum), re.M)
    names = re.findall(r'^\s*\{"(\w+)", Stage::', tree.text("base/reason.cpp"), re.M)
    if constants[-1:] != ["kCount"] or len(constants) != len(names) + 1:
        faults.append(f"base/reason.cpp names {len(names)} reasons, base/reason.hpp has "
                      f"{len(constants) - 1}: write a constant a line, and a name for each")
        return
    tests = "\n".join(tree.text(f) for f in tree.files
                      if f.startswith("tests/") and f.endswith((".cpp", ".hpp", ".py"))
                      and f != "tests/house.py")
    given = set()
    for f in tree.code:
        if not inside(f, ("base", *TOP)):
            given.update(re.findall(r"\bk[A-Z]\w*", tree.text(f)))
    expected = set(re.findall(r"Reason::(k\w+)|[\"'](\w+)[\"']", tests))
    expected = {word for pair in expected for word in pair}
    for constant, name in zip(constants[1:], names[1:]):
        if constant not in given and name not in UNUSED_REASONS:
            faults.append(f"base/reason.cpp: nothing gives {name}: use Reason::{constant} where "
                          "the packet leaves, or take the reason out")
        tested = constant in expected or name in expected
        if not tested and name not in UNTESTED_REASONS:
            faults.append(f"base/reason.cpp: no test brings about {name}: add one that expects "
                          f"Reason::{constant} (tests/unit) or \"{name}\" (tests/e2e)")
        elif tested and name in UNTESTED_REASONS:
            faults.append(f"tests/house.py: {name} has a test now: take it out of "
                          "UNTESTED_REASONS")


def check(root):
    tree, faults = Tree(root), []
    storeys = drawing(tree, faults)
    check_arrows(tree, storeys, faults)
    check_circles(tree, faults)
    check_dpdk(tree, faults)
    check_sources(tree, faults)
    check_reasons(tree, faults)
    unity.check_names(tree, faults)
    return faults


# A house without fault, and what spoils it: a file, its text, a word of the line that is expected.
SOUND = {
    DRAWING: "# rooms\nbase  words\nlookup\nconfig/file\nrouter/rib\nrouter/dataplane/core\n"
             "router/control  the thread\nrouter\nbench\n",
    "base/meson.build": "static_library('base', files('reason.cpp', 'text.cpp'))",
    "base/text.cpp": "namespace {\nconstexpr int kMost = 1;  // of a { brace\nint of(int a);\n}\n",
    "base/reason.hpp": "enum class Reason : uint8_t {\n  kNone = 0,\n  kArp,  // RFC 826\n"
                       "  kCount\n};\n",
    "base/reason.cpp": '    {"none", Stage::kReceive},\n    {"arp", Stage::kClassify},\n',
    "lookup/fib.hpp": "#include <cstdint>\n",
    "config/file/load.hpp": '#include "base/reason.hpp"\n',
    "router/rib/routing.hpp": '#include "lookup/fib.hpp"\n',
    DPDK: "#include <rte_mbuf.h>\n",
    "router/control/router.hpp": f'#include "router/rib/routing.hpp"\n#include "{DPDK}"\n'
                                 "#include <rte_ip.h>\n",
    "router/main.cpp": '#include "router/control/router.hpp"\nReason::kArp;\n',
    "router/meson.build": "executable('hectod', 'main.cpp')",
    "bench/bed.hpp": '#include "router/control/router.hpp"\n',
    "tests/unit/base/reason_test.cpp": '#include "base/reason.hpp"\nReason::kArp;\n',
    "tests/unit/meson.build": "files('base/reason_test.cpp')",
}
SPOILED = {
    "an upward include": ("router/rib/routing.hpp", '#include "router/control/router.hpp"\n',
                          "router/rib/ stands below router/control/"),
    "a part that may not": ("config/file/load.hpp", '#include "router/rib/routing.hpp"\n',
                            "config/ includes only base, lookup"),
    "lookup/ that includes ours": ("lookup/fib.hpp", '#include "config/file/load.hpp"\n',
                                   "lookup/ includes only base"),
    "an include of bench/": ("router/main.cpp", '#include "bench/bed.hpp"\n',
                             "nothing outside includes bench/"),
    "an include of nothing": ("router/main.cpp", '#include "router/gone.hpp"\n', "not there"),
    "a circle of files": ("base/reason.hpp", '#include "base/reason.hpp"\nenum class Reason '
                          "{\nkNone,\nkArp,\nkCount };\n", "circle"),
    "a room that is not drawn": ("router/attic/x.hpp", "\n", "router/attic/ is not in"),
    "a drawn room that is gone": (DRAWING, SOUND[DRAWING] + "cellar\n", "has no sources"),
    "tests of no room": ("tests/unit/attic/x.hpp", "\n", "mirrors no room"),
    "DPDK where it may not": ("router/rib/routing.hpp", "#include <rte_ip.h>\n",
                              "built without DPDK"),
    "DPDK by another's header": ("router/rib/routing.hpp", f'#include "{DPDK}"\n',
                                 "is built without"),
    "DPDK before dpdk.hpp": ("router/control/router.hpp", f'#include <rte_ip.h>\n#include "{DPDK}"'
                             "\n", "include that first"),
    "a source in no library": ("router/rib/lost.cpp", "\n", "is in no library"),
    "a source in a comment alone": ("router/meson.build", "# 'main.cpp'\n", "is in no library"),
    "a reason without a test": ("tests/unit/base/reason_test.cpp", "Reason::kArpReply\n",
                                "no test brings about arp"),
    "a reason that nothing gives": ("router/main.cpp", "\n", "nothing gives arp"),
    "an include in brackets": ("config/file/load.hpp", "#include <router/rib/routing.hpp>\n",
                               "config/ includes only"),
    "a name twice in a library": ("base/reason.cpp", SOUND["base/reason.cpp"] +
                                  "namespace {\nint of(long a);\nconst long kMost = 2;\n}\n",
                                  "base/text.cpp: kMost is in the anonymous namespace"),
    "a function twice": ("base/reason.cpp", SOUND["base/reason.cpp"] +
                         "namespace {\nint of(int other) { return other; }\n}\n",
                         "base/text.cpp: of(int) is in the anonymous namespace"),
    "a reason without a name": ("base/reason.cpp", '    {"none", Stage::kReceive},\n',
                                "a name for each"),
}


def self_test():
    def faults_of(files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return check(folder)

    wrong = []
    if faults := faults_of(SOUND):
        wrong.append(f"a sound house: {faults}")
    for what, (name, text, expected) in SPOILED.items():
        faults = faults_of({**SOUND, name: text})
        if not any(expected in fault for fault in faults):
            wrong.append(f"{what}: not found; found: {faults}")
        if any("\n" in fault for fault in faults):
            wrong.append(f"{what}: more than a line")
    return wrong, 1 + len(SPOILED)


def main():
    if sys.argv[1:] == ["--self-test"]:
        faults, _ = self_test()
    else:
        faults = check(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
