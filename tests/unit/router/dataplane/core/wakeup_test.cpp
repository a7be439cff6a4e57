// A worker that waits is woken; one that does not costs its ringers no system call.
#include "router/dataplane/core/wakeup.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <thread>

namespace hecto::router::test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

constexpr std::chrono::milliseconds kLong = seconds(20);

// How long wait() took, with `act` done in another thread meanwhile.
template <typename Act>
Clock::duration waited(Wakeup& wakeup, Act act) {
  wakeup.begin();
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    act();
  });
  const auto since = Clock::now();
  wakeup.wait(kLong);
  const auto time = Clock::now() - since;
  wakeup.end();
  other.join();
  return time;
}

TEST(Wakeup, ARingEndsAWait) {
  Wakeup wakeup;
  for (int i = 0; i < 3; ++i) EXPECT_LT(waited(wakeup, [&] { wakeup.ring(); }), seconds(10));
}

TEST(Wakeup, ARingBetweenBeginAndWaitIsNotLost) {
  Wakeup wakeup;
  wakeup.begin();
  wakeup.ring();
  const auto since = Clock::now();
  wakeup.wait(kLong);
  EXPECT_LT(Clock::now() - since, seconds(10));
}

TEST(Wakeup, ARingBeforeBeginIsNotHeard) {
  Wakeup wakeup;
  wakeup.ring();
  wakeup.begin();
  const auto since = Clock::now();
  wakeup.wait(std::chrono::milliseconds(30));
  EXPECT_GE(Clock::now() - since, std::chrono::milliseconds(30));
}

TEST(Wakeup, AQueuesDescriptorEndsAWaitOnceAnEdge) {
  Wakeup wakeup;
  const FileDescriptor queue(eventfd(0, EFD_CLOEXEC));
  ASSERT_TRUE(wakeup.watch(queue.get()));
  ASSERT_TRUE(wakeup.watch(queue.get())) << "the queue of a port that two of its queues share";
  const auto packet = [&] { EXPECT_EQ(eventfd_write(queue.get(), 1), 0); };
  EXPECT_LT(waited(wakeup, packet), seconds(10));
  const auto since = Clock::now();
  wakeup.wait(std::chrono::milliseconds(30));  // it is readable still, and nobody reads it
  EXPECT_GE(Clock::now() - since, std::chrono::milliseconds(30));
  EXPECT_LT(waited(wakeup, packet), seconds(10));
}

TEST(Wakeup, AQueueThatIsNoLongerWatchedWakesNobody) {
  Wakeup wakeup;
  const FileDescriptor queue(eventfd(0, EFD_CLOEXEC));
  ASSERT_TRUE(wakeup.watch(queue.get()));
  wakeup.unwatch(queue.get());
  EXPECT_EQ(eventfd_write(queue.get(), 1), 0);
  const auto since = Clock::now();
  wakeup.wait(std::chrono::milliseconds(30));
  EXPECT_GE(Clock::now() - since, std::chrono::milliseconds(30));
  EXPECT_FALSE(wakeup.watch(-1));
}

}  // namespace
}  // namespace hecto::router::test
