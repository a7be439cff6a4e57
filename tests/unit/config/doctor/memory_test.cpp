#include "tests/unit/config/doctor/patient.hpp"

namespace hecto::config::test {
namespace {

class DoctorMemory : public Patient {
 protected:
  void pages(unsigned reserved, unsigned free) const {
    tree.file(kFolder + "/nr_hugepages", std::to_string(reserved));
    tree.file(kFolder + "/free_hugepages", std::to_string(free));
  }
  const std::string kFolder = "/sys/devices/system/node/node0/hugepages/hugepages-2048kB";
};

TEST_F(DoctorMemory, FindsTooFewHugepages) {
  configure(kTwoSoftware, plain_box(4));
  pages(10, 4);
  const Finding finding = found("hugepages");
  EXPECT_THAT(finding.what, HasSubstr("node 0: 8 MiB of hugepages free, "));
  EXPECT_EQ(finding.severity, Severity::kAdvice) << "kernel interfaces live without";
  ASSERT_EQ(finding.changes.size(), 1u);
  EXPECT_EQ(finding.mend, "echo " + finding.changes[0].value + " > " + kFolder + "/nr_hugepages");
  pages(2000, 2000);
  EXPECT_FALSE(finds("hugepages"));
  pages(2000, 0);
  EXPECT_TRUE(finds("hugepages")) << "somebody else has them";
  tree.file("/proc/77/comm", "hectod\n");
  EXPECT_FALSE(finds("hugepages")) << "the router has them";
}

TEST_F(DoctorMemory, ReservesNothingThatTheNodeHasNoMemoryFor) {
  configure(kTwoSoftware, plain_box(4));
  pages(10, 4);
  tree.file("/sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:   32768 kB\n");
  EXPECT_THAT(found("hugepages").mend, HasSubstr("the node has 32 MiB of memory"));
  EXPECT_TRUE(found("hugepages").changes.empty());
  tree.file("/sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:   33554432 kB\n");
  EXPECT_EQ(found("hugepages").changes.size(), 1u);
}

TEST_F(DoctorMemory, HugepagesAreAProblemForNicsByVfio) {
  configure(kTwoNics, box("two_socket_smt.xml"));
  EXPECT_EQ(found("hugepages").severity, Severity::kProblem);
  EXPECT_THAT(found("hugepages").mend, HasSubstr("CONFIG_HUGETLBFS")) << "none of any size";
}

TEST_F(DoctorMemory, SaysNothingOfHugepagesWithoutAPlan) {
  pages(0, 0);
  EXPECT_FALSE(finds("hugepages"));
}

TEST_F(DoctorMemory, FindsTransparentHugepagesThatAreAlwaysOn) {
  const std::string file = "/sys/kernel/mm/transparent_hugepage/enabled";
  tree.file(file, "[always] madvise never\n");
  EXPECT_EQ(found("transparent_hugepages").mend, "echo madvise > " + file);
  tree.file(file, "always [madvise] never\n");
  EXPECT_FALSE(finds("transparent_hugepages"));
}

TEST_F(DoctorMemory, FindsSwap) {
  const std::string header = "Filename Type Size Used Priority\n";
  tree.file("/proc/swaps", header + "/dev/sda2 partition 8388604 0 -2\n");
  EXPECT_TRUE(finds("swap"));
  tree.file("/proc/swaps", header);
  EXPECT_FALSE(finds("swap"));
}

TEST_F(DoctorMemory, FindsKsm) {
  tree.file("/sys/kernel/mm/ksm/run", "1\n");
  EXPECT_TRUE(finds("ksm"));
  tree.file("/sys/kernel/mm/ksm/run", "0\n");
  EXPECT_FALSE(finds("ksm"));
}

TEST_F(DoctorMemory, FindsNumaBalancingOfSeveralSockets) {
  tree.file("/proc/sys/kernel/numa_balancing", "1\n");
  machine.topology = plain_box(2);
  EXPECT_FALSE(finds("numa_balancing"));
  machine.topology.sockets = {0, 1};
  EXPECT_TRUE(finds("numa_balancing"));
  tree.file("/proc/sys/kernel/numa_balancing", "0\n");
  EXPECT_FALSE(finds("numa_balancing"));
}

TEST_F(DoctorMemory, FindsLimitsOfThisShell) {
  configure(kTwoSoftware, plain_box(4));
  const auto limits = [&](const std::string& locked, const std::string& files) {
    tree.file("/proc/self/limits",
              "Limit                     Soft Limit           Hard Limit\n"
              "Max open files            " +
                  files +
                  "    1048576 files\n"
                  "Max locked memory         " +
                  locked + "    8388608 bytes\n");
  };
  limits("8388608", "256");
  EXPECT_THAT(found("memlock").what, HasSubstr("8 MiB may be locked"));
  EXPECT_EQ(found("open_files").what, "256 files may be open from this shell");
  limits("unlimited", "65536");
  EXPECT_FALSE(finds("memlock"));
  EXPECT_FALSE(finds("open_files"));
}

TEST_F(DoctorMemory, FindsNothingWhereNothingIsTold) {
  EXPECT_TRUE(examine(machine).empty());
}

}  // namespace
}  // namespace hecto::config::test
