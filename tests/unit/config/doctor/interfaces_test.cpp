#include "tests/unit/config/doctor/patient.hpp"

namespace hecto::config::test {
namespace {

class DoctorInterfaces : public Patient {
 protected:
  DoctorInterfaces() { configure("ports: {lan0: {device: eth1, queues: 2}}\n", plain_box(4)); }
  InterfaceFacts& facts() { return machine.facts["eth1"]; }
};

TEST_F(DoctorInterfaces, AreThoseOfTheFileElseAllNics) {
  Topology box = plain_box(4);
  box.nics.resize(2);
  box.nics[0].pci = "0000:17:00.0", box.nics[0].interface = "eth5";
  box.nics[1].pci = "0000:98:00.0";
  configure(
      "ports: {a: {device: eth1}, b: {device: \"17:00.0\"}, c: {device: \"98:00.0\"}, "
      "d: {device: net_ring0}}\n",
      box);
  EXPECT_EQ(interfaces(machine), (std::vector<std::string>{"eth1", "eth5"}));
  machine.config.reset();
  EXPECT_EQ(interfaces(machine), std::vector<std::string>{"eth5"});
}

TEST_F(DoctorInterfaces, FindsMerging) {
  facts().gro = facts().lro = true;
  for (const auto& [name, feature] :
       {std::pair("gro", InterfaceFeature::kGro), {"lro", InterfaceFeature::kLro}}) {
    const Finding finding = found(name);
    EXPECT_EQ(finding.severity, Severity::kAdvice) << "hectod switches it off";
    EXPECT_EQ(finding.mend, std::string("ethtool -K eth1 ") + name + " off");
    ASSERT_EQ(finding.changes.size(), 1u);
    EXPECT_EQ(finding.changes[0].interface, "eth1");
    EXPECT_EQ(finding.changes[0].feature, feature);
  }
  tree.file("/proc/77/comm", "hectod\n");
  EXPECT_EQ(found("gro").severity, Severity::kProblem) << "hectod has tried";
  facts().gro = facts().lro = false;
  EXPECT_FALSE(finds("gro"));
  EXPECT_FALSE(finds("lro"));
}

TEST_F(DoctorInterfaces, MergingOfANicThatDpdkPollsIsNoMatter) {
  machine.facts.clear();
  machine.facts["eth5"].gro = true;
  EXPECT_FALSE(finds("gro"));
}

TEST_F(DoctorInterfaces, FindsFlowControl) {
  facts().pause_rx = false, facts().pause_tx = true;
  EXPECT_EQ(found("flow_control").mend, "ethtool -A eth1 autoneg off rx off tx off");
  facts().pause_tx = false;
  EXPECT_FALSE(finds("flow_control"));
}

TEST_F(DoctorInterfaces, FindsQueuesThatNobodyPolls) {
  facts().receive_queues = 16;
  EXPECT_EQ(found("queues").what, "eth1: the NIC spreads over 16 queues, lan0 polls 2");
  EXPECT_EQ(found("queues").severity, Severity::kProblem);
  EXPECT_EQ(found("queues").mend, "ethtool -L eth1 combined 2");
  facts().receive_queues = 1;
  EXPECT_EQ(found("queues").severity, Severity::kAdvice);
  facts().receive_queues = 2;
  EXPECT_FALSE(finds("queues"));
}

TEST_F(DoctorInterfaces, FindsAnRssKeyOfZeros) {
  facts().rss_key.assign(40, 0);
  EXPECT_TRUE(finds("rss_key"));
  facts().rss_key[39] = 1;
  EXPECT_FALSE(finds("rss_key"));
  facts().rss_key.clear();
  EXPECT_FALSE(finds("rss_key")) << "not told";
}

TEST_F(DoctorInterfaces, FindsWhoElseManagesThem) {
  facts();
  tree.file("/sys/class/net/eth1/ifindex", "7\n");
  tree.file("/run/NetworkManager/devices/7", "[device]\nmanaged=true\n");
  tree.file("/run/systemd/netif/links/7", "ADMIN_STATE=configured\nOPER_STATE=routable\n");
  EXPECT_EQ(found("network_manager").mend, "nmcli device set eth1 managed no");
  EXPECT_THAT(found("networkd").mend, HasSubstr("/etc/systemd/network/05-hecto-eth1.network"));
  tree.file("/run/NetworkManager/devices/7", "[device]\nmanaged=false\n");
  tree.file("/run/systemd/netif/links/7", "ADMIN_STATE=unmanaged\n");
  EXPECT_FALSE(finds("network_manager"));
  EXPECT_FALSE(finds("networkd"));
}

}  // namespace
}  // namespace hecto::config::test
