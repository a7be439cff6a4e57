// AF_PACKET ports and IPv4 fragments. net_af_packet joins its sockets into a fanout group and asks the
// kernel to put fragments together first (PACKET_FANOUT_FLAG_DEFRAG), which a router must not do (RFC
// 1812 §4.2.2.7): a lone fragment never arrives, two leave as one packet. The driver has no argument
// for it, so this program has a setsockopt() of its own, which takes that flag off and hands on all else.
//
// And a poll(): the driver waits without end for room in a full transmit ring, which may never come (a
// NIC that has stopped its queue), and with it a worker or the slow path. Such a wait fails after 10 ms;
// what found no room is dropped as `transmit_full`.
#pragma once

namespace hecto::router {

// Whether drivers find this program's setsockopt(): they do where DPDK is a shared library and the
// program exports it.
bool fragments_stay_apart();

}  // namespace hecto::router
