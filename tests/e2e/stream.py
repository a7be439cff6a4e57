"""A steady stream of numbered UDP packets, and what came of each: loss counted end to end."""

import json
import signal
import subprocess
import sys
import textwrap
import time

from lab import SLOWER, end

RECEIVER = textwrap.dedent("""
    import json, select, signal, socket, struct, sys
    family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    s.bind(("", int(sys.argv[2])))
    stop = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
    seen, ttls = {}, set()
    print("ready", flush=True)
    while not stop:
        if not select.select([s], [], [], 0.05)[0]:
            continue
        data = s.recv(65536)
        number = struct.unpack_from("!Q", data)[0]
        seen[number] = seen.get(number, 0) + 1
    numbers = sorted(seen)
    gaps = [[a + 1, b - 1] for a, b in zip(numbers, numbers[1:]) if b > a + 1]
    print(json.dumps({"count": len(seen), "twice": sum(seen.values()) - len(seen),
                      "last": numbers[-1] if numbers else -1, "gaps": gaps[:20]}))
""")

SENDER = textwrap.dedent("""
    import json, signal, socket, struct, sys, time
    targets, port, rate, size = sys.argv[1].split(","), *map(int, sys.argv[2:5])
    family = socket.AF_INET6 if ":" in targets[0] else socket.AF_INET
    s = socket.socket(family, socket.SOCK_DGRAM)
    stop = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
    sent, refused, start = 0, 0, time.monotonic()
    body = bytes(max(0, size - 8))
    while not stop:
        due = int((time.monotonic() - start) * rate)
        while sent < due and not stop:
            try:
                s.sendto(struct.pack("!Q", sent) + body, (targets[sent % len(targets)], port))
                sent += 1
            except OSError:
                refused += 1
                break
        time.sleep(0.001)
    print(json.dumps({"sent": sent, "refused": refused}))
""")


class Stream:
    """`with Stream(a, b, "10.2.0.1") as stream: ...`, then stream.lost and stream.sent."""

    def __init__(self, sender, receiver, targets, port=7000, rate=2000, size=200):
        self.targets = [targets] if isinstance(targets, str) else targets
        self.sender, self.receiver, self.port, self.rate, self.size = (
            sender, receiver, port, rate, size)
        self.sent = self.received = self.twice = 0
        self.last = -1  # number of the last one that came
        self.gaps = []

    def __enter__(self):
        python = sys.executable
        self.sink = subprocess.Popen(
            self.receiver.words([python, "-c", RECEIVER, self.targets[0], self.port]),
            stdout=subprocess.PIPE, text=True)
        self.sender.lab.cleanups.append(lambda: end(self.sink))
        assert self.sink.stdout.readline() == "ready\n"
        self.source = subprocess.Popen(
            self.sender.words([python, "-c", SENDER, ",".join(self.targets), self.port,
                               self.rate // SLOWER, self.size]), stdout=subprocess.PIPE, text=True)
        self.sender.lab.cleanups.append(lambda: end(self.source))
        time.sleep(0.3 * SLOWER)  # it flows before the first change
        return self

    def __exit__(self, kind, *_):
        time.sleep(0.3)  # and after the last
        self.source.send_signal(signal.SIGTERM)
        told, _ = self.source.communicate(timeout=20)
        time.sleep(0.5)  # what is still on its way
        self.sink.send_signal(signal.SIGTERM)
        heard, _ = self.sink.communicate(timeout=20)
        if kind is None:
            self.sent = json.loads(told)["sent"]
            result = json.loads(heard)
            self.received, self.twice, self.gaps = result["count"], result["twice"], result["gaps"]
            self.last = result["last"]

    @property
    def lost(self):
        return self.sent - self.received

    def expect_no_loss(self):
        assert self.sent > 100, "the stream did not flow"
        assert self.lost == 0 and self.twice == 0, (
            f"{self.lost} of {self.sent} packets lost, {self.twice} came twice; gaps {self.gaps}")
