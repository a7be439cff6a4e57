"""pcapng files by the letter of draft-ietf-opsawg-pcapng, held against scapy's reader.

scapy 2.5 knows neither names of interfaces nor comments without a line feed.
"""

import struct
from types import SimpleNamespace

from scapy.utils import RawPcapNgReader

SECTION, INTERFACE, STATISTICS, PACKET = 0x0a0d0d0a, 1, 5, 6


def _options(data):
    found = {}
    while len(data) >= 4:
        code, size = struct.unpack("=HH", data[:4])
        if code == 0:
            return found
        found[code] = data[4:4 + size]
        data = data[4 + (size + 3) // 4 * 4:]
    raise AssertionError("options without an end")


def read(path):
    """Interfaces (name, link_type, received, dropped) and packets (interface, data, ...)."""
    whole = path.read_bytes()
    interfaces, packets = [], []
    while whole:
        kind, size = struct.unpack("=II", whole[:8])
        assert size % 4 == 0 and whole[size - 4:size] == whole[4:8], (kind, size)
        body, whole = whole[8:size - 4], whole[size:]
        if kind == INTERFACE:
            link_type, _, snaplen = struct.unpack("=HHI", body[:8])
            options = _options(body[8:])
            assert options[9] == b"\x09", "nanoseconds"
            interfaces.append(SimpleNamespace(name=options[2].decode(), link_type=link_type,
                                              snaplen=snaplen, received=None, dropped=None))
        elif kind == PACKET:
            number, high, low, size, length = struct.unpack("=5I", body[:20])
            options = _options(body[20 + (size + 3) // 4 * 4:])
            packets.append(SimpleNamespace(
                interface=interfaces[number].name, link_type=interfaces[number].link_type,
                data=body[20:20 + size], length=length, time=((high << 32) + low) / 1e9,
                direction=struct.unpack("=I", options.get(2, bytes(4)))[0],
                comment=options.get(1, b"").decode()))
        elif kind == STATISTICS:
            options = _options(body[12:])
            one = interfaces[struct.unpack("=I", body[:4])[0]]
            one.received, one.dropped = (struct.unpack("=Q", options[n])[0] for n in (4, 5))
        else:
            assert kind == SECTION and body[:8] == struct.pack("=IHH", 0x1a2b3c4d, 1, 0), kind
    reader = RawPcapNgReader(str(path))
    seen = [(bytes(data), about.linktype, about.wirelen) for data, about in reader]
    reader.close()
    assert seen == [(p.data, p.link_type, p.length) for p in packets], "scapy reads it otherwise"
    return interfaces, packets
