#!/usr/bin/python3
"""A host of the demonstrations: numbered UDP packets in many flows to others, and what came from them.

Sends on its own, and answers each line of its standard input with one of JSON: what was sent and came since the line
before. A flow is a source port; `lost` are numbers that were passed over, `gap_s` is the longest time without a packet.
"""

import json
import os
import select
import socket
import struct
import sys
import time

PORT = 7000
FIRST_SOURCE_PORT = 40000
TURN_S = 0.002
LATE_S = 1.0  # what stopped us for longer is not caught up with


class Flow:
    def __init__(self, own, far, number):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setblocking(False)
        self.socket.bind((own, FIRST_SOURCE_PORT + number))
        self.socket.connect((far, PORT))
        self.sent = self.sent_now = 0

    def send(self):
        try:
            self.socket.send(struct.pack("!Q", self.sent) + bytes(92))
        except OSError:
            return  # refused here, and not on its way: no number of it is missing
        self.sent += 1
        self.sent_now += 1


class Heard:
    def __init__(self, now):
        self.next = None
        self.last = now
        self.clear()

    def clear(self):
        self.received = self.lost = self.late = 0
        self.gap = 0.0

    def packet(self, number, now):
        if self.next is not None and number < self.next:  # overtaken, or twice
            self.late += 1
            return
        if self.next is not None:
            self.lost += number - self.next
            self.gap = max(self.gap, now - self.last)
        self.next, self.last = number + 1, now
        self.received += 1


def report(flows, heard, now):
    answer = {"sent": sum(f.sent_now for f in flows), "flows": {}}
    for (address, port), h in heard.items():
        answer["flows"][f"{address}:{port}"] = {
            "received": h.received, "lost": h.lost, "late": h.late,
            "gap_s": round(max(h.gap, now - h.last), 4)}
        h.clear()
    for f in flows:
        f.sent_now = 0
    return answer


def main():
    own, targets, each, rate = sys.argv[1], sys.argv[2].split(","), int(sys.argv[3]), float(sys.argv[4])
    sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    sink.setblocking(False)
    sink.bind((own, PORT))
    flows = [Flow(own, far, i) for i, far in enumerate(far for far in targets for _ in range(each))]
    heard, begin, turns = {}, time.monotonic(), 0.0
    os.set_blocking(0, False)
    while True:
        ready, _, _ = select.select([0, sink], [], [], TURN_S)
        now = time.monotonic()
        if sink in ready:
            for _ in range(256):
                try:
                    data, sender = sink.recvfrom(2048)
                except BlockingIOError:
                    break
                heard.setdefault(sender, Heard(now)).packet(struct.unpack_from("!Q", data)[0], now)
        if 0 in ready:
            line = os.read(0, 4096)
            if not line:
                return
            print(json.dumps(report(flows, heard, now)), flush=True)
        due = (now - begin) * rate * len(flows)
        if due - turns > LATE_S * rate * len(flows):
            turns = due
        while turns < due:
            flows[int(turns) % len(flows)].send()
            turns += 1


if __name__ == "__main__":
    main()
