"""What came of each frame at either router, and whether that is the same."""

import re
import struct
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from scapy.layers.l2 import Ether

from frames import TAG

BATCH = 48

# Where the two may differ: (what was sent, what hectod did, what Linux did, the row of docs/differences.md).
ALLOWED = []


def allow(sent, of_hectod, of_linux, why):
    ALLOWED.append((re.compile(sent), re.compile(of_hectod), re.compile(of_linux), why))


@dataclass
class Result:
    sent: int = 0
    agreed: int = 0
    allowed: Counter = field(default_factory=Counter)
    wrong: list = field(default_factory=list)
    unresolved: tuple = (0, 0)  # errors for neighbors that did not answer: of hectod, of Linux
    late: list = field(default_factory=list)
    again: int = 0  # agree when they are sent alone: a rate, or a full queue

    def __str__(self):
        lines = [f"{self.sent} frames: {self.agreed} agree, {sum(self.allowed.values())} differ as the table allows, "
                 f"{len(self.wrong)} are wrong"]
        lines += [f"  {times:5} {why}" for why, times in self.allowed.most_common()]
        lines.append(f"{self.again} agreed when they were sent again, alone")
        lines.append(f"neighbors that do not answer: {self.unresolved[0]} errors by hectod, {self.unresolved[1]} by Linux")
        lines += [f"  {line}" for line in self.late[:10]]
        lines += [f"wrong: frame {f.number}, {f.what}\n    hectod: {h}\n    Linux:  {l}" for f, h, l in self.wrong[:40]]
        return "\n".join(lines)


def number_in(data):
    at = data.find(TAG)
    if at < 0 or len(data) < at + len(TAG) + 4:
        return None
    return struct.unpack_from("!I", data, at + len(TAG))[0]


def is_noise(data):
    """What routers say unasked: ARP, neighbor discovery, listener reports."""
    kind = data[12:14]
    if kind == b"\x08\x06":
        return True
    if kind != b"\x86\xdd" or len(data) < 55:
        return kind not in (b"\x08\x00", b"\x81\x00")
    if data[20] == 0:  # hop-by-hop: listener reports
        return data[54] == 58 and TAG not in data
    return data[20] == 58 and data[54] in (130, 131, 132, 133, 134, 135, 136, 143)


def is_redirect(data):
    if data[12:14] == b"\x08\x00":
        return len(data) > 34 and data[23] == 1 and data[34] == 5
    return data[12:14] == b"\x86\xdd" and len(data) > 54 and data[20] == 58 and data[54] == 137


def identification(data):
    """That of a frame cut before its tag, or of what an error quotes: IPv4's field, IPv6's flow label."""
    ipv4 = data[12:14] == b"\x08\x00"
    at = 14
    upper = at + (data[at] & 15) * 4 if ipv4 else at + 40
    protocol = data[23] if ipv4 else data[20]
    is_error = len(data) > upper and (protocol, data[upper]) in {(1, 3), (1, 11), (1, 12), (58, 1), (58, 2), (58, 3), (58, 4)}
    if is_error and len(data) >= upper + 28:
        at = upper + 8
    return struct.unpack_from("!H", data, at + (4 if ipv4 else 2))[0]


def is_reset(data):
    """A router's own answer to TCP: it carries no tag."""
    if TAG in data:
        return False
    return len(data) >= 54 and (data[12:14], data[23]) == (b"\x08\x00", 6) or (
        len(data) >= 74 and (data[12:14], data[20]) == (b"\x86\xdd", 6))


def plain(data):
    """A frame without what is random by nature, of packets that a router makes itself: identification, flow label."""
    made = bytearray(data)
    inner = 14 + (data[14] & 15) * 4
    if data[12:14] == b"\x08\x00" and len(data) > inner and (
            is_reset(data) or data[23] == 1 and data[inner] in (3, 4, 5, 11, 12, 0)):
        made[18:20] = made[24:26] = b"\0\0"
    if data[12:14] == b"\x86\xdd" and (is_reset(data) or len(data) > 54 and data[20] == 58 and data[54] in (1, 2, 3, 4, 129)):
        made[15:18] = bytes((made[15] & 0xF0, 0, 0))
        # Of "too big" Linux quotes the hop limit before or behind its own count, by where the MTU is from.
        if data[20] == 58 and data[54] == 2 and len(data) > 69:
            made[56:58], made[69] = b"\0\0", 0
    return bytes(made)


def words(wire, data):
    """One line for a frame, for the report."""
    said = Ether(data)
    return f"{wire}: {said.src}>{said.dst} {said.payload.summary()} ({len(data)} bytes) {data[14:80].hex()}"


def is_unresolved(data):
    """Host unreachable, address unreachable: what routers say when a neighbor has not answered."""
    if data[12:14] == b"\x08\x00":
        inner = 14 + (data[14] & 15) * 4
        return data[23] == 1 and data[inner:inner + 2] == b"\3\1" and len(data) > inner + 2
    return data[12:14] == b"\x86\xdd" and data[20] == 58 and data[54:56] == b"\1\3"


def by_number(came, batch):
    """What came of each frame of the batch, sorted, what belongs to none under None; and what is late by nature."""
    numbers = {frame.number: frame for frame in batch}
    by_id = {frame.number & 0xFFFF: frame.number for frame in batch}
    by_port = {frame.number & 0x7FFF | 0x8000: frame.number for frame in batch}
    of = defaultdict(list)
    late = Counter()  # no answer of a neighbor: after a second or three
    for wire, data in came:
        if is_noise(data) or is_redirect(data):  # redirects are limited by time: cases.of_redirects() has them
            continue
        number = number_in(data)
        if is_unresolved(data):
            late[(wire, plain(data))] += 1
            continue
        if number is None:
            number = by_id.get(identification(data))
        if number is None and is_reset(data):
            at = 36 if data[12:14] == b"\x08\x00" else 56  # its destination port is the source port of what it answers
            number = by_port.get(struct.unpack_from("!H", data, at)[0])
        of[number if number in numbers else None].append((wire, plain(data)))
    return {number: sorted(frames) for number, frames in of.items()}, late


def run(hectod, linux, frames):
    """Sends each to both and compares. What neither answers, or both alike, agrees."""
    result, batch = Result(), []
    late_here, late_there = Counter(), Counter()

    def flush():
        if not batch:
            return
        for bed in (hectod, linux):
            for frame in batch:
                bed.send(frame)
        (here, late_a), (there, late_b) = (by_number(bed.collect(), batch) for bed in (hectod, linux))
        late_here.update(late_a)
        late_there.update(late_b)
        for frame in batch:
            of = here.get(frame.number, []), there.get(frame.number, [])
            if not judge(result, frame, *of):
                time.sleep(1.1)  # Linux tells a sender of no route once a second, and five times before that
                of = [by_number(alone(bed, frame), [frame])[0].get(frame.number, []) for bed in (hectod, linux)]
                if judge(result, frame, *of):
                    result.again += 1
                else:
                    blame(result, frame, *of)
        if (a := here.get(None, [])) != (b := there.get(None, [])):
            only = [words(*f) for f in a if f not in b] + ["Linux: " + words(*f) for f in b if f not in a]
            result.wrong.append((batch[0], f"frames {batch[0].number} to {batch[-1].number}", only[:6]))
        batch.clear()

    for frame in frames:
        batch.append(frame)
        result.sent += 1
        if len(batch) == BATCH:
            flush()
    flush()
    # Three requests a second apart, then the answers.
    for bed, late in ((hectod, late_here), (linux, late_there)):
        late.update(by_number(bed.collect(quiet=4.0, most=6.0), [])[1])
    result.unresolved = (sum(late_here.values()), sum(late_there.values()))
    for frame, times in ((late_here - late_there) + (late_there - late_here)).items():
        who = "hectod" if late_here[frame] > late_there[frame] else "Linux"
        result.late.append(f"{times} of {who} alone: {words(*frame)}")
    return result


# The rows of docs/differences.md: what is sent, the RFC's word, Linux's, ours.
allow(r"from class E", "^nothing$", "",
      "| from 240/4 | no source: RFC 1812 §5.3.7 | forwards it | drops it, `martian_source` |")
allow(r"to (this network|class E)", "^nothing$", "",
      "| to 0/8 or 240/4 | no destination: RFC 1122 §3.2.1.3, RFC 1112 §4 | looks for a route | "
      "drops it, `martian_destination` |")
allow(r"from this network", "^nothing$", "",
      "| from 0/8 | no source: RFC 1122 §3.2.1.3 | forwards all of it but 0.0.0.0 | drops it, `martian_source` |")
allow(r"from mapped", "^nothing$", "",
      "| from ::ffff/96 | never travels: RFC 6890 | forwards it | drops it, `martian_source` |")
allow(r"to mapped", "^nothing$", "",
      "| to ::ffff/96 | never travels: RFC 6890 | looks for a route | drops it, `martian_destination` |")
allow(r"to unspecified", "^nothing$", "",
      "| to :: | nothing is sent there: RFC 4291 §2.5.2 | answers that there is no route | "
      "drops it, `martian_destination` |")
allow(r"IPv4 .* from router(, other port| itself) to (neighbor|back|routed|no route|unreachable|prohibit)", "", "^nothing$",
      "| from the router's own IPv4 address | may be dropped: RFC 1812 §5.3.8 | drops it, unless `accept_local` | "
      "forwards it; with uRPF drops it, `urpf`, unless `accept_local` |")
allow(r"IPv4 .* from link-local to (neighbor|back|routed)", "^nothing$", "",
      "| from 169.254/16, not to the router | never forwarded: RFC 3927 §7 | forwards it | drops it, `link_local` |")
allow(r"IPv4 .* to link-local", "^nothing$", "",
      "| to 169.254/16, not the router's own | never forwarded: RFC 3927 §7 | looks for a route | "
      "drops it, `link_local` |")
allow(r"from its destination", "^nothing$", "",
      "| from its own destination | – | forwards it | drops it, `looped` |")
allow(r"from the router's MAC", "^nothing$", "",
      "| from the router's own MAC | – | takes it | drops it, `looped` |")


def said_to(bed, frame, **how):
    """What came of a frame that is sent alone, in order, without what routers say unasked."""
    return sorted((wire, plain(data)) for wire, data in alone(bed, frame, **how) if not is_noise(data))


def alone(bed, frame, **how):
    bed.send(frame)
    return bed.collect(**how)


def judge(result, frame, here, there):
    """Whether the two agree, or differ as the table allows; counts it then."""
    if here == there:
        result.agreed += 1
        return True
    of_hectod, of_linux = said_of(here), said_of(there)
    for sent, hectods, linuxs, why in ALLOWED:
        if sent.search(frame.what) and hectods.search(of_hectod) and linuxs.search(of_linux):
            result.allowed[why] += 1
            return True
    return False


def said_of(frames):
    return " + ".join(words(*f) for f in frames) or "nothing"


def blame(result, frame, here, there):
    result.wrong.append((frame, said_of(here), said_of(there)))
