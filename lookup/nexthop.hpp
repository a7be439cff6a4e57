// Next-hop groups: what a FIB's 16-bit answer means.
//
// A group id names a slot; the slot holds the index of one 64-byte record. Changing a group (a
// neighbor's MAC, a dead next hop, new weights) writes a fresh record and then one 4-byte store
// into the slot: readers see the old record or the new one, never a mixture, whatever the number
// of routes behind the group. Old records return after a grace period.
//
//   FIB ─► group id ─► slots[group] ─► records[...]  kForward: rewrite and send
//                                         │          kPunt, kDrop: `reason`
//                                         │          kTunnel: into `interface`
//                                         │          kLabelled: kForward, with MPLS labels
//                                         │          kReceive: came in by `interface`
//                                         └ kMultipath: buckets[offset + (hash & mask)] ─► group id
//
// One writer, any number of readers. One replica per NUMA socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <tl/expected.hpp>
#include <vector>

#include "lookup/fib.hpp"
#include "lookup/memory.hpp"

namespace hecto::lookup {

// kTunnel: into the tunnel that is `interface`. kLabelled: as kForward, `labels` between the new L2
// header and the packet, `mtu` without them. kReceive: of a label, behind which is what `interface`
// has received. Who cannot do one of these takes it as kPunt.
enum class RecordKind : uint8_t {
  kDrop = 0,
  kForward = 1,
  kPunt = 2,
  kMultipath = 3,
  kTunnel = 4,
  kLabelled = 5,
  kReceive = 6
};

// Whether packets leave by the record's port, behind its L2 header.
constexpr bool leaves_by_port(RecordKind kind) noexcept {
  return kind == RecordKind::kForward || kind == RecordKind::kLabelled;
}

// A resolved adjacency, a verdict, or the head of an ECMP group. POD, also read on a GPU.
struct alignas(64) NextHopRecord {
  uint8_t header[24];     // of what leaves: the whole new L2 header, header_length bytes of it
  uint8_t header_length;  // 14, and 4 for each VLAN tag
  RecordKind kind;
  uint8_t reason;          // all but kForward, kMultipath: the router's reason number
  uint8_t own;             // kPunt: 1 where the address is one of the router's own
  uint16_t port;           // of what leaves: egress port, DPDK's number
  uint16_t interface;      // egress interface; kReceive: ingress
  uint16_t mtu;            // of what leaves, kTunnel: bytes of L3 packet that fit
  uint16_t bucket_mask;    // kMultipath: buckets - 1, a power of two less one
  uint32_t bucket_offset;  // kMultipath: first bucket
  uint32_t if_id;          // kPunt: of an IPsec interface of Linux; 0: none
  // kLabelled: the outermost first, as load32_native sees them, bottom-of-stack bit and TTL 0.
  uint32_t labels[4];
  uint8_t label_count;
  uint8_t label_ttl;  // kLabelled, kReceive: 0: labels and packets inside have one TTL; else theirs
  uint8_t pad[2];
};
static_assert(sizeof(NextHopRecord) == 64, "a record fits one cache line");

struct NextHopView {
  const uint32_t* slots = nullptr;         // by group id
  const NextHopRecord* records = nullptr;  // by slot value
  const GroupId* buckets = nullptr;

  const NextHopRecord& record(GroupId group) const noexcept {
    return records[__atomic_load_n(&slots[group], __ATOMIC_ACQUIRE)];
  }
  // Of a group that is kMultipath: the member that has the bucket of this hash.
  const NextHopRecord& member(const NextHopRecord& multipath, uint32_t hash) const noexcept {
    GroupId group;
    __atomic_load(&buckets[multipath.bucket_offset + (hash & multipath.bucket_mask)], &group,
                  __ATOMIC_ACQUIRE);
    return record(group);
  }
};

struct NextHopOptions {
  std::vector<int> sockets = {0};
  uint32_t max_groups = 16384;  // at most kMaxGroupId + 1
  uint32_t max_buckets = 1 << 18;
  uint8_t no_route_reason = 0;  // reason of group kNoRoute
  RecordKind no_route_kind = RecordKind::kDrop;
};

struct WeightedMember {
  GroupId group;        // a group of any kind but kMultipath
  uint16_t weight = 1;  // 1 to 256, Linux's rtnh_hops + 1
};

class NextHopTable {
 public:
  static tl::expected<std::unique_ptr<NextHopTable>, Error> create(
      const NextHopOptions& options, Memory& memory = Memory::system(),
      Reclaimer& reclaimer = Reclaimer::none());
  ~NextHopTable();

  // A fresh group that drops with no_route_reason until set.
  tl::expected<GroupId, Error> allocate();
  // The caller promises that no FIB entry or bucket names the group any more; readers may still
  // hold it for a grace period.
  tl::expected<void, Error> release(GroupId group);
  tl::expected<void, Error> set(GroupId group, const NextHopRecord& record);
  // Weighted ECMP with resilient buckets: members that stay keep their buckets as far as the
  // weights allow, so that only the flows of members that left (or lost weight) move. `members`
  // must not be empty; no member may itself be kMultipath. A group that has no buckets yet begins
  // with those of `before` (by bucket a member, or anything else where the bucket is free; a power
  // of two of them), as if it had had them: what takes another group's place keeps its flows.
  tl::expected<void, Error> set_members(GroupId group, std::span<const WeightedMember> members,
                                        std::span<const GroupId> before = {});
  // ECMP with the buckets as they are given, a power of two of members' groups; whatever was before.
  tl::expected<void, Error> set_buckets(GroupId group, std::span<const GroupId> buckets);
  NextHopRecord get(GroupId group) const;
  std::vector<GroupId> buckets(GroupId group) const;  // empty unless kMultipath
  // Returns records and buckets whose grace period is over.
  void reclaim();

  NextHopView view(int socket) const;
  uint32_t groups_used() const;

 private:
  NextHopTable();
  tl::expected<void, Error> write_buckets(GroupId group, std::span<const GroupId> fresh);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hecto::lookup
