#include "router/ipsec/esp/spd.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <memory>
#include <random>
#include <set>
#include <thread>

#include "tests/beds/qsbr.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::router::esp {
namespace {

using lookup::Family;
using lookup::Ipv4Address;

FlowKey flow(const char* source, const char* destination, uint8_t protocol = 0,
             uint16_t source_port = 0, uint16_t destination_port = 0) {
  const IpAddress from = *IpAddress::parse(source), to = *IpAddress::parse(destination);
  return {from.family, protocol, source_port, destination_port, {from.bytes}, {to.bytes}};
}

IpsecSelector selector(const char* source, const char* destination, uint8_t protocol = 0) {
  IpsecSelector made;
  made.source = *IpPrefix::parse(source);
  made.destination = *IpPrefix::parse(destination);
  made.family = made.source.address.family;
  made.protocol = protocol;
  return made;
}

// An Spd, the policies that it was given, and what Linux would find: each made later than the ones
// before.
class SpdTest : public testing::Test {
 protected:
  std::unique_ptr<Policy> make(const IpsecSelector& selector, uint32_t priority = 0,
                               uint32_t if_id = 0) {
    auto policy = std::make_unique<Policy>();
    policy->selector = selector;
    policy->priority = priority;
    policy->if_id = if_id;
    policy->serial = ++serial_;
    return policy;
  }
  Policy* insert(const IpsecSelector& selector, uint32_t priority = 0, uint32_t if_id = 0) {
    policies.push_back(make(selector, priority, if_id));
    Policy* policy = policies.back().get();
    spd.change({&policy, 1}, {});
    return policy;
  }
  void remove(Policy* policy) {
    spd.change({}, {&policy, 1});
    std::erase_if(policies, [&](const auto& one) { return one.get() == policy; });
  }

  // As Linux's xfrm_selector_match.
  static bool matches(const Policy& policy, const FlowKey& key, uint32_t if_id) {
    const IpsecSelector& wanted = policy.selector;
    IpAddress source, destination;
    source.family = destination.family = key.family;
    source.bytes = key.source.bytes;
    destination.bytes = key.destination.bytes;
    return wanted.family == key.family && policy.if_id == if_id && wanted.source.contains(source) &&
           wanted.destination.contains(destination) &&
           (wanted.protocol == 0 || wanted.protocol == key.protocol) &&
           ((key.source_port ^ wanted.source_port) & wanted.source_port_mask) == 0 &&
           ((key.destination_port ^ wanted.destination_port) & wanted.destination_port_mask) == 0;
  }
  const Policy* naive_find(const FlowKey& key, uint32_t if_id) const {
    const Policy* best = nullptr;
    for (const auto& policy : policies)  // by age
      if (matches(*policy, key, if_id) && (best == nullptr || policy->priority < best->priority))
        best = policy.get();
    return best;
  }

  // By the batches of both families.
  static void find_all(const Spd& spd, const std::vector<FlowKey>& keys,
                       const std::vector<uint32_t>& if_ids, std::vector<const Policy*>& found) {
    find_all<3>(spd, Family::kIpv4, keys, if_ids, found);
    find_all<6>(spd, Family::kIpv6, keys, if_ids, found);
  }
  template <size_t kWords>
  static void find_all(const Spd& spd, Family family, const std::vector<FlowKey>& keys,
                       const std::vector<uint32_t>& if_ids, std::vector<const Policy*>& found) {
    std::vector<SpdWords<kWords>> words;
    std::vector<uint32_t> ids;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (keys[i].family != family) continue;
      words.push_back(spd_words<kWords>(keys[i], 0));
      ids.push_back(if_ids[i]);
    }
    std::vector<const Policy*> of_family(words.size());
    spd.find_batch(words, ids.data(), of_family.data());
    for (size_t i = 0, n = 0; i < keys.size(); ++i)
      if (keys[i].family == family) found[i] = of_family[n++];
  }

  Spd spd;
  std::vector<std::unique_ptr<Policy>> policies;

 private:
  uint64_t serial_ = 0;
};

// Thousands of them in a few huge pages; the places of those that went are taken again.
TEST(PolicyMemory, IsDense) {
  constexpr size_t kHugePageBytes = size_t{2} << 20;
  std::vector<std::unique_ptr<Policy>> policies(5000);
  std::set<const Policy*> places;
  std::set<uintptr_t> pages;
  for (auto& policy : policies) {
    policy = std::make_unique<Policy>();
    EXPECT_EQ(policy->packets.load(), 0u);
    policy->packets = 1;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(policy.get()) % 64, 0u);
    EXPECT_TRUE(places.insert(policy.get()).second);
    pages.insert(reinterpret_cast<uintptr_t>(policy.get()) / kHugePageBytes);
  }
  EXPECT_LE(pages.size(), 5000 * sizeof(Policy) / kHugePageBytes + 2);
  policies.clear();
  const auto again = std::make_unique<Policy>();
  EXPECT_TRUE(places.contains(again.get()));
  EXPECT_EQ(again->packets.load(), 0u);
}

TEST_F(SpdTest, FindsNothingWhenEmpty) {
  EXPECT_TRUE(spd.empty());
  EXPECT_EQ(spd.find(flow("10.0.0.1", "10.0.0.2"), 0), nullptr);
  EXPECT_EQ(spd.find(flow("2001:db8::1", "2001:db8::2"), 0), nullptr);
}

TEST_F(SpdTest, HasPoliciesOfAFamilyFromTheFirstToTheLast) {
  const auto has = [this] { return std::pair(spd.has(Family::kIpv4), spd.has(Family::kIpv6)); };
  EXPECT_EQ(has(), std::pair(false, false));
  Policy* first = insert(selector("10.0.0.0/8", "0.0.0.0/0"));
  EXPECT_EQ(has(), std::pair(true, false));
  Policy* same = insert(selector("10.0.0.0/8", "0.0.0.0/0"));
  Policy* other = insert(selector("::/0", "::/0"));
  EXPECT_EQ(has(), std::pair(true, true));
  remove(first);
  EXPECT_EQ(has(), std::pair(true, true)) << "the one behind it";
  remove(same);
  EXPECT_EQ(has(), std::pair(false, true));
  remove(other);
  EXPECT_EQ(has(), std::pair(false, false));
}

TEST_F(SpdTest, TheBetterPriorityWinsAlsoAgainstAMoreSpecificSelector) {
  const FlowKey tcp = flow("10.1.0.1", "10.2.0.1", 6, 1, 2);
  const FlowKey udp = flow("10.1.0.1", "10.2.0.1", 17, 1, 2);
  Policy* wide = insert(selector("10.0.0.0/8", "0.0.0.0/0"), 10);
  Policy* narrow = insert(selector("10.1.0.0/16", "10.2.0.0/16", 6), 20);
  EXPECT_EQ(spd.find(tcp, 0), wide);
  Policy* better = insert(selector("10.1.0.0/16", "10.2.0.0/16", 6), 5);
  EXPECT_EQ(spd.find(tcp, 0), better);
  EXPECT_EQ(spd.find(udp, 0), wide);
  remove(better);
  EXPECT_EQ(spd.find(tcp, 0), wide);
  remove(wide);
  EXPECT_EQ(spd.find(tcp, 0), narrow);
  EXPECT_EQ(spd.find(udp, 0), nullptr);
}

TEST_F(SpdTest, OfTheSamePriorityTheOlderWins) {
  const FlowKey key = flow("10.1.0.1", "10.2.0.1", 6, 1, 2);
  Policy* first = insert(selector("10.0.0.0/8", "0.0.0.0/0"));
  Policy* same = insert(selector("10.0.0.0/8", "0.0.0.0/0"));
  Policy* third = insert(selector("10.0.0.0/8", "0.0.0.0/0"));
  EXPECT_EQ(spd.find(key, 0), first);
  remove(same);
  EXPECT_EQ(spd.find(key, 0), first);
  remove(first);
  EXPECT_EQ(spd.find(key, 0), third);
  remove(third);
  EXPECT_TRUE(spd.empty());
}

TEST_F(SpdTest, AnInterfaceIdMustBeTheSame) {
  Policy* tunnel = insert(selector("0.0.0.0/0", "0.0.0.0/0"), 0, 5);
  Policy* none = insert(selector("0.0.0.0/0", "0.0.0.0/0"));
  const FlowKey key = flow("10.1.0.1", "10.2.0.1");
  EXPECT_EQ(spd.find(key, 5), tunnel);
  EXPECT_EQ(spd.find(key, 0), none);
  EXPECT_EQ(spd.find(key, 6), nullptr);
}

TEST_F(SpdTest, WhatComesAndGoesInOneChangeIsNotThere) {
  const auto policy = make(selector("10.0.0.0/8", "0.0.0.0/0"));
  Policy* one = policy.get();
  spd.change({&one, 1}, {&one, 1});
  EXPECT_TRUE(spd.empty());
  EXPECT_EQ(spd.find(flow("10.1.0.1", "10.2.0.1"), 0), nullptr);
}

IpPrefix random_prefix(std::mt19937_64& random, Family family) {
  IpAddress address;
  address.family = family;
  static constexpr uint8_t kLengths4[] = {0, 8, 15, 24, 31, 32};
  static constexpr uint8_t kLengths6[] = {0, 3, 48, 64, 127, 128};
  const size_t which = random() % 6;
  const uint8_t length = family == Family::kIpv4 ? kLengths4[which] : kLengths6[which];
  for (unsigned i = 0; i < address.size(); ++i) address.bytes[i] = random() % 2;
  return IpPrefix{address, length}.network();
}

IpsecSelector random_selector(std::mt19937_64& random) {
  IpsecSelector made;
  made.family = random() % 2 == 0 ? Family::kIpv4 : Family::kIpv6;
  made.source = random_prefix(random, made.family);
  made.destination = random_prefix(random, made.family);
  made.protocol = random() % 3 == 0 ? 17 : 0;
  if (random() % 3 == 0) {
    made.source_port_mask = random() % 2 == 0 ? 0xffff : 0xfffe;
    made.source_port = random() % 4 & made.source_port_mask;
  }
  if (random() % 3 == 0) {
    made.destination_port_mask = 0xffff;
    made.destination_port = random() % 4;
  }
  return made;
}

FlowKey random_flow(std::mt19937_64& random) {
  FlowKey key{random() % 2 == 0 ? Family::kIpv4 : Family::kIpv6,
              static_cast<uint8_t>(random() % 2 == 0 ? 17 : 6),
              static_cast<uint16_t>(random() % 4),
              static_cast<uint16_t>(random() % 4),
              {},
              {}};
  const unsigned bytes = key.family == Family::kIpv4 ? 4 : 16;
  for (unsigned i = 0; i < bytes; ++i) {
    key.source.bytes[i] = random() % 2;
    key.destination.bytes[i] = random() % 2;
  }
  return key;
}

// Policies come and go, many at once or one by one; few addresses, so that many selectors are the
// same and hide each other.
TEST_F(SpdTest, AgreesWithALinearListWhileRandomPoliciesComeAndGo) {
  SCOPED_TRACE(testing::Message() << "seed " << test_seed());
  std::mt19937_64 random(test_seed());
  size_t hits = 0, misses = 0;
  std::vector<FlowKey> keys(256);
  std::vector<uint32_t> if_ids(keys.size());
  std::vector<const Policy*> found(keys.size());
  for (size_t want : {1u, 3u, 20u, 200u, 1000u, 30u, 0u, 500u}) {
    for (int round = 0; round < 6; ++round) {
      std::vector<Policy*> inserted, removed;
      std::vector<std::unique_ptr<Policy>> gone;
      for (size_t i = 0; i < 1 + want / 4 || policies.size() < want; ++i) {
        policies.push_back(make(random_selector(random), static_cast<uint32_t>(random() % 5),
                                random() % 3 == 0 ? 9 : 0));
        inserted.push_back(policies.back().get());
      }
      while (policies.size() > want) {
        const auto at = policies.begin() + static_cast<ptrdiff_t>(random() % policies.size());
        removed.push_back(at->get());
        gone.push_back(std::move(*at));
        policies.erase(at);
      }
      spd.change(inserted, removed);
      for (size_t i = 0; i < keys.size(); ++i) {
        keys[i] = random_flow(random);
        if_ids[i] = random() % 3 == 0 ? 9 : 0;
      }
      find_all(spd, keys, if_ids, found);
      for (size_t i = 0; i < keys.size(); ++i) {
        const Policy* right = naive_find(keys[i], if_ids[i]);
        ASSERT_EQ(spd.find(keys[i], if_ids[i]), right) << want << " policies, key " << i;
        ASSERT_EQ(found[i], right) << want << " policies, key " << i << " of a batch";
        ++(right == nullptr ? misses : hits);
      }
    }
  }
  EXPECT_GT(hits, 1000u);
  EXPECT_GT(misses, 1000u);
}

// What a look-up costs follows the shapes of the selectors, not the number of policies.
TEST_F(SpdTest, ReadsNoMoreSlotsWithTenThousandPoliciesThanWithTen) {
  std::mt19937_64 random(test_seed());
  const auto add_to = [&](uint32_t count) {
    for (auto i = static_cast<uint32_t>(policies.size()); i < count; ++i) {
      IpsecSelector wanted;
      const uint8_t length = i % 2 == 0 ? 24 : 32;
      wanted.source = {IpAddress::from(Ipv4Address{0x0a000000 + (i << 8)}), 24};
      wanted.destination = {IpAddress::from(Ipv4Address{0xac100000 + (i << 8)}), length};
      insert(wanted);
    }
  };
  const auto slots_each = [&] {
    EXPECT_EQ(spd.shapes(Family::kIpv4), 2u);
    size_t slots = 0;
    constexpr uint32_t kKeys = 10'000;
    for (uint32_t i = 0; i < kKeys; ++i) {
      const auto which = static_cast<uint32_t>(random() % (2 * policies.size()));  // half miss
      FlowKey key{Family::kIpv4, 6, 1, 2, {}, {}};
      key.source.bytes = IpAddress::from(Ipv4Address{0x0a000000 + (which << 8)}).bytes;
      key.destination.bytes = IpAddress::from(Ipv4Address{0xac100000 + (which << 8)}).bytes;
      slots += spd.slots_read(key, 0);
    }
    return static_cast<double>(slots) / kKeys;
  };
  add_to(10);
  const double ten = slots_each();
  add_to(10'000);
  const double many = slots_each();
  EXPECT_LT(many, 6.0);  // two shapes: 2 when all are hit at once
  EXPECT_LT(many, ten * 2);
}

// Policies that fit a packet come and go, many in one change or one by one. In every state between
// two changes a good one is the best; whoever meets another one, or none, has seen a mixture.
TEST(SpdReaders, NeverMeetAMixtureOfTwoStates) {
  lookup::Qsbr readers;
  Spd spd(readers);
  // Two of each shape, so that no shape comes and goes with one of them.
  const IpsecSelector fits[] = {
      selector("10.0.0.0/8", "0.0.0.0/0"), selector("10.1.0.0/16", "192.0.2.0/24"),
      selector("10.0.0.0/8", "0.0.0.0/0", 6), selector("10.1.1.1/32", "192.0.2.1/32")};
  uint64_t serial = 0;
  const auto make = [&](const IpsecSelector& selector, uint32_t priority, PolicyAction action) {
    auto policy = std::make_unique<Policy>();
    policy->selector = selector;
    policy->priority = priority;
    policy->action = action;
    policy->serial = ++serial;
    return policy;
  };
  constexpr PolicyAction kGood = PolicyAction::kProtect, kBad = PolicyAction::kBypass;
  std::vector<std::unique_ptr<Policy>> company;
  for (IpsecSelector shape : fits) {
    shape.source.address.bytes[0] = 172;
    company.push_back(make(shape, 1, kBad));
  }
  auto good = make(fits[0], 4, kGood), bad = make(fits[1], 5, kBad);
  std::vector<Policy*> first = {good.get(), bad.get()};
  for (const auto& policy : company) first.push_back(policy.get());
  spd.change(first, {});

  std::atomic<bool> stop{false};
  std::atomic<uint64_t> wrong{0}, batches{0};
  std::thread reader([&] {
    const std::vector<SpdWords<3>> keys(8, spd_words<3>(flow("10.1.1.1", "192.0.2.1", 6, 1, 2), 0));
    const uint32_t if_ids[8] = {};
    const Policy* found[8];
    while (!stop.load()) {
      spd.find_batch(keys, if_ids, found);
      for (const Policy* policy : found)
        if (policy == nullptr || policy->action != kGood) wrong.fetch_add(1);
      batches.fetch_add(1);
      readers.quiescent();
    }
  });
  std::mt19937_64 random(test_seed());
  std::deque<std::pair<uint64_t, std::unique_ptr<Policy>>> gone;
  const auto change = [&](std::vector<Policy*> inserted,
                          std::vector<std::unique_ptr<Policy>*> leaving) {
    std::vector<Policy*> removed;
    for (const auto* policy : leaving) removed.push_back(policy->get());
    spd.change(inserted, removed);
    const uint64_t token = readers.start();
    for (auto* policy : leaving) gone.emplace_back(token, std::move(*policy));
    while (!gone.empty() && readers.passed(gone.front().first)) gone.pop_front();
  };
  for (int i = 0; i < 20'000 || (batches.load() < 20'000 && i < 10'000'000); ++i) {
    auto better = make(fits[random() % 4], 1, kGood), worse = make(fits[random() % 4], 3, kBad);
    if (random() % 2 == 0) {
      change({better.get()}, {});
      change({worse.get()}, {});
      change({}, {&bad});
      change({}, {&good});
    } else {
      change({worse.get(), better.get()}, {&good, &bad});
    }
    good = make(fits[random() % 4], 2, kGood);
    bad = make(fits[random() % 4], 5, kBad);
    if (random() % 2 == 0) {
      change({good.get()}, {});
      change({}, {&worse});
      change({bad.get()}, {&better});
    } else {
      change({bad.get(), good.get()}, {&better, &worse});
    }
  }
  stop.store(true);
  reader.join();
  EXPECT_EQ(wrong.load(), 0u);
}

}  // namespace
}  // namespace hecto::router::esp
