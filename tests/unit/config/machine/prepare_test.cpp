#include <gmock/gmock.h>

#include "config/machine/binding.hpp"
#include "config/machine/hugepages.hpp"
#include "tests/beds/boxes.hpp"
#include "tests/unit/config/machine/fake_kernel.hpp"

namespace hecto::config::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Prepare : public ::testing::Test {
 protected:
  Prepare() {
    kernel.nic("0000:17:00.0", "ixgbe", "eth1");
    kernel.nic("0000:98:00.0", "i40e", "eth2");
    for (const int node : {0, 1}) {
      pages(node, 2048, 0, 0);
      pages(node, 1048576, 0, 0);
    }
  }
  static std::string file(int node, unsigned kilobytes, const char* name) {
    return fmt::format("/sys/devices/system/node/node{}/hugepages/hugepages-{}kB/{}", node,
                       kilobytes, name);
  }
  void pages(int node, unsigned kilobytes, unsigned reserved, unsigned free) const {
    kernel.file(file(node, kilobytes, "nr_hugepages"), std::to_string(reserved));
    kernel.file(file(node, kilobytes, "free_hugepages"), std::to_string(free));
  }
  Prepared run() {
    kernel.writes.clear();
    return prepare(kernel, kernel, config, placement, {});
  }

  FakeKernel kernel;
  const Config config = read(kTwoNics);
  const Placement placement = placed(config, box("two_socket_smt.xml"));
};

TEST_F(Prepare, TakesNoHugepagesThatTheNodeHasNoMemoryFor) {
  kernel.file("/sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:       65536 kB\n");
  const Prepared out = run();
  ASSERT_FALSE(out.failed.empty());
  EXPECT_THAT(out.failed.front(), HasSubstr("node 0: "));
  EXPECT_THAT(out.failed.front(), HasSubstr(" of 64 MiB of memory: none are taken"));
  EXPECT_EQ(kernel.number(file(0, 2048, "nr_hugepages")), 0u);
  EXPECT_GT(kernel.number(file(1, 2048, "nr_hugepages")), 0u) << "that node's memory is not known";
}

TEST_F(Prepare, ReservesWhatThePlanTakesOnEachSocketAndBindsTheFilesDevices) {
  const Prepared prepared = run();
  EXPECT_THAT(prepared.failed, IsEmpty());
  for (const int node : {0, 1}) {
    const uint64_t bytes = placement.memory[node].bytes;
    const uint64_t reserved = kernel.number(file(node, 2048, "nr_hugepages")).value_or(0) << 21;
    EXPECT_GE(reserved, bytes + bytes / 8);
    EXPECT_LE(reserved, bytes + bytes / 8 + (2u << 20));
  }
  EXPECT_EQ(kernel.driver_now("0000:17:00.0"), "vfio-pci");
  EXPECT_EQ(kernel.driver_now("0000:98:00.0"), "vfio-pci");
}

TEST_F(Prepare, CountsPagesOfEverySizeAndWhatOthersHold) {
  pages(0, 1048576, 2, 2);
  pages(1, 2048, 100, 0);
  const auto needs = hugepage_needs(config, placement, kernel);
  ASSERT_EQ(needs.size(), 2u);
  EXPECT_EQ(needs[0].target(false), 0u) << "two of 1 GiB are enough";
  const uint64_t wanted = (needs[1].wanted_bytes + (2u << 20) - 1) >> 21;
  EXPECT_EQ(needs[1].target(false), 100 + wanted);
  EXPECT_EQ(needs[1].target(true), 100u) << "the router itself holds them, and they are enough";
}

TEST_F(Prepare, FollowsTheFilesMemory) {
  const Config fixed = read(kTwoNics + "memory: 1GiB\n");
  uint64_t wanted = 0;
  for (const auto& need : hugepage_needs(fixed, placement, kernel)) wanted += need.wanted_bytes;
  EXPECT_NEAR(static_cast<double>(wanted), 1u << 30, 2);
}

TEST_F(Prepare, TheSecondTimeItChangesNothing) {
  run();
  for (const int node : {0, 1}) {
    const uint64_t now = kernel.number(file(node, 2048, "nr_hugepages")).value_or(0);
    pages(node, 2048, static_cast<unsigned>(now), static_cast<unsigned>(now));
  }
  const Prepared again = run();
  EXPECT_THAT(kernel.writes, IsEmpty());
  EXPECT_THAT(again.failed, IsEmpty());
  EXPECT_THAT(again.done, ElementsAre("0000:17:00.0: vfio-pci has it already",
                                      "0000:98:00.0: vfio-pci has it already"));
}

TEST_F(Prepare, TellsOfPagesThatWereNotToBeHadAndBindsAllTheSame) {
  kernel.most_pages = 10;
  const Prepared prepared = run();
  EXPECT_THAT(prepared.failed,
              ElementsAre(HasSubstr("node 0: 10 of "), HasSubstr("node 1: 10 of ")));
  EXPECT_EQ(kernel.driver_now("0000:17:00.0"), "vfio-pci");
}

TEST_F(Prepare, WorksWithoutNumaAndWithoutHugepages) {
  kernel.remove("/sys/devices/system/node");
  const Config lab = read(kTwoSoftware);
  const Placement plan = placed(lab, plain_box(4));
  EXPECT_THAT(prepare(kernel, kernel, lab, plan, {}).failed,
              ElementsAre(HasSubstr("has no hugepages")));
  kernel.file("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "0");
  kernel.file("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "0");
  EXPECT_THAT(prepare(kernel, kernel, lab, plan, {}).failed, IsEmpty());
  EXPECT_GT(kernel.number("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"), 0u);
}

}  // namespace
}  // namespace hecto::config::test
