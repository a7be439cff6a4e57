// A reload keeps to the folder of the file that started hectod.
#include "router/control/reload_limits.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace hecto::router {
namespace {

namespace fs = std::filesystem;

class ReloadLimitsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(home_ / "sub");
    fs::create_directories(root_ / "homely");
    std::ofstream(root_ / "secret") << "root:x:0:0\n";
    fs::permissions(root_ / "secret", fs::perms::owner_read | fs::perms::owner_write);
    started_.file = home_ / "hecto.yaml";
    config::PortConfig port;
    port.device = "net_pcap0,rx_pcap=/tmp/a.pcap";
    started_.ports.push_back(port);
  }
  void TearDown() override { fs::remove_all(root_); }
  config::Problems problems(const std::string& text) {
    std::ofstream(home_ / "new.yaml") << text;
    const ReloadLimits limits(started_);
    const auto loaded = config::load(home_ / "new.yaml", limits.of_load());
    return loaded ? config::Problems{} : loaded.error();
  }

  const fs::path root_ =
      fs::path(testing::TempDir()) / ("hecto-limits-" + std::to_string(::getpid()));
  const fs::path home_ = root_ / "home";
  config::Config started_;
};

TEST_F(ReloadLimitsTest, FilesThatTheFileAtTheStartNamed) {
  started_.route_files.push_back(root_ / "secret");
  const ReloadLimits limits(started_);
  EXPECT_EQ(limits.file(root_ / "secret"), "");
  EXPECT_NE(limits.file(root_ / "homely"), "");
}

TEST_F(ReloadLimitsTest, FilesOfSetsOfTheFileAtTheStart) {
  config::PrefixSetConfig& set = started_.filters.sets.emplace_back();
  set.file = root_ / "secret";
  EXPECT_EQ(ReloadLimits(started_).file(root_ / "secret"), "");
}

// Not even its first line is told.
TEST_F(ReloadLimitsTest, NoFileOfASetElsewhere) {
  const auto told = problems("ports: {wan0: {device: eth1}}\nsets: {s: {file: ../secret}}\n");
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("sets.s.file: ../secret is not in "), std::string::npos) << told[0];
  EXPECT_EQ(told[0].find("root:x"), std::string::npos);
}

TEST_F(ReloadLimitsTest, FilesOfItsFolderAndBelow) {
  const ReloadLimits limits(started_);
  EXPECT_EQ(limits.file(home_ / "other.yaml"), "");
  EXPECT_EQ(limits.file(home_ / "sub/routes"), "");
  EXPECT_EQ(limits.file(home_ / "sub/../routes"), "");
  const std::string refusal =
      "is not in " + home_.string() +
      ", and a running hectod reads nothing else: put it there, or restart hectod "
      "with it";
  EXPECT_EQ(limits.file(root_ / "secret"), refusal);
  EXPECT_EQ(limits.file(home_ / "../secret"), refusal);
  EXPECT_EQ(limits.file(root_ / "homely/x"), refusal) << "begins like it, and is another";
  EXPECT_EQ(limits.file("/etc/shadow"), refusal);
}

TEST_F(ReloadLimitsTest, ALinkIsWhatItPointsAt) {
  fs::create_symlink(root_ / "secret", home_ / "link.yaml");
  fs::create_directory_symlink(root_, home_ / "out");
  const ReloadLimits limits(started_);
  EXPECT_NE(limits.file(home_ / "link.yaml"), "");
  EXPECT_NE(limits.file(home_ / "out/secret"), "");
}

TEST_F(ReloadLimitsTest, NothingOfAFileOutsideIsReadOrQuoted) {
  const ReloadLimits limits(started_);
  const auto direct = config::load(root_ / "secret", limits.of_load());
  ASSERT_FALSE(direct);
  EXPECT_EQ(direct.error()[0].find("root:"), std::string::npos) << direct.error()[0];
  const std::string ports = "ports: {a0: {device: eth1}}\n";
  auto refused = problems(ports + "route_files: [../secret]\n");
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_NE(refused[0].find("new.yaml:2: route_files"), std::string::npos) << refused[0];
  EXPECT_NE(refused[0].find("is not in"), std::string::npos) << refused[0];
  refused = problems(ports +
                     "ipsec: {sas: [{source: 192.0.2.1, destination: 192.0.2.2, spi: 0x1001, "
                     "cipher: aes-128-gcm, key_file: ../secret}]}\n");
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_NE(refused[0].find("is not in"), std::string::npos) << refused[0];
}

TEST_F(ReloadLimitsTest, DevicesThatNameFilesAreThoseOfTheStart) {
  EXPECT_EQ(problems("ports: {a0: {device: \"net_pcap0,rx_pcap=/tmp/a.pcap\"}}"),
            config::Problems{});
  EXPECT_EQ(problems("ports: {a0: {device: \"net_pcap0,iface=lo\"}}"), config::Problems{});
  for (const std::string device :
       {"net_pcap0,rx_pcap=/tmp/a.pcap,tx_pcap=/etc/cron.d/x", "net_pcap1,tx_pcap=/tmp/a.pcap",
        "net_af_xdp0,iface=eth0,xdp_prog=/tmp/evil.o"}) {
    const auto refused = problems("ports: {a0: {device: \"" + device + "\"}}");
    ASSERT_EQ(refused.size(), 1u) << device;
    EXPECT_NE(refused[0].find("reads or writes a file"), std::string::npos) << refused[0];
  }
}

}  // namespace
}  // namespace hecto::router
