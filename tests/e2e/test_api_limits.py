"""The API and the log against who would hold the router up with them."""

import gzip
import os
import socket
import subprocess
import threading
from pathlib import Path

from lab import HECTOD

MiB = 1 << 20


def memory(pid, field="VmHWM"):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise AssertionError(field)


def bare_router(lab, **more):
    router = lab.router()
    lab.host("a", router.space, "va", ["10.1.0.1/24"])
    return router.start({"ports": {"a0": {"device": "va", "addresses": ["10.1.0.254/24"]}}, **more})


def test_sixty_four_packed_uploads_take_no_more_than_their_budget(lab):
    """Each unpacks to 500 MB of blank lines; the answers say what became of them."""
    router = bare_router(lab)
    bomb = gzip.compress(b"\n" * (500 * 1000 * 1000), 9)
    assert len(bomb) < 500_000
    before = memory(router.process.pid)
    statuses, lock = [], threading.Lock()

    def upload():
        status, answer = router.request("POST", "/v1/routes/load?via=10.1.0.1", bomb, timeout=300)
        with lock:
            statuses.append((status, str(answer)[:200]))
    clients = [threading.Thread(target=upload) for _ in range(64)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    taken = memory(router.process.pid) - before
    assert taken < 1100 * MiB, f"{taken / MiB:.0f} MiB"
    refused = [text for status, text in statuses if status == 503]
    assert len(statuses) == 64 and {status for status, _ in statuses} <= {200, 503}, statuses
    assert refused and all("no memory is left" in text for text in refused), refused
    # All of it was given back.
    status, answer = router.request("POST", "/v1/routes/load?via=10.1.0.1",
                                    gzip.compress(b"203.0.113.0/24\n" * 10))
    assert status == 200 and answer["routes"] == 10, answer
    print(f"{taken / MiB:.0f} MiB beyond {before / MiB:.0f} MiB; {len(refused)} of 64 refused")


def test_a_hundred_and_one_slow_clients_hold_nobody_off(lab):
    router = bare_router(lab)
    slow = []
    for _ in range(101):
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.connect(str(router.socket))
        client.sendall(b"POST /v1/routes/load HTTP/1.1\r\nContent-Length: 1000\r\n\r\nx")
        slow.append(client)
    for _ in range(10):
        router.cli("show", "ports")
    for client in slow:
        client.close()


def test_a_log_that_nobody_reads_holds_nothing_up(lab):
    """stderr is a pipe whose reader stands still while much is logged; then it goes on."""
    router = lab.router()
    a = lab.host("a", router.space, "va", ["10.1.0.1/24"])
    router.write({"ports": {"a0": {"device": "va", "addresses": ["10.1.0.254/24"]}},
                  "log": {"level": "debug"}})
    read_end, write_end = os.pipe()
    router.process = subprocess.Popen(router.space.words([HECTOD, router.file]),
                                      stdout=write_end, stderr=write_end)
    os.close(write_end)
    router.wait_ready()
    # Each reload of a changed file says a line or more.
    config = {"ports": {"a0": {"device": "va", "addresses": ["10.1.0.254/24"]}},
              "log": {"level": "debug"}}
    extra = [f"10.9.{i}.1/24" for i in range(250)]
    for turn in range(60):  # more than the pipe's 64 KiB, so that a writer would wait
        config["ports"]["a0"]["addresses"] = ["10.1.0.254/24"] + (extra if turn % 2 == 0 else [])
        router.write(config)
        router.cli("reload")
    a.ping("10.1.0.254")
    # The reader goes on, and has it all.
    seen = []

    def read_all():
        for piece in iter(lambda: os.read(read_end, 1 << 16), b""):
            seen.append(piece)
    reader = threading.Thread(target=read_all, daemon=True)
    reader.start()
    router.stop()
    reader.join(30)
    os.close(read_end)
    assert len(b"".join(seen)) > 100_000
    assert b"info  stopped\n" in b"".join(seen), "what waits is written before the end"
