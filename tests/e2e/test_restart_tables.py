"""A restart that goes on forwarding by the tables of the run before, which lie on huge pages."""

import os
import re
import signal
import time
from pathlib import Path

import pytest

from conftest import PORTS
from lab import wait_for
from stream import Stream
from test_restart import STATE, served_pair


@pytest.fixture
def bed(lab):
    return served_pair(lab)


HUGE = Path("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")


@pytest.fixture
def hugepages():
    before = HUGE.read_text().strip() if HUGE.exists() else None
    if before is None:
        pytest.skip("this kernel has no huge pages of 2 MiB")
    try:
        HUGE.write_text(str(int(before) + 400))
        if int(HUGE.read_text()) < int(before) + 400:
            pytest.skip("there is no memory for 400 huge pages")
        yield
    finally:
        HUGE.write_text(before)


def state_of(service):
    with service.lock:
        return "".join(os.pread(service.store[name], 1 << 20, 0).decode() for name in STATE)


def add_routes(router, count):
    """Of two kinds: half of them by b, the others nowhere."""
    batch = router.folder / "routes"
    batch.write_text("".join(
        f"route add {'' if i % 2 else 'blackhole '}20.{i >> 16}.{i >> 8 & 255}.{i & 255}/32 "
        f"{'via 10.2.0.1 ' if i % 2 else ''}proto bgp\n" for i in range(count)))
    router.linux_sh(["ip", "-batch", batch])
    wait_for(lambda: router.route_count("bgp") == count, 60, "all routes are known")


@pytest.mark.parametrize("kill", [False, True], ids=["SIGTERM", "SIGKILL"])
def test_forwards_by_the_tables_of_the_run_before(hugepages, bed, kill):
    router = bed.router
    add_routes(router, 100_000)
    bed.b.sh("ip address add 20.0.0.1/32 dev lo")
    wait_for(lambda: "tables" in state_of(bed.service), 10, "its tables are left")
    assert any(name.startswith("table-") for name in bed.service.kept())
    before = sorted(bed.service.kept())
    with Stream(bed.a, bed.b, ["20.0.0.1", "20.0.0.2"]) as stream:
        bed.service.restart(kill)
        wait_for(lambda: "all is read; forwarding by it" in router.log(), 20, "its own tables")
    log = router.log()
    assert log.index("forwarding by the tables of the run before") < log.index("all is read;")
    # Half of them go nowhere, before and after.
    assert stream.received > 0 and stream.twice == 0
    wait_for(lambda: len(bed.service.kept()) == len(before), 10, "those of before are let go of")
    assert not {name for name in before if name.startswith("table-")} & set(bed.service.kept())
    assert router.route_count("bgp") == 100_000
    bed.a.ping("20.0.0.1")


def test_where_policy_rules_hold_no_tables_are_left(hugepages, bed):
    """Tables alone do not say how packets go then."""
    by_them = "forwarding by the tables of the run before"

    def log_of_restart():
        time.sleep(2.5)  # the state is written each second
        mark = len(bed.router.log())
        bed.service.restart()
        wait_for(lambda: "Linux's state is read" in bed.router.log()[mark:], 20, "Linux's routes")
        return bed.router.log()[mark:]
    bed.router.linux_sh("ip rule add to 20.0.0.0/8 blackhole pref 100")
    assert by_them not in log_of_restart()
    bed.a.ping("10.2.0.1")
    bed.router.linux_sh("ip rule del pref 100")
    assert by_them in log_of_restart()
    bed.a.ping("10.2.0.1")


ALL_READ = "all is read; forwarding by it"


def restart_till_read(bed):
    wait_for(lambda: "tables" in state_of(bed.service), 10, "its tables are left")
    mark = len(bed.router.log())
    bed.service.restart()
    wait_for(lambda: ALL_READ in bed.router.log()[mark:], 20, "its own tables")


def test_forwards_before_its_route_files_are_read(hugepages, bed):
    """By the tables of the run before, in which they are."""
    router, table = bed.router, bed.router.folder / "table.txt"
    table.write_text("".join(f"21.{i >> 16}.{i >> 8 & 255}.{i & 255}/32 via 10.2.0.1\n" for i in range(200_000)))
    bed.b.sh("ip address add 21.3.13.63/32 dev lo")  # the last one
    bed.config["route_files"] = [str(table)]
    router.write(bed.config)
    restart_till_read(bed)
    mark = len(router.log())
    with Stream(bed.a, bed.b, ["21.3.13.63"]) as stream:
        restart_till_read(bed)
    log = router.log()[mark:]
    said = ["forwarding by the tables of the run before", f"200000 of {table}", ALL_READ]
    assert [log.count(line) for line in said] == [1, 1, 1] and sorted(said, key=log.index) == said
    assert stream.received > 0 and stream.twice == 0
    bed.a.ping("21.3.13.63")


def test_an_end_waits_for_route_files_while_packets_pass(hugepages, bed):
    """Here a pipe into which nobody writes, as a disk that hangs."""
    router, table = bed.router, bed.router.folder / "table.txt"
    wait_for(lambda: "tables" in state_of(bed.service), 10, "its tables are left")
    os.mkfifo(table)
    writer = os.open(table, os.O_RDWR)
    router.write(dict(bed.config, route_files=[str(table)]))
    bed.service.restart()
    bed.service.restart(kill=True)
    assert router.log().count("forwarding by the tables of the run before") == 2
    bed.a.ping("10.2.0.1")
    router.process.send_signal(signal.SIGTERM)
    wait_for(lambda: "route files are still being read" in router.log(), 10, "it waits")
    bed.a.ping("10.2.0.1")
    router.linux_sh("ip xfrm policy add src 10.1.0.0/24 dst 10.2.0.0/24 dir out action block")
    wait_for(lambda: router.get("/v1/ipsec")["policies"], 5, "it is followed")
    assert " 0 received" in bed.a.ping("10.2.0.1", count=2, timeout=1, ok=False)
    os.close(writer)
    assert router.process.wait(30) == 0


def test_without_the_tables_a_wrong_route_file_ends_the_start(hugepages, bed):
    """As at a first start: nothing is forwarded yet."""
    router, table = bed.router, bed.router.folder / "table.txt"
    wait_for(lambda: "tables" in state_of(bed.service), 10, "its tables are left")
    table.write_text("21.0.0.0/24 via nowhere\n")
    router.write(dict(bed.config, ports={"a0": PORTS["a0"]}, route_files=[str(table)]))
    bed.service.stop()
    bed.service.start(wait=False)
    assert router.process.wait(30) == 1
    assert "tables of the run before are not used (ports or interfaces are others" in router.log()
    assert re.search(rf"error {table}:.*nowhere", router.log().splitlines()[-1])
    table.write_text("21.0.0.0/24 via 10.1.0.1\n")
    bed.service.start()
    assert router.explain("21.0.0.1")["verdict"] == "forward"


def rewrite_state(service, old, new):
    """As another version would have left it: with a sum that is right."""
    with service.lock:
        for name in STATE:
            fd = service.store[name]
            body = os.pread(fd, 1 << 20, 0).decode().rpartition("sum ")[0].replace(old, new)
            total = 14695981039346656037
            for byte in body.encode():
                total = (total ^ byte) * 1099511628211 & (1 << 64) - 1
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{body}sum {total:016x}\n".encode(), 0)


def test_what_another_version_left_is_not_forwarded_by(hugepages, bed):
    """Tables of another layout, and a state of another version: a cold start, and one line each."""
    router = bed.router
    add_routes(router, 1000)
    bed.b.sh("ip address add 20.0.0.1/32 dev lo")

    def lines(text):
        return sum(text in line for line in router.log().splitlines())

    def restart(change):
        wait_for(lambda: "tables" in state_of(bed.service), 10, "its tables are left")
        bed.service.stop()
        rewrite_state(bed.service, *change)
        bed.service.start()
        bed.a.ping("20.0.0.1")
        assert router.route_count("bgp") == 1000

    restart(("no such", "words"))  # the same version, and the sum as it was
    by_them = "forwarding by the tables of the run before"
    cold = "the tables of the run before are not used (they are of another version of hectod"
    assert lines(by_them) == 1 and lines(cold) == 0 and lines("is damaged") == 0
    restart(("number layout 1 ", "number layout 2 "))
    assert lines(by_them) == 1 and lines(cold) == 1 and lines("is damaged") == 0
    restart(("hecto state 1", "hecto state 2"))
    assert lines(by_them) == 1 and lines("is damaged or of another version") == 1
    restart(("no such", "words"))
    assert lines(by_them) == 2 and lines(cold) == 1
    bed.router.check_balance()
