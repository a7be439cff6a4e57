"""An XDP program that is not hecto's: attached to a kernel interface, seen, taken off.

As a program: `xdp.py attach INTERFACE`, in the interface's namespace. It passes all packets on.
"""

import ctypes
import json
import os
import socket
import struct
import sys

from lab import sh

BPF_PROG_LOAD, BPF_PROG_TYPE_XDP, SYS_BPF = 5, 6, {"x86_64": 321, "aarch64": 280}
XDP_FLAGS_DRV_MODE = 4
RTM_SETLINK, IFLA_XDP, IFLA_XDP_FD, IFLA_XDP_FLAGS = 19, 43, 1, 3
NLA_F_NESTED = 0x8000


def load():
    """return XDP_PASS."""
    instructions = struct.pack("<BBhi", 0xB7, 0, 0, 2) + struct.pack("<BBhi", 0x95, 0, 0, 0)
    code = ctypes.create_string_buffer(instructions)
    licence = ctypes.create_string_buffer(b"GPL")
    attributes = struct.pack("=IIQQ", BPF_PROG_TYPE_XDP, 2, ctypes.addressof(code),
                             ctypes.addressof(licence)).ljust(128, b"\0")
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(SYS_BPF[os.uname().machine], BPF_PROG_LOAD, buffer, len(attributes))
    if fd < 0:
        raise OSError(ctypes.get_errno(), "no BPF program can be loaded")
    return fd


def attribute(kind, payload):
    return struct.pack("=HH", 4 + len(payload), kind) + payload.ljust((len(payload) + 3) & ~3, b"\0")


def attach(interface):
    nested = attribute(IFLA_XDP_FD, struct.pack("=i", load())) + \
        attribute(IFLA_XDP_FLAGS, struct.pack("=I", XDP_FLAGS_DRV_MODE))
    body = struct.pack("=BBHiII", 0, 0, 0, socket.if_nametoindex(interface), 0, 0) + \
        attribute(IFLA_XDP | NLA_F_NESTED, nested)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as netlink:
        netlink.send(struct.pack("=IHHII", 16 + len(body), RTM_SETLINK, 5, 1, 0) + body)
        error, = struct.unpack_from("=i", netlink.recv(4096), 16)
    if error:
        raise OSError(-error, os.strerror(-error))


def attach_in(space, interface):
    space.sh([sys.executable, __file__, "attach", interface])


def program_on(space, interface):
    """Its number, or None."""
    link, = json.loads(space.sh(f"ip -json -details link show {interface}"))
    return link.get("xdp", {}).get("prog", {}).get("id")


if __name__ == "__main__":
    attach(sys.argv[2])
