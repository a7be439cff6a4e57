#include "tests/unit/config/doctor/patient.hpp"

namespace hecto::config::test {
namespace {

class DoctorSystem : public Patient {};

TEST_F(DoctorSystem, FindsAnIommuThatIsOff) {
  configure(kTwoNics, box("two_socket_smt.xml"));
  EXPECT_THAT(found("iommu").mend, HasSubstr("intel_iommu=on"));
  EXPECT_EQ(found("iommu").severity, Severity::kProblem);
  tree.file("/sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "Y\n");
  EXPECT_EQ(found("iommu").severity, Severity::kAdvice) << "it works, and is open";
  tree.folder("/sys/kernel/iommu_groups/0");
  EXPECT_FALSE(finds("iommu"));
  EXPECT_TRUE(finds("iommu_passthrough"));
  tree.file("/proc/cmdline", "quiet intel_iommu=on iommu=pt\n");
  EXPECT_FALSE(finds("iommu_passthrough"));
  tree.remove("/sys/kernel/iommu_groups");
  configure(kTwoSoftware, plain_box(4));
  EXPECT_FALSE(finds("iommu")) << "no NIC is given away";
}

TEST_F(DoctorSystem, FindsThatVfioIsNotLoaded) {
  configure(kTwoNics, box("two_socket_smt.xml"));
  EXPECT_EQ(found("vfio").mend, "modprobe vfio-pci");
  tree.folder("/sys/bus/pci/drivers/vfio-pci");
  EXPECT_FALSE(finds("vfio"));
  tree.remove("/sys/bus/pci/drivers/vfio-pci");
  for (const char* pci : {"0000:17:00.0", "0000:98:00.0"})
    tree.link(std::string("/sys/bus/pci/devices/") + pci + "/driver", "../drivers/mlx5_core");
  EXPECT_FALSE(finds("vfio")) << "these work through their driver";
}

TEST_F(DoctorSystem, FindsIrqbalance) {
  configure("ports: {a: {device: veth0}}\nworkers: {0: [2-3]}\n", plain_box(4));
  EXPECT_FALSE(finds("irqbalance"));
  tree.file("/proc/812/comm", "irqbalance\n");
  EXPECT_THAT(found("irqbalance").mend, HasSubstr("IRQBALANCE_BANNED_CPULIST=2-3"));
}

TEST_F(DoctorSystem, FindsLowLimitsOfNeighbors) {
  const auto limits = [&](int family, const char* first, const char* second, const char* third) {
    const std::string file = fmt::format("/proc/sys/net/ipv{}/neigh/default/gc_thresh", family);
    tree.file(file + "1", first);
    tree.file(file + "2", second);
    tree.file(file + "3", third);
  };
  limits(4, "128", "512", "1024");
  limits(6, "65536", "98304", "131072");
  const Finding finding = found("neighbor_limits");
  EXPECT_EQ(finding.what, "Linux keeps 1024 IPv4 neighbors");
  ASSERT_EQ(finding.changes.size(), 3u);
  EXPECT_EQ(finding.changes[0].file, "/proc/sys/net/ipv4/neigh/default/gc_thresh3");
  EXPECT_EQ(finding.changes[0].value, "131072");
  EXPECT_EQ(finding.changes[2].value, "65536");
  limits(4, "65536", "98304", "200000");
  EXPECT_FALSE(finds("neighbor_limits"));
}

TEST_F(DoctorSystem, FindsFeaturesThatTheKernelLacks) {
  configure(kTwoSoftware, plain_box(4));
  tree.file("/proc/net/protocols", "protocol size\nTCP 2432\n");
  EXPECT_EQ(found("tun").severity, Severity::kProblem);
  EXPECT_EQ(found("namespaces").severity, Severity::kProblem);
  EXPECT_EQ(found("xfrm").severity, Severity::kAdvice);
  EXPECT_EQ(found("af_xdp").severity, Severity::kAdvice);
  tree.file("/dev/net/tun", "");
  tree.file("/proc/self/ns/net", "");
  tree.file("/proc/sys/net/core/xfrm_acq_expires", "30");
  tree.file("/proc/net/protocols", "protocol size\nXDP 1088\nTCP 2432\n");
  for (const char* name : {"tun", "namespaces", "xfrm", "af_xdp"})
    EXPECT_FALSE(finds(name)) << name;
}

TEST_F(DoctorSystem, AsksOnlyForFeaturesThatTheFileUses) {
  configure("linux: off\nports: {m: {device: \"net_memif0,role=server\"}}\n", plain_box(4));
  tree.file("/proc/net/protocols", "protocol size\nTCP 2432\n");
  for (const char* name : {"tun", "namespaces", "xfrm", "af_xdp"})
    EXPECT_FALSE(finds(name)) << name;
}

TEST_F(DoctorSystem, FindsAnOldKernel) {
  for (const char* release : {"4.19.0-27-amd64\n", "5.7.0\n"}) {
    tree.file("/proc/sys/kernel/osrelease", release);
    EXPECT_TRUE(finds("kernel")) << release;
  }
  for (const char* release : {"5.8.0\n", "5.10.0-8-amd64\n", "6.1.0-26-amd64\n"}) {
    tree.file("/proc/sys/kernel/osrelease", release);
    EXPECT_FALSE(finds("kernel")) << release;
  }
}

TEST_F(DoctorSystem, ProblemsComeFirst) {
  tree.file("/sys/kernel/mm/ksm/run", "1\n");
  tree.file("/proc/sys/kernel/osrelease", "4.19.0\n");
  const Findings findings = examine(machine);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].name, "kernel");
  EXPECT_EQ(findings[1].name, "ksm");
}

}  // namespace
}  // namespace hecto::config::test
