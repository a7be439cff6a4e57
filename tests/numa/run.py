#!/usr/bin/python3
"""hectod on a box of two NUMA nodes, which QEMU plays: placement and NICs end to end.

    tests/numa/run.py BUILD [PYTEST_ARGUMENT...]

QEMU's processor is emulated, so that it runs anywhere: this tests function, never speed. The guest
boots Debian's kernel and uses this machine's /usr, read-only over 9p, as its own.

      node 0: cpus 0 1                                 node 1: cpus 2 3
      pxb-pcie, bus 0x40                               pxb-pcie, bus 0x80
        41:00.0 e1000e ── hub ── kernel NIC              81:00.0 vmxnet3 ── hub ── kernel NIC
        42:00.0 virtio ── hub ── kernel NIC              82:00.0 virtio  ── hub ── kernel NIC
        43:00.0 a disk with VFs
"""

import lzma
import os
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
LIMIT_S = 480
CPUS, MEMORY_MB = 4, 3072
MODULES = "virtio_pci virtio_net 9pnet_virtio 9p vfio-pci tun nvme"
NEEDED = {"qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static", "cpio": "cpio",
          "depmod": "kmod"}
# (driver, its NUMA node): the NICs that hectod gets, in the order of their wires.
NICS = [("e1000e", 0), ("vmxnet3", 1), ("virtio-net-pci", 0), ("virtio-net-pci", 1)]
# What programs look for in /etc.
ETC = "passwd group nsswitch.conf ld.so.cache ld.so.conf ld.so.conf.d alternatives"


def run(command, **more):
    return subprocess.run([str(word) for word in command], check=True, **more)


def output(command):
    return run(command, stdout=subprocess.PIPE, text=True).stdout


def check_packages():
    missing = [package for program, package in NEEDED.items() if shutil.which(program) is None]
    if subprocess.run(["/usr/bin/python3", "-c", "import pytest, yaml"], stderr=subprocess.DEVNULL,
                      check=False).returncode != 0:
        missing.append("python3-pytest python3-yaml")
    if missing:
        sys.exit(f"test-numa: apt-get install {' '.join(missing)}")


def fetch_kernel(folder):
    """Debian's kernel and its modules in `folder`, not installed; returns its version."""
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        depends = output(["apt-cache", "depends", "linux-image-amd64"]).split()
        image = next((word for word in depends if word.startswith("linux-image-")
                      and word != "linux-image-amd64"), None)
        if image is None:
            sys.exit("test-numa: apt knows no linux-image-amd64; apt-get update")
        print(f"fetching {image}", flush=True)
        run(["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", image], cwd=folder)
        package = next(folder.glob("*.deb"))
        run(["dpkg", "-x", package, folder])
        package.unlink()
        version = next((folder / "lib" / "modules").iterdir()).name
        run(["depmod", "-b", folder, version])
        unpack_kernel(folder / "boot" / f"vmlinuz-{version}", folder / "vmlinux")
        (folder / "complete").touch()
    return next((folder / "lib" / "modules").iterdir()).name


def unpack_kernel(packed, vmlinux):
    """QEMU starts the ELF file itself; unpacking it in an emulated CPU would take its time."""
    data = packed.read_bytes()
    # Linux's boot protocol: setup_sects at 0x1f1, payload_offset and _length at 0x248.
    offset, length = struct.unpack_from("<II", data, 0x248)
    start = (data[0x1f1] + 1) * 512 + offset
    vmlinux.write_bytes(lzma.LZMADecompressor().decompress(data[start:start + length]))


def make_initrd(scratch, kernel, version):
    root = scratch / "root"
    for folder in ("bin", "etc", "modules"):
        (root / folder).mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), root / "bin" / "busybox")
    shutil.copy(HERE / "init.sh", root / "init")
    run(["cp", "-a", *(f"/etc/{name}" for name in ETC.split()), root / "etc"])
    lines = []
    for module in MODULES.split():
        lines += output(["modprobe", "--show-depends", "--dirname", kernel, "--set-version",
                         version, module]).splitlines()
    files = dict.fromkeys(line.split()[1] for line in lines if line.startswith("insmod "))
    for number, file in enumerate(files):
        shutil.copy(file, root / "modules" / f"{number:02}-{Path(file).name}")
    with open(scratch / "initrd", "wb") as initrd:
        names = output(["find", root, "-mindepth", "1", "-printf", "%P\\n"])
        run(["cpio", "--quiet", "-o", "-H", "newc", "-D", root], input=names.encode(),
            stdout=initrd)


def share(tag, path, readonly=True):
    more = ",readonly=on" if readonly else ""
    return ["-fsdev", f"local,id={tag},path={path},security_model=none,multidevs=remap{more}",
            "-device", f"virtio-9p-pci,fsdev={tag},bus=pcie.0,mount_tag={tag}"]


def box():
    """Two nodes with a PCIe expander bus each, NICs behind them, and wires to kernel NICs."""
    words, half = ["-device", "intel-iommu,intremap=on,aw-bits=48"], CPUS // 2
    for node in (0, 1):
        words += ["-object", f"memory-backend-ram,id=m{node},size={MEMORY_MB // 2}M",
                  "-numa", f"node,nodeid={node},cpus={node * half}-{node * half + half - 1},"
                           f"memdev=m{node}",
                  "-device", f"pxb-pcie,id=pxb{node},bus_nr={64 * (node + 1)},bus=pcie.0,"
                             f"numa_node={node}"]
    words += ["-numa", "dist,src=0,dst=1,val=21"]
    for wire, (driver, node) in enumerate(NICS):
        more = ",iommu_platform=on,disable-legacy=on" if driver.startswith("virtio") else ""
        words += ["-device", f"pcie-root-port,id=slot{wire},bus=pxb{node},chassis={wire + 1},"
                             f"addr={wire // 2}",
                  "-netdev", f"hubport,id=kernel{wire},hubid={wire}",
                  "-netdev", f"hubport,id=wire{wire},hubid={wire}",
                  "-device", f"virtio-net-pci,netdev=kernel{wire},bus=pcie.0,romfile=,"
                             f"mac=02:00:00:00:00:0{wire}",
                  "-device", f"{driver},netdev=wire{wire},id=nic{wire},bus=slot{wire},romfile=,"
                             f"mac=02:00:00:00:01:0{wire}{more}"]
    # The one device of QEMU 7 that has SR-IOV.
    words += ["-device", "pcie-root-port,id=disk,bus=pxb0,chassis=9,addr=2",
              "-device", "nvme-subsys,id=subsystem",
              "-device", "nvme,bus=disk,serial=1,subsys=subsystem,sriov_max_vfs=2,"
                         "sriov_vq_flexible=4,sriov_vi_flexible=2,max_ioqpairs=6,msix_qsize=7"]
    return words


def command(scratch, kernel, build):
    monitor = scratch / "monitor"
    return ["nice", "-n", "10", "qemu-system-x86_64", "-machine", "q35",
            "-accel", "tcg,thread=multi", "-cpu", "max", "-m", MEMORY_MB,
            "-smp", f"{CPUS},sockets=2,cores={CPUS // 2},threads=1",
            "-nodefaults", "-display", "none", "-no-reboot", "-kernel", kernel / "vmlinux", "-initrd", scratch / "initrd",
            "-append", f"console=ttyS0 loglevel=3 panic=-1 intel_iommu=on source={SOURCE} "
                       f"build={build}",
            "-serial", "stdio",
            # The guest's second serial line is QEMU's monitor: tests pull cables there.
            "-chardev", f"socket,id=monitor,path={monitor},server=on,wait=off",
            "-mon", "chardev=monitor",
            "-chardev", f"socket,id=line,path={monitor}", "-serial", "chardev:line",
            *share("usr", "/usr"), *share("source", SOURCE), *share("build", build),
            *share("result", scratch / "result", readonly=False), *box()]


def boot(words, complaints):
    """Runs QEMU within the time; whatever ends this program ends it too."""
    with open(complaints, "w") as errors:
        qemu = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL,
                                stderr=errors, start_new_session=True)
    try:
        qemu.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        print(f"test-numa: the guest did not end within {LIMIT_S} s", flush=True)
    finally:
        if qemu.poll() is None:
            os.killpg(qemu.pid, signal.SIGKILL)
            qemu.wait()


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build, arguments = Path(sys.argv[1]).resolve(), sys.argv[2:]
    check_packages()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    kernel = build / "numa-kernel"
    version = fetch_kernel(kernel)
    started = time.monotonic()
    scratch = Path(tempfile.mkdtemp(prefix="hecto-numa-"))
    try:
        (scratch / "result").mkdir()
        (scratch / "result" / "arguments").write_text(shlex.join(arguments))
        make_initrd(scratch, kernel, version)
        boot(command(scratch, kernel, build), scratch / "complaints")
        code = scratch / "result" / "exit_code"
        ended = int(code.read_text()) if code.exists() else 1
        if ended != 0:
            print((scratch / "complaints").read_text(), end="")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    took = time.monotonic() - started
    print(f"test-numa: {'passed' if ended == 0 else 'failed'} in {took:.0f} s")
    return ended


if __name__ == "__main__":
    sys.exit(main())
