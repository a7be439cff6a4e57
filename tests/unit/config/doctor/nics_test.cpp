#include "tests/unit/config/doctor/patient.hpp"

namespace hecto::config::test {
namespace {

constexpr const char* kOneNic = "ports: {wan0: {device: \"0000:17:00.0\"}}\n";
const std::string kDevice = "/sys/bus/pci/devices/0000:17:00.0";

class DoctorNics : public Patient {
 protected:
  DoctorNics() {
    box.nics.push_back({});
    box.nics[0].pci = "0000:17:00.0";
    box.nics[0].socket = 0;
  }
  Topology box = plain_box(4);
};

TEST_F(DoctorNics, FindsADeviceThatIsNotThere) {
  configure(kOneNic, box);
  EXPECT_EQ(found("device").what, "wan0: this machine has no 0000:17:00.0");
  tree.folder(kDevice);
  EXPECT_FALSE(finds("device"));
  configure("ports: {lan0: {device: eth2}}\n", box);
  EXPECT_EQ(found("device").what, "lan0: this machine has no eth2");
  tree.folder("/sys/class/net/eth2");
  EXPECT_FALSE(finds("device"));
  configure("ports: {m: {device: \"net_memif0,role=server\"}}\n", box);
  EXPECT_FALSE(finds("device"));
}

TEST_F(DoctorNics, FindsANicThatTheKernelHas) {
  configure(kOneNic, box);
  tree.link(kDevice + "/driver", "../../drivers/ixgbe");
  EXPECT_EQ(found("binding").what, "wan0: the kernel's ixgbe has 0000:17:00.0");
  EXPECT_EQ(found("binding").mend, "hecto bind 0000:17:00.0");
  tree.remove(kDevice + "/driver");
  EXPECT_EQ(found("binding").what, "wan0: no driver has 0000:17:00.0");
  for (const char* right : {"vfio-pci", "mlx5_core", "igb_uio"}) {
    tree.link(kDevice + "/driver", std::string("../../drivers/") + right);
    EXPECT_FALSE(finds("binding")) << right;
  }
}

TEST_F(DoctorNics, FindsALinkBelowWhatTheCardCan) {
  Nic& nic = box.nics[0];
  nic.pcie_gt_s = 8, nic.pcie_lanes = 8, nic.pcie_max_gt_s = 16, nic.pcie_max_lanes = 16;
  configure(kOneNic, box);
  EXPECT_EQ(found("pcie").what, "wan0: 0000:17:00.0 runs at PCIe 3.0 x8, it could at PCIe 4.0 x16");
  EXPECT_EQ(found("pcie").costs, "63 of 252 Gb/s each way");
  nic.pcie_gt_s = 16, nic.pcie_lanes = 16;
  configure(kOneNic, box);
  EXPECT_FALSE(finds("pcie"));
  nic.pcie_max_lanes.reset();
  configure(kOneNic, box);
  EXPECT_FALSE(finds("pcie")) << "not told";
}

TEST_F(DoctorNics, WithoutAConfigurationEveryNicIsLookedAt) {
  Nic& nic = box.nics[0];
  nic.interface = "eth1";
  nic.pcie_gt_s = 8, nic.pcie_lanes = 4, nic.pcie_max_gt_s = 8, nic.pcie_max_lanes = 8;
  machine.topology = box;
  EXPECT_THAT(found("pcie").what, HasSubstr("eth1: 0000:17:00.0 runs at PCIe 3.0 x4"));
}

TEST_F(DoctorNics, FindsANicThatIsPolledFromAnotherSocket) {
  const Topology two = config::box("two_socket_smt.xml");
  configure(std::string(kOneNic) + "workers: {1: [9]}\n", two);
  EXPECT_EQ(found("numa").what, "wan0: on socket 0, polled from socket 1");
  configure(std::string(kOneNic) + "workers: {0: [2]}\n", two);
  EXPECT_FALSE(finds("numa"));
}

TEST_F(DoctorNics, FindsFirmwaresThatDiffer) {
  machine.facts["eth1"].driver = machine.facts["eth2"].driver = "ice";
  machine.facts["eth1"].firmware = "3.20";
  machine.facts["eth2"].firmware = "4.40";
  EXPECT_EQ(found("firmware").what, "NICs of ice differ in firmware: eth1 has 3.20, eth2 has 4.40");
  machine.facts["eth1"].firmware = "4.40";
  EXPECT_FALSE(finds("firmware"));
  machine.facts["eth1"].driver = "i40e";
  machine.facts["eth1"].firmware = "9.1";
  EXPECT_FALSE(finds("firmware"));
}

}  // namespace
}  // namespace hecto::config::test
