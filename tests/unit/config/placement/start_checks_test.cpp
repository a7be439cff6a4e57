#include "config/placement/start_checks.hpp"

#include <gtest/gtest.h>

#include "tests/beds/boxes.hpp"

namespace hecto::config {
namespace {

Topology two_cores_8_gib() {
  Topology box = plain_box(2);
  box.memory_bytes = {8ull << 30};
  return box;
}

TEST(StartChecks, PassWhatTheMachineHas) {
  EXPECT_EQ(check_start(read(kTwoSoftware), two_cores_8_gib()), Problems{});
  EXPECT_EQ(
      check_start(read(kTwoSoftware + "workers: {0: [0, 1]}\nmemory: 8GiB\n"), two_cores_8_gib()),
      Problems{});
}

TEST(StartChecks, RefuseCoresThatAreNotThere) {
  EXPECT_EQ(check_start(read(kTwoSoftware + "workers: {0: [1, 7]}\n"), two_cores_8_gib()),
            Problems{"t.yaml: workers: there is no core 7; the box has cores [0-1]"});
  EXPECT_EQ(check_start(read(kTwoSoftware + "control_core: 9\n"), two_cores_8_gib()),
            Problems{"t.yaml: control_core: there is no core 9; the box has cores [0-1]"});
}

TEST(StartChecks, RefuseMoreMemoryThanThereIs) {
  EXPECT_EQ(check_start(read(kTwoSoftware + "memory: 9GiB\n"), two_cores_8_gib()),
            Problems{"t.yaml:2: memory: 9216 MiB are not there: the box has 8192 MiB; use less"});
  Topology small = two_cores_8_gib();
  small.memory_bytes = {16ull << 20};
  const Problems automatic = check_start(read(kTwoSoftware), small);
  ASSERT_EQ(automatic.size(), 1u);
  EXPECT_TRUE(automatic[0].starts_with("t.yaml: memory: ")) << automatic[0];
}

TEST(StartChecks, RefuseRouteFilesThatCannotBeRead) {
  Config config = read(kTwoSoftware);
  config.route_files = {"/nowhere/table.txt"};
  EXPECT_EQ(check_start(config, two_cores_8_gib()),
            Problems{"t.yaml: route_files: /nowhere/table.txt: cannot be opened: No such file or "
                     "directory"});
}

}  // namespace
}  // namespace hecto::config
