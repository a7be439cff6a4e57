// Workers, shader, device and control, each on a thread of its own: what ThreadSanitizer watches.
#include <chrono>
#include <thread>

#include "gpu_offload/devices/host.hpp"
#include "gpu_offload/shader.hpp"
#include "tests/unit/gpu_offload/fixture.hpp"

namespace hecto::gpu_offload {
namespace {

constexpr uint64_t kShaded = 20000;  // packets of each worker by the device

uint64_t clock_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

// Sends chunks of every size to both sides until the device has done enough of them, waits for the
// last, and polls as long as the other does: the device restarts only when no stage holds it.
void work(Stage& stage, unsigned number, std::atomic<unsigned>& running) {
  TestWorker worker(stage);
  for (unsigned turn = number; worker.shaded() < kShaded; ++turn) {
    worker.send(turn % 11 == 0 ? Side::kCpu : Side::kDevice, 1 + turn * 7 % 64, clock_ns());
    if (worker.poll(clock_ns()) == 0) std::this_thread::yield();
  }
  while (!stage.idle()) worker.poll(clock_ns());
  --running;
  while (running != 0) worker.poll(clock_ns());
  EXPECT_EQ(worker.received(), worker.sent());
}

void run(bool with_shader) {
  auto fib = small_fib();
  DeviceControl control(std::make_unique<HostDevice>());
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
  for (int i = 0; i < 2; ++i) {
    auto queue = with_shader ? shader.make_queue(12) : control.device().make_queue(12);
    stages.push_back(std::make_unique<Stage>(options, control.device(), control.health(),
                                             StageTables{&mirror.table(), &mirror.table()},
                                             std::move(queue), lookup::Memory::system()));
    control.add_user(stages.back()->holds());
  }
  if (with_shader) shader.start();
  uint64_t now_ns = 0;
  while (control.phase() != DeviceControl::Phase::kReady) control.tick(now_ns);
  std::atomic<unsigned> running{2};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] { work(*stages[i], i, running); });
  }
  // Control: changes beside what the packets meet, and now and then a device that is retired.
  for (unsigned turn = 0; running != 0; ++turn, now_ns += 4 * kSecond) {
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
  run(false);
}

TEST(Threads, WorkersBehindAShader) {
  run(true);
}

}  // namespace
}  // namespace hecto::gpu_offload
