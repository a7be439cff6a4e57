// The RIB of one family: for every prefix all of its routes in Linux's order, the best first.
//
//   prefix ─► Entry: first route, the caller's tag ─► RibRoute ─► RibRoute ...
//             in a radix tree                         in one pool, linked by index
//
// Order of a prefix's routes: preference, metric, source, all with the lower first; routes equal
// in these three share a slot and keep the order in which they came, as Linux keeps IPv4 routes of
// one metric. What a preference or a next-hop set means is the caller's: Linux's tables can be
// preferences, or each table a RIB of its own. TOS is no part of the key.
//
// Memory: 48 bytes a prefix in the tree at the most for IPv4, 72 for IPv6, and 24 a route; none
// of it is allocated for a single prefix, and what is erased is used again. At a million prefixes
// with one route each it is below 100 bytes a prefix, slack of growth included.
//
// Errors leave everything as it was. One thread only. Source of the order: ip-route(8), and
// net/ipv4/fib_trie.c, fib_find_alias().
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <tl/expected.hpp>
#include <tuple>
#include <type_traits>

#include "base/id.hpp"
#include "lookup/memory.hpp"
#include "lookup/pool.hpp"
#include "lookup/radix_tree.hpp"

namespace hecto::lookup {

using NextHopSetId = Id<struct NextHopSetKind, uint32_t>;

struct RibRoute {
  NextHopSetId next_hop_set = 0;  // the caller's
  uint32_t metric = 0;            // Linux's priority
  uint32_t owner = 0;             // the caller's: who takes the route away again
  // Of a mirror that is read again in rounds: routes of another generation than the one that comes
  // stand behind it in the slot, until they are confirmed. 0: no such route.
  uint16_t generation = 0;
  uint8_t preference = 0;  // before the metric
  uint8_t source = 0;      // behind the metric
  uint8_t protocol = 0;    // rtm_protocol
  uint8_t round = 0;       // the caller's: of a reading that leaves the order alone
  bool first = false;      // insert() puts it before the routes of its slot; not kept

  auto rank() const { return std::tuple(preference, metric, source); }
  bool same_slot(const RibRoute& other) const { return rank() == other.rank(); }
  bool operator==(const RibRoute&) const = default;
};

// Names a route of a RIB until it is erased.
using RouteId = uint32_t;
inline constexpr RouteId kNoRouteId = Pool<RibRoute>::kNone;

enum class BestPath : uint8_t {
  kSame,     // the same route with the same next-hop set
  kNew,      // the prefix had no route
  kChanged,  // another route, or another next-hop set
  kGone,     // the prefix has no route any more; its entry and tag are gone too
};

// `Tag` is 4 bytes of the caller's for each prefix, zero-initialised: what it told the FIB.
template <typename Address, typename Tag = uint32_t>
class Rib {
  static_assert(sizeof(Tag) == 4 && std::is_trivially_copyable_v<Tag>);

 public:
  using PrefixType = Prefix<Address>;
  struct Entry {
    RouteId first = kNoRouteId;  // the best; never kNoRouteId in the RIB
    Tag tag{};
  };
  using Match = typename RadixTree<Address, Entry>::Match;
  // What a change did. Without the prefix (kGone) `first` and `tag` are none.
  struct Change {
    BestPath best = BestPath::kSame;
    RouteId route = kNoRouteId;  // inserted, replaced or confirmed; none for erase
    RouteId first = kNoRouteId;  // the best now
    Tag* tag = nullptr;          // the prefix's, until the next change
  };
  static constexpr uint32_t kMaxRoutes = std::numeric_limits<uint32_t>::max() - 1;

  explicit Rib(uint32_t max_routes = kMaxRoutes) : max_routes_(max_routes) {}

  // Behind the routes of its slot, or before them (`first`). kBadPrefix, kDuplicate (a route of this
  // slot, protocol and next-hop set), kTableFull, kNoMemory.
  tl::expected<Change, Error> insert(const PrefixType& prefix, const RibRoute& route);
  // `route` takes the place of the prefix's route `id`, or in another slot the last one, and its
  // name. kBadPrefix, kNotFound, kDuplicate.
  tl::expected<Change, Error> replace(const PrefixType& prefix, RouteId id, const RibRoute& route);
  // kBadPrefix, kNotFound.
  tl::expected<Change, Error> erase(const PrefixType& prefix, RouteId id);
  // The route was seen again: it is of this generation now, and moves behind the routes of its slot
  // that are, too. kBadPrefix, kNotFound.
  tl::expected<Change, Error> confirm(const PrefixType& prefix, RouteId id, uint16_t generation);

  // Pointers hold until the next change.
  const Entry* find(const PrefixType& prefix) const {
    return valid(prefix) ? tree_.find(prefix) : nullptr;
  }
  std::optional<Match> longest_match(const Address& address) const {
    return tree_.longest_match(address);
  }
  // The longest prefix that is shorter and covers this one.
  std::optional<Match> parent(const PrefixType& prefix) const {
    return valid(prefix) ? tree_.parent(prefix) : std::nullopt;
  }
  Tag* tag(const PrefixType& prefix) { return const_cast<Tag*>(std::as_const(*this).tag(prefix)); }
  const Tag* tag(const PrefixType& prefix) const {
    const Entry* entry = find(prefix);
    return entry == nullptr ? nullptr : &entry->tag;
  }

  const RibRoute& route(RouteId id) const { return routes_[id].route; }
  RouteId next(RouteId id) const { return routes_[id].next; }  // kNoRouteId: it was the last
  const RibRoute& best(const Entry& entry) const { return route(entry.first); }
  // The first route of the prefix that wanted(route) accepts, or kNoRouteId.
  template <typename Wanted>
  RouteId find_route(const Entry* entry, Wanted wanted) const {
    RouteId id = entry == nullptr ? kNoRouteId : entry->first;
    while (id != kNoRouteId && !wanted(route(id))) id = next(id);
    return id;
  }

  // Calls visit(prefix, entry) in the order of prefixes, beginning at the first not before `from`,
  // until it returns false. The RIB must not change meanwhile.
  template <typename Visit>
  void walk(const PrefixType& from, Visit visit) const {
    if (valid(from)) tree_.walk(from, visit);
  }
  // Calls visit(prefix, id) for every route that wanted(route) accepts, in the same order.
  template <typename Wanted, typename Visit>
  void walk_routes(Wanted wanted, Visit visit) const {
    walk(PrefixType{}, [&](const PrefixType& prefix, const Entry& entry) {
      for (RouteId id = entry.first; id != kNoRouteId; id = next(id)) {
        if (wanted(route(id))) visit(prefix, id);
      }
      return true;
    });
  }

  size_t size() const { return tree_.size(); }      // prefixes
  size_t routes() const { return routes_.size(); }  // of all prefixes
  size_t bytes() const { return tree_.bytes() + routes_.bytes(); }

 private:
  struct Link {
    RibRoute route;
    RouteId next;
  };
  static_assert(sizeof(Link) == 24);

  // The best of a prefix, to compare with later.
  struct Best {
    RouteId route;
    NextHopSetId next_hop_set;
  };

  static bool valid(const PrefixType& prefix) {
    return prefix.length <= PrefixType::kMaxLength &&
           PrefixType::make(prefix.address, prefix.length) == prefix;
  }
  bool has_twin(const Entry& entry, const RibRoute& route, RouteId aside) const;
  tl::expected<Entry*, Error> holder(const PrefixType& prefix, RouteId id);
  RouteId* place_of(Entry& entry, RouteId id);
  void link(Entry& entry, RouteId id);
  void unlink(Entry& entry, RouteId id);
  Best best_of(const Entry& entry) const {
    return {entry.first, routes_[entry.first].route.next_hop_set};
  }
  Change changed(Entry& entry, Best before, RouteId id) const;

  RadixTree<Address, Entry> tree_;
  Pool<Link> routes_;
  uint32_t max_routes_;
};

// To its place in the order.
template <typename Address, typename Tag>
void Rib<Address, Tag>::link(Entry& entry, RouteId id) {
  const RibRoute& fresh = route(id);
  RouteId* place = &entry.first;
  for (; *place != kNoRouteId; place = &routes_[*place].next) {
    const RibRoute& other = route(*place);
    bool stale = other.generation != 0 && other.generation != fresh.generation;
    if (fresh.rank() < other.rank() || (fresh.same_slot(other) && (fresh.first || stale))) break;
  }
  routes_[id].next = *place;
  routes_[id].route.first = false;
  *place = id;
}

template <typename Address, typename Tag>
void Rib<Address, Tag>::unlink(Entry& entry, RouteId id) {
  *place_of(entry, id) = routes_[id].next;
}

// What leads to the route in the prefix's list; nullptr: it is not in it.
template <typename Address, typename Tag>
RouteId* Rib<Address, Tag>::place_of(Entry& entry, RouteId id) {
  RouteId* place = &entry.first;
  while (*place != kNoRouteId && *place != id) place = &routes_[*place].next;
  return *place == kNoRouteId ? nullptr : place;
}

template <typename Address, typename Tag>
auto Rib<Address, Tag>::holder(const PrefixType& prefix, RouteId id)
    -> tl::expected<Entry*, Error> {
  if (!valid(prefix)) return tl::unexpected(Error::kBadPrefix);
  Entry* entry = tree_.find(prefix);
  if (entry == nullptr || place_of(*entry, id) == nullptr) return tl::unexpected(Error::kNotFound);
  return entry;
}

template <typename Address, typename Tag>
bool Rib<Address, Tag>::has_twin(const Entry& entry, const RibRoute& route, RouteId aside) const {
  for (RouteId id = entry.first; id != kNoRouteId; id = next(id)) {
    const RibRoute& other = this->route(id);
    if (id != aside && other.same_slot(route) && other.protocol == route.protocol &&
        other.next_hop_set == route.next_hop_set) {
      return true;
    }
  }
  return false;
}

template <typename Address, typename Tag>
auto Rib<Address, Tag>::changed(Entry& entry, Best before, RouteId id) const -> Change {
  Best now = best_of(entry);
  bool same = now.route == before.route && now.next_hop_set == before.next_hop_set;
  return {same ? BestPath::kSame : BestPath::kChanged, id, entry.first, &entry.tag};
}

template <typename Address, typename Tag>
auto Rib<Address, Tag>::insert(const PrefixType& prefix, const RibRoute& route)
    -> tl::expected<Change, Error> {
  if (!valid(prefix)) return tl::unexpected(Error::kBadPrefix);
  if (!routes_.reserve(1) || !tree_.reserve()) return tl::unexpected(Error::kNoMemory);
  auto [entry, fresh] = tree_.insert(prefix, Entry{});
  if (!fresh && has_twin(*entry, route, kNoRouteId)) return tl::unexpected(Error::kDuplicate);
  if (routes_.size() >= max_routes_) {
    if (fresh) tree_.erase(prefix);
    return tl::unexpected(Error::kTableFull);
  }
  RouteId id = routes_.allocate();
  routes_[id].route = route;
  if (fresh) {
    link(*entry, id);
    return Change{BestPath::kNew, id, id, &entry->tag};
  }
  Best before = best_of(*entry);
  link(*entry, id);
  return changed(*entry, before, id);
}

template <typename Address, typename Tag>
auto Rib<Address, Tag>::replace(const PrefixType& prefix, RouteId id, const RibRoute& route)
    -> tl::expected<Change, Error> {
  auto found = holder(prefix, id);
  if (!found) return tl::unexpected(found.error());
  Entry& entry = **found;
  if (has_twin(entry, route, id)) return tl::unexpected(Error::kDuplicate);
  Best before = best_of(entry);
  bool moves = !route.same_slot(this->route(id));
  if (moves) unlink(entry, id);
  routes_[id].route = route;
  routes_[id].route.first = false;
  if (moves) link(entry, id);
  return changed(entry, before, id);
}

template <typename Address, typename Tag>
auto Rib<Address, Tag>::erase(const PrefixType& prefix, RouteId id) -> tl::expected<Change, Error> {
  auto found = holder(prefix, id);
  if (!found) return tl::unexpected(found.error());
  Entry& entry = **found;
  Best before = best_of(entry);
  unlink(entry, id);
  routes_.release(id);
  if (entry.first != kNoRouteId) return changed(entry, before, kNoRouteId);
  tree_.erase(prefix);
  return Change{BestPath::kGone};
}

template <typename Address, typename Tag>
auto Rib<Address, Tag>::confirm(const PrefixType& prefix, RouteId id, uint16_t generation)
    -> tl::expected<Change, Error> {
  auto found = holder(prefix, id);
  if (!found) return tl::unexpected(found.error());
  Entry& entry = **found;
  Best before = best_of(entry);
  unlink(entry, id);
  routes_[id].route.generation = generation;
  link(entry, id);
  return changed(entry, before, id);
}

}  // namespace hecto::lookup
