"""What packages are made of: the list of what they need, their version, the manual pages. The packages
themselves: `make test-deb`."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lab import HECTO, HECTOD, sh

ROOT = Path(__file__).parents[2]
MAKE_MAN = ROOT / "packaging" / "make-man"


def test_what_is_needed_to_build_is_what_make_deps_installs():
    listed = {line.split()[0] for line in (ROOT / "packaging" / "debian-packages.txt").read_text()
              .splitlines() if line.strip() and not line.startswith("#")}
    control = (ROOT / "debian" / "control").read_text()
    needed = re.search(r"^Build-Depends:\n((?: .*\n)+)", control, re.M)[1]
    names = {line.split()[0].rstrip(",") for line in needed.splitlines()}
    # git: make deb clones; debhelper-compat is debhelper's.
    missing = names - listed - {"git", "debhelper-compat"}
    assert "libdpdk-dev" in names and not missing, f"packaging/debian-packages.txt lacks {missing}"


def test_the_changelog_has_the_version_of_the_sources():
    if shutil.which("dpkg-parsechangelog") is None:
        pytest.skip("dpkg-parsechangelog (package dpkg-dev) is not here")
    if not (ROOT / ".git").exists():
        pytest.skip("no git checkout, so no commit to name")
    made = sh([sys.executable, ROOT / "packaging" / "debian-changelog"])
    version = subprocess.run(["dpkg-parsechangelog", "-l-", "-SVersion"], input=made, text=True,
                             check=True, stdout=subprocess.PIPE).stdout.strip()
    own = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]
    if f"## {own}, unreleased" not in (ROOT / "CHANGELOG.md").read_text():
        assert version == own
        return
    assert re.fullmatch(re.escape(own) + r"~git\d{14}\.[0-9a-f]{7}", version), version
    sh(["dpkg", "--compare-versions", version, "lt", own])


@pytest.mark.parametrize("words, contents", [
    (("program", HECTOD, "8"), ["hectod \\- ", "\\-\\-check"]),
    (("program", HECTO, "1"), ["hecto \\- ", '.SH "HECTO SHOW"', '.SH "HECTO LOAD\\-ROUTES"']),
    (("keys", ROOT / "docs" / "configuration.md"), [".B ports.*.mtu", ".B watchdog.stuck_worker"]),
], ids=["hectod.8", "hecto.1", "hecto.yaml.5"])
def test_a_manual_page_says_what_the_program_says(words, contents, tmp_path):
    text = sh([MAKE_MAN, *words])
    for content in contents:
        assert content in text, text[:1000]
    if shutil.which("man") is None:
        return
    page = tmp_path / "page"
    page.write_text(text)
    run = subprocess.run(["man", "--warnings", "-l", page], stdout=subprocess.DEVNULL, text=True,
                         stderr=subprocess.PIPE, env={**os.environ, "MANWIDTH": "120"})
    assert run.stderr == "" and run.returncode == 0
