// What is refused, in which words.
#include <gtest/gtest.h>

#include <string>

#include "config/file/load.hpp"
#include "tests/unit/config/file/files.hpp"

namespace hecto::config {
namespace {

struct Case {
  const char* yaml;  // behind kPort
  const char* problem;
};

class LoadRefuses : public testing::TestWithParam<Case> {};

TEST_P(LoadRefuses, WithLineKeySeenAndRight) {
  EXPECT_EQ(only(std::string(kPort) + GetParam().yaml),
            std::string("t.yaml:2: ") + GetParam().problem);
}

INSTANTIATE_TEST_SUITE_P(
    Globals, LoadRefuses,
    testing::Values(
        Case{"burst: \"64\"", "burst: \"64\" is not a whole number; use 4 to 256"},
        Case{"burst: [64]", "burst: a list is not a whole number; use 4 to 256"},
        Case{"burst:", "burst: nothing is not a whole number; use 4 to 256"},
        Case{"burst: -3", "burst: -3 is out of range; use 4 to 256"},
        Case{"burst: 6.5", "burst: 6.5 is not a whole number; use 4 to 256"},
        Case{"burst: 99999999999999999999",
             "burst: 99999999999999999999 is out of range; use 4 "
             "to 256"},
        Case{"workers: [1]",
             "workers: a list where a map is needed; use auto, or cores by "
             "socket, as {0: [2-9], 1: [18-25]}"},
        Case{"workers: {x: [1]}", "workers.x: not a socket; use 0 to 255, as in {0: [2-9]}"},
        Case{"workers: {0: [9-2]}",
             "workers.0[0]: 9-2 is not a core; use 0 to 4095, or a range "
             "as 2-9"},
        Case{"workers: {0: [2-4], 1: [4]}", "workers.1[0]: core 4 is named twice; name it once"},
        Case{"workers: {0: []}", "workers.0: no core; name at least one, or leave the socket out"},
        Case{"linux: maybe", "linux: maybe is not known; use off, or a map as {namespace: hecto}"},
        Case{"linux: {namespace: a/b}",
             "linux.namespace: a/b is not a namespace's name; use at "
             "most 64 letters, digits and - _ ."},
        Case{"linux: {mirror: [rules]}",
             "linux.mirror[0]: rules is not known; use addresses, "
             "routes, neighbors or ipsec"},
        Case{"memory: lots", "memory: lots is not a size; use 64MiB to 1024GiB"},
        Case{"memory: 1MiB", "memory: 1MiB is out of range; use 64MiB to 1024GiB"},
        Case{"memory: 99999999999GiB",
             "memory: 99999999999GiB is out of range; use 64MiB to "
             "1024GiB"},
        Case{"flows: on", "flows: on where a map is needed; use a map, as {interfaces: [wan0]}"},
        Case{"flows: {interfaces: [nowhere]}",
             "flows.interfaces[0]: nowhere is no interface; use a port, PORT.ID or PORT.OUTER.ID"},
        Case{"flows: {entries: 0}", "flows.entries: 0 is out of range; use 1 to 16777216"},
        Case{"flows: {miss: forward}",
             "flows.miss: forward is neither route nor drop, nor an interface; use one of these"},
        Case{"punt: {arp: fast}",
             "punt.arp: fast is not a rate; use 0 to 10Mpps, as 500, 2kpps "
             "or 1Mpps"},
        Case{"punt: {classes: {session: 5}}",
             "punt.classes.session: no such class; did you mean sessions?"},
        Case{"punt: {classes: {bfd: 1Gpps}}",
             "punt.classes.bfd: 1Gpps is out of range; use 0 to 10Mpps, as 500, "
             "2kpps or 1Mpps"},
        Case{"punt: {peers: [224.0.0.5]}",
             "punt.peers[0]: 224.0.0.5 is a multicast address; use a neighbor's own address"},
        Case{"punt: {arp: 1Gpps}",
             "punt.arp: 1Gpps is out of range; use 0 to 10Mpps, as 500, "
             "2kpps or 1Mpps"},
        Case{"api: {socket: hecto.sock}",
             "api.socket: hecto.sock is not an absolute path; start "
             "it with /"},
        Case{"log: {level: loud}",
             "log.level: loud is not known; use trace, debug, info, warn or "
             "error"},
        Case{"tables: {groups: 40000}", "tables.groups: 40000 is out of range; use 16 to 32768"},
        Case{"tables: {ipv4_engine: trie}",
             "tables.ipv4_engine: trie is not known; use auto, direct or compact"},
        Case{"tables: {ipv4_engine: compact, memory: 1MiB}",
             "tables.memory: 1MiB is out of range; use 16MiB to 4GiB"},
        Case{"tables: {memory: 32MiB}",
             "tables.memory: 32MiB is too little for ipv4_engine: direct; use at least 48MiB, or "
             "compact"},
        Case{"offload: gpu",
             "offload: gpu is not known; use auto, none, or a map as {device: cuda:0}"},
        Case{"offload: {device: cuda}",
             "offload.device: cuda is no device; use auto, none, host, cuda:N, or a list of the "
             "last two"},
        Case{"offload: {device: [\"cuda:0\", auto]}",
             "offload.device[1]: auto is no device; use auto, none, host, cuda:N, or a list of the "
             "last two"},
        Case{"offload: {device: [host, host]}",
             "offload.device[1]: host is named twice; name it once"},
        Case{"offload: {device: []}", "offload.device: no device; use none"},
        Case{"offload: {lookup: maybe}",
             "offload.lookup: maybe is not known; use auto, never or always"},
        Case{"offload: {ipsec: 1}", "offload.ipsec: 1 is not known; use auto, never or always"},
        Case{"offload: {batch: 1}", "offload.batch: 1 is out of range; use 256 to 65536"},
        Case{"route_files: [a, a]", "route_files[1]: a is named twice; name it once"},
        Case{"route_files: a", "route_files: a where a list is needed; use a list of file names"},
        Case{"route_files: [\"a\\0b\"]",
             "route_files[0]: \"a\\x00b\" has control characters; use "
             "a file name"}));

INSTANTIATE_TEST_SUITE_P(
    Routes, LoadRefuses,
    testing::Values(
        Case{"routes: [{via: 192.0.2.9}]", "routes[0]: has no to; add a prefix"},
        Case{"routes: [{to: 10.0.0.1/8, via: 192.0.2.9}]",
             "routes[0].to: 10.0.0.1/8 has bits behind its length; use 10.0.0.0/8"},
        Case{"routes: [{to: 10.0.0.0/33, via: 192.0.2.9}]",
             "routes[0].to: 10.0.0.0/33 is not a prefix; use one as 203.0.113.0/24 or "
             "2001:db8::/32"},
        Case{"routes: [{to: 224.0.0.0/4, via: 192.0.2.9}]",
             "routes[0].to: 224.0.0.0/4 is multicast, which this router does not route; use a "
             "unicast prefix"},
        Case{"routes: [{to: 10.0.0.0/8}]",
             "routes[0]: route to 10.0.0.0/8 goes nowhere; add via, or type: blackhole"},
        Case{"routes: [{to: 10.0.0.0/8, type: blackhole, via: 192.0.2.9}]",
             "routes[0].via: a gateway, but the type sends nothing on; take one out"},
        Case{"routes: [{to: 10.0.0.0/8, via: []}]", "routes[0].via: no gateway; name at least one"},
        Case{"routes: [{to: 10.0.0.0/8, via: \"2001:db8::9\"}]",
             "routes[0].via: \"2001:db8::9\" is IPv6, the route is IPv4; use a gateway of the same "
             "family"},
        Case{"routes: [{to: \"2001:db8::/32\", via: \"fe80::9\"}]",
             "routes[0].via: \"fe80::9\" is link-local; name its interface, as {gateway: fe80::9, "
             "interface: wan0}"},
        Case{"routes: [{to: 10.0.0.0/8, via: 239.1.1.1}]",
             "routes[0].via: 239.1.1.1 is a multicast address; use a neighbor's own address"},
        Case{"routes: [{to: 10.0.0.0/8, via: 192.0.2.1}]",
             "routes[0].via: 192.0.2.1 is this router's own address; use the neighbor's"},
        Case{"routes: [{to: 10.0.0.0/8, via: [{gateway: 192.0.2.9, weight: 257}]}]",
             "routes[0].via[0].weight: 257 is out of range; use 1 to 256"},
        Case{"routes: [{to: 10.0.0.0/8, via: [192.0.2.9, 192.0.2.9]}]",
             "routes[0].via[1]: 192.0.2.9 is named twice; name it once, with a weight"},
        Case{"routes: [{to: 10.0.0.0/8, via: [{gateway: 192.0.2.9, interface: wan7}]}]",
             "routes[0].via[0].gateway: interface wan7 is neither a port nor PORT.ID of this file; "
             "use one of them"},
        Case{"routes: [{to: 10.0.0.0/8, via: 172.16.0.1}]",
             "routes[0].via: 172.16.0.1 is on no interface's network; name its interface, or add "
             "an address"},
        Case{"routes: [{to: 10.0.0.0/8, via: 192.0.2.9}, {to: 10.0.0.0/8, via: 192.0.2.8}]",
             "routes[1].to: 10.0.0.0/8 has a route of this metric already; list the gateways under "
             "one via"},
        Case{"neighbors: [{address: 192.0.2.9}]",
             "neighbors[0]: has no mac; add the neighbor's MAC address"},
        Case{
            "neighbors: [{address: 192.0.2.9, mac: \"01:00:5e:00:00:01\"}]",
            "neighbors[0].mac: \"01:00:5e:00:00:01\" is a group address (multicast); use one whose "
            "first byte is even"},
        Case{"neighbors: [{address: 192.0.2.9, mac: 0}]",
             "neighbors[0].mac: 0 is not a MAC address; use one as 02:00:00:00:00:01"},
        Case{"neighbors: [{address: 10.9.9.9, mac: \"02:00:00:00:00:01\"}]",
             "neighbors[0].address: 10.9.9.9 is on no interface's network; name its interface, or "
             "add an address"},
        Case{"neighbors: [{address: 192.0.2.9, mac: \"02:00:00:00:00:01\"}, {address: 192.0.2.9, "
             "interface: wan0, mac: \"02:00:00:00:00:02\"}]",
             "neighbors[1].address: 192.0.2.9 is on wan0 twice; name it once"}));

struct PortCase {
  const char* ports;
  const char* problem;
};

class LoadRefusesPort : public testing::TestWithParam<PortCase> {};

TEST_P(LoadRefusesPort, WithLineKeySeenAndRight) {
  EXPECT_EQ(only(std::string("ports: ") + GetParam().ports),
            std::string("t.yaml:1: ") + GetParam().problem);
}

INSTANTIATE_TEST_SUITE_P(
    Bonds, LoadRefusesPort,
    testing::Values(
        PortCase{"{a: {device: e, bond: {members: [f]}}}",
                 "ports.a.bond: stands beside device; use one of them"},
        PortCase{"{a: {bond: {mode: lacp}}}",
                 "ports.a.bond: has no members; add a list of devices, as [eth1, eth2]"},
        PortCase{"{a: {bond: {members: []}}}", "ports.a.bond.members: 0 members; use 1 to 16"},
        PortCase{"{a: {bond: {members: [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q]}}}",
                 "ports.a.bond.members: 17 members; use 1 to 16"},
        PortCase{"{a: {bond: {members: [e, f, e]}}}",
                 "ports.a.bond.members[2]: e is a member twice; name it once"},
        PortCase{"{a: {bond: {members: [\"17:00.0\", \"0000:17:00.0\"]}}}",
                 "ports.a.bond.members[1]: \"0000:17:00.0\" is a member twice; name it once"},
        PortCase{
            "{a: {bond: {members: [net_null0]}}}",
            "ports.a.bond.members[0]: net_null0 is a DPDK vdev; a member is a PCI address or a "
            "kernel interface"},
        PortCase{"{a: {bond: {members: [e, f]}}, b: {device: f}}",
                 "ports.b: device f is already port a; name another"},
        PortCase{"{a: {bond: {members: [e]}}, b: {bond: {members: [f, e]}}}",
                 "ports.b: device e is already port a; name another"},
        PortCase{"{a: {bond: {mode: lcap, members: [e]}}}",
                 "ports.a.bond.mode: lcap is not known; use lacp, active-backup, balance-xor or "
                 "round-robin"},
        PortCase{"{a: {bond: {members: [e], hash: layer4}}}",
                 "ports.a.bond.hash: layer4 is not known; use layer2, layer2+3 or layer3+4"},
        PortCase{"{a: {bond: {member: [e], members: [e]}}}",
                 "ports.a.bond.member: unknown key; did you mean members?"},
        PortCase{"{a: {bond: {mode: round-robin, members: [e], hash: layer2}}}",
                 "ports.a.bond.hash: says nothing with mode round-robin; take it out"},
        PortCase{"{a: {bond: {mode: balance-xor, members: [e], lacp_rate: fast}}}",
                 "ports.a.bond.lacp_rate: says nothing with mode balance-xor; take it out"},
        PortCase{"{a: {bond: {members: [e, f], primary: f}}}",
                 "ports.a.bond.primary: says nothing with mode lacp; take it out"},
        PortCase{"{a: {bond: {mode: active-backup, members: [e, f], primary: g}}}",
                 "ports.a.bond.primary: g is no member; use one of [e, f]"},
        PortCase{"{a: {bond: {members: [e, f], min_links: 3}}}",
                 "ports.a.bond.min_links: 3 is above the 2 there are of members"}));

INSTANTIATE_TEST_SUITE_P(
    Ports, LoadRefusesPort,
    testing::Values(
        PortCase{"{}", "ports: no port; name at least one, as wan0: {device: eth1}"},
        PortCase{"[eth1]",
                 "ports: a list where a map is needed; use ports by name, as {wan0: {device: "
                 "eth1}}"},
        PortCase{"{a: {}}",
                 "ports.a: has no device; add a PCI address, vdev or kernel "
                 "interface"},
        PortCase{"{a: {device: \"eth 1\"}}",
                 "ports.a.device: \"eth 1\" is no device; use a PCI address (0000:17:00.0), a DPDK "
                 "vdev (net_memif0,...) or a kernel interface (eth1)"},
        PortCase{"{a: {device: \"0000:17:00.9\"}}",
                 "ports.a.device: \"0000:17:00.9\" is no device; use a PCI address (0000:17:00.0), "
                 "a DPDK vdev (net_memif0,...) or a kernel interface (eth1)"},
        PortCase{"{a234567890123456: {device: e}}",
                 "ports.a234567890123456: a name of 16 characters; use at most 15"},
        PortCase{"{a2345678901: {device: e, vlans: {1: {}}}}",
                 "ports.a2345678901: a name of 11 characters; with vlans use at most 10, so that "
                 "a2345678901.4094 is an interface's name"},
        PortCase{"{a.1: {device: e}}",
                 "ports.a.1: not a port's name; use letters, digits, - and _, a letter first"},
        PortCase{"{lo: {device: e}}", "ports.lo: a name that Linux keeps for itself; use another"},
        PortCase{"{a: {device: e}, a: {device: f}}",
                 "ports.a: here again, first on line 1; keep one"},
        PortCase{"{a: {device: e}, b: {device: e}}",
                 "ports.b: device e is already port a; name another"},
        PortCase{"{a: {device: \"net_null0\"}, b: {device: \"net_null0,size=64\"}}",
                 "ports.b: device net_null0 is already port a; name another"},
        PortCase{"{a: {device: e, rx_descriptors: 1000}}",
                 "ports.a.rx_descriptors: 1000 is not a power of two; use 512, 1024, 2048 or "
                 "another"},
        PortCase{"{a: {device: e, mac: \"03:00:00:00:00:01\"}}",
                 "ports.a.mac: \"03:00:00:00:00:01\" is a group address (multicast); use one whose "
                 "first byte is even"},
        PortCase{"{a: {device: e, promiscuous: 1}}",
                 "ports.a.promiscuous: 1 is neither; use true or false"},
        PortCase{"{a: {device: e, urpf: on}}",
                 "ports.a.urpf: on is not known; use off, loose or strict"},
        PortCase{"{a: {device: e, mtu: 1000, addresses: [\"2001:db8::1/64\"]}}",
                 "ports.a.mtu: 1000 with IPv6 addresses; use 1280 to 9000 (RFC 8200 §5), or take "
                 "them out"},
        PortCase{"{a: {device: e, vlans: {4095: {}}}}",
                 "ports.a.vlans.4095: not a VLAN id; use 1 to 4094"},
        PortCase{"{a: {device: e, vlans: {7: {protocol: 802.1x}}}}",
                 "ports.a.vlans.7.protocol: 802.1x is not known; use 802.1q or 802.1ad"},
        PortCase{"{a: {device: e, vlans: {7: {vlans: {0: {}}}}}}",
                 "ports.a.vlans.7.vlans.0: not a VLAN id; use 1 to 4094"},
        PortCase{"{a: {device: e, vlans: {7: {vlans: {8: {}, 8: {}}}}}}",
                 "ports.a.vlans.7.vlans.8: here again, first on line 1; keep one"},
        PortCase{"{a: {device: e, vlans: {7: {vlans: {8: {vlans: {9: {}}}}}}}}",
                 "ports.a.vlans.7.vlans.8.vlans: a third tag; two are the most"},
        PortCase{"{a: {device: e, vlans: {7: {vlans: {8: {protocol: 802.1ad}}}}}}",
                 "ports.a.vlans.7.vlans.8.protocol: of a tag within another, which is one of "
                 "802.1Q; leave it out"},
        PortCase{"{a: {device: e, vlans: {7: {mtu: 1400, vlans: {8: {mtu: 1401}}}}}}",
                 "ports.a.vlans.7.vlans.8.mtu: 1401 is out of range; use 576 to 1400"},
        PortCase{"{a23456: {device: e, vlans: {7: {vlans: {8: {}}}}}}",
                 "ports.a23456.vlans.7.vlans: within a VLAN of a port whose name has 6 characters; "
                 "use at most 5, so that a23456.4094.4094 is an interface's name"},
        PortCase{"{a: {device: e, vlans: {7: {mtu: 1501}}}}",
                 "ports.a.vlans.7.mtu: 1501 is out of range; use 576 to 1500"},
        PortCase{"{a: {device: e, addresses: [192.0.2.1]}}",
                 "ports.a.addresses[0]: 192.0.2.1 has no length; use 192.0.2.1/24"},
        PortCase{"{a: {device: e, addresses: [192.0.2.0/24]}}",
                 "ports.a.addresses[0]: 192.0.2.0/24 is the network's own address; use one of its "
                 "hosts'"},
        PortCase{"{a: {device: e, addresses: [192.0.2.255/24]}}",
                 "ports.a.addresses[0]: 192.0.2.255/24 is the network's broadcast address; use one "
                 "of its hosts'"},
        PortCase{"{a: {device: e, addresses: [127.0.0.1/8]}}",
                 "ports.a.addresses[0]: 127.0.0.1/8 is a loopback address; use an address of this "
                 "router's own"},
        PortCase{"{a: {device: e, addresses: [192.0.2.1/24, 192.0.2.1/32]}}",
                 "ports.a.addresses[1]: 192.0.2.1/32 is on this interface twice; name it once"},
        PortCase{"{a: {device: e, addresses: [10.0.0.1/8]}, b: {device: f, addresses: "
                 "[10.1.0.1/16]}}",
                 "ports.b.addresses[0]: 10.1.0.1/16 overlaps with 10.0.0.1/8 of a on line 1; use "
                 "another network"},
        PortCase{"{a: {device: e, addresses: [10.0.0.1/8], vlans: {5: {addresses: [10.0.0.2/8]}}}}",
                 "ports.a.vlans.5.addresses[0]: 10.0.0.2/8 overlaps with 10.0.0.1/8 of a on line "
                 "1; use another network"}));

}  // namespace
}  // namespace hecto::config
