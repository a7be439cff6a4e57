#include "router/dataplane/ports/pci_device.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace hecto::router::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* kPci = "0000:17:00.0";

// A sysfs and a devfs with one PCI device in them.
class WhyNoPort : public ::testing::Test {
 protected:
  WhyNoPort()
      : root_(fs::temp_directory_path() / ("hecto-pci-" + std::to_string(getpid()))),
        device_(root_ / "sys/bus/pci/devices" / kPci) {
    fs::remove_all(root_);
    fs::create_directories(device_);
  }
  ~WhyNoPort() override { fs::remove_all(root_); }

  void link(const char* name, const char* to) const { fs::create_symlink(to, device_ / name); }
  std::string why(const std::string& pci = kPci) const {
    return why_no_port(pci, "what DPDK said", root_ / "sys", root_ / "dev");
  }

  fs::path root_, device_;
};

TEST_F(WhyNoPort, NamesADeviceThatIsNotThere) {
  EXPECT_THAT(why("0000:99:00.0"), HasSubstr("no such PCI device"));
}

TEST_F(WhyNoPort, NamesTheKernelsDriver) {
  link("driver", "../../../../bus/pci/drivers/ixgbe");
  EXPECT_EQ(why(), "the kernel's ixgbe has it; give it to DPDK: hecto bind 0000:17:00.0");
}

TEST_F(WhyNoPort, NamesADeviceWithoutDriver) {
  EXPECT_THAT(why(), HasSubstr("no driver has it; give it to DPDK"));
}

TEST_F(WhyNoPort, LeavesAKernelDriverThatDpdkWorksThrough) {
  link("driver", "../drivers/mlx5_core");
  EXPECT_EQ(why(), "mlx5_core has it: what DPDK said");
}

TEST_F(WhyNoPort, NamesAMissingIommu) {
  link("driver", "../drivers/vfio-pci");
  EXPECT_THAT(why(), HasSubstr("switch the IOMMU on"));
}

TEST_F(WhyNoPort, NamesTheGroupsFile) {
  link("driver", "../drivers/vfio-pci");
  link("iommu_group", "../../kernel/iommu_groups/18");
  EXPECT_THAT(why(), HasSubstr("dev/vfio/18: No such file or directory"));
}

TEST_F(WhyNoPort, RepeatsDpdkWhereSysfsSeesNothing) {
  link("driver", "../drivers/vfio-pci");
  link("iommu_group", "../../kernel/iommu_groups/18");
  fs::create_directories(root_ / "dev/vfio");
  std::ofstream(root_ / "dev/vfio/18") << "no group";
  EXPECT_EQ(why(), "vfio-pci has it, but DPDK does not take it: what DPDK said");
}

}  // namespace
}  // namespace hecto::router::test
