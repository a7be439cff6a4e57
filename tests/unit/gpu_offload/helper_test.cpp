// A device in a process of its own, and what the packets see when that process crashes, hangs, answers
// wrongly or is killed: all of them, once, in order, and the device again afterwards.
#include "gpu_offload/devices/helper.hpp"

#include <signal.h>
#include <time.h>

#include <cstdlib>
#include <thread>

#include "gpu_offload/spsc_ring.hpp"
#include "tests/unit/gpu_offload/fixture.hpp"
#include "tests/unit/gpu_offload/helper_bed.hpp"

namespace hecto::gpu_offload {
namespace {

// Its starts take seconds, and what happens there is no signal here.
bool on_gpu() {
  return std::getenv("HECTO_FAULTY_DEVICE") != nullptr;
}

// A worker with a stage on the helper; control's clock runs ahead of the others', so that no test waits
// for a back-off.
class HelperBed {
 public:
  explicit HelperBed(std::unique_ptr<Device> device, uint64_t deadline_ns = 100 * kMs)
      : control(std::move(device)) {
    feed.add(mirror);
    fib->attach(&feed.journal());
    StageOptions options;
    options.deadline_ns = deadline_ns;
    stage = std::make_unique<Stage>(
        options, control.device(), control.health(), StageTables{&mirror.table(), &mirror.table()},
        control.device().make_queue(options.slots + options.spares), lookup::Memory::system());
    control.add_user(stage->holds());
    worker = std::make_unique<TestWorker>(*stage);
  }
  ~HelperBed() { fib->attach(nullptr); }

  void turn() {
    control.tick(steady_ns() + ahead_ns);
    worker->send(turns % 8 == 0 ? Side::kCpu : Side::kDevice, 1 + turns % 30, steady_ns());
    ++turns;
    worker->poll(steady_ns());
    std::this_thread::yield();
  }
  // True: it came about.
  template <typename Done>
  bool run_until(Done&& done, uint64_t most_ns = 40 * kSecond) {
    const uint64_t start = steady_ns();
    while (!done() && steady_ns() - start < most_ns) turn();
    return done();
  }
  bool shades_more(uint64_t packets = 2000) {
    const uint64_t before = worker->shaded();
    return run_until([&] {
      if (control.phase() == DeviceControl::Phase::kStopped) ahead_ns += kSecond;
      return worker->shaded() >= before + packets;
    });
  }
  void expect_all_delivered() {
    const uint64_t start = steady_ns();
    while (!stage->empty() && steady_ns() - start < kPatience) worker->poll(steady_ns());
    EXPECT_EQ(worker->received(), worker->sent());
  }

  std::unique_ptr<lookup::Fib4> fib = small_fib();
  DeviceControl control;
  TableMirror& mirror = control.add_table([this] { return fib->image(); });
  TableFeed feed;
  std::unique_ptr<Stage> stage;
  std::unique_ptr<TestWorker> worker;
  uint64_t ahead_ns = kSecond;
  unsigned turns = 0;
};

struct FaultCase {
  const char* fault;
  Cause cause;
  const char* words;  // in the device's trouble; a sanitizer makes an exit code of a signal
};

class HelperFault : public ::testing::TestWithParam<FaultCase> {};

TEST_P(HelperFault, LosesNoPacketAndIsOverWhenItsProcessIsANewOne) {
  const FaultCase& wanted = GetParam();
  Fault fault;
  HelperBed bed(faulty(wanted.fault, fault), wanted.cause == Cause::kLate ? 100 * kMs : kPatience);
  ASSERT_TRUE(bed.run_until([&] { return bed.control.stops() >= 1; })) << "not noticed";
  EXPECT_EQ(bed.control.last_cause(), wanted.cause) << to_string(bed.control.last_cause());
  if (!on_gpu()) {
    EXPECT_NE(bed.control.last_words().find(wanted.words), std::string::npos)
        << bed.control.last_words();
  }
  fault.mend();
  EXPECT_TRUE(bed.shades_more()) << to_string(bed.control.phase())
                                 << bed.control.device().trouble();
  bed.expect_all_delivered();
}

INSTANTIATE_TEST_SUITE_P(
    All, HelperFault,
    ::testing::Values(
        FaultCase{"trap", Cause::kBroken, "the helper ended: "},
        FaultCase{"hangs", Cause::kLate, ""}, FaultCase{"spin", Cause::kLate, ""},
        FaultCase{"late", Cause::kLate, ""}, FaultCase{"refuses", Cause::kBroken, "device error"},
        FaultCase{"garbage", Cause::kWrongAnswer, ""}, FaultCase{"short", Cause::kWrongAnswer, ""},
        FaultCase{"error", Cause::kBroken, ""}, FaultCase{"no-memory", Cause::kNoMemory, ""},
        FaultCase{"never-updates", Cause::kBroken, "an update was not answered"}),
    [](const auto& which) {
      std::string name = which.param.fault;
      std::erase(name, '-');
      return name;
    });

TEST(Helper, ThatHasNoDeviceSaysWhy) {
  Fault fault;
  auto none = HelperDevice::open("no-driver:" + fault.file(), {HECTO_FAULTY_HELPER});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error(), "no-driver:" + fault.file() + ": the driver is too old");
  auto full = HelperDevice::open("no-memory-at-start:" + fault.file(), {HECTO_FAULTY_HELPER});
  ASSERT_FALSE(full);
  EXPECT_NE(full.error().find("all of it in use"), std::string::npos) << full.error();
  auto missing = HelperDevice::open("host", {"/nonexistent/hecto-gpu"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error(), "host: there is no helper at /nonexistent/hecto-gpu");
  auto other = HelperDevice::open("host", {"/bin/true"});
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().find("the helper has ended"), std::string::npos) << other.error();
}

TEST(Helper, ThatHangsWhileItStartsIsGivenUp) {
  Fault fault;
  const uint64_t start = steady_ns();
  auto device = HelperDevice::open("hangs-at-start:" + fault.file(),
                                   {HECTO_FAULTY_HELPER, {}, 300 * kMs, kSecond});
  ASSERT_FALSE(device);
  EXPECT_NE(device.error().find("did not answer in time"), std::string::npos);
  EXPECT_LT(steady_ns() - start, 10 * kSecond);
}

// Killed and stopped at any moment, over and over: while it starts, loads, works. One that is stopped
// while it starts is given up after the device's patience.
TEST(Helper, KilledOrStoppedAtAnyMomentIsStartedAgain) {
  Fault fault;
  fault.mend();
  HelperBed bed(faulty("none", fault, 2 * kSecond));
  for (unsigned round = 0; round < 12; ++round) {
    const uint64_t shaded = bed.worker->shaded();
    for (unsigned turns = 0; turns < round * 40; ++turns) bed.turn();
    if (round % 2 == 1) {
      ASSERT_TRUE(bed.shades_more(100)) << round;
    }
    ASSERT_TRUE(bed.run_until([&] { return fault.child() > 0; })) << "its process has begun";
    const pid_t child = fault.child();
    kill(child, round % 3 == 2 ? SIGSTOP : SIGKILL);
    const uint64_t stops = bed.control.stops();
    ASSERT_TRUE(bed.run_until([&] {
      if (bed.control.phase() == DeviceControl::Phase::kStopped) bed.ahead_ns += kSecond;
      return bed.control.stops() > stops || fault.child() != child;
    })) << round
        << " " << to_string(bed.control.phase()) << shaded;
    bed.ahead_ns += 64 * kSecond;
  }
  EXPECT_TRUE(bed.shades_more());
  bed.expect_all_delivered();
}

TEST(Helper, WithoutItsKeeperStaysAwayAndSaysSo) {
  Fault fault;
  fault.mend();
  HelperBed bed(faulty("none", fault));
  ASSERT_TRUE(bed.shades_more(100));
  kill(fault.keeper(), SIGKILL);
  ASSERT_TRUE(bed.run_until([&] { return bed.control.stops() >= 1; }));
  EXPECT_NE(bed.control.last_words().find("restart hectod"), std::string::npos);
  for (int i = 0; i < 50; ++i) {
    bed.ahead_ns += 64 * kSecond;
    bed.turn();
  }
  EXPECT_FALSE(bed.stage->ready());
  bed.expect_all_delivered();
  // Without its keeper the process with the device ends, too.
  const uint64_t start = steady_ns();
  while (kill(fault.child(), 0) == 0 && steady_ns() - start < 5 * kSecond)
    std::this_thread::yield();
  EXPECT_NE(kill(fault.child(), 0), 0);
}

// Nothing of control waits for a process that does not move.
TEST(Helper, ControlsTurnsAreShortWhateverItDoes) {
  Fault fault;
  HelperBed bed(faulty("hangs", fault));
  uint64_t longest = 0;
  const uint64_t start = steady_ns();
  while (steady_ns() - start < kSecond) {
    timespec before{}, after{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    bed.control.tick(steady_ns() + bed.ahead_ns);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    longest =
        std::max(longest, static_cast<uint64_t>((after.tv_sec - before.tv_sec) * 1'000'000'000 +
                                                after.tv_nsec - before.tv_nsec));
    bed.turn();
  }
  EXPECT_LT(longest, 50 * kMs);  // of this thread's own time: a table's image is copied in it
  EXPECT_GE(bed.control.stops(), 1u);
  bed.expect_all_delivered();
}

// What it is told lies in the shared memory no longer than it needs it.
TEST(Helper, GetsKeysAndLeavesNoneBehind) {
  Fault fault;
  fault.mend();
  auto device = faulty("none", fault);
  ASSERT_EQ(device->restart(), Status::kOk) << "open() has started it";
  lookup::TableUpdate update;
  update.words = 64;
  update.image.assign(64, 0x5ec2e7);
  uint32_t* arena = device->create_arena(update.words);
  ASSERT_EQ(device->start_update(arena, update), Status::kOk);
  while (device->update_status() == Status::kBusy) std::this_thread::yield();
  ASSERT_EQ(device->update_status(), Status::kOk);
  auto& memory = static_cast<SharedMemory&>(*device->memory());
  ASSERT_FALSE(memory.blocks().empty());
  for (const auto& [start, block] : memory.blocks()) {
    const auto* words = static_cast<const uint32_t*>(start);
    for (size_t i = 0; i < block.bytes / 4; ++i) ASSERT_NE(words[i], 0x5ec2e7u);
  }
}

TEST(Helper, RefusesMemoryThatItDoesNotSee) {
  Fault fault;
  fault.mend();
  auto device = faulty("none", fault);
  int mine = 0;
  EXPECT_EQ(device->pin(&mine, sizeof mine), Status::kBroken);
  char* shared = static_cast<char*>(device->memory()->allocate(100, 0));
  EXPECT_EQ(device->pin(shared, 100), Status::kOk);
  EXPECT_EQ(device->pin(shared + 4096, 1), Status::kBroken);
  device->memory()->release(shared, 100);
  EXPECT_EQ(device->pin(shared, 100), Status::kBroken);
}

// A helper that writes what it likes into the rings: nothing leaves their memory.
TEST(Helper, RingsHoldAgainstAnyIndices) {
  alignas(64) static std::byte memory[SpscRing<Completion>::bytes(8)];
  SpscRing<Completion> ring(memory, 8);
  auto* indices = reinterpret_cast<size_t*>(memory);
  for (const size_t head : {size_t{0}, size_t{7}, SIZE_MAX, SIZE_MAX / 2}) {
    for (const size_t tail : {size_t{0}, size_t{9}, SIZE_MAX, SIZE_MAX / 3}) {
      indices[0] = head;
      indices[8] = tail;
      EXPECT_LE(ring.size(), 8u);
      EXPECT_LE(ring.room(), 8u);
      const Completion* front = ring.front();
      if (front == nullptr) continue;
      EXPECT_GE(reinterpret_cast<const std::byte*>(front), memory + 128);
      EXPECT_LT(reinterpret_cast<const std::byte*>(front), memory + sizeof memory);
    }
  }
}

}  // namespace
}  // namespace hecto::gpu_offload
