#include "router/linux/tap.hpp"

#include <fcntl.h>

#include "tests/unit/router/linux/test_namespace.hpp"

namespace hecto::router {
namespace {

class TapTest : public NamespaceTest {
 protected:
  // The next frame of an EtherType that the kernel sends, within two seconds.
  std::vector<uint8_t> next_frame(Tap& tap, uint16_t ether_type) {
    std::vector<uint8_t> buffer(10240);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while (std::chrono::steady_clock::now() < end) {
      pollfd descriptor{tap.fd(), POLLIN, 0};
      if (poll(&descriptor, 1, 100) <= 0) continue;
      const TapIo io = tap.read(buffer);
      if (io.status != TapStatus::kOk || io.bytes < 14) continue;
      if ((buffer[12] << 8 | buffer[13]) == ether_type) {
        return {buffer.begin(), buffer.begin() + static_cast<long>(io.bytes)};
      }
    }
    return {};
  }
};

std::vector<uint8_t> arp_request(const MacAddress& from, uint8_t sender, uint8_t target) {
  std::vector<uint8_t> frame(6, 0xff);
  frame.insert(frame.end(), from.begin(), from.end());
  const uint8_t fixed[] = {8, 6, 0, 1, 8, 0, 6, 4, 0, 1};
  frame.insert(frame.end(), std::begin(fixed), std::end(fixed));
  frame.insert(frame.end(), from.begin(), from.end());
  for (const uint8_t last : {sender, target}) {
    const uint8_t address[] = {192, 0, 2, last};
    frame.insert(frame.end(), std::begin(address), std::end(address));
    if (last == sender) frame.insert(frame.end(), 6, 0);
  }
  frame.resize(60);
  return frame;
}

TEST_F(TapTest, HasNameMacAndMtu) {
  auto tap = Tap::create(*space_, {"wan0", {2, 0, 0, 0, 0, 0x11}, 9000, 500});
  ASSERT_TRUE(tap) << tap.error().message;
  const std::string shown = ip("link show wan0");
  EXPECT_NE(shown.find("02:00:00:00:00:11"), std::string::npos) << shown;
  EXPECT_NE(shown.find("mtu 9000"), std::string::npos);
  EXPECT_NE(shown.find("qlen 500"), std::string::npos);
  ASSERT_TRUE(tap->set_mtu(1400));
  ASSERT_TRUE(tap->set_mac({2, 0, 0, 0, 0, 0x12}));
  EXPECT_NE(ip("link show wan0").find("mtu 1400"), std::string::npos);
}

TEST_F(TapTest, KernelAnswersArpThroughIt) {
  Tap tap = make_tap("wan0");
  ip("addr add 192.0.2.1/24 dev wan0");
  const MacAddress peer{2, 0, 0, 0, 0, 0x99};
  ASSERT_EQ(tap.write(arp_request(peer, 7, 1)).status, TapStatus::kOk);
  const auto reply = next_frame(tap, 0x0806);
  ASSERT_GE(reply.size(), 42U);
  EXPECT_TRUE(std::equal(peer.begin(), peer.end(), reply.begin()));
  EXPECT_EQ(reply[21], 2);  // ARP reply
}

TEST_F(TapTest, CarriesJumboFramesAndTellsTruncation) {
  auto tap = Tap::create(*space_, {"wan0", {2, 0, 0, 0, 0, 1}, 9000, 1000});
  ASSERT_TRUE(tap);
  ASSERT_TRUE(tap->set_up(true));
  ip("addr add 192.0.2.1/24 dev wan0");
  ip("neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev wan0");
  const std::string ping =
      "ip netns exec " + name_ + " ping -c 1 -W 1 -M do -s 8972 192.0.2.2 >/dev/null 2>&1";
  static_cast<void>(!std::system(ping.c_str()));
  const auto frame = next_frame(*tap, 0x0800);
  if (frame.empty()) GTEST_SKIP() << "needs ping";
  EXPECT_EQ(frame.size(), 9014U);

  static_cast<void>(!std::system(ping.c_str()));
  std::vector<uint8_t> small(1500);
  TapIo io = tap->read(small);
  while (io.status == TapStatus::kOk) io = tap->read(small);
  EXPECT_EQ(io.status, TapStatus::kTruncated);
}

TEST_F(TapTest, FollowsCarrierAndAdministrativeState) {
  Tap tap = make_tap("wan0");
  ASSERT_TRUE(tap.set_carrier(false));
  EXPECT_NE(ip("link show wan0").find("NO-CARRIER"), std::string::npos);
  ASSERT_TRUE(tap.set_carrier(true));
  EXPECT_NE(ip("link show wan0").find("LOWER_UP"), std::string::npos);
  ASSERT_TRUE(tap.set_up(false));
  EXPECT_EQ(tap.write(std::vector<uint8_t>(60)).status, TapStatus::kDown);
  EXPECT_EQ(tap.write(std::vector<uint8_t>(13)).status, TapStatus::kError);
}

TEST_F(TapTest, SaysWhenItsDeviceIsDeleted) {
  Tap tap = make_tap("wan0");
  ip("link del wan0");
  std::vector<uint8_t> buffer(2048);
  EXPECT_EQ(tap.read(buffer).status, TapStatus::kGone);
  EXPECT_EQ(tap.write(std::vector<uint8_t>(60)).status, TapStatus::kGone);
  EXPECT_FALSE(tap.set_mtu(1400));
}

TEST_F(TapTest, RefusesNamesAndMtusInWords) {
  Tap first = make_tap("wan0");
  const auto twice = Tap::create(*space_, {"wan0", {2, 0, 0, 0, 0, 2}, 1500, 1000});
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message.find("in use"), std::string::npos);
  const auto taken = Tap::create(*space_, {"lo", {2, 0, 0, 0, 0, 2}, 1500, 1000});
  ASSERT_FALSE(taken);
  EXPECT_NE(taken.error().message.find("exists"), std::string::npos) << taken.error().message;
  EXPECT_FALSE(Tap::create(*space_, {"sixteen-letters-", {2}, 1500, 1000}));
  EXPECT_FALSE(Tap::create(*space_, {"big0", {2, 0, 0, 0, 0, 2}, 70000, 1000}));
  EXPECT_EQ(ip("-o link").find("big0"), std::string::npos);
}

TEST_F(TapTest, GoesWithItsObject) {
  { Tap tap = make_tap("wan0"); }
  EXPECT_EQ(ip("-o link").find("wan0"), std::string::npos);
}

FileDescriptor kept(const Tap& tap) {
  return FileDescriptor(fcntl(tap.fd(), F_DUPFD_CLOEXEC, 3));
}

TEST_F(TapTest, IsAdoptedAsItWasLeft) {
  auto first = std::make_unique<Tap>(make_tap("wan0", 1));
  ASSERT_TRUE(first->set_carrier(true));
  const int ifindex = first->ifindex();
  FileDescriptor descriptor = kept(*first);
  first.reset();
  ip("addr add 192.0.2.1/24 dev wan0");
  ip("route add 10.0.0.0/8 via 192.0.2.2");

  auto again = Tap::adopt(*space_, std::move(descriptor), {"wan0", {2, 0, 0, 0, 0, 1}, 1400, 1000});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->ifindex(), ifindex);
  const std::string link = ip("-o link show wan0");
  EXPECT_NE(link.find("mtu 1400"), std::string::npos) << link;
  EXPECT_NE(link.find("LOWER_UP"), std::string::npos) << link;
  EXPECT_NE(ip("route").find("10.0.0.0/8 via 192.0.2.2"), std::string::npos);
  const std::vector<uint8_t> frame(60, 0xff);
  EXPECT_EQ(again->write(frame).status, TapStatus::kOk);
}

TEST_F(TapTest, WhatIsNotThatDeviceAnyMoreIsNotAdopted) {
  const auto refused = [&](FileDescriptor descriptor) {
    auto tap = Tap::adopt(*space_, std::move(descriptor), {"wan0", {2, 0, 0, 0, 0, 1}, 1500, 1000});
    return tap ? std::string() : tap.error().message;
  };
  {
    const Tap deleted = make_tap("wan0");
    FileDescriptor descriptor = kept(deleted);
    ip("link del wan0");
    EXPECT_NE(refused(std::move(descriptor)).find("gone"), std::string::npos);
  }
  {
    const Tap renamed = make_tap("wan0", 1, false);
    FileDescriptor descriptor = kept(renamed);
    ip("link set wan0 name other0");
    EXPECT_NE(refused(std::move(descriptor)).find("other0"), std::string::npos);
  }
  auto elsewhere = NetworkNamespace::create(name_ + "-b", NamespaceLifetime::kRemove);
  ASSERT_TRUE(elsewhere);
  const auto moved = Tap::create(*elsewhere, {"wan0", {2, 0, 0, 0, 0, 1}, 1500, 1000});
  ASSERT_TRUE(moved);
  EXPECT_NE(refused(kept(*moved)).find("elsewhere"), std::string::npos);
  EXPECT_NE(refused(FileDescriptor(open("/dev/null", O_RDWR | O_CLOEXEC))), "");
}

}  // namespace
}  // namespace hecto::router
