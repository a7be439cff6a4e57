#!/usr/bin/python3
"""IPsec against a real kernel and strongSwan, in guests of user-mode Linux.

    tests/xfrm/run.py BUILD [PYTEST_ARGUMENT...]

First the unit tests of XFRM that this machine's own kernel cannot run (it may have no ESP), inside a
guest; then hectod and charon between two guests.
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import uml  # noqa: E402


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    reason = uml.missing()
    if reason:
        sys.exit(f"test-ipsec: {reason}")
    os.environ.update(HECTO_BUILD=str(Path(sys.argv[1]).resolve()), PYTHONDONTWRITEBYTECODE="1")
    os.execv("/usr/bin/python3", ["python3", "-m", "pytest", "-q", "--no-header", "--tb=short",
                                  "-p", "no:cacheprovider", *sys.argv[2:], str(HERE)])


if __name__ == "__main__":
    main()
