// Memory that DPDK's interrupt thread gives back is there until all who poll have let go of it.
#include "router/dataplane/ports/memif_guard.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <thread>

#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/ports/poller.hpp"
// Behind them.
#include <rte_alarm.h>

namespace hecto::router {
namespace {

constexpr size_t kBytes = 4096;

struct Unmapping {
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::atomic<bool> begun{false}, done{false};
  static void run(void* self) {
    auto& unmapping = *static_cast<Unmapping*>(self);
    unmapping.begun = true;
    munmap(unmapping.memory, kBytes);
    unmapping.done = true;
  }
};

void start_eal() {
  static const bool started = [] {
    const char* arguments[] = {"test",        "--no-huge",        "-m", "64", "--no-pci",
                               "--no-shconf", "--log-level=error"};
    return rte_eal_init(7, const_cast<char**>(arguments)) >= 0;
  }();
  ASSERT_TRUE(started);
}

TEST(MemifGuard, TheInterruptThreadWaitsForABurst) {
  start_eal();
  Poller poller, idle;
  const MemifGuard guard([&] {
    for (const Poller* each : {&poller, &idle}) each->wait(std::this_thread::yield);
  });
  Unmapping unmapping;
  auto* byte = static_cast<volatile char*>(unmapping.memory);
  poller.begin();  // within a burst
  ASSERT_EQ(rte_eal_alarm_set(1, Unmapping::run, &unmapping), 0);
  while (!unmapping.begun) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(unmapping.done);
  *byte = 1;  // still there
  poller.turn();
  while (!unmapping.done) std::this_thread::yield();
  EXPECT_EQ(msync(unmapping.memory, kBytes, MS_ASYNC), -1);  // ENOMEM: not mapped
  poller.end();
  EXPECT_EQ(MemifGuard::waits(), 1u);
}

TEST(MemifGuard, OtherThreadsDoNotWait) {
  start_eal();
  const unsigned before = MemifGuard::waits();
  const MemifGuard guard([] { FAIL() << "nobody is to wait"; });
  Unmapping unmapping;
  Unmapping::run(&unmapping);
  EXPECT_EQ(MemifGuard::waits(), before);
}

TEST(Poller, WhoDoesNotPollIsNotWaitedFor) {
  Poller poller;
  poller.wait([] { FAIL(); });
  poller.begin();
  poller.turn();
  poller.end();
  poller.wait([] { FAIL(); });
}

}  // namespace
}  // namespace hecto::router
