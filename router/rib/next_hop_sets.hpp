// What routes point at: sets of next hops, each interned by content, counted, and holding one
// next-hop group for as long as it lives.
//
//   route ─► set {A}    ─► group ─► record of A           routes with one next hop
//   route ─► set {A, B} ─► group ─► buckets ─► {A}, {B}   ECMP over the groups of single sets
//   route ─► object 7   ─► group ─► as object 7 says      a kernel next-hop object
//   label ─► set {A}    ─► group ─► record of A           MPLS: sets of their own, shared likewise
//
// So a neighbor that changes rewrites the record of the set that names it, a changed object
// rewrites its own, and no route and no FIB entry is touched by either.
//
// A new ECMP set goes on with the buckets of the set that it resembles most, one that is there or
// one that has gone: a daemon that replaces {A, B, C} by {A, B} moves C's flows alone.
//
// With `consistent` an ECMP set's buckets follow from its members' gateways alone instead, whatever
// came before: the same on every router that has the same members (lookup/consistent.hpp).
//
// When no group is left a set has group 0 until retry() finds one.
#pragma once

#include <deque>
#include <functional>
#include <set>
#include <unordered_map>
#include <vector>

#include "lookup/nexthop.hpp"
#include "lookup/rib.hpp"
#include "router/rib/bucket_memory.hpp"
#include "router/rib/next_hop_resolver.hpp"
#include "router/rib/urpf.hpp"

namespace hecto::router {

using SetId = lookup::NextHopSetId;
inline constexpr SetId kNoSet = ~uint32_t{0};

// Sorted, without repetition (weights add up): the form in which sets are compared.
void canonicalize(std::vector<NextHop>& next_hops);

// Buckets by the members alone: the same on every router. `no_room` is called once, when buckets of
// such a set have no room and it goes on as others do.
struct ConsistentEcmp {
  bool on = false;
  std::function<void()> no_room = nullptr;
};

class NextHopSets {
 public:
  using Content = NextHopContent;  // what makes two sets the same
  struct Member {
    SetId set;
    uint16_t weight;
    bool dead;  // marked so by Linux
    bool operator==(const Member&) const = default;
  };
  struct Set {
    Family family = Family::kIpv4;
    RouteType type = RouteType::kUnicast;
    uint32_t object = 0;
    std::vector<NextHop> next_hops;
    uint16_t mtu = 0;
    bool labelled = false;
    SetId self = kNoSet;
    uint32_t references = 0;  // 0: free
    GroupId group = lookup::kNoRoute;
    bool refused = false;         // no group was left when it was made
    bool dirty = false;           // the table refused the last write
    NextHopResolution now;        // unless there are members
    std::vector<Member> members;  // of ECMP
    std::vector<SetId> retired;   // members of before, until the buckets name them no more
    std::vector<lookup::WeightedMember> live;
    std::vector<SetId> part_of;  // ECMP sets that this one is a member of

    Content content() const { return {family, type, object, next_hops, mtu, labelled}; }
  };
  struct Statistics {
    uint64_t records_written = 0;  // records, and bucket lists
    uint64_t groups_refused = 0;
    uint32_t sets = 0;
    uint32_t sets_without_group = 0;
  };

  NextHopSets(lookup::NextHopTable& table, const Interfaces& interfaces, const Neighbors& neighbors,
              const NextHopObjects& objects, UrpfTable& urpf, ConsistentEcmp consistent = {})
      : table_(table),
        resolver_(interfaces, neighbors, objects),
        objects_(objects),
        urpf_(urpf),
        consistent_(std::move(consistent)) {}

  // One more reference to the set of this content, which is made if need be. Never fails; see
  // group().
  SetId acquire(const Content& content);
  SetId find(const Content& content) const;  // kNoSet: there is none
  void reference(SetId id, uint32_t count = 1) { sets_[id].references += count; }
  // No FIB entry may name the group any more when the last reference goes.
  void release(SetId id);
  GroupId group(SetId id) const { return sets_[id].group; }
  const Set& set(SetId id) const { return sets_[id]; }
  // Some next hop is on-link on this interface (and the route of type unicast).
  bool on_link(SetId id, InterfaceId interface) const;
  // Linux's numbers of the devices that its next hops, or those of its object, leave by.
  std::set<int> devices(SetId id) const;

  void neighbor_changed(const InterfaceState& interface, const IpAddress& address);
  void interfaces_changed() { refresh_all(); }
  void object_changed(uint32_t object);      // it came, went or is another now
  bool names_object(uint32_t object) const;  // a set that is in use does, itself or by a group

  // Repeats writes that the table refused and looks for groups again; true when a set got one.
  bool retry();

  template <typename Visit>
  void visit(Visit visit) const {
    for (SetId id = 0; id < sets_.size(); ++id) {
      if (sets_[id].references != 0) visit(id, sets_[id]);
    }
  }
  // The set that uses this neighbor directly, if any.
  SetId user_of(InterfaceId interface, const IpAddress& address) const;
  SetId by_group(GroupId group) const;
  Statistics statistics() const;

 private:
  struct AdjacencyHash {
    size_t operator()(const Adjacency& adjacency) const noexcept;
  };

  static Content normalize(const Content& content);
  SetId find(const Content& content, uint64_t hash) const;
  void refresh(SetId id);
  void refresh_all();
  void refresh_object(uint32_t object);
  void refresh_users_of_object(uint32_t object);
  std::vector<Member> wanted_members(const Set& set);
  void watch(SetId id, const NextHopResolution& next);
  void join(SetId id);   // its members know of it from now on
  void leave(SetId id);  // and no more
  void write_users(SetId member);
  Adjacency adjacency(SetId id) const;
  std::vector<Adjacency> adjacencies(const Set& set) const;
  BucketPattern pattern(const Set& set) const;
  std::vector<GroupId> heritage(const Set& set) const;
  void write(Set& set);
  tl::expected<void, lookup::Error> write_record(Set& set);
  tl::expected<void, lookup::Error> write_members(Set& set);
  tl::expected<void, lookup::Error> write_consistent(const Set& set,
                                                     std::span<const lookup::WeightedMember> live);
  std::vector<lookup::WeightedMember> live_members(const Set& set) const;
  UrpfInterfaces reachable_by(const Set& set) const;
  bool allocate_group(Set& set);

  lookup::NextHopTable& table_;
  const NextHopResolver resolver_;
  const NextHopObjects& objects_;
  UrpfTable& urpf_;
  std::deque<Set> sets_;  // references to elements must survive acquire()
  std::vector<SetId> free_;
  std::unordered_multimap<uint64_t, SetId> by_content_;
  std::unordered_map<Adjacency, std::vector<SetId>, AdjacencyHash> users_;
  std::unordered_map<GroupId, SetId> by_group_;
  BucketMemory memory_;
  uint64_t records_written_ = 0;
  uint64_t groups_refused_ = 0;
  ConsistentEcmp consistent_;
  uint32_t without_group_ = 0;
  uint32_t dirty_ = 0;
};

}  // namespace hecto::router
