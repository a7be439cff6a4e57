// What one size gives, over scripted devices, and how it is told.
#include "bench/throughput/measure_size.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/bench/throughput/scripted_device.hpp"

namespace hecto::bench {
namespace {

ThroughputOptions options_for(ScriptedDevice& device) {
  ThroughputOptions options;
  options.search.now = device.clock();
  return options;
}

SizeResult measure(ScriptedDevice& device, const ThroughputOptions& options, double load = 0) {
  SizeResult size;
  size.size = "64";
  size.frame_bytes = 64;
  measure_size(device, nullptr, options, load, {}, 0, size);
  return size;
}

nlohmann::json json_of(const SizeResult& size) {
  ThroughputResult result;
  result.sizes.push_back(size);
  return to_json(result)["results"][0];
}

TEST(MeasureSize, GivesThroughputLatencyLossAndBursts) {
  ScriptedDevice device(knee(10e6));
  ThroughputOptions options = options_for(device);
  options.loss_curve = options.back_to_back = true;
  const SizeResult size = measure(device, options);
  EXPECT_FALSE(size.partial);
  ASSERT_EQ(size.loaded.size(), 4u);
  EXPECT_NEAR(size.loaded[1].pps, size.search->goals[0].pps * 0.9, 1);
  const auto json = json_of(size);
  EXPECT_NEAR(json["ndr"]["pps"].get<double>(), 10e6, 0.15e6);
  EXPECT_NEAR(json["ndr"]["gbps"].get<double>(), 5.12, 0.08);
  EXPECT_EQ(json["ndr"]["bounds"][0], json["ndr"]["pps"]);
  EXPECT_EQ(json["latency"].size(), 4u);
  EXPECT_TRUE(json["latency"][0]["device"].is_null());
  EXPECT_GT(json["loss_curve"].size(), 2u);
  EXPECT_GT(json["back_to_back"]["repetitions"], 0);
  EXPECT_FALSE(json["partial"].get<bool>());
  EXPECT_TRUE(json["error"].is_null());
  const std::string text = to_text(size);
  EXPECT_NE(text.find("IPv4 64 bytes\n"), std::string::npos) << text;
  EXPECT_NE(text.find("at 50%"), std::string::npos) << text;
}

// In the search and in what follows it.
TEST(MeasureSize, KeepsWhatWasThereWhenTheDeviceDies) {
  for (const unsigned trial : {10u, 40u}) {
    ScriptedDevice device(knee(10e6));
    device.die_at(trial);
    ThroughputOptions options = options_for(device);
    options.back_to_back = true;
    const SizeResult size = measure(device, options);
    const auto json = json_of(size);
    EXPECT_TRUE(json["partial"].get<bool>()) << trial;
    EXPECT_EQ(json["error"], "the router has ended by signal 9") << trial;
    EXPECT_NEAR(json["ndr"]["pps"].get<double>(), 10e6, 1e6) << trial;
    EXPECT_NE(to_text(size).find("(partial)"), std::string::npos);
  }
}

// A wire, to a generator that expects a router.
TEST(MeasureSize, NamesWhatCameBackWrong) {
  ScriptedDevice device(knee(0));
  device.lose_as(Verdict::kUnchanged);
  const SizeResult size = measure(device, options_for(device));
  const auto json = json_of(size);
  EXPECT_EQ(json["ndr"]["pps"], 0);
  EXPECT_EQ(json["ndr"]["limit"], "loses at every rate");
  EXPECT_GT(json["wrong"]["unchanged"], 0);
  EXPECT_GT(json["trials"][0]["wrong"], 0);
  EXPECT_NE(to_text(size).find("packets came back unchanged: TTL as it was sent"),
            std::string::npos)
      << to_text(size);
}

TEST(MeasureSize, KeepsTheRowsBeforeAFailure) {
  ScriptedDevice probe(knee(10e6)), device(knee(10e6));
  ThroughputOptions options = options_for(probe);
  measure(probe, options);
  device.die_at(probe.trials() + 2);
  options = options_for(device);
  options.loss_curve = true;
  const SizeResult size = measure(device, options);
  EXPECT_TRUE(size.partial);
  EXPECT_EQ(json_of(size)["loss_curve"].size(), 2u);
  EXPECT_EQ(json_of(size)["latency"].size(), 4u);
}

TEST(MeasureSize, AFixedLoadNeedsNoSearch) {
  ScriptedDevice device(knee(10e6));
  ThroughputOptions options = options_for(device);
  options.load = "1Mpps";
  SizeResult size = measure(device, options, 1e6);
  EXPECT_EQ(device.trials(), 1u);
  EXPECT_FALSE(size.search);
  EXPECT_EQ(size.loaded[0].pps, 1e6);
  options.soak_s = 100;
  testing::internal::CaptureStdout();
  size = measure(device, options, 1e6);
  testing::internal::GetCapturedStdout();
  EXPECT_EQ(json_of(size)["soak"]["intervals"], 10);
}

TEST(Blackout, IsTheTimeThatTheLostPacketsTookToSend) {
  ScriptedDevice device([](double pps, double seconds) { return pps * seconds - 500; });
  const auto result = measure_blackout(device, 1e6, 1, "reload", 0, [] { return uint64_t{1}; });
  ASSERT_TRUE(result);
  EXPECT_EQ(result->lost, 500u);
  EXPECT_NEAR(result->milliseconds(), 0.5, 1e-9);
}

TEST(CheckThroughput, RefusesWhatContradictsItself) {
  EXPECT_FALSE(check({}));
  ThroughputOptions options;
  options.soak_s = 10;
  EXPECT_EQ(check(options), "--soak wants a --load: the rate that it keeps");
  options = {};
  options.mac = "02:00:00:00:00:01";
  EXPECT_TRUE(check(options)->starts_with("--ports, --mac and --traffic belong to --dut none"));
  options.dut = "none";
  EXPECT_TRUE(check(options)->starts_with("--dut none wants --ports"));
  options.ports = {"0000:17:00.0,0000:17:00.1"};
  options.expect = "wire";
  EXPECT_FALSE(check(options)) << *check(options);
  options = {};
  options.expect = "wire";
  EXPECT_TRUE(check(options)->starts_with("--expect belongs to --dut none with --ports"));
}

}  // namespace
}  // namespace hecto::bench
