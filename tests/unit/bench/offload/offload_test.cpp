// What hecto-bench offload computes, checks and writes; the speeds themselves are no one's to
// assert.
#include "bench/offload/offload.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/offload/report.hpp"
#include "gpu_offload/devices/host.hpp"
#include "gpu_offload/devices/scripted.hpp"

namespace hecto::bench::test {
namespace {

using gpu_offload::Answer;
using gpu_offload::Job;
using gpu_offload::Script;
using gpu_offload::ScriptedDevice;

OffloadTable small_table() {
  OffloadTable table{.name = "small", .v4 = {}, .v6 = {}};
  for (const char* text : {"10.0.0.0/8", "10.1.0.0/16", "10.1.2.128/25", "2001:db8::/32"})
    table.add(*lookup::IpPrefix::parse(text), 64);
  return table;
}

OffloadRow row(uint32_t batch, double worker_ns, double cpu_items_per_s) {
  return {.kind = "ipv4",
          .batch = batch,
          .items_per_s = 1e9,
          .worker_ns = worker_ns,
          .cpu_items_per_s = cpu_items_per_s};
}

OffloadMeasure briefly() {
  return {
      .batches = {1, 64}, .rounds = 2, .round_s = 1e-4, .latency_samples = 10, .energy_s = 1e-3};
}

}  // namespace

TEST(OffloadCrossover, CoresSavedAreTheDevicesShareTimesTheTimeSpared) {
  EXPECT_DOUBLE_EQ(cores_saved(10, 4, 1e9, 100e6), 0.6);
  EXPECT_DOUBLE_EQ(cores_saved(10, 4, 50e6, 100e6), 0.3);  // the device takes half of it
  EXPECT_LT(cores_saved(4, 10, 1e9), 0);
}

TEST(OffloadCrossover, IsTheBatchFromWhichOnTheDeviceStaysCheaper) {
  const OffloadRow rows[] = {row(1, 5, 1e8), row(4, 20, 5e7), row(16, 9, 5e7), row(64, 2, 1e8)};
  const Crossover found = crossover_of(rows);
  EXPECT_EQ(found.batch, 16u);  // not 1, as 4 is dearer again
  EXPECT_EQ(found.best_batch, 64u);
  EXPECT_DOUBLE_EQ(found.cpu_ns, 10);
  EXPECT_DOUBLE_EQ(found.cores_beaten, 10);
  EXPECT_DOUBLE_EQ(found.cores_saved, kLineRate * 8e-9);
}

TEST(OffloadCrossover, IsNoneWhereTheCpuStaysCheaper) {
  const OffloadRow rows[] = {row(1, 500, 1e8), row(64, 12, 1e8)};
  const Crossover found = crossover_of(rows);
  EXPECT_EQ(found.batch, 0u);
  EXPECT_EQ(found.best_batch, 64u);  // where it costs least
  EXPECT_LT(found.cores_saved, 0);
}

TEST(OffloadMeasures, EveryKindOfWorkOnTheHostDeviceAndFindsItsAnswersRight) {
  OffloadOptions options{.device = "host", .kinds = {}, .items = 1024, .payload_mb = 0};
  options.measure = briefly();
  options.payload_mb = 1;
  options.measure.check_only = true;
  auto result = measure_offload(options, small_table());
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(result->rows.size(), chosen_kinds({})->size() * 2);
  for (const OffloadRow& row : result->rows) EXPECT_GT(row.checked, 0u) << row.kind;
}

TEST(OffloadMeasures, RatesLatencyAndCostsOfEachBatchSize) {
  OffloadOptions options{.device = "host", .kinds = {"ipv", "seal-gcm 64"}, .items = 1024};
  options.payload_mb = 1;
  options.measure = briefly();
  auto result = measure_offload(options, small_table());
  ASSERT_TRUE(result) << result.error();
  const auto json = nlohmann::json::parse(offload_json(*result));
  ASSERT_EQ(json["rows"].size(), 6u);
  for (const auto& row : json["rows"]) {
    EXPECT_GT(row["items_per_s"], 0);
    EXPECT_GE(row["p99_us"], row["p50_us"]);
    EXPECT_GE(row["latency_samples"], 10);
    EXPECT_GT(row["cpu_items_per_s"], 0);
    EXPECT_EQ(row["gbps"] > 0, row["packet_bytes"] != 0);
  }
  EXPECT_EQ(json["crossover"].size(), 2u);  // of look-ups
  EXPECT_NE(offload_text(*result).find("seal-gcm 64"), std::string::npos);
}

// What a device answers wrongly is found, and what it does not answer ends the measurement.
class OffloadFailure : public testing::TestWithParam<std::pair<Answer, const char*>> {};

TEST_P(OffloadFailure, IsTold) {
  const auto [answer, told] = GetParam();
  const uint64_t now = 0;
  ScriptedDevice device(now, [answer = answer](const Job& job) {
    return Script{.answer = job.id == 3 ? answer : Answer::kRight};
  });
  ASSERT_EQ(device.restart(), gpu_offload::Status::kOk);
  auto work = Workload::lookup4(small_table(), 1024);
  ASSERT_TRUE(work) << work.error();
  auto runner = OffloadRunner::create(device, *work, 8);
  ASSERT_TRUE(runner) << runner.error();
  auto rows = (*runner)->measure(briefly());
  ASSERT_FALSE(rows);
  EXPECT_NE(rows.error().find(told), std::string::npos) << rows.error();
  EXPECT_EQ(rows.error().find("scripted, ipv4, batch 1"), 0u) << rows.error();
}

INSTANTIATE_TEST_SUITE_P(
    Answers, OffloadFailure,
    testing::Values(std::pair(Answer::kGarbage, "1 of 16 answers are not the CPU's"),
                    std::pair(Answer::kNothing, "1 of 16 answers are not the CPU's"),
                    std::pair(Answer::kShort, "fewer items"), std::pair(Answer::kError, "error"),
                    std::pair(Answer::kBroken, "broken"),
                    std::pair(Answer::kNoMemory, "out of memory")));

TEST(OffloadKinds, AreChosenByTheirBeginnings) {
  EXPECT_EQ(chosen_kinds({"ipv"})->size(), 2u);
  EXPECT_EQ(chosen_kinds({"ipv4", "seal-gcm"})->size(), 3u);
  const auto refused = chosen_kinds({"ipx"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().find("ipx: no kind of work begins so; known are ipv4, ipv6"), 0u);
}

TEST(OffloadJson, QuotesWhatADriverSays) {
  EXPECT_EQ(json_string("a \"b\" \\\n"), R"("a \"b\" \\\u000a")");
}

}  // namespace hecto::bench::test
