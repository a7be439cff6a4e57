#include "router/api/show/advice.hpp"

namespace hecto::router {

// No default: the compiler tells of a reason that has none.
std::string_view advice(Reason reason) noexcept {
  switch (reason) {
    case Reason::kNone:
    case Reason::kCount:
      break;
    case Reason::kArp:
      return "More ARP than Linux is given: look for a loop or a scan on that link.";
    case Reason::kLocal:
      return "More to the router itself than Linux is given: see which class of hecto show punt.";
    case Reason::kMulticast:
      return "More multicast than Linux is given: look for a storm, or raise the rate in punt.";
    case Reason::kBroadcast:
      return "More broadcasts than Linux is given: look for a storm on that link.";
    case Reason::kLinkLocal:
      return "A host sends with a link-local address beyond its link: mend that host.";
    case Reason::kOptions:
      return "Packets with options are Linux's work: look who sends so many.";
    case Reason::kTtlExpired:
      return "Traceroutes, or a routing loop: trace one of them (hecto trace).";
    case Reason::kTooBig:
      return "Make the MTUs on the way equal, or see why senders ignore what ICMP tells them.";
    case Reason::kGlean:
      return "Its neighbor does not answer ARP or ND: see hecto show neighbors, and the cable.";
    case Reason::kNoRoute:
      return "Search the address under Routes: a route is missing, or packets come that should "
             "not.";
    case Reason::kUnreachable:
      return "A route says so: find it under Routes and delete it where it is not meant.";
    case Reason::kProhibit:
      return "A route says so: find it under Routes and delete it where it is not meant.";
    case Reason::kPolicyRule:
      return "Policy rules send more by other tables than Linux is given: see hecto show rules.";
    case Reason::kRedirect:
      return "Hosts on that link ignore redirects: give them the better first hop.";
    case Reason::kOtherProtocol:
      return "Neither ARP nor IP: LLDP and LACP are harmless, else see who sends it.";
    case Reason::kBridgeLearn:
      return "Many new stations behind a bridge's port: a flood, or a loop between its ports.";
    case Reason::kBridgeFlood:
      return "A storm on a bridge, or stations that never answer: look for a loop (hecto show "
             "bridges).";
    case Reason::kTruncated:
      return "Damaged or forged: capture some (--where drop) and look at the sender or the link.";
    case Reason::kBadVersion:
      return "Damaged or forged: capture some (--where drop) and look at the sender.";
    case Reason::kBadHeaderLength:
      return "Damaged or forged: capture some (--where drop) and look at the sender.";
    case Reason::kBadTotalLength:
      return "Damaged or forged, or several packets in one: hecto show ports names the ethtool -K.";
    case Reason::kBadChecksum:
      return "Damaged on the way before this router: look at the links and machines there.";
    case Reason::kMartianSource:
      return "A forged or misconfigured source: filter it where it comes in.";
    case Reason::kMartianDestination:
      return "Somebody sends to what cannot be reached: look at the sender.";
    case Reason::kLooped:
      return "Our own packets come back: look for a loop between switches.";
    case Reason::kNotForUs:
      return "The switch floods, or a host has an old MAC of ours: harmless while it is little.";
    case Reason::kBridgeBlocked:
      return "STP keeps that port of the bridge closed, or both are isolated: see bridge link.";
    case Reason::kBridgeSamePort:
      return "Two stations behind one port talk by the bridge: the switch there floods.";
    case Reason::kBridgeVlan:
      return "The bridge's port is not in that VLAN: see bridge vlan.";
    case Reason::kBridgeFull:
      return "More stations than tables.bridge_stations allows: look who makes up addresses.";
    case Reason::kBridgeTooLong:
      return "Make the MTUs of the bridge's ports equal.";
    case Reason::kUnknownVlan:
      return "Add an interface for the tag, or take the VLAN off the switch's port.";
    case Reason::kInterfaceDown:
      return "Set the interface up, or mend its link: hecto show interfaces, hecto show ports.";
    case Reason::kBlackhole:
      return "A route says so: meant, or find it under Routes and delete it.";
    case Reason::kUrpf:
      return "Forged sources, or two ways: with asymmetric routing use urpf: loose.";
    case Reason::kNotForwarding:
      return "Linux's sysctl forwarding is off for that interface: turn it on if it should route.";
    case Reason::kSplitHeader:
      return "Headers of an unusual length: capture some (--where drop) and report it.";
    case Reason::kNoLinux:
      return "linux: off: what is Linux's work has nowhere to go. Turn it on if it is missed.";
    case Reason::kPuntQueueFull:
      return "More for Linux than its thread carries: lower the rates in punt, or find the flood.";
    case Reason::kTapFull:
      return "Linux is too slow: give the namespace's work more CPU, or lower the rates in punt.";
    case Reason::kBadFragment:
      return "Forged: no datagram is that long. Capture some (--where drop) and look at the "
             "sender.";
    case Reason::kFragmentMbuf:
      return "Buffers are used up: see hecto show pools, raise spare_mbufs, or make the MTUs "
             "equal.";
    case Reason::kTransmitFull:
      return "The egress link is full: more capacity, another path, or ECMP over several.";
    case Reason::kSpreadFull:
      return "Workers that a queue is spread over are at their limit: more workers, or more "
             "queues.";
    case Reason::kFilter:
      return "As configured: hecto show filters says which rule, hecto trace which packet.";
    case Reason::kFilterRejected:
      return "As configured: hecto show filters says which rule; its senders are told.";
    case Reason::kPoliced:
      return "More than a policer's rate: hecto show filters says how much of it.";
    case Reason::kFilterNotReady:
      return "An interface came that rules ask for: the log says when they are compiled, or why "
             "not.";
    case Reason::kFilterNoTable:
      return "A rule's table or VRF is not there: hecto show filters and hecto show tables say "
             "which.";
    case Reason::kFilterLed:
      return "The table that a rule or its mark led to has no route: hecto show routes --table.";
    case Reason::kFilterUnresolved:
      return "Linux is asked for the neighbor: hosts that are off, or scans (hecto show "
             "neighbors).";
    case Reason::kMirrorMbuf:
      return "Copies alone were lost: see hecto show pools; raise spare_mbufs, or mirror less.";
    case Reason::kMirrorTooLong:
      return "Copies alone were lost: give the port of the mirror the largest MTU of the others.";
    case Reason::kNatNoSession:
      return "Nobody inside asked for it: scans, or answers that came too late (hecto show nat).";
    case Reason::kNatNoPort:
      return "The pool is used up: give it more addresses, or smaller blocks (hecto show nat).";
    case Reason::kNatLimit:
      return "A host opens very many flows: look at it, or raise blocks_per_host and "
             "sessions_per_host.";
    case Reason::kNatFull:
      return "Raise sessions of the pool (hecto show nat), or shorten its timeouts.";
    case Reason::kNatFragment:
      return "Fragments out of order or without their first: lower the sender's MTU.";
    case Reason::kNatUnknown:
      return "Pools translate TCP, UDP and ICMP: give hosts that need more a 1:1 rule.";
    case Reason::kNatHandover:
      return "A worker is overloaded: see hecto show workers; more queues do not help, faster "
             "cores "
             "do.";
    case Reason::kFlow:
      return "As configured: hecto show flows says what the table has, and its misses.";
    case Reason::kFlowTooLong:
      return "A switch sends no ICMP: the same MTU on the flow's interfaces, or route it.";
    case Reason::kTunnelMalformed:
      return "Damaged or forged in its tunnel: look who sends to its end.";
    case Reason::kTunnelKey:
      return "Compare the keys of both ends: ip -d link show type gre.";
    case Reason::kTunnelEcn:
      return "Congestion on the way of a tunnel: as meant; its hosts do not speak ECN.";
    case Reason::kTunnelLoop:
      return "The way to a tunnel's other end leads into a tunnel: give that end a route of its "
             "own.";
    case Reason::kTunnelNoRoom:
      return "Too many tunnels one in another for the buffers: fewer of them.";
    case Reason::kMplsMalformed:
      return "Damaged or forged, or no IP behind its labels: look who sends it (hecto capture).";
    case Reason::kMplsLabel:
      return "Its sender has a label that is not ours (any more): compare hecto show labels with "
             "its "
             "LDP or BGP.";
    case Reason::kMplsTtl:
      return "A traceroute through labels; if it is much, a loop of labels.";
    case Reason::kMplsTooBig:
      return "Raise the MTU of the way out by 4 bytes a label, or lower that of the hosts.";
    case Reason::kEspUnknownSpi:
      return "The other end uses an SA that is gone: let IKE make a new one.";
    case Reason::kEspMalformed:
      return "Another algorithm or key length than its SA says: compare both ends.";
    case Reason::kEspReplay:
      return "Replays, or reordering beyond the window: enlarge replay_window.";
    case Reason::kEspBadIcv:
      return "Another key at the other end, damage, or forgery: compare keys, then the links.";
    case Reason::kEspExpired:
      return "IKE did not rekey in time: see its log.";
    case Reason::kEspDummy:
      return "Padding traffic of the other end: as meant.";
    case Reason::kEspKeepalive:
      return "Keep-alives of NAT: as meant.";
    case Reason::kEspFragment:
      return "ESP comes in fragments that are not whole: lower the MTU before the tunnel.";
    case Reason::kEspJoined:
      return "Fragments that were put together and went on: nothing is lost.";
    case Reason::kEspNoRoom:
      return "The packet leaves no room for ESP: lower the MTU of what leads into the tunnel.";
    case Reason::kEspOfLinux:
      return "Linux sends by an SA that hectod has: let one of the two have it.";
    case Reason::kTunnelTooBig:
      return "Lower the MTU of the hosts behind the tunnel, or their TCP MSS.";
    case Reason::kPolicyNoSa:
      return "The tunnel is not up (yet): see IKE's log.";
    case Reason::kPolicyMismatch:
      return "Comes in the clear, or by another tunnel than its policy asks for: compare both "
             "ends.";
    case Reason::kPolicyDiscard:
      return "A policy of action discard: as meant.";
    case Reason::kPolicyUnjudged:
      return "Policies with ports do not see them in fragments: widen the policy, or lower the "
             "MTU.";
    case Reason::kPolicyLeftOut:
      return "More policies than there is room for: raise ipsec.max_policies, or have fewer.";
    case Reason::kTunnelUnreachable:
      return "No route to the other end of the tunnel: search its address under Routes.";
    case Reason::kNotReady:
      return "While the router starts or resyncs: over in a moment, else see hecto show summary.";
  }
  return {};
}

}  // namespace hecto::router
