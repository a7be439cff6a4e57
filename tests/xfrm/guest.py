#!/usr/bin/python3
"""The first process of a guest: makes it usable, then runs what the host asks over a serial line.

A question is a line of JSON: {"id", "words", "timeout"} runs a command, {"id", "socket", "text"}
asks a server on a Unix socket. So is its answer, {"id", "code", "output"}. Questions are worked on
at the same time. The guest's root is the host's, read-only.
"""

import glob
import json
import os
import shutil
import socket
import subprocess
import threading
import tty

MODULES = """tun drbg hmac sha512_generic sha256_generic aes_generic cbc ctr gcm ghash-generic seqiv
echainiv authenc authencesn chacha20poly1305 xfrm_user esp4 esp6""".split()

# DPDK opens each driver that is installed, some hundred of them; hectod is linked with net_bond.
DRIVERS = "bus_pci bus_vdev mempool_ring net_af_packet net_bond".split()


def quietly(*words):
    return subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def prepare():
    for kind, where in (("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run"), ("tmpfs", "/mnt"),
                        ("tmpfs", "/var/log")):
        quietly("mount", "-t", kind, kind, where)
    for folder in ("/run/netns", "/run/tmp", "/mnt/lib"):
        os.makedirs(folder)
    os.symlink("/usr/lib/uml/modules", "/mnt/lib/modules")
    for module in MODULES:  # some are built in
        quietly("modprobe", "-d", "/mnt", module)
    for folder in glob.glob("/usr/lib/*/dpdk/pmds-*"):
        os.makedirs("/run/drivers", exist_ok=True)
        for driver in DRIVERS:
            for file in glob.glob(f"{folder}/librte_{driver}.so*"):
                shutil.copy(file, "/run/drivers", follow_symlinks=False)
        quietly("mount", "-o", "bind", "/run/drivers", folder)
    quietly("ip", "link", "set", "lo", "up")


def ask(path, text):
    with socket.socket(socket.AF_UNIX) as server:
        server.settimeout(20)
        server.connect(path)
        server.sendall(text.encode())
        return b"".join(iter(lambda: server.recv(65536), b""))


def work(question):
    if "socket" in question:
        try:
            return 0, ask(question["socket"], question["text"])
        except OSError as error:
            return 1, str(error).encode()
    try:
        run = subprocess.run(question["words"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, timeout=question["timeout"], check=False)
        return run.returncode, run.stdout
    except subprocess.TimeoutExpired as expired:
        return 124, expired.stdout or b""
    except OSError as error:
        return 127, str(error).encode()


def answer(line, lock, question):
    code, output = work(question)
    text = json.dumps({"id": question["id"], "code": code,
                       "output": output.decode(errors="replace")[-200000:]}).encode() + b"\n"
    with lock:
        while text:
            text = text[os.write(line, text):]


def main():
    os.environ.update(PATH="/usr/sbin:/usr/bin:/sbin:/bin", TMPDIR="/run/tmp", TEST_TMPDIR="/run/tmp/",
                      HOME="/run/tmp", PYTHONDONTWRITEBYTECODE="1")
    prepare()
    line, lock = os.open("/dev/ttyS0", os.O_RDWR | os.O_NOCTTY), threading.Lock()
    tty.setraw(line)
    os.write(line, b'{"id": 0, "code": 0, "output": "up"}\n')
    waiting = b""
    while True:
        waiting += os.read(line, 4096)
        *whole, waiting = waiting.split(b"\n")
        for text in filter(None, whole):
            threading.Thread(target=answer, args=(line, lock, json.loads(text))).start()


if __name__ == "__main__":
    main()
