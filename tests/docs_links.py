#!/usr/bin/python3
"""Every relative link of the documents leads somewhere: files, folders, and anchors of headings.

    tests/docs_links.py               of this tree; silent when all is well
    tests/docs_links.py --self-test   against faults made on purpose
"""

import re
import sys
import tempfile
from pathlib import Path

FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.S | re.M)
LINK = re.compile(r"\]\(([^()\s]+)(?:\s+\"[^\"]*\")?\)")


def documents(root):
    root = Path(root)
    return sorted({*root.glob("*.md"), *root.glob("docs/*.md"),
                   *(f for f in root.glob("*/**/README.md")
                     if not f.relative_to(root).parts[0].startswith(("build", ".")))})


def prose(text):
    """Without code, whose brackets are no links."""
    text = FENCE.sub("", text)
    text = re.sub(r"^(?: {4}|\t)[^\n]*$", "", text, flags=re.M)
    return re.sub(r"`[^`\n]*`", "", text)


def headings(text):
    return re.findall(r"^#+\s+(.*?)\s*#*$", FENCE.sub("", text), re.M)


def github_anchor(heading):
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip())


def site_anchor(heading):
    """As Python-Markdown makes it, which joins what GitHub leaves apart."""
    return re.sub(r"[-\s]+", "-", github_anchor(heading))


def check_link(file, link, root):
    path, _, anchor = link.partition("#")
    target = (file.parent / path).resolve() if path else file
    if not target.exists():
        return f"{link}: there is no {path}"
    if root not in target.parents and target != root:
        return f"{link}: leads out of the tree"
    if not anchor:
        return None
    if target.is_dir():
        target = target / "README.md"
    known = headings(target.read_text()) if target.suffix == ".md" and target.exists() else []
    if anchor not in map(github_anchor, known):
        return f"{link}: no heading of {target.name} is #{anchor}"
    if anchor not in map(site_anchor, known):
        return f"{link}: GitHub and the site of `make docs` name that heading differently"
    return None


def check(root):
    root, faults = Path(root).resolve(), []
    for file in documents(root):
        for link in LINK.findall(prose(file.read_text())):
            if not re.match(r"[a-z]+:", link) and (fault := check_link(file, link, root)):
                faults.append(f"{file.relative_to(root)}: {fault}")
    return faults


SOUND = {
    "README.md": "# Top\n[a](docs/a.md) [b](docs/a.md#two-words) [c](#top) [d](docs) [e](LICENSE)\n"
                 "[f](https://example.org/none) `[g](none.md)`\n\n    [h](none.md)\n\n"
                 "```\n[i](none.md)\n# No heading\n```\n",
    "docs/a.md": "## Two words\n[up](../README.md)\n## `hecto x [FILE]`\n[here](#hecto-x-file)\n",
    "LICENSE": "text",
    "build-x/README.md": "[none](none.md)",
}
SPOILED = {
    "a file that is gone": ("README.md", "[a](docs/b.md)", "there is no docs/b.md"),
    "an anchor that is gone": ("README.md", "[a](docs/a.md#three)", "no heading of a.md is #three"),
    "an anchor in the file itself": ("docs/a.md", "[a](#top)", "no heading of a.md"),
    "an anchor of a code block": ("README.md", SOUND["README.md"] + "[a](#no-heading)",
                                  "no heading of README.md"),
    "a way out": ("README.md", "[a](../../)", "leads out"),
    "two names": ("docs/a.md", "## A & B\n[a](#a--b)\n## Two words\n", "differently"),
    "a folder's README": ("config/README.md", "[a](x.md)", "config/README.md: x.md"),
    "a link with a title": ("README.md", '[a](docs/b.md "Title")', "there is no docs/b.md"),
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
        wrong.append(f"sound documents: {faults}")
    for what, (name, text, expected) in SPOILED.items():
        faults = faults_of({**SOUND, name: text})
        if not any(expected in fault for fault in faults):
            wrong.append(f"{what}: not found; found: {faults}")
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
