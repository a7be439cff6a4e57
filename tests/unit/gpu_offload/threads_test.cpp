// Workers, shader, device and control, each on a thread of its own: what ThreadSanitizer watches.
#include <chrono>
#include <thread>

#include "gpu_offload/devices/host.hpp"
#include "gpu_offload/devices/open.hpp"
#include "gpu_offload/shader.hpp"
#include "tests/unit/gpu_offload/fixture.hpp"

namespace hecto::gpu_offload {
namespace {

constexpr uint64_t kShaded = 20000;  // packets of each worker by the device

// Sends chunks of every size to both sides until the device has done enough of them, waits for the
// last, and polls as long as the other does: the device restarts only when no stage holds it.
void work(Stage& stage, unsigned number, std::atomic<unsigned>& running) {
  TestWorker worker(stage);
  for (unsigned turn = number; worker.shaded() < kShaded; ++turn) {
    worker.send(turn % 11 == 0 ? Side::kCpu : Side::kDevice, 1 + turn * 7 % 64, steady_ns());
    if (worker.poll(steady_ns()) == 0) std::this_thread::yield();
  }
  while (!stage.idle()) worker.poll(steady_ns());
  --running;
  while (running != 0) worker.poll(steady_ns());
  EXPECT_EQ(worker.received(), worker.sent());
}

void run(std::unique_ptr<Device> device, unsigned workers, bool with_shader) {
  auto fib = small_fib();
  DeviceControl control(std::move(device));
  TableMirror& mirror = control.add_table([&] { return fib->image(); });
  TableFeed feed;
  feed.add(mirror);
  fib->attach(&feed.journal());
  Shader shader({}, control.device(), control.health());
  if (with_shader) control.add_user(shader.holds());
  StageOptions options;
  options.items = 256;
  options.deadline_ns = 100 * kSecond;  // no test depends on time
  std::vector<std::unique_ptr<Stage>> stages;
  for (unsigned i = 0; i < workers; ++i) {
    auto queue = with_shader ? shader.make_queue(12) : control.device().make_queue(12);
    stages.push_back(std::make_unique<Stage>(options, control.device(), control.health(),
                                             StageTables{&mirror.table(), &mirror.table()},
                                             std::move(queue), lookup::Memory::system()));
    control.add_user(stages.back()->holds());
  }
  if (with_shader) shader.start();
  uint64_t now_ns = 0;
  while (control.phase() != DeviceControl::Phase::kReady) control.tick(now_ns);
  std::atomic<unsigned> running{workers};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < workers; ++i) {
    threads.emplace_back([&, i] { work(*stages[i], i, running); });
  }
  // Control: changes beside what the packets meet, and now and then a device that is retired.
  // Its clock leaps where a back-off is waited for, and nowhere else: a helper takes its time to start.
  const auto pass = [&] {
    now_ns += control.phase() == DeviceControl::Phase::kStopped ? 4 * kSecond : 100 * kUs;
  };
  for (unsigned turn = 0; running != 0; ++turn, pass()) {
    (void)fib->add({{0x0b000000 + turn % 256}, 32}, static_cast<lookup::GroupId>(turn % 99));
    fib->publish();
    if (turn % 64 == 40 && turn < 400) control.health().retire(Cause::kBroken);
    control.tick(now_ns);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  for (auto& thread : threads) thread.join();
  shader.stop();
  fib->attach(nullptr);
}

TEST(Threads, WorkersWithQueuesOfTheirOwn) {
  run(std::make_unique<HostDevice>(), 2, false);
}

TEST(Threads, WorkersBehindAShader) {
  run(std::make_unique<HostDevice>(), 2, true);
}

// A process of its own; restarts are new processes.
TEST(Threads, EightWorkersAndAHelper) {
  auto device = open_device("host");
  ASSERT_TRUE(device) << device.error();
  run(std::move(*device), 8, false);
}

// Every route to one next hop, then every route to the next one, each time as one generation, as fast
// as they go: no job may see two of them, nor one from before what its worker has seen already.
constexpr uint32_t kRoutes = 64;
constexpr unsigned kRestarts = 2;
constexpr unsigned kGenerations = 20;  // that each worker sees after them
constexpr uint32_t kGroups = 30'000;   // which come round again after so many generations

void look_up_at_rate(Stage& stage, const std::atomic<unsigned>& restarts,
                     std::atomic<unsigned>& running) {
  unsigned generations = 0;
  lookup::GroupId last = 0;
  const auto look_at = [&](Slot& slot, Outcome outcome) noexcept {
    if (outcome != Outcome::kShaded) return;
    const auto* groups = reinterpret_cast<const lookup::GroupId*>(slot.output);
    for (uint32_t i = 1; i < slot.count; ++i) ASSERT_EQ(groups[i], groups[0]) << i;
    const uint32_t ahead = (groups[0] + kGroups - last) % kGroups;
    ASSERT_TRUE(last == 0 || ahead < kGroups / 2) << last << ", then " << groups[0];
    generations += groups[0] != last && restarts == kRestarts;
    last = groups[0];
  };
  const uint64_t start = steady_ns();
  while (generations < kGenerations && steady_ns() - start < 60 * kSecond) {
    if (Slot* slot = stage.room(Side::kDevice, 0, kRoutes, 0, steady_ns())) {
      auto* keys = reinterpret_cast<uint32_t*>(slot->input) + slot->count;
      for (uint32_t i = 0; i < kRoutes; ++i) keys[i] = 0x0a000000 + (i << 8);
      slot->add(kRoutes);
    }
    stage.poll(steady_ns(), look_at);
    std::this_thread::yield();
  }
  EXPECT_GE(generations, kGenerations);
  while (!stage.idle()) stage.poll(steady_ns(), look_at);
  --running;
  while (running != 0) stage.poll(steady_ns(), look_at);
}

TEST(Threads, AJobSeesOneGenerationOfATableThatChangesAtRate) {
  constexpr unsigned kWorkers = 8;
  auto fib = lookup::Fib4::create({.engine = lookup::Engine::kTrie}).value();
  const auto change_all = [&](unsigned turn) {
    for (uint32_t i = 0; i < kRoutes; ++i)
      (void)fib->add({{0x0a000000 + (i << 8)}, 24},
                     static_cast<lookup::GroupId>(1 + turn % kGroups));
    fib->publish();
  };
  change_all(0);
  auto device = open_device("host");
  ASSERT_TRUE(device) << device.error();
  DeviceControl control(std::move(*device));
  TableMirror& mirror = control.add_table([&] { return fib->image(); });
  TableFeed feed;
  feed.add(mirror);
  fib->attach(&feed.journal());
  StageOptions options;
  options.items = kRoutes;
  options.close_ns = 0;
  options.deadline_ns = 100 * kSecond;
  std::vector<std::unique_ptr<Stage>> stages;
  for (unsigned i = 0; i < kWorkers; ++i) {
    stages.push_back(std::make_unique<Stage>(
        options, control.device(), control.health(), StageTables{&mirror.table(), &mirror.table()},
        control.device().make_queue(12), lookup::Memory::system()));
    control.add_user(stages.back()->holds());
  }
  uint64_t now_ns = 0;
  while (control.phase() != DeviceControl::Phase::kReady) control.tick(++now_ns);
  std::atomic<unsigned> restarts{0}, running{kWorkers};
  std::vector<std::thread> threads;
  for (auto& stage : stages)
    threads.emplace_back([&] { look_up_at_rate(*stage, restarts, running); });
  for (unsigned turn = 1; running != 0; ++turn) {
    change_all(turn);
    if (control.phase() == DeviceControl::Phase::kReady && restarts < kRestarts &&
        stages[0]->counters().completed.get() > 100 * (restarts + 1)) {
      ++restarts;
      control.health().retire(Cause::kBroken);
    }
    now_ns += control.phase() == DeviceControl::Phase::kStopped ? 4 * kSecond : 1;
    control.tick(now_ns);
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(control.stops(), kRestarts);
  fib->attach(nullptr);
}

}  // namespace
}  // namespace hecto::gpu_offload
