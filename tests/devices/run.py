#!/usr/bin/python3
"""Devices of Linux that this machine's kernel may lack (VRFs), on hectod's twins, in user-mode Linux.

    tests/devices/run.py BUILD [PYTEST_ARGUMENT...]
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "xfrm"))
import uml  # noqa: E402


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    reason = uml.missing()
    if reason:
        sys.exit(f"test-linux: {reason}")
    os.environ.update(HECTO_BUILD=str(Path(sys.argv[1]).resolve()), PYTHONDONTWRITEBYTECODE="1")
    os.execv("/usr/bin/python3", ["python3", "-m", "pytest", "-q", "--no-header", "--tb=short",
                                  "-p", "no:cacheprovider", *sys.argv[2:], str(HERE)])


if __name__ == "__main__":
    main()
