#!/usr/bin/python3
"""The documents as a site: docs/site.py FOLDER. Needs mkdocs.

mkdocs wants all pages in one folder, and links of ours lead all over the tree: what is linked to is
laid out anew as it lies here, folders with a page that lists them, and mkdocs runs on that,
strictly: a link that leads nowhere ends it.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
sys.dont_write_bytecode = True

import docs_links  # noqa: E402


def linked(file):
    """What of the tree a document leads to."""
    for link in docs_links.LINK.findall(docs_links.prose(file.read_text())):
        path = link.partition("#")[0]
        if path and ":" not in path:
            yield (file.parent / path).resolve()


def listing(folder):
    """The page of a folder that has none."""
    names = sorted(f.name for f in folder.iterdir() if f.is_file())
    return f"# {folder.relative_to(ROOT)}\n\n" + "".join(f"- [{n}]({n})\n" for n in names)


def lay_out(pages):
    """Documents, and what they lead to. Links to folders become links to their pages."""
    for file in docs_links.documents(ROOT):
        text = file.read_text()
        for link in docs_links.LINK.findall(docs_links.prose(text)):
            target = (file.parent / link).resolve()
            if "#" not in link and target.is_dir():
                text = text.replace(f"]({link})", f"]({link.rstrip('/')}/README.md)")
        copy = pages / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text)
        for target in linked(file):
            add(pages, target)


def add(pages, target):
    there = pages / target.relative_to(ROOT)
    if target.is_dir():
        there.mkdir(parents=True, exist_ok=True)
        if not (target / "README.md").exists():
            (there / "README.md").write_text(listing(target))
            for file in target.iterdir():
                if file.is_file():
                    shutil.copy(file, there)
    elif target.suffix != ".md":
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(target, there)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.splitlines()[0])
    site = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        pages = Path(folder) / "pages"
        pages.mkdir()
        lay_out(pages)
        settings = Path(folder) / "mkdocs.yml"
        settings.write_text((ROOT / "docs" / "mkdocs.yml").read_text() + "docs_dir: pages\n")
        run = subprocess.run(["mkdocs", "build", "--strict", "--quiet", "--clean", "-f", settings,
                              "-d", site])
        if run.returncode == 0:
            print(f"{site}/index.html")
        return run.returncode


if __name__ == "__main__":
    sys.exit(main())
