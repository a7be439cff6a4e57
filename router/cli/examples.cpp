#include "router/cli/examples.hpp"

#include <utility>

namespace hecto::cli {
namespace {

constexpr std::pair<std::string_view, std::string_view> kExamples[] = {
    {"hecto", R"(Examples:
  hecto show workers                 load, Mpps and cycles per packet of every core
  hecto show drops                   what is lost, where and why
  hecto show routes 203.0.113.9      which route, why, next hop, neighbor, rewrite
  hecto trace --to 203.0.113.9 -n 3  the way of the next three packets to it
  hecto show ports --json | jq '.ports[] | select(.link.up | not) | .name'

Exit codes:
  0 done, 1 refused or failed, 2 wrong usage

Environment:
  HECTO_SOCKET        the default of --socket
  NO_COLOR            turns colour off; it is only ever used on a terminal)"},
    {"show", R"(Examples:
  hecto show drops --watch                             what is lost, every 2 s
  hecto show routes 203.0.113.9 --from 10.1.0.5 --interface lan0
                                                       what becomes of packets to it
  hecto show routes 10.0.0.0/8 --origin linux --protocol bgp
                                                       what BGP has of that prefix and inside
  hecto show routes --table red                        those of a VRF, or of a table by its number
  hecto show ports --json | jq '.ports[].rx.missed')"},
    {"top", R"(Examples:
  hecto top                            q ends, h shows the other keys
  hecto top flows                      who sends to whom, and how much
  hecto top --interval 10 >> top.log   a picture every 10 s)"},
    {"trace", R"(Examples:
  hecto trace --to 203.0.113.9 -n 3           the way of the next three packets to it
  hecto trace --protocol tcp --transport-port 179 --interface wan0
                                              BGP, as it comes in there
  hecto trace --to 10.2.0.0/16 --timeout 60   also what comes out of a tunnel)"},
    {"capture", R"(Examples:
  hecto capture --text --protocol icmp               a line a packet, here
  hecto capture -w dropped.pcapng --where drop       10,000 packets or 60 s of losses
  hecto capture -w - --endless | wireshark -k -i -   as it happens
  hecto capture -w in.pcapng --where inner,outer --to 10.2.0.0/16 --esp-keys keys)"},
    {"reload", R"(Examples:
  hecto reload                          the running file, as it is now
  hecto reload /etc/hecto/new.yaml      another one)"},
    {"flow", R"(Forms:
  hecto flow add MATCH... [priority N] [idle_s N] [hard_s N] ACTION...
  hecto flow delete MATCH... [priority N]
  hecto flow delete --all
  hecto flow load FILE              a line an entry, the same words; - is standard input

MATCH: interface IF, family ipv4|ipv6, from PREFIX, to PREFIX, protocol P, sport N, dport N,
  icmp_type N, icmp_code N, tcp_flags syn,!ack, dscp N, mark N
ACTION: accept, drop or output IF [mac MAC] [ttl decrement]; and set_from A, set_to A, set_sport N,
  set_dport N, set_dscp N, set_mark N

The highest priority wins. An entry of the same match is replaced.

Examples:
  hecto flow add from 10.0.0.1 to 10.0.0.2 protocol tcp dport 80 output lan0 mac 02:00:00:00:00:09
  hecto flow add family ipv4 protocol udp dport 53 priority 5 idle_s 60 drop
  hecto flow delete family ipv4 protocol udp dport 53)"},
    {"route", R"(Forms:
  hecto route add PREFIX via GW[,GW...] [dev IF] [metric N] [--persist]
  hecto route add blackhole|unreachable|prohibit PREFIX [metric N] [--persist]
  hecto route delete PREFIX [metric N]
  hecto route delete file FILE      those that a route file lists; - is standard input
  hecto route delete --all

Several gateways make an ECMP group; GW%IF names the interface of each. A route of the same
prefix and metric is replaced.

Examples:
  hecto route add 203.0.113.0/24 via 192.0.2.1
  hecto route add 0.0.0.0/0 via 192.0.2.1,192.0.2.2 metric 50
  hecto route add blackhole 198.51.100.0/24
  hecto route delete 203.0.113.0/24)"},
    {"set", R"(Forms:
  hecto set add NAME PREFIX...
  hecto set delete NAME PREFIX...

The set stands under sets in the file. All of them or none; workers judge by them at once. A
reload that changes filters or sets, and a restart, bring back what the file says.

Examples:
  hecto set add blocked 203.0.113.7/32 2001:db8:bad::/48)"},
    {"load-routes", R"(Examples:
  hecto load-routes table.mrt.gz --via 192.0.2.1
  bgpdump -m rib | hecto load-routes - --via 192.0.2.1,192.0.2.2 --replace)"},
    {"check", R"(Examples:
  hecto check /etc/hecto/hecto.yaml && hecto reload)"},
    {"plan", R"(Examples:
  hecto plan /etc/hecto/hecto.yaml
  hecto plan --box server.yaml --size imix --svg box.svg
  sudo hecto plan --collect box7.yaml          then, elsewhere: hecto plan --box box7.yaml
  hecto plan --box box7.yaml --what-if cores=16 --what-if wan.gbit_s=200
  hecto plan --box box7.yaml --against server.yaml
  hecto plan --cluster fabric.yaml --size imix)"},
    {"doctor", R"(Examples:
  hecto doctor                                 this machine, for /etc/hecto/hecto.yaml
  hecto doctor lab.yaml --fix                  mends what is safe, and says how to undo it
  hecto doctor --json | jq -r '.findings[] | select(.severity == "problem") | .mend')"},
    {"bind", R"(Examples:
  hecto bind 0000:17:00.0 0000:17:00.1         two ports to DPDK
  hecto bind --vfs 4 eth2                      four VFs of eth2, which the kernel keeps)"},
    {"unbind", R"(Examples:
  hecto unbind 0000:17:00.0                    the driver and the name of before
  hecto unbind --all                           all that hecto bind took)"},
    {"prepare", R"(Examples:
  hecto prepare /etc/hecto/hecto.yaml          as hecto-prepare.service does before hectod)"},
    {"drain", R"(Examples:
  hecto drain && systemctl stop hectod         out of the way first, then away
  hecto drain --timeout 300 --below 1000)"},
    {"undrain", R"(Examples:
  hecto undrain                                traffic comes back)"},
    {"clear", R"(Examples:
  hecto clear; sleep 60; hecto show drops      what was lost in that minute)"},
    {"version", R"(Examples:
  hecto version --json | jq -r .router.commit)"},
};

}  // namespace

std::string_view examples_of(std::string_view verb) {
  for (const auto& [name, text] : kExamples)
    if (name == verb) return text;
  return {};
}

}  // namespace hecto::cli
