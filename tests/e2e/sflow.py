"""A collector of sFlow, written from the specification (sflow.org, "sFlow Version 5") and from nothing
of hecto's: it reads every byte of every datagram, and refuses what it does not know."""

import ctypes
import os
import socket
import struct
import threading
from ipaddress import ip_address
from types import SimpleNamespace

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000
SO_RCVBUFFORCE = 33
INTERNAL = 0x3fffffff  # the router itself, as an interface
UNKNOWN = 0xffffffff   # a counter


class Xdr:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        assert self.at + count <= len(self.data), "cut"
        self.at += count
        return self.data[self.at - count:self.at]

    def u32(self):
        return struct.unpack("!I", self.take(4))[0]

    def u64(self):
        return struct.unpack("!Q", self.take(8))[0]

    def opaque(self):
        length = self.u32()
        data = self.take(length)
        assert not any(self.take(-length % 4)), "padding is zero"
        return data

    def address(self):
        kind = self.u32()
        assert kind in (1, 2), kind
        return str(ip_address(bytes(self.take(4 if kind == 1 else 16))))

    def part(self):
        """A format and what it holds, to its end."""
        kind = self.u32()
        return kind, Xdr(self.opaque())

    def done(self):
        assert self.at == len(self.data), f"{len(self.data) - self.at} bytes too many"


def flow_sample(x):
    s = SimpleNamespace(kind="flow", sequence=x.u32(), source_type=x.u32(), source=x.u32(),
                        rate=x.u32(), pool=x.u32(), drops=x.u32(), input_format=x.u32(),
                        input=x.u32(), output_format=x.u32(), output=x.u32(), router=None)
    for _ in range(x.u32()):
        kind, record = x.part()
        if kind == 1:
            s.protocol, s.length, s.stripped = record.u32(), record.u32(), record.u32()
            s.header = record.opaque()
        elif kind == 1002:
            s.router = SimpleNamespace(next_hop=record.address(), source_length=record.u32(),
                                       destination_length=record.u32())
        else:
            raise AssertionError(f"flow record {kind}")
        record.done()
    return s


def counters_sample(x):
    s = SimpleNamespace(kind="counters", sequence=x.u32(), source_type=x.u32(), source=x.u32())
    for _ in range(x.u32()):
        kind, record = x.part()
        if kind == 1:
            s.index, s.type, s.speed = record.u32(), record.u32(), record.u64()
            s.direction, s.status = record.u32(), record.u32()
            for way in ("in", "out"):
                names = ["packets", "multicast", "broadcast", "discards", "errors"]
                setattr(s, f"{way}_bytes", record.u64())
                for name in names + (["unknown"] if way == "in" else []):
                    setattr(s, f"{way}_{name}", record.u32())
            s.promiscuous = record.u32()
        elif kind == 1005:
            s.name = record.opaque().decode()
        else:
            raise AssertionError(f"counters record {kind}")
        record.done()
    return s


def datagram(data):
    assert len(data) <= 1400 and len(data) % 4 == 0, len(data)
    x = Xdr(data)
    assert x.u32() == 5, "version"
    d = SimpleNamespace(agent=x.address(), sub_agent=x.u32(), sequence=x.u32(), uptime=x.u32(),
                        samples=[])
    for _ in range(x.u32()):
        kind, sample = x.part()
        d.samples.append({3: flow_sample, 4: counters_sample}[kind](sample))
        sample.done()
    x.done()
    assert d.samples
    return d


def udp_socket(space, address):
    """Bound inside the namespace of this path; it stays there."""
    made = []

    def make():
        there = os.open(space, os.O_RDONLY)
        try:
            if LIBC.setns(there, CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), f"setns {space}")
            family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
            one = socket.socket(family, socket.SOCK_DGRAM)
            one.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
            one.bind(address)
            made.append(one)
        finally:
            os.close(there)

    thread = threading.Thread(target=make)  # its namespace ends with it
    thread.start()
    thread.join()
    return made[0]


class Collector:
    """All datagrams that come to an address of a namespace, decoded. `answer`: what goes back for
    each."""

    def __init__(self, lab, space, address, port=6343, answer=None):
        self.socket = udp_socket(f"/run/netns/{space}", (address, port))
        self.socket.settimeout(0.2)
        self.datagrams, self.raw, self.faults, self.answer = [], [], [], answer
        self.ends = False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        lab.cleanups.append(self.close)

    def run(self):
        while not self.ends:
            try:
                data, peer = self.socket.recvfrom(65536)
            except (TimeoutError, socket.timeout):
                continue
            except OSError:
                return
            self.raw.append(data)
            try:
                self.datagrams.append(datagram(data))
            except Exception as fault:  # whatever it is, the test tells it
                self.faults.append(f"{fault!r}: {data.hex()}")
            for _ in range(self.answer or 0):
                self.socket.sendto(os.urandom(1000), peer)

    def close(self):
        self.ends = True
        self.thread.join()
        self.socket.close()

    def flows(self, port=None):
        return [s for d in list(self.datagrams) for s in d.samples
                if s.kind == "flow" and (port is None or s.source == port)]

    def counters(self, port=None):
        return [s for d in list(self.datagrams) for s in d.samples
                if s.kind == "counters" and (port is None or s.source == port)]

    def check(self, lost=False):
        """Nothing malformed; datagrams and samples of each source in order and without a gap."""
        assert not self.faults, self.faults[:3]
        numbers = [d.sequence for d in self.datagrams]
        assert numbers == sorted(set(numbers)), numbers
        if lost:
            return
        assert not numbers or numbers == list(range(numbers[0], numbers[0] + len(numbers))), numbers
        for samples in (self.flows(), self.counters()):
            for source in {s.source for s in samples}:
                of = [s.sequence for s in samples if s.source == source]
                assert of == list(range(of[0], of[0] + len(of))), (source, of)
