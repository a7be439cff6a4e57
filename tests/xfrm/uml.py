"""Guests of user-mode Linux: a real kernel with ESP, as an ordinary process of this machine.

A guest's root is this machine's, read-only; its NICs are TAP devices. It ends with the object.
"""

import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

INIT = Path(__file__).resolve().parent / "guest.py"
NEEDED = {"linux.uml": "user-mode-linux", "swanctl": "strongswan-swanctl", "iperf3": "iperf3",
          "/usr/lib/ipsec/charon": "strongswan-charon"}


def missing():
    """Why this machine has no guests; empty where it has."""
    if os.geteuid() != 0:
        return "needs root"
    packages = [package for program, package in NEEDED.items() if shutil.which(program) is None]
    if packages:
        return f"apt-get install {' '.join(packages)}"
    if not Path("/dev/net/tun").exists():
        return "needs /dev/net/tun"
    return ""


def environment(folder):
    """On a CPU with AMX user-mode Linux 6.1 starts with a library's help only; see xstate.c."""
    if "amx_tile" not in Path("/proc/cpuinfo").read_text():
        return None
    library = folder / "xstate.so"
    if not library.exists():
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-Wall", "-o", library,
                        INIT.parent / "xstate.c"], check=True)
    return dict(os.environ, LD_PRELOAD=str(library))


class Guest:
    def __init__(self, name, folder, space, taps, memory_mb=320):
        """`taps`: names in the namespace `space`, in the order of eth0, eth1, …"""
        self.name, self.log_file = name, folder / f"{name}.console"
        self.numbers, self.answers = itertools.count(1), {}
        self.changed = threading.Condition()
        ours, theirs = socket.socketpair()
        line = theirs.fileno()
        words = ["nsenter", f"--net=/run/netns/{space.name}", "--", "linux.uml",
                 f"mem={memory_mb}M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro",
                 f"init={INIT}", "con=null", "con0=null,fd:1", f"ssl0=fd:{line},fd:{line}", "quiet",
                 f"uml_dir={folder}", f"umid={name}",
                 *(f"eth{number}=tuntap,{tap}" for number, tap in enumerate(taps))]
        with open(self.log_file, "w") as log:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            pass_fds=[line], start_new_session=True,
                                            env=environment(folder))
        theirs.close()
        self.line = ours
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        waiting = b""
        while True:
            try:
                more = self.line.recv(65536)
            except OSError:
                more = b""
            if not more:
                break
            waiting += more
            *whole, waiting = waiting.split(b"\n")
            for text in whole:
                try:
                    answer = json.loads(text)
                except ValueError:
                    continue
                with self.changed:
                    self.answers[answer["id"]] = answer
                    self.changed.notify_all()

    def wait_for_answer(self, number, timeout):
        with self.changed:
            if not self.changed.wait_for(lambda: number in self.answers or
                                         self.process.poll() is not None, timeout):
                raise AssertionError(f"guest {self.name} does not answer\n{self.console()}")
            if number not in self.answers:
                raise AssertionError(f"guest {self.name} has ended\n{self.console()}")
            return self.answers.pop(number)

    def wait_up(self, timeout=60):
        self.wait_for_answer(0, timeout)

    def put(self, **question):
        number = next(self.numbers)
        self.line.sendall(json.dumps({"id": number, **question}).encode() + b"\n")
        return number

    def start(self, command, timeout=60):
        """Begins a command; wait() gives what it said."""
        words = command.split() if isinstance(command, str) else [str(word) for word in command]
        return self.put(words=words, timeout=timeout), words, timeout

    def get(self, path, noun):
        """An HTTP request to a Unix socket: (status, body). A new process costs a second here."""
        request = f"GET {noun} HTTP/1.1\r\nHost: guest\r\nConnection: close\r\n\r\n"
        answer = self.wait_for_answer(self.put(socket=path, text=request), 30)
        head, _, body = answer["output"].partition("\r\n\r\n")
        assert answer["code"] == 0, answer["output"]
        return int(head.split()[1]), body

    def wait(self, started, check=True):
        number, words, timeout = started
        answer = self.wait_for_answer(number, timeout + 30)
        if check and answer["code"] != 0:
            raise AssertionError(f"{self.name}: {' '.join(words)}: exit code {answer['code']}\n"
                                 f"{answer['output']}")
        return answer["output"]

    def sh(self, command, check=True, timeout=60):
        return self.wait(self.start(command, timeout), check)

    def spawn(self, command, log="/dev/null"):
        """A process that goes on; `command` is a shell's."""
        self.sh(["setsid", "-f", "sh", "-c", f"exec {command} >{log} 2>&1 </dev/null"])

    def console(self):
        return self.log_file.read_text(errors="replace")[-3000:]

    def end(self):
        """Its processes are a session of their own, which goes as a whole."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.line.close()
        time.sleep(0.05)
