#include "lookup/rib.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/beds/random_table.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::lookup {
namespace {

template <typename Address>
class RibTest : public ::testing::Test {};
using Addresses = ::testing::Types<Ipv4Address, Ipv6Address>;
TYPED_TEST_SUITE(RibTest, Addresses);

RibRoute route(NextHopSetId next_hop_set, uint32_t metric, uint8_t protocol = 4) {
  RibRoute route;
  route.next_hop_set = next_hop_set;
  route.metric = metric;
  route.protocol = protocol;
  return route;
}

// A prefix of its own for each number, spread so that nearly every one needs a fork.
template <typename Address>
Prefix<Address> spread(uint32_t number) {
  uint64_t mixed = number * 0x9e3779b97f4a7c15u;
  Address address{};
  if constexpr (sizeof(Address) == 4) {
    address.value = static_cast<uint32_t>(mixed >> 40 << 8);
    return Prefix<Address>::make(address, 24);
  } else {
    for (int i = 0; i < 6; ++i) address.bytes[i] = static_cast<uint8_t>(mixed >> (56 - 8 * i));
    return Prefix<Address>::make(address, 48);
  }
}

// The deliberately naive twin: a vector of routes for each prefix, sorted again at each change.
template <typename Address>
class NaiveRib {
 public:
  using Routes = std::vector<std::pair<RouteId, RibRoute>>;
  std::map<Prefix<Address>, Routes> prefixes;

  static bool twins(const RibRoute& a, const RibRoute& b) {
    return a.preference == b.preference && a.metric == b.metric && a.source == b.source &&
           a.protocol == b.protocol && a.next_hop_set == b.next_hop_set;
  }
  bool has_twin(const Prefix<Address>& prefix, const RibRoute& wanted, RouteId aside) const {
    auto at = prefixes.find(prefix);
    return at != prefixes.end() &&
           std::any_of(at->second.begin(), at->second.end(), [&](const auto& held) {
             return held.first != aside && twins(held.second, wanted);
           });
  }
  void put(const Prefix<Address>& prefix, RouteId id, const RibRoute& fresh) {
    Routes& routes = prefixes[prefix];
    auto before = [&fresh](const auto& held) {
      const RibRoute& other = held.second;
      if (other.preference != fresh.preference) return other.preference < fresh.preference;
      if (other.metric != fresh.metric) return other.metric < fresh.metric;
      if (other.source != fresh.source) return other.source < fresh.source;
      return other.generation == 0 || other.generation == fresh.generation;
    };
    auto place = std::find_if_not(routes.begin(), routes.end(), before);
    routes.insert(place, {id, fresh});
  }
  void take(const Prefix<Address>& prefix, RouteId id) {
    Routes& routes = prefixes.at(prefix);
    routes.erase(find(routes, id));
  }
  void erase(const Prefix<Address>& prefix, RouteId id) {
    take(prefix, id);
    if (prefixes.at(prefix).empty()) prefixes.erase(prefix);
  }
  static auto find(Routes& routes, RouteId id) {
    return std::find_if(routes.begin(), routes.end(),
                        [id](const auto& held) { return held.first == id; });
  }
  std::optional<std::pair<RouteId, uint32_t>> best(const Prefix<Address>& prefix) const {
    auto at = prefixes.find(prefix);
    if (at == prefixes.end()) return std::nullopt;
    return std::pair(at->second[0].first, at->second[0].second.next_hop_set);
  }
  const Prefix<Address>* covering(const Address& host, int max_length) const {
    for (int length = max_length; length >= 0; --length) {
      auto at = prefixes.find(Prefix<Address>::make(host, static_cast<uint8_t>(length)));
      if (at != prefixes.end()) return &at->first;
    }
    return nullptr;
  }
};

// One RIB and its twin, changed together; every answer is compared.
template <typename Address>
class Pair {
 public:
  using PrefixType = Prefix<Address>;
  explicit Pair(uint64_t seed) : random_(seed) {}

  void change() {
    PrefixType prefix = rng() % 2 == 0 && held() > 0 ? random_.some() : random_.prefix();
    auto at = twin_.prefixes.find(prefix);
    auto before = twin_.best(prefix);
    size_t kind = at == twin_.prefixes.end() ? 0 : rng() % 5;
    if (kind <= 1) {
      insert(prefix);
    } else {
      const auto& routes = at->second;
      RouteId id = routes[rng() % routes.size()].first;
      if (kind == 2) {
        replace(prefix, id);
      } else if (kind == 3) {
        confirm(prefix, id);
      } else {
        auto done = rib_.erase(prefix, id);
        ASSERT_TRUE(done);
        twin_.erase(prefix, id);
        change_ = *done;
      }
    }
    if (testing::Test::HasFatalFailure()) return;
    expect_best(prefix, before);
    compare(prefix);
  }

  void compare(const PrefixType& prefix) {
    ASSERT_EQ(rib_.size(), twin_.prefixes.size());
    auto at = twin_.prefixes.find(prefix);
    const auto* entry = rib_.find(prefix);
    ASSERT_EQ(entry != nullptr, at != twin_.prefixes.end());
    if (entry != nullptr) expect_routes(*entry, at->second);
    Address host = random_.destination();
    expect_match(rib_.longest_match(host), twin_.covering(host, PrefixType::kMaxLength));
    expect_match(rib_.parent(prefix), twin_.covering(prefix.address, prefix.length - 1));
  }

  void compare_walks(const PrefixType& from) {
    auto following = twin_.prefixes.lower_bound(from);
    rib_.walk(from, [&](const PrefixType& prefix, const auto& entry) {
      EXPECT_TRUE(following != twin_.prefixes.end() && following->first == prefix);
      expect_routes(entry, following->second);
      return ++following != twin_.prefixes.end();
    });
    EXPECT_TRUE(following == twin_.prefixes.end());
    auto wanted = [](const RibRoute& route) { return route.protocol == 2; };
    std::vector<std::pair<PrefixType, RouteId>> expected, seen;
    for (const auto& [prefix, routes] : twin_.prefixes) {
      for (const auto& [id, route] : routes) {
        if (wanted(route)) expected.emplace_back(prefix, id);
      }
    }
    rib_.walk_routes(wanted,
                     [&](const PrefixType& prefix, RouteId id) { seen.emplace_back(prefix, id); });
    EXPECT_EQ(seen, expected);
  }

  const Rib<Address>& rib() const { return rib_; }
  RandomTable<Address>& random() { return random_; }

 private:
  using Change = typename Rib<Address>::Change;

  uint64_t rng() { return random_.rng()(); }
  size_t held() const { return twin_.prefixes.size(); }

  RibRoute some_route() {
    RibRoute some = route(NextHopSetId(rng() % 3), static_cast<uint32_t>(rng() % 3),
                          static_cast<uint8_t>(2 + rng() % 2));
    some.preference = static_cast<uint8_t>(rng() % 2);
    some.source = static_cast<uint8_t>(rng() % 2);
    some.owner = static_cast<uint32_t>(rng());
    if (some.source == 0) some.generation = static_cast<uint16_t>(1 + rng() % 2);
    return some;
  }
  void insert(const PrefixType& prefix) {
    RibRoute fresh = some_route();
    bool exists = twin_.has_twin(prefix, fresh, kNoRouteId);
    auto done = rib_.insert(prefix, fresh);
    ASSERT_EQ(done.has_value(), !exists);
    if (exists) {
      EXPECT_EQ(done.error(), Error::kDuplicate);
      change_.reset();
      return;
    }
    twin_.put(prefix, done->route, fresh);
    if (done->best == BestPath::kNew) *done->tag = tag_of(prefix);
    change_ = *done;
  }
  void replace(const PrefixType& prefix, RouteId id) {
    RibRoute fresh = some_route();
    bool exists = twin_.has_twin(prefix, fresh, id);
    auto done = rib_.replace(prefix, id, fresh);
    ASSERT_EQ(done.has_value(), !exists);
    change_.reset();
    if (exists) return;
    auto& routes = twin_.prefixes.at(prefix);
    auto place = NaiveRib<Address>::find(routes, id);
    if (place->second.same_slot(fresh)) {
      place->second = fresh;
    } else {
      twin_.take(prefix, id);
      twin_.put(prefix, id, fresh);
    }
    change_ = *done;
  }
  void confirm(const PrefixType& prefix, RouteId id) {
    auto& routes = twin_.prefixes.at(prefix);
    RibRoute known = NaiveRib<Address>::find(routes, id)->second;
    known.generation = static_cast<uint16_t>(1 + rng() % 2);
    auto done = rib_.confirm(prefix, id, known.generation);
    ASSERT_TRUE(done);
    twin_.take(prefix, id);
    twin_.put(prefix, id, known);
    change_ = *done;
  }
  void expect_best(const PrefixType& prefix,
                   const std::optional<std::pair<RouteId, uint32_t>>& before) {
    if (!change_) return;
    auto now = twin_.best(prefix);
    BestPath expected = !now              ? BestPath::kGone
                        : !before         ? BestPath::kNew
                        : *before == *now ? BestPath::kSame
                                          : BestPath::kChanged;
    EXPECT_EQ(change_->best, expected);
    EXPECT_EQ(change_->first, now ? now->first : kNoRouteId);
    ASSERT_EQ(change_->tag != nullptr, now.has_value());
    if (now) {
      EXPECT_EQ(*change_->tag, tag_of(prefix));
    }
  }
  template <typename Entry>
  void expect_routes(const Entry& entry, const typename NaiveRib<Address>::Routes& expected) {
    size_t seen = 0;
    for (RouteId id = entry.first; id != kNoRouteId; id = rib_.next(id), ++seen) {
      ASSERT_LT(seen, expected.size());
      ASSERT_EQ(id, expected[seen].first);
      ASSERT_EQ(rib_.route(id), expected[seen].second);
    }
    ASSERT_EQ(seen, expected.size());
  }
  template <typename Match>
  void expect_match(const Match& match, const PrefixType* expected) {
    ASSERT_EQ(match.has_value(), expected != nullptr);
    if (!match) return;
    EXPECT_EQ(match->prefix, *expected);
    EXPECT_EQ(match->value->tag, tag_of(*expected));
  }
  static uint32_t tag_of(const PrefixType& prefix) {
    return static_cast<uint32_t>(std::hash<std::string>()(prefix.to_string()));
  }

  RandomTable<Address> random_;
  Rib<Address> rib_;
  NaiveRib<Address> twin_;
  std::optional<Change> change_;
};

TYPED_TEST(RibTest, AgreesWithItsTwinAfterRandomChanges) {
  uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Pair<TypeParam> pair(seed);
  for (int round = 0; round < 20000; ++round) {
    pair.change();
    if (round % 1000 == 0) pair.compare_walks(pair.random().prefix());
    ASSERT_FALSE(this->HasFailure());
  }
  EXPECT_GT(pair.rib().routes(), pair.rib().size() * 5 / 4);  // several routes a prefix
}

TYPED_TEST(RibTest, RefusesWhatCannotBe) {
  using Address = TypeParam;
  using PrefixType = Prefix<Address>;
  Rib<Address> rib(2);
  PrefixType whole{};
  PrefixType half = PrefixType::make(Address{}, 1);
  ASSERT_TRUE(rib.insert(whole, route(1, 10)));
  RouteId id = rib.find(whole)->first;

  PrefixType host_bits{spread<Address>(1).address, 4};
  PrefixType too_long{Address{}, PrefixType::kMaxLength + 1};
  for (const PrefixType& bad : {host_bits, too_long}) {
    EXPECT_EQ(rib.insert(bad, route(1, 10)).error(), Error::kBadPrefix);
    EXPECT_EQ(rib.replace(bad, id, route(1, 10)).error(), Error::kBadPrefix);
    EXPECT_EQ(rib.erase(bad, id).error(), Error::kBadPrefix);
    EXPECT_EQ(rib.confirm(bad, id, 1).error(), Error::kBadPrefix);
    EXPECT_EQ(rib.find(bad), nullptr);
    EXPECT_FALSE(rib.parent(bad));
  }
  EXPECT_EQ(rib.insert(whole, route(1, 10)).error(), Error::kDuplicate);
  EXPECT_EQ(rib.erase(half, id).error(), Error::kNotFound);
  EXPECT_EQ(rib.erase(whole, id + 1).error(), Error::kNotFound);
  EXPECT_EQ(rib.erase(whole, kNoRouteId).error(), Error::kNotFound);
  ASSERT_TRUE(rib.insert(whole, route(2, 10)));
  EXPECT_EQ(rib.insert(half, route(1, 10)).error(), Error::kTableFull);
  EXPECT_EQ(rib.replace(whole, id, route(2, 10)).error(), Error::kDuplicate);
  EXPECT_EQ(rib.size(), 1u);
  EXPECT_EQ(rib.routes(), 2u);
  EXPECT_EQ(rib.find(half), nullptr);
  EXPECT_EQ(rib.route(id), route(1, 10));
}

// ip route append: the first keeps; ip route replace: takes the place of the first.
TEST(Rib, KeepsRoutesOfOneMetricInTheOrderInWhichTheyCame) {
  Rib<Ipv4Address> rib;
  Prefix4 prefix = *Prefix4::parse("10.0.0.0/8");
  EXPECT_EQ(rib.insert(prefix, route(1, 100))->best, BestPath::kNew);
  EXPECT_EQ(rib.insert(prefix, route(2, 100))->best, BestPath::kSame);
  EXPECT_EQ(rib.insert(prefix, route(3, 50))->best, BestPath::kChanged);
  std::vector<uint32_t> sets;
  for (RouteId id = rib.find(prefix)->first; id != kNoRouteId; id = rib.next(id)) {
    sets.push_back(rib.route(id).next_hop_set);
  }
  EXPECT_EQ(sets, (std::vector<uint32_t>{3, 1, 2}));
  EXPECT_EQ(rib.erase(prefix, rib.find(prefix)->first)->best, BestPath::kChanged);
  auto replaced = rib.replace(prefix, rib.find(prefix)->first, route(4, 100));
  EXPECT_EQ(replaced->best, BestPath::kChanged);
  EXPECT_EQ(rib.best(*rib.find(prefix)).next_hop_set, 4u);
  EXPECT_EQ(rib.route(rib.next(rib.find(prefix)->first)).next_hop_set, 2u);
}

TYPED_TEST(RibTest, TakesAtMostAHundredBytesAPrefixAtAMillion) {
  using Address = TypeParam;
  Rib<Address> rib;
  for (uint32_t number = 0; rib.size() < 1000000; ++number) {
    (void)rib.insert(spread<Address>(number), route(NextHopSetId(number % 64), 0));
  }
  EXPECT_EQ(rib.routes(), rib.size());
  this->RecordProperty("bytes_per_prefix", std::to_string(rib.bytes() / rib.size()));
  EXPECT_LE(rib.bytes(), rib.size() * 100);
}

TYPED_TEST(RibTest, DoesNotGrowByAddingAndRemoving) {
  using Address = TypeParam;
  constexpr uint32_t kPrefixes = 1024;
  constexpr uint32_t kRoutesEach = 2;
  std::vector<Prefix<Address>> prefixes;
  for (uint32_t number = 0; number < kPrefixes; ++number) {
    prefixes.push_back(spread<Address>(number));
  }
  Rib<Address> rib;
  auto fill = [&] {
    for (const auto& prefix : prefixes) {
      for (uint32_t metric = 0; metric < kRoutesEach; ++metric) {
        (void)rib.insert(prefix, route(1, metric));
      }
    }
  };
  fill();
  const size_t full = rib.bytes();
  Rng rng(1);
  for (int operation = 0; operation < 10000000; ++operation) {
    uint64_t random = rng();
    const auto& prefix = prefixes[random % kPrefixes];
    const auto* entry = rib.find(prefix);
    if ((random >> 32) % 2 == 0) {
      (void)rib.insert(prefix, route(1, static_cast<uint32_t>(random >> 40) % kRoutesEach));
    } else if (entry != nullptr) {
      ASSERT_TRUE(rib.erase(prefix, entry->first));
    }
  }
  EXPECT_EQ(rib.bytes(), full);
  fill();
  EXPECT_EQ(rib.bytes(), full);
  EXPECT_EQ(rib.routes(), kPrefixes * kRoutesEach);
  for (const auto& prefix : prefixes) {
    while (const auto* entry = rib.find(prefix)) ASSERT_TRUE(rib.erase(prefix, entry->first));
  }
  EXPECT_EQ(rib.size() + rib.routes(), 0u);
  EXPECT_EQ(rib.bytes(), full);
}

}  // namespace
}  // namespace hecto::lookup
