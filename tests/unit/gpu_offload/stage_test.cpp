#include "gpu_offload/stage.hpp"

#include <random>

#include "tests/beds/seed.hpp"
#include "tests/unit/gpu_offload/fixture.hpp"

namespace hecto::gpu_offload {
namespace {

TEST(Stage, HandsBackTheDevicesAnswers) {
  ScriptedStage test;
  test.send(10);
  EXPECT_EQ(test.tick(), 1u);
  EXPECT_EQ(test.worker->shaded(), 10u);
  EXPECT_EQ(test.counters().completed.get(), 1u);
  EXPECT_EQ(test.counters().submitted_items.get(), 10u);
  EXPECT_TRUE(test.stage->idle());
}

TEST(Stage, ClosesASlotWhenItIsFullOldOrOfAnotherTable) {
  StageOptions options;
  options.items = 100;
  options.close_ns = 20 * kUs;
  ScriptedStage test(options);
  ASSERT_TRUE(test.worker->send(Side::kDevice, 60, test.now_ns));
  test.tick();
  EXPECT_EQ(test.counters().submitted.get(), 0u);
  ASSERT_TRUE(test.worker->send(Side::kDevice, 60, test.now_ns));  // does not fit any more
  EXPECT_EQ(test.counters().submitted.get(), 1u);
  test.tick(20 * kUs);
  EXPECT_EQ(test.counters().submitted.get(), 2u);
  ASSERT_TRUE(test.worker->send(Side::kDevice, 10, test.now_ns));
  ASSERT_TRUE(test.worker->send(Side::kDevice, 10, test.now_ns, 1));
  EXPECT_EQ(test.counters().submitted.get(), 3u);
  ASSERT_TRUE(test.worker->send(Side::kDevice, 90, test.now_ns, 1));
  test.tick();
  EXPECT_EQ(test.counters().submitted.get(), 4u) << "full";
  EXPECT_EQ(test.stage->room(Side::kDevice, 0, 101, 0, test.now_ns), nullptr);
}

TEST(Stage, GivesNoRoomWhenAllSlotsAreInFlight) {
  StageOptions options;
  options.slots = 3;
  ScriptedStage test(options);
  test.script.batch_ns = 100 * kUs;
  for (int i = 0; i < 3; ++i) test.send();
  EXPECT_FALSE(test.worker->send(Side::kCpu, 1, test.now_ns));
  test.tick(100 * kUs);
  EXPECT_TRUE(test.worker->send(Side::kCpu, 1, test.now_ns));
}

TEST(Stage, CpuWorkWaitsForItsTurnWhileJobsAreInFlight) {
  ScriptedStage test;
  test.script.batch_ns = 100 * kUs;
  test.send(10);
  test.send(5, Side::kCpu);
  EXPECT_EQ(test.tick(), 0u);
  EXPECT_EQ(test.tick(100 * kUs), 2u);
  EXPECT_EQ(test.worker->shaded(), 10u);
  EXPECT_EQ(test.worker->redone(), 5u);
  EXPECT_EQ(test.counters().in_turn.get(), 1u);
}

TEST(Stage, WithoutAReadyDeviceEverythingIsTheCpus) {
  ScriptedStage test;
  test.device->restart_status = Status::kBroken;
  test.control->health().retire(Cause::kBroken);
  test.tick();
  EXPECT_FALSE(test.stage->ready());
  test.send(10);
  EXPECT_EQ(test.tick(), 1u);
  EXPECT_EQ(test.worker->redone(), 10u);
  EXPECT_EQ(test.counters().submitted.get(), 0u);
}

TEST(Stage, RedoesALateJobAtItsTurnAndKeepsItsSlotAway) {
  ScriptedStage test;
  test.script.more_ns = 3000 * kUs;  // longer than the deadline
  test.send(10);
  test.script.more_ns = 0;
  test.send(10);
  EXPECT_EQ(test.tick(), 0u) << "the second is done, but it is not its turn";
  EXPECT_EQ(test.tick(2000 * kUs), 2u);
  EXPECT_EQ(test.counters().late.get(), 1u);
  EXPECT_EQ(test.worker->redone(), 10u);
  EXPECT_TRUE(test.stage->ready()) << "one late job is no reason to retire";
  EXPECT_FALSE(test.stage->idle());
  Slot* slot = test.stage->room(Side::kDevice, 0, 1, 0, test.now_ns);
  ASSERT_NE(slot, nullptr);
  EXPECT_EQ(slot->index, 1u) << "slot 0 is in quarantine";
  test.tick(1000 * kUs);
  EXPECT_EQ(test.counters().answered_late.get(), 1u);
  test.tick(20 * kUs);
  EXPECT_TRUE(test.stage->idle());
}

TEST(Stage, RetiresADeviceThatIsLateInARow) {
  StageOptions options;
  options.late_limit = 2;
  ScriptedStage test(options);
  test.next_answers = {Answer::kNever, Answer::kRight, Answer::kNever, Answer::kNever};
  for (int i = 0; i < 2; ++i) test.send();
  test.tick(2000 * kUs);
  EXPECT_TRUE(test.stage->ready());
  test.send();
  test.send();
  test.tick(2000 * kUs);
  EXPECT_EQ(test.control->last_cause(), Cause::kNotStarted);
  test.tick();
  EXPECT_EQ(test.control->last_cause(), Cause::kLate);
  EXPECT_EQ(test.worker->received(), test.worker->sent());
  EXPECT_EQ(test.counters().late.get(), 3u);
}

TEST(Stage, RetiresADeviceThatNeverAnswersOneJob) {
  ScriptedStage test;
  test.next_answers = {Answer::kNever};
  test.send();
  for (int i = 0; i < 40; ++i) {
    test.tick(1000 * kUs);
    test.send();
  }
  test.tick();
  EXPECT_EQ(test.control->last_cause(), Cause::kLate);
  EXPECT_EQ(test.counters().late.get(), 1u);
}

TEST(Stage, ComesBackAfterTheBackOff) {
  ScriptedStage test;
  EXPECT_EQ(test.device->restarts(), 1u);
  test.next_answers = {Answer::kNever, Answer::kError};
  test.send();
  test.send();
  test.tick();
  test.tick();
  EXPECT_FALSE(test.stage->holds());
  EXPECT_EQ(test.worker->redone(), 20u) << "nobody waits for the deadline of a retired device";
  EXPECT_EQ(test.counters().abandoned.get(), 1u);
  EXPECT_FALSE(test.stage->idle()) << "the device may still write to the slot";
  test.tick(kSecond);
  EXPECT_EQ(test.device->restarts(), 2u);
  ASSERT_TRUE(test.stage->ready());
  EXPECT_TRUE(test.stage->idle());
  test.send();
  test.tick();
  EXPECT_EQ(test.worker->shaded(), 10u);
}

struct Failure {
  Answer answer;
  Cause cause;
  const Count StageCounters::*count;
};
class StageFailure : public ::testing::TestWithParam<Failure> {};

TEST_P(StageFailure, IsRedoneInOrderAndRetiresTheDevice) {
  ScriptedStage test;
  test.script.batch_ns = 10 * kUs;
  test.next_answers = {Answer::kRight, GetParam().answer, Answer::kRight};
  for (int i = 0; i < 3; ++i) test.send(10);
  test.tick(100 * kUs);
  test.tick();
  EXPECT_EQ(test.worker->received(), 30u);
  EXPECT_GE(test.worker->redone(), 10u);
  EXPECT_EQ((test.counters().*GetParam().count).get(), 1u);
  EXPECT_EQ(test.control->last_cause(), GetParam().cause);
  EXPECT_EQ(test.control->phase(), DeviceControl::Phase::kStopped);
  test.tick(kSecond);
  EXPECT_TRUE(test.stage->ready());
}
INSTANTIATE_TEST_SUITE_P(
    All, StageFailure,
    ::testing::Values(Failure{Answer::kError, Cause::kBroken, &StageCounters::failed},
                      Failure{Answer::kBroken, Cause::kBroken, &StageCounters::failed},
                      Failure{Answer::kNoMemory, Cause::kNoMemory, &StageCounters::failed},
                      Failure{Answer::kGarbage, Cause::kWrongAnswer, &StageCounters::wrong},
                      Failure{Answer::kNothing, Cause::kWrongAnswer, &StageCounters::wrong},
                      Failure{Answer::kShort, Cause::kWrongAnswer, &StageCounters::wrong}));

TEST(Stage, TriesABusyQueueAgain) {
  ScriptedStage test;
  test.next_answers = {Answer::kBusy, Answer::kBusy};
  test.send();
  test.tick();
  EXPECT_EQ(test.counters().submitted.get(), 0u);
  test.tick();
  test.tick();
  EXPECT_EQ(test.worker->shaded(), 10u);
  test.script.answer = Answer::kBusy;
  test.send();
  test.tick();
  test.tick(2000 * kUs);
  EXPECT_EQ(test.worker->redone(), 10u);
  EXPECT_TRUE(test.stage->idle()) << "the device never had it";
}

TEST(Stage, DoesNotComeUpWithoutPinnedMemory) {
  const uint64_t now_ns = 0;
  ScriptedDevice device(now_ns, [](const Job&) { return Script{}; });
  device.pin_status = Status::kBroken;
  Health health;
  DeviceTable table;
  Stage stage({}, device, health, {&table, &table}, device.make_queue(1), lookup::Memory::system());
  EXPECT_FALSE(stage.ok());
  EXPECT_EQ(stage.room(Side::kDevice, 0, 1, 0, 0), nullptr);
  EXPECT_EQ(stage.poll(0, [](Slot&, Outcome) noexcept {}), 0u);
}

// Everything at once: a device that fails in every way, control that restarts it, a table that
// changes, a worker that changes sides.
TEST(Stage, LosesNothingWhateverTheDeviceDoes) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 rng(seed);
  StageOptions options;
  options.items = 64;
  options.deadline_ns = 200 * kUs;
  ScriptedStage test(options);
  for (int i = 0; i < 60000; ++i) {
    test.script = {Answer::kRight, rng() % 8 * kUs, rng() % 20, rng() % 50 * kUs};
    if (rng() % 16 == 0) test.script.more_ns += 150 * kUs;
    if (rng() % 128 == 0) test.script.answer = static_cast<Answer>(rng() % 9);
    Side side = rng() % 4 == 0 ? Side::kCpu : Side::kDevice;
    test.worker->send(side, static_cast<uint32_t>(1 + rng() % 40), test.now_ns);
    if (rng() % 8 == 0) test.stage->close(test.now_ns);
    if (rng() % 8 == 0) {  // changes that the packets do not meet
      auto host = static_cast<uint32_t>(rng() % 256);
      (void)test.fib().add({{0x0b000000 + host}, 32}, static_cast<lookup::GroupId>(rng() % 99));
      test.fib().publish();
    }
    test.tick(!test.stage->ready() && rng() % 4 == 0 ? kSecond : rng() % 30 * kUs);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "after " << i;
  }
  test.script = {};
  for (int i = 0; i < 300; ++i) test.tick(kSecond / 2);
  EXPECT_EQ(test.worker->received(), test.worker->sent());
  EXPECT_TRUE(test.stage->idle());
  EXPECT_GT(test.worker->shaded(), test.worker->sent() / 8);
  EXPECT_GT(test.counters().late.get(), 0u);
  EXPECT_GT(test.counters().answered_late.get(), 0u);
  EXPECT_GT(test.counters().wrong.get(), 0u);
  EXPECT_GT(test.counters().failed.get(), 0u);
  EXPECT_GT(test.device->restarts(), 10u);
  EXPECT_TRUE(test.feed.passed(test.feed.awaited()));
}

}  // namespace
}  // namespace hecto::gpu_offload
