#include "gpu_offload/shader.hpp"

#include <random>

#include "tests/beds/seed.hpp"
#include "tests/unit/gpu_offload/fixture.hpp"

namespace hecto::gpu_offload {
namespace {

// Three workers behind a shader on a scripted device; the test takes the shader's turns.
class ShaderTest : public ::testing::Test {
 protected:
  ShaderTest() {
    control.add_user(shader.holds());
    StageOptions options;
    options.deadline_ns = 200 * kUs;
    for (int i = 0; i < 3; ++i) {
      stages.push_back(std::make_unique<Stage>(
          options, device, control.health(), StageTables{&mirror.table(), &mirror.table()},
          shader.make_queue(options.slots + options.spares), lookup::Memory::system()));
      control.add_user(stages.back()->holds());
      workers.push_back(std::make_unique<TestWorker>(*stages.back()));
    }
    tick();
  }
  void tick(uint64_t ns = 0) {
    now_ns += ns;
    for (int i = 0; i < 4; ++i) control.tick(now_ns);
    shader.turn(now_ns);
    for (auto& worker : workers) worker->poll(now_ns);
  }
  void send(size_t worker, uint32_t n = 10) {
    ASSERT_TRUE(workers[worker]->send(Side::kDevice, n, now_ns));
    stages[worker]->close(now_ns);
  }

  uint64_t now_ns = 1'000'000;
  Script script;
  std::unique_ptr<lookup::Fib4> fib = small_fib();
  DeviceControl control{
      std::make_unique<ScriptedDevice>(now_ns, [this](const Job&) { return script; })};
  ScriptedDevice& device = static_cast<ScriptedDevice&>(control.device());
  TableMirror& mirror = control.add_table([this] { return fib->image(); });
  Shader shader{{}, device, control.health()};
  std::vector<std::unique_ptr<Stage>> stages;
  std::vector<std::unique_ptr<TestWorker>> workers;
};

TEST_F(ShaderTest, SendsAtOnceWhatFindsTheDeviceIdleAndMergesTheRest) {
  script.batch_ns = 5 * kUs;
  send(0);
  shader.turn(now_ns);
  EXPECT_EQ(device.batches(), 1u);
  for (size_t i : {0, 1, 2, 2}) send(i);
  shader.turn(now_ns);
  EXPECT_EQ(device.batches(), 1u) << "waits for more";
  tick(5 * kUs);
  EXPECT_EQ(device.batches(), 2u);
  EXPECT_EQ(shader.counters().jobs.get(), 5u);
  tick(5 * kUs);
  tick();
  for (auto& worker : workers) EXPECT_EQ(worker->received(), worker->sent());
  EXPECT_EQ(workers[2]->shaded(), 20u);
}

TEST_F(ShaderTest, ClosesABatchOnSizeAndOnDeadline) {
  script.batch_ns = 100 * kUs;
  send(0);
  shader.turn(now_ns);
  send(0, 4096);
  send(1, 4096);
  send(2, 4096);
  shader.turn(now_ns);
  EXPECT_EQ(device.batches(), 1u);
  send(0, 4096);
  shader.turn(now_ns);
  EXPECT_EQ(device.batches(), 2u) << "16,384 items";
  send(1);
  shader.turn(now_ns);
  EXPECT_EQ(device.batches(), 2u);
  shader.turn(now_ns + 10 * kUs);
  EXPECT_EQ(device.batches(), 3u);
}

TEST_F(ShaderTest, ARetiredDeviceIsLetGoAndJobsForItAreDropped) {
  send(0);
  shader.turn(now_ns);
  script.answer = Answer::kBroken;
  send(1);
  script.batch_ns = 0;
  tick(20 * kUs);
  tick(20 * kUs);
  EXPECT_FALSE(shader.holds());
  EXPECT_EQ(control.phase(), DeviceControl::Phase::kStopped);
  EXPECT_EQ(workers[1]->redone(), 10u);

  // A job that was in the ring when the device was retired.
  script.answer = Answer::kRight;
  tick(kSecond);
  tick();
  ASSERT_TRUE(shader.holds());
  send(2);
  control.health().retire(Cause::kBroken);
  for (auto& worker : workers) worker->poll(now_ns);
  for (auto& worker : workers) worker->poll(now_ns);
  tick();
  tick(4 * kSecond);
  tick();
  EXPECT_EQ(shader.counters().dropped.get(), 1u);
  send(2);
  tick();
  tick();
  EXPECT_EQ(workers[2]->received(), workers[2]->sent());
  EXPECT_EQ(workers[2]->shaded(), 10u);
}

TEST_F(ShaderTest, AStageMayGo) {
  send(0);
  tick();
  tick();
  ASSERT_TRUE(stages[0]->idle());
  control.remove_user(stages[0]->holds());
  workers.erase(workers.begin());
  stages.erase(stages.begin());
  send(0);
  tick();
  tick();
  EXPECT_EQ(workers[0]->shaded(), 10u);
}

TEST_F(ShaderTest, LosesNothingWhateverTheDeviceDoes) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 rng(seed);
  for (int i = 0; i < 20000; ++i) {
    script = {Answer::kRight, rng() % 8 * kUs, rng() % 20, rng() % 50 * kUs};
    if (rng() % 32 == 0) script.more_ns += 150 * kUs;
    if (rng() % 512 == 0) script.answer = static_cast<Answer>(rng() % 9);
    for (auto& worker : workers) {
      Side side = rng() % 4 == 0 ? Side::kCpu : Side::kDevice;
      worker->send(side, static_cast<uint32_t>(1 + rng() % 40), now_ns);
    }
    tick(!stages[0]->ready() && rng() % 4 == 0 ? kSecond : rng() % 30 * kUs);
    ASSERT_FALSE(HasFailure()) << "after " << i;
  }
  script = {};
  for (int i = 0; i < 300; ++i) tick(kSecond / 2);
  for (auto& worker : workers) {
    EXPECT_EQ(worker->received(), worker->sent());
    EXPECT_GT(worker->shaded(), worker->sent() / 8);
  }
  EXPECT_GT(device.restarts(), 3u);
}

}  // namespace
}  // namespace hecto::gpu_offload
