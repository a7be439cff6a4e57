// Flows under way: against a naive twin, and where more come than there is room for.
#include "router/ipfix/flow_cache.hpp"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "tests/beds/seed.hpp"

namespace hecto::router::test {
namespace {

IpfixFlow flow_number(uint32_t number) {
  IpfixFlow flow;
  flow.source = {10, uint8_t(number >> 16), uint8_t(number >> 8), uint8_t(number)};
  flow.destination = {192, 0, 2, 1};
  flow.protocol = 17;
  flow.ingress = 2;
  return flow;
}
uint32_t number_of(const IpfixFlow& flow) {
  return uint32_t{flow.source[1]} << 16 | uint32_t{flow.source[2]} << 8 | flow.source[3];
}

struct CacheBed {
  explicit CacheBed(const IpfixFlowCache::Options& options)
      : cache(options, [this](const IpfixRecord& record) { told.push_back(record); }) {}
  std::vector<IpfixRecord> told;
  IpfixFlowCache cache;
  uint64_t packets_told() const {
    uint64_t sum = 0;
    for (const IpfixRecord& record : told) sum += record.packets;
    return sum;
  }
};

TEST(IpfixFlowCache, AFlowIsToldOnceItRests) {
  CacheBed bed({100, 60'000, 1'000});
  bed.cache.add(flow_number(1), {100, 0xb8, 0x02}, 5'000);
  bed.cache.add(flow_number(1), {60, 0, 0x10}, 5'400);
  EXPECT_FALSE(bed.cache.expire(6'399, 10));
  EXPECT_TRUE(bed.told.empty());
  bed.cache.expire(6'400, 10);
  ASSERT_EQ(bed.told.size(), 1u);
  const IpfixRecord& r = bed.told[0];
  EXPECT_EQ(r.flow, flow_number(1));
  EXPECT_EQ(std::tuple(r.packets, r.bytes, r.first_ms, r.last_ms),
            std::tuple(2u, 160u, 5'000u, 5'400u));
  EXPECT_EQ(r.end, FlowEnd::kIdle);
  EXPECT_EQ(r.traffic_class, 0xb8) << "of the first packet";
  EXPECT_EQ(r.tcp_flags, 0x12) << "of all";
  EXPECT_EQ(bed.cache.size(), 0u);
}

TEST(IpfixFlowCache, OneThatGoesOnIsToldAndBeginsAnew) {
  CacheBed bed({100, 10'000, 1'000});
  for (uint64_t now = 0; now < 25'000; now += 500) {
    bed.cache.add(flow_number(1), {10}, now);
    bed.cache.expire(now, 10);
  }
  ASSERT_EQ(bed.told.size(), 2u);
  for (const IpfixRecord& r : bed.told) {
    EXPECT_EQ(r.end, FlowEnd::kActive);
    EXPECT_EQ(r.packets, 21u);
  }
  EXPECT_EQ(bed.told[1].first_ms, 10'500u);
  EXPECT_EQ(bed.packets_told() + bed.cache.packets(), 50u);
}

// Each packet a flow of its own: no more memory, and none is lost.
TEST(IpfixFlowCache, AFloodTellsThoseThatRestLongest) {
  CacheBed bed({1000, 60'000, 15'000});
  bed.cache.add(flow_number(0xffffff), {10}, 0);
  for (uint32_t i = 0; i < 1000; ++i) bed.cache.add(flow_number(i), {10}, i);
  const uint64_t memory = bed.cache.bytes();
  EXPECT_EQ(bed.cache.size(), 1000u);
  for (uint32_t i = 1000; i < 100'000; ++i) {
    bed.cache.add(flow_number(i), {10}, i);
    if (i % 100 == 0) bed.cache.add(flow_number(999), {10}, i);  // this one goes on
  }
  EXPECT_EQ(bed.cache.size(), 1000u);
  EXPECT_EQ(bed.cache.bytes(), memory);
  EXPECT_EQ(bed.cache.forced(), bed.told.size());
  EXPECT_EQ(bed.told.size(), 100'001u - 1000);
  EXPECT_EQ(number_of(bed.told[0].flow), 0xffffffu);
  EXPECT_EQ(number_of(bed.told[1].flow), 0u);
  for (const IpfixRecord& r : bed.told) {
    EXPECT_EQ(r.end, FlowEnd::kNoRoom);
    EXPECT_NE(number_of(r.flow), 999u);
  }
  EXPECT_EQ(bed.packets_told() + bed.cache.packets(), 100'001u + 990);
  bed.cache.set_room(10);
  EXPECT_TRUE(bed.cache.expire(100'000, 500));
  EXPECT_EQ(bed.cache.size(), 500u);
  EXPECT_EQ(bed.told.back().end, FlowEnd::kNoRoom);
  EXPECT_FALSE(bed.cache.expire(100'000, 500));
  EXPECT_EQ(bed.cache.size(), 10u);
  EXPECT_EQ(bed.cache.forced(), bed.told.size());
  EXPECT_TRUE(bed.cache.end_some(9));
  EXPECT_FALSE(bed.cache.end_some(9));
  EXPECT_EQ(bed.cache.size(), 0u);
  EXPECT_EQ(bed.told.back().end, FlowEnd::kForced);
  EXPECT_EQ(bed.packets_told(), 100'001u + 990);
  EXPECT_EQ(bed.cache.packets(), 0u);
}

TEST(IpfixFlowCache, ATurnEndsSoManyAndSaysThatThereAreMore) {
  CacheBed bed({1000, 60'000, 1'000});
  for (uint32_t i = 0; i < 500; ++i) bed.cache.add(flow_number(i), {10}, 0);
  EXPECT_TRUE(bed.cache.expire(2'000, 200));
  EXPECT_EQ(bed.told.size(), 200u);
  EXPECT_TRUE(bed.cache.expire(2'000, 200));
  EXPECT_FALSE(bed.cache.expire(2'000, 200));
  EXPECT_EQ(bed.told.size(), 500u);
}

TEST(IpfixFlowCache, EveryMemberOfTheKeyTellsFlowsApart) {
  CacheBed bed({100, 60'000, 15'000});
  std::vector<IpfixFlow> flows(12, flow_number(1));
  flows[1].source[15] = 1;
  flows[2].destination[0] = 1;
  flows[3].ingress = 9;
  flows[4].egress = 9;
  flows[5].sampling = 9;
  flows[6].source_port = 9;
  flows[7].destination_port = 9;
  flows[8].icmp = 9;
  flows[9].vlan = 9;
  flows[10].protocol = 9;
  flows[11].forwarding = 9;
  for (const IpfixFlow& flow : flows) bed.cache.add(flow, {1}, 0);
  EXPECT_EQ(bed.cache.size(), flows.size());
}

// Few flows and little room, so that all ways to end are taken often.
TEST(IpfixFlowCache, IsAsANaiveTwin) {
  std::mt19937_64 random(test_seed());
  struct Twin {
    uint64_t packets = 0, bytes = 0, first = 0, last = 0, order = 0;
  };
  constexpr uint64_t kActive = 700, kIdle = 200;
  constexpr uint32_t kRoom = 40;
  CacheBed bed({kRoom, kActive, kIdle});
  std::map<uint32_t, Twin> twin;
  using Told = std::tuple<uint32_t, uint64_t, uint64_t, uint64_t, uint64_t>;
  std::vector<Told> expected, told;
  const auto end = [&](uint32_t number) {
    const Twin& t = twin.at(number);
    expected.emplace_back(number, t.packets, t.bytes, t.first, t.last);
    twin.erase(number);
  };
  uint64_t now = 0, order = 0;
  for (int step = 0; step < 200'000; ++step) {
    const auto number = static_cast<uint32_t>(random() % 60);
    const auto bytes = static_cast<uint32_t>(random() % 1500);
    if (!twin.contains(number) && twin.size() == kRoom) {
      uint32_t oldest = twin.begin()->first;
      for (const auto& [other, t] : twin)
        if (t.order < twin.at(oldest).order) oldest = other;
      end(oldest);
    }
    Twin& t = twin[number];
    if (t.packets == 0) t.first = now;
    ++t.packets;
    t.bytes += bytes;
    t.last = now;
    t.order = ++order;
    bed.cache.add(flow_number(number), {bytes}, now);
    now += random() % 40 == 0 ? random() % 300 : random() % 3;
    if (random() % 20 == 0) {
      bed.cache.expire(now, SIZE_MAX);
      std::vector<uint32_t> over;
      for (const auto& [other, u] : twin)
        if (now - u.last >= kIdle || now - u.first >= kActive) over.push_back(other);
      for (const uint32_t other : over) end(other);
    }
    ASSERT_EQ(bed.cache.size(), twin.size()) << step << ", seed " << test_seed();
  }
  for (const IpfixRecord& r : bed.told)
    told.emplace_back(number_of(r.flow), r.packets, r.bytes, r.first_ms, r.last_ms);
  std::sort(told.begin(), told.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(told, expected) << "seed " << test_seed();
}

}  // namespace
}  // namespace hecto::router::test
