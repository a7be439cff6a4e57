#include "router/esp/spd.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <thread>

#include "tests/unit/lookup/qsbr.hpp"
#include "tests/unit/seed.hpp"

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

// As Linux's xfrm_selector_match.
bool matches(const SpdRule& rule, const FlowKey& key, uint32_t if_id) {
  const IpsecSelector& wanted = rule.selector;
  IpAddress source, destination;
  source.family = destination.family = key.family;
  source.bytes = key.source.bytes;
  destination.bytes = key.destination.bytes;
  return wanted.family == key.family && rule.if_id == if_id && wanted.source.contains(source) &&
         wanted.destination.contains(destination) &&
         (wanted.protocol == 0 || wanted.protocol == key.protocol) &&
         ((key.source_port ^ wanted.source_port) & wanted.source_port_mask) == 0 &&
         ((key.destination_port ^ wanted.destination_port) & wanted.destination_port_mask) == 0;
}

const Policy* naive_find(const std::vector<SpdRule>& rules, const FlowKey& key, uint32_t if_id) {
  for (const SpdRule& rule : rules)
    if (matches(rule, key, if_id)) return rule.policy;
  return nullptr;
}

TEST(Spd, FindsNothingWhenEmpty) {
  Spd spd;
  EXPECT_TRUE(spd.empty());
  EXPECT_EQ(spd.find(flow("10.0.0.1", "10.0.0.2"), 0), nullptr);
  EXPECT_EQ(spd.find(flow("2001:db8::1", "2001:db8::2"), 0), nullptr);
}

TEST(Spd, TheFirstRuleWinsAlsoAgainstAMoreSpecificOne) {
  Policy wide, narrow, same;
  const std::vector<SpdRule> rules = {{selector("10.0.0.0/8", "0.0.0.0/0"), 0, &wide},
                                      {selector("10.1.0.0/16", "10.2.0.0/16", 6), 0, &narrow},
                                      {selector("10.0.0.0/8", "0.0.0.0/0"), 0, &same}};
  const FlowKey key = flow("10.1.0.1", "10.2.0.1", 6, 1, 2);
  EXPECT_EQ(Spd(rules).find(key, 0), &wide);
  const std::vector<SpdRule> other = {rules[1], rules[2], rules[0]};
  EXPECT_EQ(Spd(other).find(key, 0), &narrow);
  EXPECT_EQ(Spd(other).find(flow("10.1.0.1", "10.2.0.1", 17, 1, 2), 0), &same);
}

TEST(Spd, AnInterfaceIdMustBeTheSame) {
  Policy none, tunnel;
  const std::vector<SpdRule> rules = {{selector("0.0.0.0/0", "0.0.0.0/0"), 5, &tunnel},
                                      {selector("0.0.0.0/0", "0.0.0.0/0"), 0, &none}};
  Spd spd(rules);
  const FlowKey key = flow("10.1.0.1", "10.2.0.1");
  EXPECT_EQ(spd.find(key, 5), &tunnel);
  EXPECT_EQ(spd.find(key, 0), &none);
  EXPECT_EQ(spd.find(key, 6), nullptr);
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

TEST(Spd, AgreesWithALinearListOfRandomPolicies) {
  SCOPED_TRACE(testing::Message() << "seed " << test_seed());
  std::mt19937_64 random(test_seed());
  size_t hits = 0, misses = 0;
  for (size_t count : {1u, 3u, 20u, 200u, 1000u}) {
    for (int round = 0; round < 4; ++round) {
      std::vector<std::unique_ptr<Policy>> policies;
      std::vector<SpdRule> rules;
      for (size_t i = 0; i < count; ++i) {
        policies.push_back(std::make_unique<Policy>());
        rules.push_back({random_selector(random), static_cast<uint32_t>(random() % 3 == 0 ? 9 : 0),
                         policies.back().get()});
      }
      Spd spd(rules);
      std::vector<FlowKey> keys(Spd::kMaxBatch);
      std::vector<uint32_t> if_ids(keys.size());
      std::vector<const Policy*> found(keys.size());
      for (int batch = 0; batch < 8; ++batch) {
        for (size_t i = 0; i < keys.size(); ++i) {
          keys[i] = random_flow(random);
          if_ids[i] = random() % 3 == 0 ? 9 : 0;
        }
        spd.find_batch(keys, if_ids.data(), found.data());
        for (size_t i = 0; i < keys.size(); ++i) {
          const Policy* right = naive_find(rules, keys[i], if_ids[i]);
          ASSERT_EQ(spd.find(keys[i], if_ids[i]), right) << count << " policies, key " << i;
          ASSERT_EQ(found[i], right) << count << " policies, key " << i << " of a batch";
          ++(right == nullptr ? misses : hits);
        }
      }
    }
  }
  EXPECT_GT(hits, 1000u);
  EXPECT_GT(misses, 1000u);
}

// What a look-up costs follows the shapes of the selectors, not the number of policies.
TEST(Spd, ReadsNoMoreSlotsWithTenThousandPoliciesThanWithTen) {
  std::mt19937_64 random(test_seed());
  auto slots_each = [&](uint32_t policies) {
    Policy policy;
    std::vector<SpdRule> rules;
    for (uint32_t i = 0; i < policies; ++i) {
      SpdRule rule;
      const uint8_t length = i % 2 == 0 ? 24 : 32;
      rule.selector.source = {IpAddress::from(Ipv4Address{0x0a000000 + (i << 8)}), 24};
      rule.selector.destination = {IpAddress::from(Ipv4Address{0xac100000 + (i << 8)}), length};
      rule.policy = &policy;
      rules.push_back(rule);
    }
    Spd spd(rules);
    EXPECT_EQ(spd.shapes(Family::kIpv4), 2u);
    size_t slots = 0;
    constexpr uint32_t kKeys = 10'000;
    for (uint32_t i = 0; i < kKeys; ++i) {
      const uint32_t which = static_cast<uint32_t>(random() % (2 * policies));  // half of them miss
      FlowKey key{Family::kIpv4, 6, 1, 2, {}, {}};
      key.source.bytes = IpAddress::from(Ipv4Address{0x0a000000 + (which << 8)}).bytes;
      key.destination.bytes = IpAddress::from(Ipv4Address{0xac100000 + (which << 8)}).bytes;
      slots += spd.slots_read(key, 0);
    }
    return static_cast<double>(slots) / kKeys;
  };
  const double ten = slots_each(10), many = slots_each(10'000);
  EXPECT_LT(many, 6.0);  // two shapes: 2 when all are hit at once
  EXPECT_LT(many, ten * 2);
}

TEST(Spd, ReadersMeetTheOldOrTheNewOneWhenItIsReplaced) {
  lookup::Qsbr readers;
  Policy before, after;
  const std::vector<SpdRule> old_rules = {{selector("10.0.0.0/8", "0.0.0.0/0"), 0, &before}};
  const std::vector<SpdRule> new_rules = {{selector("10.0.0.0/8", "0.0.0.0/0"), 0, &after}};
  auto current = std::make_unique<Spd>(old_rules);
  std::atomic<const Spd*> published{current.get()};
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> wrong{0};
  std::thread reader([&] {
    const FlowKey key = flow("10.1.1.1", "192.0.2.1", 6, 1, 2);
    while (!stop.load()) {
      const Policy* found = published.load(std::memory_order_acquire)->find(key, 0);
      if (found != &before && found != &after) wrong.fetch_add(1);
      readers.quiescent();
    }
  });
  for (int i = 0; i < 300; ++i) {
    auto fresh = std::make_unique<Spd>(i % 2 == 0 ? new_rules : old_rules);
    published.store(fresh.get(), std::memory_order_release);
    std::swap(current, fresh);
    const uint64_t token = readers.start();
    while (!readers.passed(token)) std::this_thread::yield();
  }
  stop.store(true);
  reader.join();
  EXPECT_EQ(wrong.load(), 0u);
}

}  // namespace
}  // namespace hecto::router::esp
