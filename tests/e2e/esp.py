"""ESP as scapy does it, for both ends of a tunnel that hectod has."""

import os
import struct

from scapy.config import conf
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.ipsec import ESP, SecurityAssociation
from scapy.packet import Raw

conf.ipv6_enabled = True

# GMAC is not among them: scapy 2.5 has none, and the unit tests hold it against OpenSSL.
# hectod's words; scapy's cipher, bytes of the key with its salt; scapy's integrity, bytes of its key.
ALGORITHMS = {
    "aes-128-gcm": ("AES-GCM", 20, None, 0), "aes-192-gcm": ("AES-GCM", 28, None, 0),
    "aes-256-gcm": ("AES-GCM", 36, None, 0), "chacha20-poly1305": ("CHACHA20-POLY1305", 36, None, 0),
    "aes-128-cbc hmac-sha1": ("AES-CBC", 16, "HMAC-SHA1-96", 20),
    "aes-192-cbc hmac-sha2-256": ("AES-CBC", 24, "SHA2-256-128", 32),
    "aes-256-cbc hmac-sha2-384": ("AES-CBC", 32, "SHA2-384-192", 48),
    "aes-256-cbc hmac-sha2-512": ("AES-CBC", 32, "SHA2-512-256", 64),
    "aes-128-ctr hmac-sha2-256": ("AES-CTR", 20, "SHA2-256-128", 32),
    "aes-256-ctr hmac-sha1": ("AES-CTR", 36, "HMAC-SHA1-96", 20),
    "null hmac-sha2-256": ("NULL", 0, "SHA2-256-128", 32),
}


def outer(source, destination):
    return (IPv6 if ":" in source else IP)(src=source, dst=destination)


class Sa:
    """One direction of one tunnel: hectod's words for it, and scapy's."""

    def __init__(self, name, spi, source, destination, reqid, mode="tunnel", esn=False, natt=False):
        cipher, key_bytes, integrity, integrity_bytes = ALGORITHMS[name]
        self.name, self.spi, self.natt, self.esn = name, spi, natt, esn
        self.source, self.destination, self.mode, self.reqid = source, destination, mode, reqid
        self.key, self.integrity_key = os.urandom(key_bytes), os.urandom(integrity_bytes)
        self.scapy = SecurityAssociation(
            ESP, spi=spi, seq_num=1, crypt_algo=cipher, crypt_key=self.key or None,
            auth_algo=integrity, auth_key=self.integrity_key or None, esn_en=esn, esn=0,
            tunnel_header=outer(source, destination) if mode == "tunnel" else None)

    def config(self):
        words = self.name.split()
        said = {"source": self.source, "destination": self.destination, "spi": self.spi,
                "mode": self.mode, "reqid": self.reqid, "cipher": words[0], "esn": self.esn,
                "replay_window": 128}
        if self.key:
            said["key"] = "0x" + self.key.hex()
        if len(words) > 1:
            said.update(integrity=words[1], integrity_key="0x" + self.integrity_key.hex())
        if self.natt:
            said["encapsulation"] = {"source_port": 4500, "destination_port": 4500}
        return said

    def seal(self, inner):
        """The IP packet that carries `inner`, as bytes."""
        packet = self.scapy.encrypt(type(inner)(bytes(inner)))
        if not self.natt:
            return bytes(packet)
        head, esp = self._split(bytes(packet))
        # RFC 3948: no checksum over IPv4.
        udp = struct.pack("!HHHH", 4500, 4500, 8 + len(esp), 0) + esp
        whole = head / UDP(udp) if isinstance(head, IPv6) else head / Raw(udp)
        if isinstance(head, IPv6):
            whole[UDP].chksum = None
            whole.nh, whole.plen = 17, None
        else:
            whole.proto, whole.len, whole.chksum = 17, None, None
        return bytes(whole)

    def open(self, packet):
        """What is inside the IP packet `packet` (bytes)."""
        head, rest = self._split(packet)
        if self.natt:
            ports = struct.unpack("!HHHH", rest[:8])
            assert ports[:2] == (4500, 4500) and ports[2] == len(rest), ports
            rest = rest[8:]
        if isinstance(head, IPv6):
            whole = IPv6(bytes(IPv6(src=head.src, dst=head.dst, nh=50) / Raw(rest)))
        else:
            whole = IP(bytes(IP(src=head.src, dst=head.dst, proto=50) / Raw(rest)))
        return self.scapy.decrypt(whole)

    @staticmethod
    def _split(packet):
        if packet[0] >> 4 == 6:
            head = IPv6(packet[:40])
            head.remove_payload()
            return head, packet[40:]
        size = (packet[0] & 15) * 4
        head = IP(packet[:size])
        head.remove_payload()
        return head, packet[size:]


class Tunnel:
    """Both directions between hectod at `here` and scapy at `there`, for two inner networks."""

    def __init__(self, number, name, here, there, inside, outside, **options):
        self.inside, self.outside, self.reqid = inside, outside, number
        self.mode = options.get("mode", "tunnel")
        self.to_hecto = Sa(name, 0x2000 + number, there, here, number, **options)
        self.from_hecto = Sa(name, 0x1000 + number, here, there, number, **options)

    def sas(self):
        return [self.to_hecto.config(), self.from_hecto.config()]

    def policies(self):
        def protect(sa):
            ends = {} if self.mode == "transport" else {"source": sa.source,
                                                        "destination": sa.destination}
            return {**ends, "reqid": self.reqid, "mode": self.mode}
        made = [{"direction": "out", "source": self.inside, "destination": self.outside,
                 "protect": protect(self.from_hecto)}]
        for direction in ("forward", "in"):
            made.append({"direction": direction, "source": self.outside,
                         "destination": self.inside, "protect": protect(self.to_hecto)})
        return made


def ipsec_section(tunnels):
    return {"sas": [sa for t in tunnels for sa in t.sas()],
            "policies": [policy for t in tunnels for policy in t.policies()]}


def is_esp(frame, spi):
    """Whether an Ethernet frame is ESP, in UDP or not, of the SPI."""
    data = bytes(frame)[14:]
    if not data or data[0] >> 4 not in (4, 6):
        return False
    if data[0] >> 4 == 4:
        protocol, rest = data[9], data[(data[0] & 15) * 4:]
    else:
        protocol, rest = data[6], data[40:]
    if protocol == 17 and rest[2:4] == struct.pack("!H", 4500):
        rest = rest[8:]
    elif protocol != 50:
        return False
    return rest[:4] == struct.pack("!I", spi)
