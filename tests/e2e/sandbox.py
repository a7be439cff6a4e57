"""The sandbox that a unit of systemd asks for, without systemd: a read-only file system but for the
unit's own paths, and its system calls. For a mount namespace that nobody else is in:

    unshare --mount python3 sandbox.py UNIT WRITABLE... -- COMMAND

Read of the unit: ProtectSystem=strict, ProtectKernelTunables, ReadWritePaths, SystemCallFilter,
NoNewPrivileges. Capabilities and limits are the caller's (setpriv, prlimit).
"""

import ctypes
import errno
import os
import subprocess
import sys
from pathlib import Path

# What systemd leaves to the kernel's own file systems (systemd.exec(5), ProtectSystem=).
KERNEL = ["/dev", "/proc", "/sys"]
TUNABLES = ["/proc/sys", "/sys"]
TUNABLES_WRITABLE = ["/sys/fs/bpf", "/sys/fs/cgroup"]


def directives(unit):
    """Of each key all values, in order."""
    found = {}
    for line in Path(unit).read_text().splitlines():
        if "=" in line and not line.startswith(("#", "[")):
            key, value = line.split("=", 1)
            found.setdefault(key, []).append(value)
    return found


def words(unit, key):
    return " ".join(directives(unit).get(key, [])).split()


def system_calls(names):
    """The calls of systemd's sets and of single names."""
    calls = set()
    for name in names:
        if not name.startswith("@"):
            calls.add(name)
            continue
        lines = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", name], check=True,
                               capture_output=True, text=True).stdout.splitlines()
        calls |= system_calls(line.strip() for line in lines[1:] if not line.strip().startswith("#"))
    return calls


def allowed_calls(unit):
    """systemd's own set of what every program needs, what the lines add, without what they take."""
    calls = system_calls(["@default"])
    for line in directives(unit)["SystemCallFilter"]:
        these = system_calls(line.lstrip("~").split())
        calls = calls - these if line.startswith("~") else calls | these
    return calls


def mount(*words):
    subprocess.run(["mount", *map(str, words)], check=True)


def below(path, folders):
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def make_read_only(unit, writable):
    paths = [path.lstrip("-") for path in words(unit, "ReadWritePaths")]
    writable = [*writable, *(path for path in paths if os.path.exists(path)),
                *(path for path in TUNABLES_WRITABLE if os.path.exists(path))]
    tunables = TUNABLES if "yes" in words(unit, "ProtectKernelTunables") else []
    mount("--make-rslave", "/")
    for path in [*tunables, *writable]:
        mount("--rbind", path, path)
    assert words(unit, "ProtectSystem") == ["strict"]
    kernel = [path for path in KERNEL if path not in tunables]
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        at = line.split()[4].replace("\\040", " ")
        if below(at, writable) or (below(at, kernel) and not below(at, tunables)):
            continue
        mount("-o", "remount,bind,ro", at)


def filter_calls(unit):
    """What is not on the list is refused, as SystemCallErrorNumber=EPERM has it."""
    assert words(unit, "SystemCallErrorNumber") == ["EPERM"]
    assert words(unit, "NoNewPrivileges") == ["yes"]  # libseccomp sets it
    allow, refuse = 0x7FFF0000, 0x00050000 | errno.EPERM
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    filters = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(refuse)))
    for name in allowed_calls(unit):
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:  # others are of other machines
            assert library.seccomp_rule_add(filters, ctypes.c_uint32(allow), number, 0) == 0, name
    assert library.seccomp_load(filters) == 0


def main(arguments):
    end = arguments.index("--")
    unit, writable, command = arguments[0], arguments[1:end], arguments[end + 1:]
    make_read_only(unit, writable)
    filter_calls(unit)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
