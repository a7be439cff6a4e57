// The explanation against the pipeline itself: the same packet, led there and sent here.
#include "router/dataplane/explain_packet.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/beds/seed.hpp"
#include "tests/unit/router/dataplane/stages/two_gateways.hpp"

namespace hecto::router::test {
namespace {

constexpr size_t kProtocol4 = kEthernetBytes + 9, kProtocol6 = kEthernetBytes + 6;
constexpr uint8_t kEsp = 50;

IpAddress ip(const std::string& text) {
  return *IpAddress::parse(text);
}

class ExplainPacketTest : public TwoGateways {
 protected:
  ExplainPacketTest() {
    left_.snapshot().linux_side = true;
    left_.snapshot().features |= kFeatureUrpf;
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
      hop.interface = gateway.starts_with("10.") ? 0 : 1;
      route.next_hops.push_back(hop);
    }
    ASSERT_TRUE(left_.routing().add(route));
  }
  PacketAnswer explain(const IpAddress& destination, std::optional<IpAddress> source = {},
                       InterfaceId interface = kNoInterface) {
    const IpsecStages::Options ipsec{left_.ipsec().view(), *register_sa_mark(), &left_.now_s};
    return explain_packet({destination, source, interface}, left_.snapshot(), left_.tables(),
                          ipsec);
  }
  Reason reason(const std::string& destination) { return explain(ip(destination)).reason; }

  struct Seen {
    Reason reason = Reason::kNone;
    bool protected_by_sa = false;
    bool operator==(const Seen&) const = default;
  };
  Seen sent(const IpAddress& source, const IpAddress& destination, uint16_t by) {
    const std::string from = source.to_string(), to = destination.to_string();
    FrameOptions options = from_host(from.c_str(), to.c_str());
    options.to = own_mac(by);
    const bool v4 = destination.family == Family::kIpv4;
    left_.run({packet(v4 ? ipv4_frame(options) : ipv6_frame(options))}, by);
    Seen seen;
    for (uint16_t port = 0; port < 2; ++port)
      for (rte_mbuf* each : left_.sent(port)) {
        const Frame frame = bytes_of(each);
        const bool outer4 = frame[12] == 0x08;
        seen.protected_by_sa = frame[outer4 ? kProtocol4 : kProtocol6] == kEsp;
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

TEST_F(ExplainPacketTest, SaysOfThousandsOfPacketsWhatBecomesOfThem) {
  left_.tunnel();
  left_.tunnel(Family::kIpv6);
  std::mt19937_64 random(test_seed());
  SCOPED_TRACE(testing::Message() << "seed " << test_seed());
  std::map<Reason, unsigned> met;
  unsigned protected_packets = 0;
  for (unsigned i = 0; i < 20'000; ++i) {
    const Family family = i % 2 == 0 ? Family::kIpv4 : Family::kIpv6;
    const IpAddress from = random_address(random, family), to = random_address(random, family);
    const auto by = static_cast<uint16_t>(random() % 2);
    const PacketAnswer answer = explain(to, from, by);
    const Seen told{answer.reason, answer.reason == Reason::kNone && answer.spi != 0};
    const Seen seen = sent(from, to, by);
    ASSERT_EQ(told, seen) << from.to_string() << " > " << to.to_string() << ": told "
                          << info(told.reason).name << ", seen " << info(seen.reason).name;
    ++met[seen.reason];
    protected_packets += seen.protected_by_sa;
  }
  for (const Reason reason : {Reason::kNone, Reason::kLocal, Reason::kMulticast, Reason::kBroadcast,
                              Reason::kLinkLocal, Reason::kGlean, Reason::kUnreachable,
                              Reason::kProhibit, Reason::kBlackhole, Reason::kMartianSource,
                              Reason::kMartianDestination, Reason::kUrpf, Reason::kPolicyMismatch})
    EXPECT_GT(met[reason], 0u) << info(reason).name;
  EXPECT_GT(protected_packets, 0u);
}

}  // namespace
}  // namespace hecto::router::test
