// Binding on a sysfs in a folder, which answers as Linux's does; tests/numa/test_binding.py has a kernel.
#include "config/machine/binding.hpp"

#include <gmock/gmock.h>

#include "config/machine/bound.hpp"
#include "config/machine/vfio.hpp"
#include "tests/unit/config/machine/fake_kernel.hpp"

namespace hecto::config::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kWan = "0000:17:00.0";
constexpr const char* kLan = "0000:98:00.0";

class Binding : public ::testing::Test {
 protected:
  Binding() {
    kernel.nic(kWan, "ixgbe", "eth1");
    kernel.nic(kLan, "i40e", "eth2");
  }
  Result<Lines> bind(const std::vector<std::string>& devices, const BindOptions& options = {}) {
    kernel.writes.clear();
    return bind_devices(kernel, kernel, devices, options);
  }
  Unbound unbind(const std::vector<std::string>& devices) {
    kernel.writes.clear();
    auto unbound = unbind_devices(kernel, kernel, devices, false);
    EXPECT_TRUE(unbound) << unbound.error().message;
    return unbound ? *unbound : Unbound{};
  }
  std::string refusal(const std::vector<std::string>& devices, const BindOptions& options = {}) {
    const auto lines = bind(devices, options);
    EXPECT_FALSE(lines);
    return lines ? "" : lines.error().message;
  }
  Bound bound() {
    auto read = read_bound(kernel);
    EXPECT_TRUE(read);
    return read ? *read : Bound{};
  }

  FakeKernel kernel;
};

TEST_F(Binding, GoesByDriverOverrideUnbindAndProbe) {
  const auto lines = bind({kWan});
  ASSERT_TRUE(lines) << lines.error().message;
  EXPECT_THAT(*lines, ElementsAre("0000:17:00.0: vfio-pci, had ixgbe as eth1"));
  EXPECT_THAT(kernel.writes,
              ElementsAre("/sys/bus/pci/devices/0000:17:00.0/driver_override=vfio-pci",
                          "/sys/bus/pci/devices/0000:17:00.0/driver/unbind=0000:17:00.0",
                          "/sys/bus/pci/drivers_probe=0000:17:00.0"));
  EXPECT_EQ(kernel.driver_now(kWan), "vfio-pci");
  EXPECT_THAT(kernel.loaded, IsEmpty());
}

TEST_F(Binding, TakesAnInterfacesNameAndTheShortAddress) {
  ASSERT_TRUE(bind({"eth1", "17:00.0", "0000:17:00.0"}));
  EXPECT_EQ(kernel.writes.size(), 3u) << "one device by three names";
  kernel.nic("0000:0a:00.0", "virtio-pci", "");
  kernel.folder(FakeKernel::device("0000:0a:00.0") + "/virtio2/net/eth7");
  ASSERT_TRUE(bind({"eth7"}));
  EXPECT_EQ(kernel.driver_now("0000:0a:00.0"), "vfio-pci");
  ASSERT_TRUE(bind({"0A:00.0"})) << "as the file, which takes upper case, too";
}

TEST_F(Binding, RemembersDriverAndNameAndGivesThemBack) {
  ASSERT_TRUE(bind({kWan, kLan}));
  ASSERT_EQ(bound().devices.size(), 2u);
  EXPECT_EQ(bound().find(kLan)->driver, "i40e");
  EXPECT_EQ(bound().find(kLan)->interface, "eth2");
  const Unbound unbound = unbind({kLan});
  EXPECT_THAT(unbound.done, ElementsAre("0000:98:00.0: i40e, as before"));
  EXPECT_THAT(unbound.failed, IsEmpty());
  EXPECT_EQ(kernel.driver_now(kLan), "i40e");
  EXPECT_EQ(kernel.text(FakeKernel::device(kLan) + "/driver_override"), "");
  EXPECT_EQ(kernel.driver_now(kWan), "vfio-pci");
  EXPECT_EQ(bound().devices.size(), 1u);
  EXPECT_THAT(unbind({}).done, ElementsAre("0000:17:00.0: ixgbe, as before"));
  EXPECT_THAT(bound().devices, IsEmpty());
  EXPECT_THAT(kernel.renamed, IsEmpty());
}

TEST_F(Binding, GivesTheNameBackToAnInterfaceThatComesAsAnother) {
  ASSERT_TRUE(bind({kWan}));
  kernel.comes_back_as[kWan] = "eth9";
  EXPECT_THAT(unbind({kWan}).failed, IsEmpty());
  EXPECT_THAT(kernel.renamed, ElementsAre("eth9 to eth1"));
}

TEST_F(Binding, ASecondRunWritesNothing) {
  ASSERT_TRUE(bind({kWan}));
  const auto again = bind({kWan});
  ASSERT_TRUE(again);
  EXPECT_THAT(*again, ElementsAre("0000:17:00.0: vfio-pci has it already"));
  EXPECT_THAT(kernel.writes, IsEmpty());
  EXPECT_EQ(bound().find(kWan)->driver, "ixgbe");
}

TEST_F(Binding, LeavesWhatOthersBound) {
  kernel.link(FakeKernel::device(kWan) + "/driver", "../../drivers/vfio-pci");
  EXPECT_THAT(*bind({kWan}), ElementsAre(HasSubstr("not by hecto: unbind leaves it")));
  EXPECT_THAT(unbind({kWan}).failed, ElementsAre("0000:17:00.0: hecto did not bind it"));
  EXPECT_THAT(kernel.writes, IsEmpty());
  EXPECT_EQ(kernel.driver_now(kWan), "vfio-pci");
}

TEST_F(Binding, UndoesEveryStepBeforeAFailure) {
  for (size_t step = 1; step <= 6; ++step) {
    kernel.fails_at = step;
    EXPECT_THAT(refusal({kWan, kLan}), HasSubstr("failed; nothing was changed")) << step;
    for (const auto& [pci, driver] : {std::pair(kWan, "ixgbe"), {kLan, "i40e"}}) {
      EXPECT_EQ(kernel.driver_now(pci), driver) << step;
      EXPECT_EQ(kernel.text(FakeKernel::device(pci) + "/driver_override"), "") << step;
    }
    EXPECT_THAT(bound().devices, IsEmpty()) << step;
  }
  kernel.fails_at = 7;
  EXPECT_TRUE(bind({kWan, kLan})) << "there is no seventh step";
}

TEST_F(Binding, UndoesWhenVfioDoesNotTakeTheSecond) {
  kernel.refuses = {kLan};
  EXPECT_EQ(refusal({kWan, kLan}),
            "0000:98:00.0: vfio-pci did not take it; the kernel's log says why; nothing was "
            "changed");
  EXPECT_EQ(kernel.driver_now(kWan), "ixgbe");
  EXPECT_EQ(kernel.driver_now(kLan), "i40e");
}

TEST_F(Binding, KeepsInMindWhatCouldNotBeGivenBack) {
  kernel.refuses = {kLan};
  kernel.failing = FakeKernel::device(kWan) + "/driver/unbind";
  kernel.remove(FakeKernel::device(kWan) + "/driver");  // taken without unbind, not given back
  EXPECT_THAT(refusal({kWan, kLan}),
              HasSubstr("; not taken back: /sys/bus/pci/devices/0000:17:00.0/driver/unbind"));
  ASSERT_EQ(bound().devices.size(), 1u);
  EXPECT_EQ(bound().devices[0].pci, kWan);
}

TEST_F(Binding, RefusesADeviceThatIsNotThereBeforeItTouchesAnother) {
  EXPECT_THAT(refusal({kWan, "0000:99:00.0"}), HasSubstr("this machine has no such device"));
  EXPECT_THAT(refusal({"eth9"}), HasSubstr("no such device"));
  EXPECT_THAT(refusal({"../eth1"}), HasSubstr("no such device"));
  kernel.folder("/sys/class/net/veth0");
  EXPECT_THAT(refusal({"veth0"}), HasSubstr("is no PCI device"));
  EXPECT_THAT(kernel.writes, IsEmpty());
  EXPECT_EQ(kernel.driver_now(kWan), "ixgbe");
}

TEST_F(Binding, TouchesNothingThatItCannotRemember) {
  kernel.file("/var/lib/hecto", "a file where a folder should be");
  EXPECT_THAT(refusal({kWan}), HasSubstr("/var/lib/hecto/bound.json"));
  EXPECT_EQ(kernel.driver_now(kWan), "ixgbe");
  kernel.remove("/var/lib/hecto");
  kernel.file(kBoundFile, "{\"devices\": [");
  EXPECT_THAT(refusal({kWan}), HasSubstr("bound.json is damaged"));
  EXPECT_THAT(kernel.writes, IsEmpty());
}

TEST_F(Binding, TheRecordOfAnotherBootSaysNothing) {
  constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";
  kernel.file(kBootId, "11111111-aaaa\n");
  ASSERT_TRUE(bind({kWan}));
  EXPECT_NE(bound().find(kWan), nullptr);
  const std::string of_this_boot = *kernel.text(kBoundFile);
  kernel.file(kBootId, "22222222-bbbb\n");
  EXPECT_EQ(bound().find(kWan), nullptr);
  // Its driver has the NIC again, and what is bound now is all that is known.
  ASSERT_TRUE(bind({kLan}));
  EXPECT_EQ(bound().find(kWan), nullptr);
  EXPECT_NE(bound().find(kLan), nullptr);
  // A file of a version that wrote down no boot is believed.
  kernel.file(kBoundFile, R"({"noiommu": false, "devices": [{"pci": "0000:17:00.0",
      "driver": "ixgbe", "interface": "eth1", "function_of": ""}]})");
  EXPECT_NE(bound().find(kWan), nullptr);
  kernel.file(kBoundFile, of_this_boot);
  EXPECT_EQ(bound().find(kWan), nullptr);
}

TEST_F(Binding, RefusesWhatCarriesTheDefaultRoute) {
  const std::string header = "Iface Destination Gateway Flags RefCnt Use Metric Mask\n";
  kernel.file("/proc/net/route", header + "eth1 00000000 010200C0 0003 0 0 0 00000000\n");
  EXPECT_EQ(refusal({kWan}),
            "0000:17:00.0: the default route goes by eth1; --force binds it all the same");
  EXPECT_TRUE(bind({kLan}));
  kernel.file("/proc/net/route", header + "eth1 000200C0 00000000 0001 0 0 0 00FFFFFF\n");
  const std::string zeros(32, '0');
  kernel.file("/proc/net/ipv6_route", zeros + " 00 " + zeros + " 00 " + zeros +
                                          " 00000400 00000002 00000000 00000003     eth1\n");
  EXPECT_THAT(refusal({kWan}), HasSubstr("default route goes by eth1"));
  kernel.file("/proc/net/ipv6_route", zeros + " 00 " + zeros + " 00 " + zeros +
                                          " ffffffff 00000001 00000000 00200200     lo\n");
  kernel.folder("/sys/class/net/eth1/upper_bond0");
  kernel.folder("/sys/class/net/bond0/upper_bond0.7");
  kernel.file("/proc/net/route", header + "bond0.7 00000000 010200C0 0003 0 0 0 00000000\n");
  EXPECT_THAT(refusal({kWan}), HasSubstr("default route goes by bond0.7"));
  BindOptions options;
  options.force = true;
  EXPECT_TRUE(bind({kWan}, options));
}

TEST_F(Binding, RefusesWhatAnSshSessionComesInBy) {
  kernel.ips["eth1"] = {"192.0.2.5", "2001:db8::5"};
  BindOptions options;
  options.session_address = "2001:db8::5";
  EXPECT_THAT(refusal({kWan}, options),
              HasSubstr("an SSH session comes in at 2001:db8::5 of eth1"));
  const auto sockets = [&](const std::string& local, const std::string& state) {
    kernel.file("/proc/net/tcp",
                "sl local_address rem_address st\n0: " + local + " 090200C0:D431 " + state + "\n");
  };
  sockets("050200C0:0016", "01");  // 192.0.2.5:22, established: sudo has taken SSH_CONNECTION away
  EXPECT_THAT(refusal({kWan}), HasSubstr("an SSH session comes in at 192.0.2.5 of eth1"));
  sockets("050200C0:0016", "0A");  // listens
  EXPECT_TRUE(bind({kWan}));
  unbind({});
  sockets("050200C0:01BB", "01");  // HTTPS
  EXPECT_TRUE(bind({kWan}));
  unbind({});
  kernel.remove("/proc/net/tcp");
  kernel.file("/proc/net/tcp6", "sl\n0: 0000000000000000FFFF0000050200C0:0016 0:0 01\n");
  EXPECT_THAT(refusal({kWan}), HasSubstr("an SSH session")) << "IPv4 at a socket of IPv6";
  options.force = true;
  EXPECT_TRUE(bind({kWan}, options));
}

TEST_F(Binding, SaysWhatToDoWithoutAnIommu) {
  kernel.remove(FakeKernel::device(kWan) + "/iommu_group");
  kernel.remove("/sys/kernel/iommu_groups");
  EXPECT_THAT(refusal({kWan}), HasSubstr("intel_iommu=on"));
  EXPECT_THAT(kernel.writes, IsEmpty());
  const std::string parameter = "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode";
  kernel.file(parameter, "N");
  BindOptions options;
  options.noiommu = true;
  kernel.refuses = {kWan};
  EXPECT_THAT(refusal({kWan}, options), HasSubstr("nothing was changed"));
  EXPECT_EQ(kernel.text(parameter), "N");
  EXPECT_FALSE(bound().noiommu);
  kernel.refuses = {};
  ASSERT_TRUE(bind({kWan}, options));
  EXPECT_EQ(kernel.text(parameter), "Y");
  EXPECT_THAT(unbind({}).failed, IsEmpty());
  EXPECT_EQ(kernel.text(parameter), "N");
  EXPECT_FALSE(bound().noiommu);
}

TEST_F(Binding, BindsAnIommuGroupAsAWhole) {
  kernel.group(kWan, kLan);
  EXPECT_EQ(refusal({kWan}),
            "0000:17:00.0: its IOMMU group holds 0000:98:00.0 (i40e), too; bind all of it or "
            "nothing");
  EXPECT_TRUE(bind({kWan, kLan}));
  unbind({});
  kernel.nic("0000:16:00.0", "pcieport", "");
  kernel.nic("0000:18:00.0", "ixgbe", "eth3");
  kernel.group("0000:18:00.0", "0000:16:00.0");
  EXPECT_TRUE(bind({"0000:18:00.0"})) << "a bridge stays with the kernel";
}

TEST_F(Binding, LoadsTheModule) {
  kernel.remove("/sys/bus/pci/drivers/vfio-pci");
  ASSERT_TRUE(bind({kWan}));
  EXPECT_THAT(kernel.loaded, ElementsAre("vfio-pci"));
}

TEST_F(Binding, LeavesMellanoxToItsDriver) {
  kernel.nic("0000:19:00.0", "mlx5_core", "eth4");
  EXPECT_THAT(*bind({"eth4"}),
              ElementsAre("0000:19:00.0: DPDK works through mlx5_core: not bound"));
  EXPECT_THAT(kernel.writes, IsEmpty());
  kernel.sriov("0000:19:00.0", 8);
  BindOptions options;
  options.vfs = 2;
  EXPECT_THAT(refusal({"eth4"}, options), HasSubstr("DPDK works through mlx5_core"));
}

class Functions : public Binding {
 protected:
  Functions() {
    kernel.driver("iavf");
    kernel.sriov(kWan, 8);
    options.vfs = 4;
  }
  std::optional<uint64_t> made() {
    return kernel.number(FakeKernel::device(kWan) + "/sriov_numvfs");
  }
  BindOptions options;
};

TEST_F(Functions, AreMadeAndBoundAndTheDeviceStays) {
  const auto lines = bind({"eth1"}, options);
  ASSERT_TRUE(lines) << lines.error().message;
  EXPECT_THAT(
      *lines,
      ElementsAre("0000:17:00.0: 4 VFs made", "0000:17:10.0: vfio-pci, had no driver",
                  "0000:17:10.1: vfio-pci, had no driver", "0000:17:10.2: vfio-pci, had no driver",
                  "0000:17:10.3: vfio-pci, had no driver"));
  EXPECT_EQ(kernel.driver_now(kWan), "ixgbe");
  EXPECT_EQ(kernel.driver_now("0000:17:10.3"), "vfio-pci");
  EXPECT_EQ(kernel.text(FakeKernel::device(kWan) + "/sriov_drivers_autoprobe"), "1");
  ASSERT_TRUE(bind({"eth1"}, options));
  EXPECT_THAT(kernel.writes, IsEmpty()) << "a second run";
  EXPECT_THAT(unbind({"eth1"}).failed, IsEmpty());
  EXPECT_EQ(made(), 0u);
  EXPECT_THAT(bound().devices, IsEmpty());
}

TEST_F(Functions, AreTakenAwayByUnbindAll) {
  ASSERT_TRUE(bind({"eth1"}, options));
  EXPECT_THAT(unbind({}).done.back(), "0000:17:00.0: its VFs are gone");
  EXPECT_EQ(made(), 0u);
}

TEST_F(Functions, MadeInPartAreTakenAwayAgain) {
  kernel.most_functions = 2;
  EXPECT_EQ(refusal({"eth1"}, options),
            "0000:17:00.0 made 2 of 4 VFs; the kernel's log says why; nothing was changed");
  EXPECT_EQ(made(), 0u);
  EXPECT_EQ(kernel.text(FakeKernel::device(kWan) + "/sriov_drivers_autoprobe"), "1");
}

TEST_F(Functions, AreTakenAwayWhenOneCannotBeBound) {
  kernel.refuses = {"0000:17:10.2"};
  EXPECT_THAT(refusal({"eth1"}, options), HasSubstr("0000:17:10.2: vfio-pci did not take it"));
  EXPECT_EQ(made(), 0u);
  EXPECT_THAT(bound().devices, IsEmpty());
}

TEST_F(Functions, AreRefusedWhereTheyCannotBe) {
  EXPECT_THAT(refusal({kLan}, options), HasSubstr("has no SR-IOV"));
  options.vfs = 9;
  EXPECT_THAT(refusal({kWan}, options), HasSubstr("makes 8 VFs at most, not 9"));
  options.vfs = 4;
  ASSERT_TRUE(bind({kWan}, options));
  options.vfs = 3;
  EXPECT_THAT(refusal({kWan}, options), HasSubstr("has 4 VFs already"));
  EXPECT_EQ(made(), 4u);
}

TEST_F(Functions, OfOthersAreBoundAndLeftThere) {
  ASSERT_TRUE(kernel.write(FakeKernel::device(kWan) + "/sriov_numvfs", "4"));
  ASSERT_TRUE(bind({kWan}, options));
  EXPECT_EQ(kernel.driver_now("0000:17:10.0"), "vfio-pci");
  EXPECT_THAT(unbind({}).failed, IsEmpty());
  EXPECT_EQ(kernel.driver_now("0000:17:10.0"), "iavf");
  EXPECT_EQ(made(), 4u);
}

TEST_F(Binding, UnbindWaitsForNoRouter) {
  ASSERT_TRUE(bind({kWan}));
  kernel.file("/proc/4711/comm", "hectod\n");
  const auto refused = unbind_devices(kernel, kernel, {}, false);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("hectod runs"));
  EXPECT_EQ(kernel.driver_now(kWan), "vfio-pci");
  EXPECT_TRUE(unbind_devices(kernel, kernel, {}, true));
  EXPECT_EQ(kernel.driver_now(kWan), "ixgbe");
}

TEST_F(Binding, UnbindGoesOnAfterAFailureAndKeepsItInMind) {
  ASSERT_TRUE(bind({kWan, kLan}));
  kernel.failing = FakeKernel::device(kWan) + "/driver/unbind";
  const Unbound unbound = unbind({});
  EXPECT_THAT(unbound.failed, ElementsAre(HasSubstr("0000:17:00.0/driver/unbind: failed")));
  EXPECT_EQ(kernel.driver_now(kLan), "i40e");
  ASSERT_EQ(bound().devices.size(), 1u);
  EXPECT_EQ(bound().devices[0].pci, kWan);
}

TEST_F(Binding, ForgetsADeviceThatIsGone) {
  ASSERT_TRUE(bind({kWan}));
  kernel.remove(FakeKernel::device(kWan));
  EXPECT_THAT(unbind({kWan}).done, ElementsAre("0000:17:00.0: is gone, forgotten"));
  EXPECT_THAT(bound().devices, IsEmpty());
}

TEST_F(Binding, AfterARestartOfTheMachineItIsBoundAgain) {
  ASSERT_TRUE(bind({kWan}));
  kernel.remove(FakeKernel::device(kWan));
  kernel.nic(kWan, "ixgbe", "eth1");
  ASSERT_TRUE(bind({kWan}));
  EXPECT_EQ(kernel.driver_now(kWan), "vfio-pci");
  EXPECT_EQ(bound().devices.size(), 1u);
}

}  // namespace
}  // namespace hecto::config::test
