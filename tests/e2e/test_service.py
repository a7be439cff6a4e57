"""hectod under a service manager: what it tells it, what its unit says, what the journal gets."""

import contextlib
import ctypes
import os
import shutil
import signal
import socket
import time
from pathlib import Path

import pytest
import yaml

from conftest import make_pair
from lab import HECTOD, sh, wait_for
from service_manager import ServiceManager
from test_privileges import UNIT

WATCHDOG_S = 2.0


@pytest.fixture
def managed(lab, monkeypatch):
    """Two hosts and a router between them that `manager` watches."""
    monkeypatch.setenv("WATCHDOG_USEC", str(int(WATCHDOG_S * 1e6)))
    pair = make_pair(lab, start=False)
    pair.router.write(pair.config)
    pair.manager = ServiceManager(pair.router)
    return pair


def times(manager, words, since=0.0):
    """When the manager heard a line with the words."""
    with manager.lock:
        return [when for when, line in manager.told if words in line and when >= since]


def start(pair):
    pair.manager.start()
    wait_for(lambda: times(pair.manager, "READY=1"), 20, "READY=1")


def workers(router):
    """Their threads, as the kernel names them."""
    tasks = Path(f"/proc/{router.process.pid}/task")
    return [int(task.name) for task in tasks.iterdir()
            if (task / "comm").read_text().startswith(("lcore-worker", "rte-worker"))]


class Stopped:
    """One thread of a process stands still, as in an endless loop; all others go on."""
    SEIZE, INTERRUPT, DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000

    def __init__(self, thread):
        self.thread = thread

    def trace(self, request):
        libc = ctypes.CDLL(None, use_errno=True)
        libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        if libc.ptrace(request, self.thread, None, None) != 0:
            raise OSError(ctypes.get_errno(), "ptrace")

    def __enter__(self):
        self.trace(self.SEIZE)
        self.trace(self.INTERRUPT)
        os.waitpid(self.thread, self.WALL)
        return self

    def __exit__(self, *_):
        self.trace(self.DETACH)


def test_it_is_ready_when_it_forwards_and_says_how_it_is(managed):
    """Not when its API answers: reading Linux's table takes longer than that."""
    router, manager = managed.router, managed.manager
    sh(["ip", "netns", "add", router.linux])
    table = managed.lab.folder / "routes"
    table.write_text("".join(f"route add 100.{64 + i // 65536}.{i // 256 % 256}.{i % 256}/32 dev lo\n"
                             for i in range(150_000)))
    router.linux_sh("ip link set lo up")
    router.linux_sh(["ip", "-batch", table])
    start(managed)
    waiting = times(manager, "STATUS=not forwarding before all routes and policies are known: ")
    assert waiting and waiting[0] < times(manager, "READY=1")[0], manager.told
    before = router.dropped("not_ready")
    managed.a.ping("10.2.0.1", count=1, ok=False)  # the neighbors
    managed.a.ping("10.2.0.1")
    assert router.dropped("not_ready") == before, "READY=1 came before packets flow"
    assert manager.count("READY=1") == 1
    said = times(manager, "STATUS=forwarding: 2 ports; 1500")  # with all routes
    assert len(said) == 1, manager.told
    wait_for(lambda: len(times(manager, "STATUS=")) > len(waiting) + 1, 12, "a status each 10 s")
    assert times(manager, "STATUS=")[-1] - said[0] > 9.5, manager.told


def test_the_watchdog_is_fed_as_long_as_control_turns(managed):
    router, manager = managed.router, managed.manager
    start(managed)
    time.sleep(2 * WATCHDOG_S)
    fed = times(manager, "WATCHDOG=1")
    gaps = [after - before for before, after in zip(fed, fed[1:])]
    assert len(gaps) >= 3 and max(gaps) < WATCHDOG_S, gaps
    router.process.send_signal(signal.SIGSTOP)
    time.sleep(0.2)
    stopped = time.monotonic()
    time.sleep(1.5 * WATCHDOG_S)
    assert not times(manager, "WATCHDOG=1", stopped)
    router.process.send_signal(signal.SIGCONT)
    wait_for(lambda: times(manager, "WATCHDOG=1", stopped), WATCHDOG_S, "it goes on")
    assert "does not come round" not in router.log(), "the whole process stood still"


def test_it_says_who_ends_it(managed):
    router, manager = managed.router, managed.manager
    start(managed)
    router.stop()
    name = Path("/proc/self/comm").read_text().strip()
    who = f"stopping: SIGTERM from pid {os.getpid()} ({name}), uid {os.getuid()}"
    assert manager.count("STOPPING=1") == manager.count(f"STATUS={who}") == 1, manager.told
    assert who in router.log(), router.log()


def test_a_stuck_worker_is_told_and_restarts_it_where_the_file_says_so(managed):
    router, manager = managed.router, managed.manager
    start(managed)
    stuck = "does not come round since"
    with Stopped(workers(router)[0]):
        wait_for(lambda: stuck in router.log(), 10, "the log tells it")
        assert any(stuck in line for line in router.get("/v1/summary")["warnings"])
        told = time.monotonic()
        time.sleep(WATCHDOG_S)
        assert times(manager, "WATCHDOG=1", told), "report: it is only told"
        config = yaml.safe_load(router.file.read_text())
        router.write({**config, "watchdog": {"stuck_worker": "restart"}})
        assert "~ watchdog.stuck_worker: report -> restart" in router.cli("reload")
        changed = time.monotonic()
        time.sleep(1.5 * WATCHDOG_S)
        assert not times(manager, "WATCHDOG=1", changed)
    wait_for(lambda: times(manager, "WATCHDOG=1", changed), 5, "it goes on")
    wait_for(lambda: "comes round again" in router.log(), 5, "and the log tells it")
    assert router.log().count(stuck) == 1, "told once"
    managed.a.ping("10.2.0.1")


class Journal:
    """journald's socket, where it is for who runs with `prefix`, and the entries that came."""

    def __init__(self, lab, log):
        self.folder, self.entries = lab.folder / "journal", []
        self.folder.mkdir()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.folder / "socket"))
        self.socket.setblocking(False)
        place = Path("/run/systemd/journal")
        if not place.exists():
            place.mkdir(parents=True)
            lab.cleanups.append(place.rmdir)
        lab.cleanups.append(self.socket.close)
        stream = log.stat()
        self.prefix = ["env", f"JOURNAL_STREAM={stream.st_dev}:{stream.st_ino}", "unshare",
                       "--mount", "sh", "-c", f'mount --bind "$0" {place} && exec "$@"',
                       self.folder]

    def find(self, *fields):
        with contextlib.suppress(BlockingIOError):
            while True:
                self.entries.append(self.socket.recv(65536).decode().splitlines())
        return next((entry for entry in self.entries if set(fields) <= set(entry)), None)


def test_the_journal_gets_fields(lab):
    """Where stderr is the journal's stream, lines go to its socket."""
    pair = make_pair(lab, start=False)
    router = pair.router
    router.log_file.touch()
    journal = Journal(lab, router.log_file)
    sh(["ip", "netns", "add", router.linux])  # a mount namespace of its own shows it to nobody
    router.start(pair.config, prefix=journal.prefix)
    def port():
        journal.find()  # reads what has come
        return next((entry for entry in journal.entries if "SUBJECT=port a0" in entry
                     and any(line.startswith("MESSAGE=port a0: va (") for line in entry)), None)
    entry = wait_for(port, 5, "an entry of a port")
    assert "PRIORITY=6" in entry and "SYSLOG_IDENTIFIER=hectod" in entry, entry
    router.cli("reload", "/nonexistent.yaml", check=False)
    wait_for(lambda: journal.find("SUBJECT=audit", "PRIORITY=4"), 5, "a refused reload warns")
    assert router.log() == "", "each line once"


def test_systemd_finds_no_fault_in_the_unit(tmp_path):
    """That it scores below 3 is test_privileges.py's."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not here")
    unit = tmp_path / "hectod.service"
    text = UNIT.read_text()
    shutil.copy(UNIT.with_name("hecto-netns.service"), tmp_path)
    unit.write_text(text.replace("/usr/bin/hectod", str(HECTOD)))
    verify = ["systemd-analyze", "verify", "--man=no", unit]
    assert sh(verify) == ""
    unit.write_text(unit.read_text().replace("WatchdogSec=", "WatchdogSeconds="))
    assert "WatchdogSeconds" in sh(verify, check=False), "it would have found one"
    assert "Type=notify\n" in text and "NotifyAccess" not in text, "hectod itself tells it"
    assert text.index("--check") < text.index("ExecStart=")
