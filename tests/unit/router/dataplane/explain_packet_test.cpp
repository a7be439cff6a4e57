// The explanation against the pipeline itself: the same packet, led there and sent here.
#include "router/dataplane/explain_packet.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <random>

#include "tests/beds/seed.hpp"
#include "tests/unit/router/dataplane/stages/two_gateways.hpp"

namespace hecto::router::test {
namespace {

constexpr size_t kProtocol4 = kEthernetBytes + 9, kProtocol6 = kEthernetBytes + 6;
constexpr uint8_t kEsp = 50, kIcmp = 1, kIcmp6 = 58;

IpAddress ip(const std::string& text) {
  return *IpAddress::parse(text);
}

class ExplainPacketTest : public TwoGateways {
 protected:
  ExplainPacketTest() {
    left_.snapshot().linux_side = true;
    left_.snapshot().features |= kFeatureUrpf;
    left_.snapshot().ports[0].features |= kFeatureUrpf;
    left_.snapshot().interfaces[0].urpf = UrpfMode::kStrict;
    add("0.0.0.0/0", {"192.0.2.2"});
    add("::/0", {"2001:db8::2"});
    add("198.18.0.0/15", {}, RouteType::kBlackhole);
    add("203.0.113.0/24", {}, RouteType::kProhibit);
    add("2001:db8:dead::/48", {}, RouteType::kUnreachable);
    add("172.16.0.0/12", {"192.0.2.77"});  // who does not answer
    add("172.20.0.0/16", {"192.0.2.2", "10.1.0.1"});
    add("240.0.0.0/4", {"192.0.2.2"});
    add("224.0.0.0/4", {"192.0.2.2"});
    left_.routing().commit();
  }
  void add(const std::string& to, const std::vector<std::string>& via,
           RouteType type = RouteType::kUnicast) {
    Route route;
    route.prefix = *IpPrefix::parse(to);
    route.origin = RouteOrigin::kFile;
    route.type = type;
    for (const std::string& gateway : via) {
      NextHop hop;
      hop.gateway = ip(gateway);
      hop.interface = InterfaceId(gateway.starts_with("10.") ? 0 : 1);
      route.next_hops.push_back(hop);
    }
    ASSERT_TRUE(left_.routing().add(route));
  }
  PacketAnswer explain(const IpAddress& destination, std::optional<IpAddress> source = {},
                       InterfaceId interface = kNoInterface, uint16_t length = 0,
                       uint8_t ttl = 64) {
    const IpsecStages::Options ipsec{left_.ipsec().view(), *register_sa_mark(), &left_.now_s};
    return explain_packet({destination, source, interface, ttl, length}, left_.snapshot(),
                          left_.tables(), ipsec);
  }
  Reason reason(const std::string& destination) { return explain(ip(destination)).reason; }

  struct Seen {
    Reason reason = Reason::kNone;
    bool protected_by_sa = false;
    unsigned packets = 0;
  };
  Seen sent(const IpAddress& source, const IpAddress& destination, PortId by, uint16_t length,
            uint8_t ttl) {
    const std::string from = source.to_string(), to = destination.to_string();
    const bool v4 = destination.family == Family::kIpv4;
    FrameOptions options = from_host(
        from.c_str(), to.c_str(), static_cast<uint16_t>(length - (v4 ? kIpv4Bytes : kIpv6Bytes)));
    options.to = own_mac(by);
    options.ttl = ttl;
    left_.run({packet(v4 ? ipv4_frame(options) : ipv6_frame(options))}, by);
    Seen seen;
    for (PortId port = 0; port < 2; ++port)
      for (rte_mbuf* each : left_.sent(port)) {
        const Frame frame = bytes_of(each);
        const bool outer4 = frame[12] == 0x08;
        const uint8_t protocol = frame[outer4 ? kProtocol4 : kProtocol6];
        seen.protected_by_sa = protocol == kEsp;
        // Its sender is told in its place, as often as answers may be.
        const bool ipsec = (left_.snapshot().features & kFeatureIpsec) != 0;
        if (protocol == kIcmp || protocol == kIcmp6)
          seen.reason = ipsec ? Reason::kTunnelTooBig : Reason::kTooBig;
        ++seen.packets;
        rte_pktmbuf_free(each);
      }
    const auto refused = left_.refused();
    if (!refused.empty()) seen.reason = refused.front();
    return seen;
  }
};

TEST_F(ExplainPacketTest, SaysWhatClassifyRefuses) {
  EXPECT_EQ(reason("240.0.0.1"), Reason::kMartianDestination);
  EXPECT_EQ(reason("0.0.0.1"), Reason::kMartianDestination);
  EXPECT_EQ(reason("127.0.0.1"), Reason::kMartianDestination);
  EXPECT_EQ(reason("224.0.0.5"), Reason::kMulticast);
  EXPECT_EQ(reason("255.255.255.255"), Reason::kBroadcast);
  EXPECT_EQ(reason("169.254.1.1"), Reason::kLinkLocal);
  EXPECT_EQ(reason("::1"), Reason::kMartianDestination);
  EXPECT_EQ(reason("ff02::1"), Reason::kMulticast);
  EXPECT_EQ(reason("fe80::1"), Reason::kLinkLocal);
}

TEST_F(ExplainPacketTest, SaysWhatTheRouteDoes) {
  EXPECT_EQ(reason("8.8.8.8"), Reason::kNone);
  EXPECT_EQ(reason("192.0.2.1"), Reason::kLocal);
  EXPECT_EQ(reason("198.18.0.1"), Reason::kBlackhole);
  EXPECT_EQ(reason("203.0.113.1"), Reason::kProhibit);
  EXPECT_EQ(reason("172.16.0.1"), Reason::kGlean);
  EXPECT_EQ(reason("2001:db8:dead::1"), Reason::kUnreachable);
}

TEST_F(ExplainPacketTest, AsksTheWayBackWhereItKnowsFromWhereAndWhom) {
  EXPECT_EQ(explain(ip("8.8.8.8"), ip("9.9.9.9")).reason, Reason::kNone);
  EXPECT_FALSE(explain(ip("8.8.8.8"), ip("9.9.9.9")).urpf);
  EXPECT_EQ(explain(ip("8.8.8.8"), ip("9.9.9.9"), 0).reason, Reason::kUrpf);
  EXPECT_EQ(explain(ip("8.8.8.8"), ip("10.1.0.7"), 0).reason, Reason::kNone);
  EXPECT_EQ(explain(ip("8.8.8.8"), ip("9.9.9.9"), 1).reason, Reason::kNone);
}

TEST_F(ExplainPacketTest, NamesTheSaThatProtectsAndCountsNothing) {
  left_.tunnel();
  const PacketAnswer answer = explain(ip("10.2.0.1"), ip("10.1.0.1"), 0);
  EXPECT_EQ(answer.reason, Reason::kNone);
  EXPECT_EQ(answer.spi, 2 * kSpi);
  EXPECT_TRUE(answer.policies);
  EXPECT_EQ(explain(ip("8.8.8.8"), ip("10.1.0.1"), 0).spi, 0u);
  for (const PolicyView& policy : left_.ipsec().policies()) EXPECT_EQ(policy.packets, 0u);
}

TEST_F(ExplainPacketTest, TellsOfNextHopsThatRefuseASharePart) {
  add("172.21.0.0/16", {"192.0.2.2", "192.0.2.77"});
  left_.routing().commit();
  const PacketAnswer answer = explain(ip("172.21.0.1"));
  EXPECT_EQ(answer.reason, Reason::kNone);
  EXPECT_EQ(answer.refused_by, Reason::kGlean);
  EXPECT_EQ(answer.refusing * 2, answer.buckets);
}

TEST_F(ExplainPacketTest, WithoutLinuxWhatIsPuntedIsDropped) {
  left_.snapshot().linux_side = false;
  EXPECT_EQ(reason("192.0.2.1"), Reason::kNoLinux);
  left_.snapshot().closed = true;
  EXPECT_EQ(reason("8.8.8.8"), Reason::kNotReady);
}

// Half of them anywhere, half where something is the matter.
IpAddress random_address(std::mt19937_64& random, Family family) {
  static const std::vector<std::string> k4 = {
      "10.1.0.0/24",   "10.2.0.0/24",   "192.0.2.0/29",   "10.1.0.254/31",     "198.18.0.0/15",
      "172.16.0.0/12", "172.20.0.0/16", "203.0.113.0/24", "169.254.0.0/16",    "224.0.0.0/4",
      "240.0.0.0/4",   "0.0.0.0/8",     "127.0.0.0/8",    "255.255.255.254/31"};
  static const std::vector<std::string> k6 = {
      "fd00:1::/126", "fd00:2::/126", "2001:db8::/126", "fd00:1::fe/127", "2001:db8:dead::/48",
      "fe80::/10",    "ff00::/8",     "::/127",         "::ffff:0:0/96",  "2001:db8::/32"};
  const bool v4 = family == Family::kIpv4;
  const auto& prefixes = v4 ? k4 : k6;
  IpAddress address = ip(v4 ? "0.0.0.0" : "::");
  const unsigned bytes = v4 ? 4 : 16;
  for (unsigned i = 0; i < bytes; ++i) address.bytes[i] = static_cast<uint8_t>(random());
  if (random() % 8 == 0) return address;
  const IpPrefix prefix = *IpPrefix::parse_interface(prefixes[random() % prefixes.size()]);
  for (unsigned bit = 0; bit < prefix.length; ++bit) {
    const auto mask = static_cast<uint8_t>(0x80 >> bit % 8);
    uint8_t& byte = address.bytes[bit / 8];
    byte = static_cast<uint8_t>((byte & ~mask) | (prefix.address.bytes[bit / 8] & mask));
  }
  return address;
}

TEST_F(ExplainPacketTest, TtlAndLengthRefuseWhatIsForwarded) {
  EXPECT_EQ(explain(ip("8.8.8.8"), {}, kNoInterface, 0, 1).reason, Reason::kTtlExpired);
  EXPECT_EQ(explain(ip("8.8.8.8"), {}, kNoInterface, 0, 2).reason, Reason::kNone);
  EXPECT_EQ(explain(ip("192.0.2.1"), {}, kNoInterface, 0, 1).reason, Reason::kLocal);
  EXPECT_EQ(explain(ip("8.8.8.8"), {}, kNoInterface, 1500).mtu, 0u);
  const PacketAnswer big = explain(ip("8.8.8.8"), {}, kNoInterface, 1501);
  EXPECT_EQ(big.reason, Reason::kNone);
  EXPECT_EQ(big.mtu, 1500u);
  EXPECT_TRUE(big.cut);
  EXPECT_EQ(explain(ip("8.8.8.8"), {}, kNoInterface, 1501, 1).reason, Reason::kTtlExpired);
}

TEST_F(ExplainPacketTest, WhatATunnelCannotTakeIsCutOrAnswered) {
  left_.tunnel();
  left_.tunnel(Family::kIpv6);
  const PacketAnswer fits = explain(ip("10.2.0.1"), ip("10.1.0.1"), 0, 1400);
  EXPECT_EQ(fits.mtu, 0u);
  EXPECT_FALSE(fits.cut);
  const PacketAnswer cut = explain(ip("10.2.0.1"), ip("10.1.0.1"), 0, 1480);
  EXPECT_EQ(cut.reason, Reason::kNone);
  EXPECT_EQ(cut.spi, 2 * kSpi);
  EXPECT_TRUE(cut.cut);
  EXPECT_GT(cut.mtu, 1400u);
  const PacketAnswer answered = explain(ip("fd00:2::1"), ip("fd00:1::1"), 0, 1480);
  EXPECT_EQ(answered.reason, Reason::kTunnelTooBig);
  EXPECT_EQ(answered.mtu, cut.mtu);
  EXPECT_EQ(explain(ip("10.2.0.1"), ip("10.1.0.1"), 0, 1480, 1).reason, Reason::kTtlExpired);
}

TEST_F(ExplainPacketTest, NamesARedirectWhereOneWouldBeTold) {
  left_.snapshot().features &= ~kFeatureIpsec;
  left_.snapshot().interfaces[1].redirects4 = true;
  EXPECT_TRUE(explain(ip("8.8.8.8"), ip("192.0.2.9"), 1).redirects);
  EXPECT_EQ(explain(ip("8.8.8.8"), ip("192.0.2.9"), 1).reason, Reason::kNone);
  EXPECT_FALSE(explain(ip("8.8.8.8"), ip("10.1.0.7"), 0).redirects);
  EXPECT_FALSE(explain(ip("2001:4860::8"), ip("2001:db8::9"), 1).redirects) << "not switched on";
  EXPECT_FALSE(explain(ip("8.8.8.8"), ip("192.0.2.9"), 1, 0, 1).redirects) << "it expires";
  left_.snapshot().features |= kFeatureIpsec;
  EXPECT_FALSE(explain(ip("8.8.8.8"), ip("192.0.2.9"), 1).redirects);
}

// With IPsec, and without: then senders are told of better first hops.
class ExplainManyPacketsTest : public ExplainPacketTest, public testing::WithParamInterface<bool> {
 protected:
  std::mt19937_64 random_{test_seed()};
  std::map<Reason, unsigned> met_;
  unsigned protected_ = 0, cut_ = 0;

  uint16_t random_length(Family family) {
    static constexpr uint16_t kLengths[] = {1400, 1440, 1460, 1480, 1500, 1501, 1600};
    const uint16_t least = PacketQuestion::least_length(family);
    return random_() % 2 == 0 ? least : kLengths[random_() % std::size(kLengths)];
  }
  uint8_t random_ttl() { return random_() % 4 == 0 ? static_cast<uint8_t>(random_() % 3) : 64; }

  // `back`: what becomes of packets to its sender, an answer of ours among them.
  void compare(const PacketAnswer& told, const Seen& seen, Reason back) {
    if (seen.reason == Reason::kRedirect)  // one packet a second and sender
      ASSERT_TRUE(told.redirects && told.reason == Reason::kNone);
    else if (told.reason == Reason::kTunnelTooBig)
      ASSERT_TRUE(seen.reason == Reason::kTunnelTooBig || seen.reason == back)
          << info(seen.reason).name;
    else if (told.refusing > 0)  // its flow decides
      ASSERT_TRUE(seen.reason == Reason::kNone || seen.reason == told.refused_by);
    else
      ASSERT_EQ(told.reason, seen.reason)
          << info(told.reason).name << " told, seen " << info(seen.reason).name;
    ASSERT_EQ(told.reason == Reason::kNone && told.spi != 0, seen.protected_by_sa);
    if (seen.reason == Reason::kNone) {
      ASSERT_EQ(told.cut, seen.packets > 1);
    }
    ++met_[seen.reason];
    protected_ += seen.protected_by_sa;
    cut_ += told.cut;
  }
};

TEST_P(ExplainManyPacketsTest, SaysOfThousandsOfPacketsWhatBecomesOfThem) {
  const bool ipsec = GetParam();
  Snapshot& snapshot = left_.snapshot();
  if (ipsec) {
    left_.tunnel();
    left_.tunnel(Family::kIpv6);
  } else {
    snapshot.features &= ~kFeatureIpsec;
    snapshot.punt_pps[static_cast<size_t>(Reason::kRedirect)] = 1'000'000;
    for (InterfaceView& interface : snapshot.interfaces)
      interface.redirects4 = interface.redirects6 = true;
  }
  SCOPED_TRACE(testing::Message() << "seed " << test_seed());
  for (unsigned i = 0; i < 20'000; ++i) {
    const Family family = i % 2 == 0 ? Family::kIpv4 : Family::kIpv6;
    const IpAddress from = random_address(random_, family), to = random_address(random_, family);
    const auto by = static_cast<uint16_t>(random_() % 2);
    const uint16_t length = random_length(family);
    const uint8_t ttl = random_ttl();
    SCOPED_TRACE(testing::Message() << from.to_string() << " > " << to.to_string() << ", " << length
                                    << " bytes, TTL " << int{ttl} << ", by " << by);
    const Reason back = explain(from).reason;
    compare(explain(to, from, InterfaceId(by), length, ttl),
            sent(from, to, PortId(by), length, ttl), back);
    if (HasFatalFailure()) return;
  }
  for (const Reason reason :
       {Reason::kNone, Reason::kLocal, Reason::kMulticast, Reason::kBroadcast, Reason::kLinkLocal,
        Reason::kGlean, Reason::kUnreachable, Reason::kProhibit, Reason::kBlackhole,
        Reason::kMartianSource, Reason::kMartianDestination, Reason::kUrpf, Reason::kTooBig,
        Reason::kTtlExpired, ipsec ? Reason::kPolicyMismatch : Reason::kRedirect})
    EXPECT_GT(met_[reason], 0u) << info(reason).name;
  EXPECT_EQ(protected_ > 0, ipsec);
  EXPECT_GT(cut_, 0u);
  EXPECT_EQ(met_[Reason::kTunnelTooBig] > 0, ipsec);
}
INSTANTIATE_TEST_SUITE_P(Ipsec, ExplainManyPacketsTest, testing::Bool());

}  // namespace
}  // namespace hecto::router::test
