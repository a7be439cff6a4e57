"""The client's side of a memif, as far as a test needs it: connects to a router's memif server over
its socket, fills the ring towards it with one frame over and over, and goes away without a word.

Layout and messages: memif.h of DPDK's net_memif, protocol version 2.0.
"""

import array
import mmap
import os
import socket
import struct

COOKIE, VERSION = 0x3E31F20, 2 << 8
ACK, HELLO, INIT, ADD_REGION, ADD_RING, CONNECT, CONNECTED, DISCONNECT = range(1, 9)
MESSAGE_BYTES, RING_HEADER_BYTES, SLOT_BYTES = 128, 128, 16
LOG2_SLOTS, BUFFER_BYTES = 10, 2048
SLOTS = 1 << LOG2_SLOTS
RING_BYTES = RING_HEADER_BYTES + SLOTS * SLOT_BYTES
TO_SERVER = 1  # flag of a ring


class MemifPeer:
    def __init__(self, path, frame):
        self.frame = frame
        self.control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.settimeout(10)
        self.control.connect(str(path))
        self.bytes = 2 * RING_BYTES + 2 * SLOTS * BUFFER_BYTES
        self.region = os.memfd_create("memif", os.MFD_ALLOW_SEALING)
        os.ftruncate(self.region, self.bytes)
        self.memory = mmap.mmap(self.region, self.bytes)
        self.interrupts = [os.eventfd(0, os.EFD_NONBLOCK) for _ in range(2)]
        for ring in range(2):
            self.make_ring(ring)
        self.greet()

    def make_ring(self, ring):
        at = ring * RING_BYTES
        struct.pack_into("=IHH", self.memory, at, COOKIE, 1, 0)  # no interrupts, please
        for slot in range(SLOTS):
            buffer = 2 * RING_BYTES + (ring * SLOTS + slot) * BUFFER_BYTES
            length = len(self.frame) if ring == 0 else BUFFER_BYTES
            struct.pack_into("=HHIII", self.memory, at + RING_HEADER_BYTES + slot * SLOT_BYTES,
                             0, 0, length, buffer, 0)
            if ring == 0:
                self.memory[buffer:buffer + len(self.frame)] = self.frame

    def tell(self, kind, body=b"", fd=None):
        message = (struct.pack("=H", kind) + body).ljust(MESSAGE_BYTES, b"\0")
        files = [] if fd is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                        array.array("i", [fd]))]
        self.control.sendmsg([message], files)

    def hear(self, kind):
        message = self.control.recv(MESSAGE_BYTES)
        heard, = struct.unpack_from("=H", message)
        assert heard == kind, f"{heard} instead of {kind}: {message[2:].rstrip(bytes(1))!r}"

    def greet(self):
        self.hear(HELLO)
        self.tell(INIT, struct.pack("=HIB24s32s", VERSION, 0, 0, b"", b"a test"))
        self.hear(ACK)
        self.tell(ADD_REGION, struct.pack("=HQ", 0, self.bytes), self.region)
        self.hear(ACK)
        for ring, flags in ((0, TO_SERVER), (1, 0)):
            self.tell(ADD_RING, struct.pack("=HHHIBH", flags, 0, 0, ring * RING_BYTES, LOG2_SLOTS, 0),
                      self.interrupts[ring])
            self.hear(ACK)
        # What the server has to fill is offered whole.
        struct.pack_into("=H", self.memory, RING_BYTES + 6, SLOTS - 1)
        self.tell(CONNECT, struct.pack("=32s", b"a test"))
        self.hear(CONNECTED)

    def fill(self):
        """All slots that the server has emptied are full again; how far it has come."""
        tail, = struct.unpack_from("=H", self.memory, 64)
        struct.pack_into("=H", self.memory, 6, (tail + SLOTS - 1) & 0xFFFF)
        return tail

    def go(self):
        """As by kill -9."""
        self.control.close()
        for fd in (self.region, *self.interrupts):
            os.close(fd)
        self.memory.close()
