"""Frames by hand on a host's end of a wire: a raw socket opened in the host's namespace."""

import ctypes
import os
import select
import socket
import struct
import time

from scapy.layers.l2 import Ether

from lab import SLOWER

CLONE_NEWNET = 0x40000000
ETH_P_ALL = 3
SOL_PACKET, PACKET_AUXDATA, PACKET_ADD_MEMBERSHIP, PACKET_MR_PROMISC = 263, 8, 1, 1
TP_STATUS_VLAN_VALID, TP_STATUS_VLAN_TPID_VALID = 1 << 4, 1 << 6
libc = ctypes.CDLL(None, use_errno=True)


def socket_in(namespace, device="e0"):
    """A packet socket made inside; the calling thread is back where it was afterwards."""
    here = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    try:
        if libc.setns(there, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns {namespace}")
        try:
            made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
            made.bind((device, ETH_P_ALL))
            return made
        finally:
            libc.setns(here, CLONE_NEWNET)
    finally:
        os.close(here)
        os.close(there)


class Wire:
    def __init__(self, host, promiscuous=False, device="e0"):
        self.host, self.promiscuous, self.device = host, promiscuous, device

    def __enter__(self):
        self.socket = socket_in(self.host.name, self.device)
        self.socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        if self.promiscuous:
            index = int(self.host.sh(f"ip -o link show {self.device}").split(":")[0])
            self.socket.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP,
                                   struct.pack("iHH8s", index, PACKET_MR_PROMISC, 0, b""))
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, packet, count=1):
        data = packet if isinstance(packet, bytes) else bytes(packet)
        for _ in range(count):
            self.socket.send(data)

    def receive(self, wanted, count, timeout=3.0):
        """Up to `count` frames from the wire that are wanted, until the time is over."""
        end = time.monotonic() + timeout * SLOWER
        got = []
        while len(got) < count and (left := end - time.monotonic()) > 0:
            if not select.select([self.socket], [], [], left)[0]:
                break
            data, extra, _, address = self.socket.recvmsg(65536, 256)
            if address[2] == socket.PACKET_OUTGOING:
                continue
            frame = Ether(self._with_tag(data, extra))
            if wanted(frame):
                got.append(frame)
        return got

    @staticmethod
    def _with_tag(data, extra):
        # The kernel has taken the tag off and tells of it beside the packet.
        for level, kind, value in extra:
            if level == SOL_PACKET and kind == PACKET_AUXDATA:
                status, _, _, _, _, tci, tpid = struct.unpack("IIIHHHH", value[:20])
                if status & TP_STATUS_VLAN_VALID:
                    tpid = tpid if status & TP_STATUS_VLAN_TPID_VALID else 0x8100
                    return data[:12] + struct.pack("!HH", tpid, tci) + data[12:]
        return data
