"""Frames as fast as a packet socket takes them, for a bounded time, on a host's wire alone."""

import json
import struct
import subprocess
import sys
import textwrap

from lab import end

SENDER = textwrap.dedent("""
    import ctypes, json, socket, struct, sys, time
    SOL_PACKET, PACKET_QDISC_BYPASS, BURST = 263, 20, 64
    file, seconds, most = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])

    class iovec(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]

    class msghdr(ctypes.Structure):
        _fields_ = [("name", ctypes.c_void_p), ("namelen", ctypes.c_uint32),
                    ("iov", ctypes.POINTER(iovec)), ("iovlen", ctypes.c_size_t),
                    ("control", ctypes.c_void_p), ("controllen", ctypes.c_size_t),
                    ("flags", ctypes.c_int)]

    class mmsghdr(ctypes.Structure):
        _fields_ = [("header", msghdr), ("len", ctypes.c_uint32)]

    data, frames, at = open(file, "rb").read(), [], 0
    while at < len(data):
        size = struct.unpack_from("!H", data, at)[0]
        frames.append(ctypes.create_string_buffer(data[at + 2:at + 2 + size], size))
        at += 2 + size
    vectors = (iovec * len(frames))()
    messages = (mmsghdr * len(frames))()
    for i, frame in enumerate(frames):
        vectors[i] = iovec(ctypes.addressof(frame), len(frame))
        messages[i].header.iov = ctypes.pointer(vectors[i])
        messages[i].header.iovlen = 1
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    s.bind(("e0", 0))
    s.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, 1)
    send = ctypes.CDLL(None, use_errno=True).sendmmsg
    size = ctypes.sizeof(mmsghdr)
    print("ready", flush=True)
    sent, first, start = 0, 0, time.monotonic()
    over = start + seconds
    while sent < most and time.monotonic() < over:
        count = min(BURST, len(frames) - first)
        done = send(s.fileno(), ctypes.byref(messages, first * size), count, 0)
        if done > 0:
            sent += done
            first = (first + done) % len(frames)
    print(json.dumps({"sent": sent, "seconds": time.monotonic() - start}))
""")


class Flood:
    """`with Flood(a, frames, seconds) as flood: ...`: over when the time is, or the block; then
    flood.sent and flood.kpps."""

    MOST = 200_000_000  # packets

    def __init__(self, host, frames, seconds):
        self.host, self.frames, self.seconds = host, frames, seconds
        self.sent = self.kpps = 0

    def __enter__(self):
        file = self.host.lab.folder / f"flood-{self.host.name}"
        with open(file, "wb") as out:
            for frame in self.frames:
                out.write(struct.pack("!H", len(frame)) + frame)
        self.process = subprocess.Popen(
            self.host.words(["nice", "-n", "10", sys.executable, "-c", SENDER, file, self.seconds,
                             self.MOST]), stdout=subprocess.PIPE, text=True)
        self.host.lab.cleanups.append(lambda: end(self.process))
        assert self.process.stdout.readline() == "ready\n"
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            self.process.terminate()
        told, _ = self.process.communicate(timeout=self.seconds + 60)
        if kind is None:
            result = json.loads(told)
            self.sent = result["sent"]
            self.kpps = result["sent"] / result["seconds"] / 1000
