"""strongSwan as it is: charon in hectod's namespace against a real kernel's ESP."""

import json
import re
import threading

import pytest

import lab as labs

SECONDS = 10


def bring_up(bed, name):
    bed.initiate(name)
    assert len(bed.router.spis()) == 2 and bed.router.spis() == bed.peer.spis()
    labs.wait_for(lambda: bed.ping(count=1)[1], 10, "a packet through the tunnel")


def iperf(bed, *options, seconds=4):
    out = bed.host.sh(["iperf3", "-J", "-c", "10.2.0.1", "-t", seconds, *options], check=False,
                      timeout=seconds + 40)
    answer = json.loads(out)
    assert "error" not in answer, answer["error"]
    return answer["end"]


class Background(threading.Thread):
    """Runs beside the test; result() gives what came of it."""

    def __init__(self, work):
        super().__init__(daemon=True)
        self.work, self.value = work, None
        self.start()

    def run(self):
        try:
            self.value = self.work()
        except BaseException as error:  # raised again by result()
            self.value = error

    def result(self):
        self.join()
        if isinstance(self.value, BaseException):
            raise self.value
        return self.value


def test_ike_passes_the_router(bed):
    """IKE itself is the slow path's: both kernels get the same SAs."""
    bed.initiate("plain")
    assert "ESTABLISHED" in bed.router.swanctl("--list-sas")
    assert len(bed.router.spis()) == 2 and bed.router.spis() == bed.peer.spis()


@pytest.mark.parametrize("name", ["plain", "cbc", "natt"])
def test_traffic_passes_the_tunnel(bed, name):
    """ESN with AES-GCM; AES-CBC with HMAC-SHA2; ESP in UDP."""
    bring_up(bed, name)
    sent = bed.peer.sh("ip -s xfrm state")
    assert ("espinudp" in sent) == (name == "natt"), sent
    assert (" esn (" in sent) == (name != "cbc"), sent
    punted = bed.punted()
    assert bed.ping("-s", 1300, count=10) == (10, 10)
    end = iperf(bed)
    assert end["sum_received"]["bits_per_second"] > 1e6, end
    print(f"{name}: {end['sum_received']['bits_per_second'] / 1e6:.0f} Mb/s")
    # The kernels' ESP would have seen each packet of it.
    assert bed.punted() - punted < 100, bed.api("drops")
    lost = {reason: count for reason, count in bed.drops().items() if "esp" in reason and count}
    assert not lost, lost


def test_charon_and_the_kernel_see_what_passed(bed):
    bring_up(bed, "plain")
    assert bed.ping("-s", 1000, count=20) == (20, 20)

    def told():
        used = re.findall(r"(\d+) bytes, +(\d+) packets", bed.router.swanctl("--list-sas"))
        assert len(used) == 2 and all(20 <= int(packets) <= 30 for _, packets in used), used
        assert all(20 * 1028 < int(size) < 30 * 1100 for size, _ in used), used
        return True
    labs.wait_for(told, 10, "charon shows what hectod counted", 0.5)


def test_a_rekey_every_other_second_loses_nothing(bed):
    bring_up(bed, "rekey")
    before = bed.router.spis()
    stream = Background(lambda: iperf(bed, "-u", "-b", "3M", "-l", 1000, seconds=SECONDS))
    assert bed.ping("-i", 0.02, count=SECONDS * 50) == (SECONDS * 50, SECONDS * 50), bed.drops()
    end = stream.result()
    assert end["sum"]["packets"] > 3000 and end["sum"]["lost_packets"] == 0, (end, bed.drops())
    made = re.findall(r"inbound CHILD_SA rekey\{(\d+)\}", bed.router.sh("cat /run/charon.log"))
    assert len(made) >= 3 and not before & bed.router.spis(), made


def test_a_limit_of_bytes_makes_charon_rekey(bed):
    """hectod counts the bytes; Linux saw none of them."""
    bring_up(bed, "volume")
    before = bed.router.spis()
    transferred = iperf(bed, "-b", "2M", "-l", 1200, seconds=6)["sum_received"]["bytes"]
    assert transferred > 800000
    labs.wait_for(lambda: not before & bed.router.spis(), 15, "the first SAs are gone", 0.5)
    assert bed.ping() == (5, 5)


def test_a_packet_without_an_sa_makes_charon_ask(bed):
    """start_action = trap: the policy is there before any SA."""
    assert not bed.router.spis()
    bed.router.swanctl("--install", "--child", "trap", check=False)
    try:
        labs.wait_for(lambda: bed.ping(count=1)[1] == 1, 20, "a tunnel for the packet")
        assert len(bed.router.spis()) == 2
    finally:
        bed.router.swanctl("--uninstall", "--child", "trap", check=False)


def test_a_tunnel_in_use_is_not_idle(bed):
    """inactivity = 4s: charon asks Linux when the policies were used last."""
    bring_up(bed, "idle")
    before = bed.router.spis()
    assert bed.ping("-i", 0.2, count=50) == (50, 50)
    assert bed.router.spis() == before
    labs.wait_for(lambda: not bed.router.spis(), 20, "an idle tunnel goes", 0.5)


def test_a_peer_that_is_gone_is_noticed(bed):
    """DPD: IKE's own question, every second of silence."""
    bring_up(bed, "dpd")
    bed.peer.sh("ip link set eth0 down")
    try:
        labs.wait_for(lambda: not bed.router.spis(), 30, "the SAs are gone", 0.5)
    finally:
        bed.peer.sh("ip link set eth0 up")
