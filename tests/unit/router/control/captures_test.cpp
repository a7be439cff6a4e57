#include "router/control/capture_control.hpp"
#include "router/dataplane/observe/reader.hpp"
#include "router/dataplane/observe/trace.hpp"
#include "tests/beds/control.hpp"

namespace hecto::router::test {
namespace {

constexpr size_t kBuffer = 1 << 20;

struct Captures {
  Said said;
  FakePlane plane{said};
  CaptureControl captures{plane};
};

TEST(Captures, OneAtATime) {
  Captures bed;
  const auto first = bed.captures.start({}, kBuffer);
  ASSERT_TRUE(first);
  EXPECT_NE(bed.plane.capture, nullptr);
  const auto second = bed.captures.start({}, kBuffer);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().error_number, EBUSY);
  EXPECT_EQ(bed.said, Said{"publish"});
}

TEST(Captures, OneThatStoppedCanStillBeRead) {
  Captures bed;
  const uint32_t id = *bed.captures.start({}, kBuffer);
  bed.captures.stop();
  EXPECT_EQ(bed.plane.capture, nullptr);
  EXPECT_NE(bed.captures.find(id), nullptr);
  bed.captures.stop();
  EXPECT_EQ(bed.said, (Said{"publish", "publish"}));  // the second stop has nothing to say
}

TEST(Captures, OneThatEndedIsGoneAndItsNumberNotUsedAgain) {
  Captures bed;
  const uint32_t id = *bed.captures.start({}, kBuffer);
  bed.captures.end();
  EXPECT_EQ(bed.captures.find(id), nullptr);
  EXPECT_EQ(bed.plane.capture, nullptr);
  const uint32_t next = *bed.captures.start({}, kBuffer);
  EXPECT_NE(next, id);
  EXPECT_EQ(bed.captures.find(id), nullptr);
}

TEST(Captures, EachThreadHasItsShareOfTheBuffer) {
  Captures bed;
  bed.plane.worker_list = {{0, 1, 0, {}, 0}, {1, 2, 0, {}, 0}, {2, 3, 0, {}, 0}};
  const uint32_t id = *bed.captures.start({}, kBuffer);
  const CaptureOptions& options = bed.captures.find(id)->session().options();
  EXPECT_EQ(options.threads, 4u);  // and the slow path
  EXPECT_EQ(options.ring_bytes, kBuffer / 4);
}

TEST(Captures, ATraceTakesThePlaceOfTheOneBefore) {
  Captures bed;
  const uint32_t first = bed.captures.start_trace({}, 5);
  const uint32_t second = bed.captures.start_trace({}, 7);
  EXPECT_EQ(bed.captures.trace(first), nullptr);
  ASSERT_NE(bed.captures.trace(second), nullptr);
  EXPECT_EQ(bed.captures.trace(second)->packets(), 7u);
  EXPECT_EQ(bed.plane.trace, bed.captures.trace(second));
  bed.captures.end_trace();
  EXPECT_EQ(bed.plane.trace, nullptr);
  EXPECT_EQ(bed.captures.trace(second), nullptr);
  EXPECT_EQ(bed.said, (Said{"publish", "publish", "publish"}));
}

}  // namespace
}  // namespace hecto::router::test
