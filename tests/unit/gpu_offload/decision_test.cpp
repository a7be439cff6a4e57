#include "gpu_offload/decision.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "tests/beds/seed.hpp"

namespace hecto::gpu_offload {
namespace {

constexpr double kMs = 1e6;

struct Costs {
  double fixed = 0;
  double item = 0;
  double byte = 0;
  double of(double items, double bytes) const { return fixed + item * items + byte * bytes; }
};

// A worker whose costs are written down, with 5% of noise: chunks come at a rate, go where the
// decision says, and slots close as the stage closes them.
struct Simulation {
  explicit Simulation(Mode mode = Mode::kAuto) : decision(with(mode)) {}
  static DecisionOptions with(Mode mode) {
    DecisionOptions options;
    options.mode = mode;
    return options;
  }
  double noisy(double ns) { return ns * (0.95 + 0.1 * static_cast<double>(rng() % 1000) / 1000); }

  // `lie`: what the device's costs are multiplied by while it has the work.
  void run(double ms, double items_per_s, double lie = 1) {
    const double end_ns = now_ns + ms * kMs;
    while (now_ns < end_ns) {
      auto n = static_cast<uint32_t>(std::clamp(items_per_s * 10e-6, 1.0, 256.0));
      now_ns += n * 1e9 / items_per_s;
      auto bytes = static_cast<uint64_t>(n * bytes_per_item);
      Side side = decision.choose(n, bytes, ready, static_cast<uint64_t>(now_ns));
      if (slot_items > 0 &&
          (side == Side::kCpu || slot_items + n > 4096 || now_ns - slot_opened_ns >= 20000))
        close(lie);
      items += n;
      if (side == Side::kCpu) {
        double ns = noisy(cpu.of(n, static_cast<double>(bytes)));
        decision.cpu_took(n, bytes, static_cast<uint64_t>(ns));
        spent_ns += ns;
      } else {
        if (slot_items == 0) slot_opened_ns = now_ns;
        slot_items += n;
        on_device += n;
      }
    }
  }
  void close(double lie) {
    const double by = decision.explain().side == Side::kDevice ? lie : 1;
    double bytes = slot_items * bytes_per_item;
    double ns = noisy(worker.of(slot_items, bytes)) * by;
    decision.device_took(static_cast<uint32_t>(slot_items), static_cast<uint64_t>(bytes),
                         static_cast<uint64_t>(ns),
                         static_cast<uint64_t>(noisy(round_trip.of(slot_items, bytes)) * by));
    spent_ns += ns;
    slot_items = 0;
  }
  double item_ns() const { return spent_ns / items; }
  void forget() { items = spent_ns = on_device = 0; }

  std::mt19937_64 rng{test_seed()};
  Decision decision;
  Costs cpu{20, 50, 0.5};  // like ESP
  Costs worker{2000, 6, 0.05};
  Costs round_trip{15000, 5, 0.01};
  double bytes_per_item = 0;
  bool ready = true;
  double now_ns = 1e9;
  double items = 0;
  double on_device = 0;
  double spent_ns = 0;
  double slot_items = 0;
  double slot_opened_ns = 0;
};

TEST(CostModel, FindsThePartsOfACost) {
  CostModel model;
  std::mt19937_64 rng(test_seed());
  for (int i = 0; i < 300; ++i) {
    auto items = static_cast<double>(1 + rng() % 1000);
    double bytes = items * static_cast<double>(64 + rng() % 1400);
    model.add(items, bytes, 3000 + 7 * items + 0.3 * bytes);
  }
  EXPECT_NEAR(model.fixed_ns(), 3000, 300);
  EXPECT_NEAR(model.item_ns(), 7, 3);
  EXPECT_NEAR(model.byte_ns(), 0.3, 0.01);
  EXPECT_NEAR(model.cost_ns(500, 500 * 700), 3000 + 7 * 500 + 0.3 * 500 * 700, 2000);
}

TEST(CostModel, FollowsACostThatChanges) {
  CostModel model;
  for (double item_ns : {10.0, 30.0}) {
    for (int i = 0; i < 400; ++i) model.add(1 + i % 200, 0, 500 + item_ns * (1 + i % 200));
    EXPECT_NEAR(model.cost_ns(100, 0), 500 + 100 * item_ns, 50 + item_ns);
  }
}

TEST(Decision, TakesTheDeviceWhereItSavesAndNotWhereItDoesNot) {
  Simulation saves;
  saves.run(300, 8e6);
  EXPECT_EQ(saves.decision.explain().side, Side::kDevice);
  EXPECT_EQ(saves.decision.explain().why, Why::kCosts);

  Simulation loses;
  loses.cpu = {20, 5, 0};
  loses.run(300, 40e6);
  EXPECT_EQ(loses.decision.explain().side, Side::kCpu);
  EXPECT_EQ(loses.decision.explain().why, Why::kCosts);
  Explanation e = loses.decision.explain();
  EXPECT_NEAR(e.cpu_item_ns, 5.1, 0.5) << "tells what both sides cost";
  EXPECT_GT(e.device_item_ns, 6);
  EXPECT_NEAR(e.cpu_load, 0.2, 0.02);
}

TEST(Decision, CrossesOverWhereTheCostsDo) {
  // The device's fixed cost is shared by what is gathered in 20 us: at `rate`, worker.fixed / B.
  for (double rate : {2.6e6, 3e6, 5e6, 10e6, 20e6}) {
    Simulation test;
    test.cpu = {0, 40, 0};
    test.worker = {2000, 10, 0};
    test.run(400, rate);
    const double device_ns = 10 + 2000 / (rate * 20e-6);
    ASSERT_TRUE(device_ns < 40 * 0.93 || device_ns > 40);
    EXPECT_EQ(test.decision.explain().side, device_ns < 40 ? Side::kDevice : Side::kCpu) << rate;
  }
}

TEST(Decision, LeavesLowLoadToTheCpu) {
  Simulation test;
  test.run(200, 1e6);
  EXPECT_EQ(test.decision.explain().why, Why::kLowLoad);
  EXPECT_EQ(test.decision.explain().side, Side::kCpu);
  test.run(200, 8e6);
  EXPECT_EQ(test.decision.explain().side, Side::kDevice);
  test.run(200, 1e6);
  EXPECT_EQ(test.decision.explain().side, Side::kCpu);
}

// At low load the device cannot get the work, whatever a probe would tell of it.
TEST(Decision, DoesNotProbeAtLowLoad) {
  Simulation test;
  test.run(1000, 1e6);
  ASSERT_EQ(test.decision.explain().why, Why::kLowLoad);
  test.forget();
  test.run(1000, 1e6);
  EXPECT_EQ(test.on_device, 0);
  test.run(200, 8e6);
  EXPECT_EQ(test.decision.explain().side, Side::kDevice) << "with more load it is asked again";
}

TEST(Decision, KeepsTheLatencyBound) {
  Simulation test;
  test.round_trip.fixed = 90000;
  test.run(300, 8e6);
  EXPECT_EQ(test.decision.explain().side, Side::kCpu);
  EXPECT_EQ(test.decision.explain().why, Why::kLatency);
  EXPECT_GT(test.decision.explain().latency_ns, 100000);
}

TEST(Decision, LeavesADeviceThatDoesNotKeepUp) {
  Simulation test;
  test.round_trip = {1000, 600, 0};  // 8 slots of 80 items in 49 us: 13 M/s, and then?
  test.run(300, 4e6);
  EXPECT_EQ(test.decision.explain().side, Side::kDevice);
  test.round_trip = {1000, 2500, 0};  // 8 slots of 20 in 51 us: 3.1 M/s
  Simulation slow;
  slow.round_trip = {1000, 2500, 0};
  slow.run(300, 3.9e6);
  EXPECT_EQ(slow.decision.explain().side, Side::kCpu);
}

TEST(Decision, SidesOfALikeCostDoNotAlternate) {
  Simulation test;
  test.cpu = {0, 40, 0};
  test.worker = {0, 39, 0};
  test.run(2000, 8e6);
  EXPECT_EQ(test.decision.explain().switches, 0u);
}

// By less than a tenth: taken when it has lasted, and kept.
TEST(Decision, ALittleBetterIsTakenWhenItLasts) {
  Simulation test;
  test.cpu = {0, 40, 0};
  test.worker = {0, 37, 0};
  test.run(60, 8e6);
  EXPECT_EQ(test.decision.explain().side, Side::kCpu) << "not at once";
  test.run(2000, 8e6);
  EXPECT_EQ(test.decision.explain().side, Side::kDevice);
  EXPECT_EQ(test.decision.explain().switches, 1u);
}

TEST(Decision, ProbesAHundredthOfTheWork) {
  Simulation test;
  test.cpu = {20, 5, 0};
  test.run(1000, 40e6);
  EXPECT_NEAR(test.on_device / test.items, 0.01, 0.005);
  test.cpu = {20, 38, 0};  // the device becomes the better one, and probes tell
  test.run(1000, 8e6);
  EXPECT_EQ(test.decision.explain().side, Side::kDevice);
  test.forget();
  test.run(1000, 8e6);
  EXPECT_NEAR(test.on_device / test.items, 0.99, 0.005);
  test.cpu = {20, 5, 0};
  test.run(1000, 40e6);
  EXPECT_EQ(test.decision.explain().side, Side::kCpu);
}

TEST(Decision, ProbesCostNoMoreThanAHundredthOfTheTime) {
  Simulation test;
  test.cpu = {20, 2000, 0};
  test.run(1000, 2e6);
  ASSERT_EQ(test.decision.explain().side, Side::kDevice);
  test.forget();
  test.run(1000, 2e6);
  EXPECT_LT(test.on_device, test.items) << "there are some";
  EXPECT_LT(test.item_ns(), 1.02 * test.worker.of(40, 0) / 40);
}

// What comes while a probe is there waits behind it.
TEST(Decision, ProbesOfASlowDeviceAreThereForAFiftiethOfTheTime) {
  Simulation test;
  test.round_trip.fixed = 5 * kMs;
  test.run(3000, 8e6);
  test.forget();
  test.run(10000, 8e6);
  const double probes = test.on_device / test.decision.explain().batch_items;
  EXPECT_GT(probes, 10);
  EXPECT_LT(probes * 5, 10000 * 0.025);
}

TEST(Decision, ADeviceThatIsWorseThanItsProbesIsKeptAway) {
  Simulation test;
  test.run(10000, 5e6, 6);
  Simulation never(Mode::kNever);
  never.run(1000, 5e6);  // its cost does not change
  EXPECT_LT(test.item_ns(), never.item_ns() * 1.05);
  EXPECT_GT(test.decision.explain().switches, 2u);
  EXPECT_LT(test.decision.explain().switches, 40u);
}

TEST(Decision, ModesAreObeyed) {
  Simulation always(Mode::kAlways);
  always.run(100, 1e6);
  EXPECT_EQ(always.on_device, always.items);
  EXPECT_EQ(always.decision.explain().why, Why::kConfigured);
  always.ready = false;
  always.forget();
  always.run(100, 1e6);
  EXPECT_EQ(always.on_device, 0);
  Simulation never(Mode::kNever);
  never.run(100, 20e6);
  EXPECT_EQ(never.on_device, 0);
}

TEST(Decision, WithoutADeviceSaysSo) {
  Simulation test;
  test.ready = false;
  test.run(100, 8e6);
  EXPECT_EQ(test.decision.explain().why, Why::kNoDevice);
  EXPECT_EQ(test.on_device, 0);
  test.ready = true;
  test.run(300, 8e6);
  EXPECT_EQ(test.decision.explain().side, Side::kDevice);
  test.ready = false;
  test.run(100, 8e6);
  EXPECT_EQ(test.decision.explain().side, Side::kCpu);
}

// Any load above the low one (a tenth of a core: 3.4 M/s at 30 ns) and any size: at most 5% above the
// better of the two fixed modes; 15% where the load jumps anywhere every 40 ms (of 40 seeds 11% was
// the most).
TEST(Decision, AutoIsCloseToTheBetterOfNeverAndAlways) {
  using Load = std::function<double(int)>;  // items/s in the i-th 40 ms
  const uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 rng(seed);
  std::vector<double> random_rates(10);
  for (double& rate : random_rates) rate = 4e6 + static_cast<double>(rng() % 14'000'000);
  const Load loads[] = {[](int) { return 4e6; }, [](int) { return 15e6; },
                        [](int i) { return i % 2 ? 2.5e6 : 15e6; },
                        [](int i) { return i / 5 % 2 ? 2.5e6 : 15e6; },
                        [&](int i) { return random_rates[static_cast<size_t>(i)]; }};
  const Costs cpus[] = {{0, 30, 0}, {20, 60, 0.5}};
  for (const Load& load : loads) {
    for (const Costs& cpu : cpus) {
      for (double bytes : {0.0, 300.0}) {
        double item_ns[3];
        for (Mode mode : {Mode::kAuto, Mode::kNever, Mode::kAlways}) {
          Simulation test(mode);
          test.cpu = cpu;
          test.worker = {2000, 8, 0.05};
          test.bytes_per_item = bytes;
          test.run(300, load(0));  // learns
          test.forget();
          for (int i = 0; i < 10; ++i) test.run(40, load(i));
          item_ns[static_cast<int>(mode)] = test.item_ns();
        }
        const double most = &load == std::end(loads) - 1 ? 1.15 : 1.05;
        EXPECT_LT(item_ns[0], most * std::min(item_ns[1], item_ns[2]))
            << "load " << &load - loads << " cpu " << cpu.item << " bytes " << bytes << " never "
            << item_ns[1] << " always " << item_ns[2];
      }
    }
  }
}

}  // namespace
}  // namespace hecto::gpu_offload
