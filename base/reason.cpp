#include "base/reason.hpp"

namespace hecto {
namespace {

// Rates that leave room for all classes of their packets (punt_class.hpp): it is those that share
// out what Linux takes.
constexpr std::array<ReasonInfo, kReasonCount> kInfo = {{
    {"none", Stage::kReceive, false, 0, ""},
    {"arp", Stage::kClassify, true, 8000, "ARP for Linux"},
    {"local", Stage::kLookup, true, 300000, "to one of the router's own addresses"},
    {"multicast", Stage::kClassify, true, 20000,
     "multicast: routing protocols, neighbor discovery"},
    {"broadcast", Stage::kClassify, true, 2000, "broadcast: DHCP"},
    {"link_local", Stage::kClassify, true, 250000, "link-local addresses are not forwarded"},
    {"options", Stage::kClassify, true, 250000, "IPv4 options or an IPv6 hop-by-hop header"},
    {"ttl_expired", Stage::kClassify, true, 2000, "TTL or hop limit at its end"},
    {"too_big", Stage::kRewrite, true, 1000, "longer than the egress MTU"},
    {"glean", Stage::kLookup, true, 2000, "neighbor not resolved yet"},
    {"no_route", Stage::kLookup, true, 500, "no route to the destination"},
    {"unreachable", Stage::kLookup, true, 500, "a route of type unreachable"},
    {"prohibit", Stage::kLookup, true, 500, "a route of type prohibit"},
    {"policy_rule", Stage::kLookup, true, 250000, "a policy rule may send it by another table"},
    {"redirect", Stage::kRewrite, true, 400, "back by its interface: a better first hop is told"},
    {"other_protocol", Stage::kClassify, true, 10000, "neither ARP nor IP: LLDP, LACP, MPLS"},
    {"bridge_learn", Stage::kClassify, true, 10000, "a station that its bridge has to learn"},
    {"bridge_flood", Stage::kClassify, true, 10000, "for all ports of its bridge"},
    {"truncated", Stage::kClassify, false, 0, "shorter than its headers"},
    {"bad_version", Stage::kClassify, false, 0, "IP version is not the EtherType's"},
    {"bad_header_length", Stage::kClassify, false, 0, "IPv4 header length below 20 bytes"},
    {"bad_total_length", Stage::kClassify, false, 0, "total length and real length disagree"},
    {"bad_checksum", Stage::kClassify, false, 0, "IPv4 header checksum"},
    {"martian_source", Stage::kClassify, false, 0, "a source address that cannot be"},
    {"martian_destination", Stage::kClassify, false, 0, "a destination that cannot be"},
    {"looped", Stage::kClassify, false, 0, "our own source MAC, or source equals destination"},
    {"not_for_us", Stage::kClassify, false, 0, "another station's MAC"},
    {"bridge_blocked", Stage::kClassify, false, 0, "the bridge's port does not forward (STP)"},
    {"bridge_same_port", Stage::kClassify, false, 0, "its station is where it came from"},
    {"bridge_vlan", Stage::kClassify, false, 0, "a VLAN that the bridge's port is not in"},
    {"bridge_full", Stage::kClassify, false, 0, "the bridge learns no more stations"},
    {"bridge_too_long", Stage::kClassify, false, 0, "longer than the bridge's egress port takes"},
    {"unknown_vlan", Stage::kClassify, false, 0, "no interface for this VLAN tag"},
    {"interface_down", Stage::kRewrite, false, 0, "the interface is down"},
    {"blackhole", Stage::kLookup, false, 0, "a route of type blackhole"},
    {"urpf", Stage::kLookup, false, 0, "no route back to the source (uRPF)"},
    {"not_forwarding", Stage::kLookup, false, 0, "its interface forwards nothing (sysctl)"},
    {"split_header", Stage::kClassify, false, 0, "headers not in the first segment"},
    {"no_linux", Stage::kPunt, false, 0, "for Linux, but there is no Linux side"},
    {"punt_queue_full", Stage::kPunt, false, 0, "the slow path does not keep up"},
    {"tap_full", Stage::kPunt, false, 0, "Linux did not take the packet from the TAP"},
    {"bad_fragment", Stage::kRewrite, false, 0, "to be cut, but it would end beyond 65,535 bytes"},
    {"fragment_mbuf", Stage::kRewrite, false, 0, "to be cut, but the pool had no buffers"},
    {"transmit_full", Stage::kTransmit, false, 0, "the port's transmit queue is full"},
    {"spread_full", Stage::kReceive, false, 0, "the worker its flow is spread to does not keep up"},
    {"filter", Stage::kFilter, false, 0, "a filter's verdict: drop"},
    {"filter_rejected", Stage::kFilter, false, 0, "a filter's verdict: reject"},
    {"policed", Stage::kFilter, false, 0, "over the rate of a policer"},
    {"filter_not_ready", Stage::kFilter, false, 0,
     "rules that ask for its interface are not built"},
    {"filter_no_table", Stage::kFilter, false, 0,
     "its filter's rule names a table that is not there"},
    {"filter_led", Stage::kFilter, false, 0, "led by a filter to where nothing leads on"},
    {"filter_unresolved", Stage::kFilter, false, 0,
     "led by a filter to a neighbor not resolved yet"},
    {"nat_no_session", Stage::kNat, false, 0, "to an outside address of NAT, without a mapping"},
    {"nat_no_port", Stage::kNat, false, 0, "no block of ports is left for its host"},
    {"nat_limit", Stage::kNat, false, 0, "its host has as many sessions or blocks as it may"},
    {"nat_full", Stage::kNat, false, 0, "the pool has as many sessions as it may"},
    {"nat_fragment", Stage::kNat, false, 0, "a later fragment whose first one was not seen"},
    {"nat_unknown", Stage::kNat, false, 0, "not TCP, UDP or ICMP as a pool translates them"},
    {"nat_handover", Stage::kNat, false, 0, "the worker that has its mapping does not keep up"},
    {"flow", Stage::kFilter, false, 0, "the flow table says drop, by an entry or for want of one"},
    {"flow_too_long", Stage::kFilter, false, 0, "longer than its flow's output takes"},
    {"tunnel_malformed", Stage::kDecap, false, 0, "in a tunnel, and cut short or no IP packet"},
    {"tunnel_key", Stage::kDecap, false, 0, "with a key that none of its ends' tunnels has"},
    {"tunnel_ecn", Stage::kDecap, false, 0, "met congestion that its inner packet cannot be told"},
    {"tunnel_loop", Stage::kEncap, false, 0, "tunnels that lead into themselves, or too many"},
    {"tunnel_no_room", Stage::kEncap, false, 0, "no room in the buffer for its header or labels"},
    {"mpls_malformed", Stage::kDecap, false, 0, "labels without bottom, or no IP packet behind"},
    {"mpls_label", Stage::kLookup, false, 0, "a label of which no route is known"},
    {"mpls_ttl", Stage::kDecap, false, 0, "the TTL of its label is at its end"},
    {"mpls_too_big", Stage::kRewrite, false, 0, "labelled, and longer than its way out takes"},
    {"esp_unknown_spi", Stage::kDecap, false, 0, "ESP to us, but there is no such SA"},
    {"esp_malformed", Stage::kDecap, false, 0,
     "ESP shorter than its headers, or not as its SA says"},
    {"esp_replay", Stage::kDecap, false, 0, "ESP number seen before, or older than the window"},
    {"esp_bad_icv", Stage::kDecap, false, 0, "ESP forged, damaged or of another key"},
    {"esp_expired", Stage::kDecap, false, 0, "the SA's lifetime or its numbers are used up"},
    {"esp_dummy", Stage::kDecap, false, 0, "ESP dummy packet: traffic flow confidentiality"},
    {"esp_keepalive", Stage::kDecap, false, 0, "NAT keep-alive of ESP in UDP"},
    {"esp_fragment", Stage::kDecap, false, 0, "ESP in fragments that were not put together"},
    {"esp_joined", Stage::kDecap, false, 0, "fragments of ESP that went on as part of another"},
    {"esp_no_room", Stage::kEncap, false, 0, "no room in the buffer for what ESP adds"},
    {"esp_of_linux", Stage::kEncap, false, 0, "ESP that Linux made by an SA that is hectod's"},
    {"tunnel_too_big", Stage::kEncap, false, 0, "longer than the tunnel takes, sender not told"},
    {"policy_no_sa", Stage::kEncap, false, 0, "its IPsec policy has no SA (yet)"},
    {"policy_mismatch", Stage::kDecap, false, 0,
     "without the protection its IPsec policy asks for"},
    {"policy_discard", Stage::kEncap, false, 0, "an IPsec policy of action discard"},
    {"policy_unjudged", Stage::kEncap, false, 0,
     "an IPsec policy may hold for it, which cannot be seen or done"},
    {"policy_left_out", Stage::kEncap, false, 0,
     "an IPsec policy for which there was no room may hold for it"},
    {"tunnel_unreachable", Stage::kEncap, false, 0, "no port leads to the end of its tunnel"},
    {"not_ready", Stage::kReceive, false, 0, "before all routes and policies are known"},
    {"mirror_mbuf", Stage::kFilter, false, 0, "a copy for a mirror, and the pool had no buffer"},
    {"mirror_too_long", Stage::kFilter, false, 0, "a copy longer than its mirror's port takes"},
}};

constexpr std::array<std::string_view, 10> kStages = {"receive", "classify", "filter",  "decap",
                                                      "lookup",  "encap",    "rewrite", "transmit",
                                                      "punt",    "nat"};

}  // namespace

const ReasonInfo& info(Reason reason) noexcept {
  return kInfo[static_cast<size_t>(reason)];
}

std::string_view to_string(Stage stage) noexcept {
  return kStages[static_cast<size_t>(stage)];
}

Reason reason_by_name(std::string_view name) noexcept {
  for (size_t i = 1; i < kReasonCount; ++i)
    if (kInfo[i].name == name) return static_cast<Reason>(i);
  return Reason::kNone;
}

}  // namespace hecto
