#include <gtest/gtest.h>

#include "bench/lookup/plot.hpp"
#include "bench/lookup/report.hpp"

namespace hecto::bench {
namespace {

LookupResult some_result() {
  LookupResult result;
  result.machine = "A & B";
  result.table = "synthetic";
  result.tsc_hz = 2'000'000'000;
  for (const char* state : {"cold", "warm"})
    for (const char* engine : {"hecto", "rte_fib"})
      result.rows.push_back({4, "in-table", engine, state, 5.5, 5, 6, 363.6, 1 << 25});
  result.loads = {{4, "hecto", 0.25, 0.2, 3, 1 << 25, 1 << 26, 0}};
  result.updates = {{4, "hecto", 2, 1, 500000, 600000, 100}};
  result.dead_next_hop = {{4, 901899, 100, 200, 0.3, true}};
  result.skipped = {{"rte_fib_avx512", "no such CPU", false}};
  return result;
}

TEST(LookupJson, HasFlatRowsWithTheWarmOnesFirst) {
  const nlohmann::json json = to_json(some_result());
  ASSERT_EQ(json["rows"].size(), 4u);
  for (const auto& row : json["rows"]) {
    for (const char* key : {"family", "destinations", "engine", "cycles", "mlps", "bytes", "state"})
      EXPECT_TRUE(row.contains(key)) << key;
    for (const auto& [key, value] : row.items()) EXPECT_TRUE(value.is_primitive()) << key;
  }
  EXPECT_EQ(json["rows"][0]["state"], "warm");
  EXPECT_EQ(json["rows"][1]["state"], "warm");
  EXPECT_EQ(json["rows"][2]["state"], "cold");
  EXPECT_EQ(json["rows"][0]["engine"], "hecto");
  EXPECT_EQ(json["rows"][0]["cycles"], 5.5);
}

TEST(LookupJson, HasASectionForEachMeasurement) {
  const nlohmann::json json = to_json(some_result());
  EXPECT_EQ(json["machine"]["name"], "A & B");
  EXPECT_EQ(json["table"]["name"], "synthetic");
  EXPECT_EQ(json["load"][0]["seconds"], 0.25);
  EXPECT_EQ(json["memory"][0]["total_bytes"], 1 << 26);
  EXPECT_EQ(json["updates"][0]["readers"], 2);
  EXPECT_EQ(json["dead_next_hop"][0]["all_moved"], true);
  EXPECT_EQ(json["skipped"][0]["engine"], "rte_fib_avx512");
  EXPECT_TRUE(to_json(LookupResult{})["rows"].is_array());
}

TEST(LookupText, SaysWhatWasMeasuredAndWhatWasSkipped) {
  const std::string text = to_text(some_result());
  for (const char* words : {"A & B", "synthetic", "in-table", "5.5", "(364)", "2 on 1",
                            "all of them looked up", "skipped rte_fib_avx512: no such CPU"})
    EXPECT_NE(text.find(words), std::string::npos) << words << " in\n" << text;
  EXPECT_EQ(text.find("IPv6\n"), std::string::npos) << text;
}

TEST(LookupVerdict, FailsWhereAPeerThatTheCpuRunsWasSkipped) {
  LookupResult result = some_result();
  EXPECT_TRUE(verdict(result));
  result.skipped.push_back({"rte_fib6_avx512", "not in this DPDK", true});
  const auto failed = verdict(result);
  ASSERT_FALSE(failed);
  EXPECT_EQ(
      failed.error().message,
      "rte_fib6_avx512 was skipped though this CPU runs it (not in this DPDK): the comparison is "
      "not whole; use a DPDK that has it, or say --without rte_fib6_avx512");
}

TEST(LookupVerdict, FailsWhereRoutesOfADeadNextHopStayed) {
  LookupResult result = some_result();
  result.dead_next_hop[0].all_moved = false;
  EXPECT_FALSE(verdict(result));
}

TEST(LookupPicture, HasABarForEachWarmRow) {
  LookupResult result = some_result();
  const auto bars = [](const Plot& plot) {
    size_t points = 0;
    for (const PlotLine& line : plot.lines) points += line.points.size();
    return points;
  };
  Picture picture = picture_of(result);
  EXPECT_NE(picture.notes[0].find("A & B"), std::string::npos);
  ASSERT_EQ(picture.plots.size(), 1u);
  EXPECT_EQ(bars(picture.plots[0]), 2u);
  EXPECT_EQ(picture.plots[0].lines.size(), 2u);  // the legend
  result.rows.push_back({6, "zipf", "hecto", "warm", 20, 19, 21, 100, 1 << 25});
  picture = picture_of(result);
  ASSERT_EQ(picture.plots.size(), 2u);
  EXPECT_EQ(picture.plots[1].title, "IPv6");
  EXPECT_EQ(bars(picture.plots[1]), 1u);
  EXPECT_EQ(picture.plots[1].lines[0].points[0].most, 21);
}

}  // namespace
}  // namespace hecto::bench
