// Reading the kernel's whole state: one RTM_GET* or XFRM_MSG_GET* dump after the other, each over
// many small reads. Control thread only.
#pragma once

#include <string>
#include <vector>

#include "router/linux/decode_route.hpp"
#include "router/linux/netlink_socket.hpp"

namespace hecto::router {

struct DumpPhase {
  MessageKind kind = MessageKind::kOther;
  uint16_t type = 0;  // RTM_GET*, XFRM_MSG_GET*
  uint8_t family = 0;
  uint32_t table = 0;    // routes: only this one; 0: all
  uint8_t protocol = 0;  // routes: only this one, where the kernel filters; 0: all
  int device = 0;  // routes: only those with a next hop on it, where the kernel filters; 0: all
};

// Links, VLANs and entries of bridges, addresses, next-hop objects, policy rules, routes of all tables, labels,
// neighbors, in this order.
std::vector<DumpPhase> dump_plan();
// Next-hop objects, the local tables, of all tables what leaves by these devices, and labels. Only where
// the kernel picks (NETLINK_GET_STRICT_CHK, Linux 4.20).
std::vector<DumpPhase> device_dump_plan(const std::vector<int>& devices);

// Whether a dump can be trusted to name everything that stayed. The kernel remembers where a dump
// stopped between two reads in ways that a removal can upset without NLM_F_DUMP_INTR:
//  - IPv6 routes: after any change fib6_dump_table() starts again and skips as many nodes as it
//    had shown, so one removal makes it skip one route too many;
//  - neighbors: neigh_dump_table() counts within a hash bucket;
//  - IPv4 routes: fib_table_dump() goes on by key and is safe but inside one leaf (the routes of
//    equal address and different length), and only where a read stopped in it;
//  - routes of labels: mpls_dump_routes() goes on by label;
//  - SAs and policies: xfrm_state_walk() and xfrm_policy_walk() keep a mark of their own in the
//    list, which no change upsets.
class DumpConsistency {
 public:
  void begin(MessageKind kind);
  void read_stopped_at(const Route& last);  // kRoute4: the last route of a read
  void removed_meanwhile(const Message& removal);
  void events_lost() { lost_ = true; }
  bool sound();

 private:
  MessageKind kind_ = MessageKind::kOther;
  bool removal_ = false;
  bool lost_ = false;
  std::vector<uint32_t> stops_;
  std::vector<uint32_t> removed_;
  RouteEvent scratch_;
};

class DumpReader {
 public:
  enum class Status : uint8_t { kMessages, kWait, kDone, kFailed };

  static Result<DumpReader> open(const NetworkNamespace& space, int protocol = NETLINK_ROUTE);

  int fd() const noexcept { return socket_.fd(); }
  bool filtered() const noexcept { return filtered_; }
  Result<void> start(const DumpPhase& phase);
  // One read. `messages` point into the reader's buffer until the next call. What a kernel
  // without the feature answers (no IPv6, no next-hop objects, no such table) is an empty dump.
  Status read(std::vector<Message>& messages);
  void wipe() noexcept;  // takes the last read's messages out of memory
  bool interrupted() const noexcept { return interrupted_; }  // NLM_F_DUMP_INTR was seen
  const Error& error() const noexcept { return error_; }      // after kFailed

 private:
  explicit DumpReader(NetlinkSocket socket);
  Status finish();
  void note_problem(int error_number, const std::string& what);

  NetlinkSocket socket_;
  SecretBytes buffer_;
  size_t used_ = 0;  // of the buffer, by the last read
  uint32_t sequence_ = 0;
  bool filtered_ = false;
  bool interrupted_ = false;
  bool finished_ = true;  // the last datagram held the end
  int final_error_ = 0;
  Error error_;
};

}  // namespace hecto::router
