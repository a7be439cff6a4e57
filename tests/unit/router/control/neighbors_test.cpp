// Linux's neighbors: which are asked for, how fast, and when the table is called full.
#include <gtest/gtest.h>

#include "router/control/neighbor_control.hpp"
#include "tests/beds/control.hpp"

namespace hecto::router::test {
namespace {

constexpr uint16_t kReachable = 0x02, kStale = 0x04;
constexpr const char* kPorts = "ports: {wan0: {device: eth1, addresses: [10.0.0.1/8]}}\n";

IpAddress host(uint32_t number) {
  return IpAddress::from(lookup::Ipv4Address{0x0a010000u + number});
}

struct NeighborBed {
  NeighborBed() : control(bed->linux_side, bed->routing, bed->notes) {}
  void neighbors(uint32_t count, uint16_t state) {
    for (uint32_t i = 0; i < count; ++i)
      bed->events.neighbor({11, host(i), {2, 0, 0, 0, 0, 1}, state, false}, false);
  }
  std::unique_ptr<ControlBed> bed = ControlBed::started(kPorts, true);
  NeighborControl control;
};

// None of them stops control: each turn asks for a few.
TEST(NeighborControl, AHundredThousandIdleOnesAreAskedForInTurnsEachOnce) {
  constexpr uint32_t kCount = 100'000;
  NeighborBed it;
  it.neighbors(kCount, kStale);
  it.bed->routing.commit();
  EXPECT_EQ(it.bed->routing.neighbors().size(), kCount);
  it.control.find_stale();
  EXPECT_EQ(it.control.waiting(), kCount);
  it.control.probe_some();
  EXPECT_EQ(it.bed->linux_side.probed.size(), NeighborControl::kProbesATurn);
  it.control.find_stale();  // while others wait
  for (size_t turn = 0; turn < kCount / NeighborControl::kProbesATurn + 1; ++turn)
    it.control.probe_some();
  EXPECT_EQ(it.control.waiting(), 0u);
  ASSERT_EQ(it.bed->linux_side.probed.size(), kCount);
  for (const auto& [address, times] : it.bed->linux_side.probed)
    ASSERT_EQ(times, 1u) << address.to_string();
}

TEST(NeighborControl, ThoseThatLinuxUsesItselfAreLeftAlone) {
  NeighborBed it;
  it.neighbors(10, kReachable);
  it.control.find_stale();
  EXPECT_EQ(it.control.waiting(), 0u);
}

TEST(NeighborControl, SaysOnceThatTheTableIsNearlyFullAndAgainAfterThereWasRoom) {
  NeighborBed it;
  const auto lines = [&] {
    size_t count = 0;
    for (const std::string& line : it.bed->notes.lines()) count += line.starts_with("neighbors: ");
    return count;
  };
  const auto judge = [&](uint64_t entries, uint64_t refused) {
    it.control.judge(lookup::Family::kIpv4, {entries, 1000, refused});
  };
  judge(899, 5);  // refused before we came
  EXPECT_EQ(lines(), 0u);
  judge(900, 5);
  judge(950, 9);
  ASSERT_EQ(lines(), 1u);
  EXPECT_EQ(it.bed->notes.lines().back(),
            "neighbors: Linux's IPv4 table has 900 of 1000 entries: hosts will not be reached; "
            "raise net.ipv4.neigh.default.gc_thresh3");
  judge(800, 9);
  judge(740, 9);
  judge(741, 10);
  EXPECT_EQ(lines(), 2u);
  EXPECT_NE(it.bed->notes.lines().back().find("and has refused new ones"), std::string::npos);
  it.control.judge(lookup::Family::kIpv6, {1000, 1000, 0});
  EXPECT_EQ(lines(), 3u);
}

TEST(NeighborLimits, ReadTheKernelsStatistics) {
  const auto use = neighbor_limits::parse_statistics(
      "entries  allocs   destroys table_fulls\n"
      "0000041a 00000ff0 00000001 00000003\n"
      "0000041a 00000ff0 00000001 00000010\n");
  ASSERT_TRUE(use);
  EXPECT_EQ(use->entries, 0x41au);
  EXPECT_EQ(use->refused, 0x13u);
  EXPECT_FALSE(neighbor_limits::parse_statistics(""));
  EXPECT_FALSE(neighbor_limits::parse_statistics("entries table_fulls\n"));
}

}  // namespace
}  // namespace hecto::router::test
