// The ring between a worker and the reader of its capture. Without DPDK, for the thread sanitizer.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <thread>

#include "router/dataplane/observe/ring.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::router::test {
namespace {

bool put(CaptureRing& ring, const std::string& bytes) {
  std::byte* entry = ring.reserve(static_cast<uint32_t>(bytes.size()));
  if (entry == nullptr) return false;
  std::memcpy(entry, bytes.data(), bytes.size());
  return true;
}

std::string take(CaptureRing& ring) {
  const auto entry = ring.front();
  if (entry.empty()) return {};
  std::string bytes(reinterpret_cast<const char*>(entry.data()), entry.size());
  ring.pop();
  return bytes;
}

TEST(CaptureRing, ShowsWhatIsPublishedAndTakesBackWhatIsNot) {
  CaptureRing ring(4096);
  ASSERT_TRUE(put(ring, "first"));
  EXPECT_TRUE(ring.front().empty());
  ring.publish();
  const uint64_t before = ring.reserved();
  ASSERT_TRUE(put(ring, "second"));
  ring.shrink_to(before);
  ASSERT_TRUE(put(ring, "third"));
  ring.publish();
  EXPECT_EQ(take(ring), "first");
  EXPECT_EQ(take(ring), "third");
  EXPECT_EQ(take(ring), "");
}

TEST(CaptureRing, RefusesWhatDoesNotFitAndGoesOnWhenThereIsRoom) {
  CaptureRing ring(5000);
  ASSERT_EQ(ring.size(), 4096u);
  const std::string large(1000, 'x');
  unsigned fitted = 0;
  while (put(ring, large)) ++fitted;
  EXPECT_EQ(fitted, 4u);
  ring.publish();
  EXPECT_FALSE(put(ring, large));
  EXPECT_EQ(take(ring), large);
  EXPECT_TRUE(put(ring, large));
  EXPECT_FALSE(put(ring, std::string(4096, 'y'))) << "never fits";
}

// Sizes at random, so that entries meet the end of the memory in all ways; some are taken back.
TEST(CaptureRing, CarriesEverythingInOrderBetweenTwoThreads) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  constexpr unsigned kEntries = 20'000;
  CaptureRing ring(4096);
  std::thread writer([&] {
    std::mt19937_64 random(seed);
    for (unsigned i = 0; i < kEntries;) {
      const std::string bytes(1 + random() % 700, static_cast<char>('a' + i % 26));
      const uint64_t before = ring.reserved();
      if (!put(ring, bytes)) {
        std::this_thread::yield();
        continue;
      }
      if (random() % 8 == 0) {
        ring.shrink_to(before);
        continue;
      }
      if (random() % 2 == 0 || i + 1 == kEntries) ring.publish();
      ++i;
      if (i % 4 == 0) ring.publish();
    }
  });
  unsigned taken = 0, wrong = 0;
  while (taken < kEntries) {
    const std::string bytes = take(ring);
    if (bytes.empty()) {
      std::this_thread::yield();
      continue;
    }
    wrong += bytes != std::string(bytes.size(), static_cast<char>('a' + taken % 26));
    ++taken;
  }
  writer.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_TRUE(ring.front().empty());
}

}  // namespace
}  // namespace hecto::router::test
