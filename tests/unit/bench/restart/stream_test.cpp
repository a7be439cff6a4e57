// What a receiver makes of the numbers that arrive, and a store of what it hears.
#include "bench/restart/stream.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "bench/restart/service_store.hpp"

namespace hecto::bench {
namespace {

TEST(GapFinder, TellsGapsByTheTimesOfSending) {
  GapFinder found(3);
  for (uint64_t number : {10, 11, 12, 20, 21, 23, 22, 24})
    found.arrived({number, number * 1'000'000});
  EXPECT_EQ(found.received(), 8u);
  EXPECT_EQ(found.lost(), 8u) << "7, and one that came late";
  ASSERT_EQ(found.gaps().size(), 1u);
  EXPECT_EQ(found.gaps()[0].lost, 7u);
  EXPECT_DOUBLE_EQ(found.gaps()[0].milliseconds, 8);
}

TEST(GapFinder, AGapThatBeginsBeforeATakeIsFoundAfterIt) {
  GapFinder found(3);
  found.arrived({1, 1'000'000});
  EXPECT_EQ(found.take().received(), 1u);
  found.arrived({11, 11'000'000});
  const GapFinder taken = found.take();
  ASSERT_EQ(taken.gaps().size(), 1u);
  EXPECT_DOUBLE_EQ(taken.gaps()[0].milliseconds, 10);
  EXPECT_EQ(found.take().lost(), 0u);
}

TEST(GapFinder, NothingIsLostBeforeTheFirst) {
  GapFinder found(1);
  found.arrived({1000, 5});
  EXPECT_EQ(found.lost(), 0u);
  EXPECT_TRUE(found.gaps().empty());
}

TEST(ServiceStore, HoldsWhatItIsGivenAndSaysHowToStart) {
  const std::string path = "/tmp/hecto-store-" + std::to_string(getpid());
  auto store = ServiceStore::open(path);
  ASSERT_TRUE(store) << store.error().message;
  setenv("NOTIFY_SOCKET", path.c_str(), 1);
  const auto until_held = [&](size_t count) {
    for (int i = 0; i < 500 && (*store)->held() != count; ++i) usleep(10'000);
    return (*store)->held();
  };
  const int given = open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GT(sd_pid_notify_with_fds(0, 0, "FDSTORE=1\nFDNAME=one", &given, 1), 0);
  ASSERT_GT(sd_pid_notify_with_fds(0, 0, "FDSTORE=1\nFDNAME=two", &given, 1), 0);
  EXPECT_EQ(until_held(2), 2u);
  sd_notify(0, "READY=1");
  sd_notify(0, "FDSTOREREMOVE=1\nFDNAME=one");
  EXPECT_EQ(until_held(1), 1u);
  close(given);
  unsetenv("NOTIFY_SOCKET");

  const auto start = (*store)->start_of({"hectod", "file"});
  ASSERT_EQ(start.descriptors.size(), 1u);
  EXPECT_GE(fcntl(start.descriptors[0], F_GETFD), 0);
  EXPECT_NE(std::find(start.words.begin(), start.words.end(), "LISTEN_FDNAMES=two"),
            start.words.end());
  EXPECT_EQ(start.words.back(), "file");
}

}  // namespace
}  // namespace hecto::bench
