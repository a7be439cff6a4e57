"""A service manager as systemd is one: it hears sd_notify(3), holds descriptors, starts again."""

import array
import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import threading
import time

from lab import HECTOD


class ServiceManager:
    """Starts a lab.Router's hectod; what hectod gives to the store is there at the next start."""

    def __init__(self, router):
        self.router = router
        self.path = router.folder / "notify"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.path))
        self.store = {}  # name -> descriptor
        self.told = []   # (time, line)
        self.errors = []
        self.lock = threading.Lock()
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()
        router.lab.cleanups.append(self.close)

    def listen(self):
        while True:
            try:
                text, extra, _, _ = self.socket.recvmsg(4096, socket.CMSG_SPACE(64))
            except OSError:
                return
            if text == b"end":
                return
            fds = array.array("i")
            for level, kind, data in extra:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    fds.frombytes(data[:len(data) - len(data) % fds.itemsize])
            with self.lock:
                self.hear(text.decode().splitlines(), list(fds))

    def hear(self, lines, fds):
        self.told += [(time.monotonic(), line) for line in lines]
        name = next((line.partition("=")[2] for line in lines if line.startswith("FDNAME=")), None)
        if "FDSTORE=1" in lines:
            self.forget(name)
            self.store[name] = fcntl.fcntl(fds[0], fcntl.F_DUPFD_CLOEXEC, 100)
        elif "FDSTOREREMOVE=1" in lines:
            self.forget(name)
        for fd in fds:
            os.close(fd)

    def forget(self, name):
        if name in self.store:
            os.close(self.store.pop(name))

    def kept(self):
        with self.lock:
            return sorted(self.store)

    def count(self, line):
        with self.lock:
            return sum(told == line for _, told in self.told)

    def start(self, wait=True):
        """As systemd does: descriptors from 3 on, and their names."""
        router = self.router
        with self.lock:
            names, fds = list(self.store), list(self.store.values())

        def hand_over():
            for at, fd in enumerate(fds, 3):
                os.dup2(fd, at)

        environment = dict(os.environ, NOTIFY_SOCKET=str(self.path), FDSTORE="4096",
                           STATE_DIRECTORY=str(router.folder / "state"),
                           LISTEN_FDS=str(len(fds)), LISTEN_FDNAMES=":".join(names))
        with open(router.log_file, "a") as log:
            router.process = subprocess.Popen(
                router.space.words(["sh", "-c", 'LISTEN_PID=$$ exec "$@"', "hectod", HECTOD,
                                    router.file]),
                stdout=log, stderr=log, env=environment, close_fds=False, preexec_fn=hand_over)
        if wait:
            router.wait_ready()
        return router

    def stop(self, kill=False):
        process = self.router.process
        process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
        code = process.wait(30)
        assert code == (-signal.SIGKILL if kill else 0), f"{code}\n{self.router.log()}"

    def restart(self, kill=False, wait=True):
        self.stop(kill)
        return self.start(wait)

    def close(self):
        with contextlib.suppress(OSError), \
                socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
            end.sendto(b"end", str(self.path))
        self.thread.join(5)
        self.socket.close()
        with self.lock:
            for name in list(self.store):
                self.forget(name)
