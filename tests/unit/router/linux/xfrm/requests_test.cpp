#include "router/linux/xfrm/requests.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include "router/linux/xfrm/policy_use.hpp"
#include "tests/unit/router/linux/ipsec_recorder.hpp"
#include "tests/unit/router/linux/test_namespace.hpp"
#include "tests/unit/router/linux/xfrm/builder.hpp"

namespace hecto::router {
namespace {

SaId id_of(const std::string& destination, Spi spi) {
  return {*IpAddress::parse(destination), spi};
}

IpsecPolicy trap() {
  IpsecPolicy policy;
  policy.selector.source = *IpPrefix::parse("10.1.0.0/16");
  policy.selector.destination = *IpPrefix::parse("10.2.0.0/16");
  PolicyTemplate protection;
  protection.source = *IpAddress::parse("192.0.2.1");
  protection.destination = *IpAddress::parse("192.0.2.2");
  protection.reqid = 77;
  policy.protection = protection;
  return policy;
}

// What the kernel would read of a message of ours.
SaProgress progress_of(const SaReport& usage, const SaProgress& known) {
  alignas(nlmsghdr) char buffer[messages::kXfrmMessageBytes];
  const nlmsghdr* header = messages::sa_progress(buffer, usage, known);
  const auto* from = reinterpret_cast<const uint8_t*>(buffer);
  const std::vector<uint8_t> bytes(from, from + header->nlmsg_len);
  SaProgress read;
  EXPECT_EQ(header->nlmsg_type, XFRM_MSG_NEWAE);
  EXPECT_TRUE(header->nlmsg_flags & NLM_F_REPLACE);
  EXPECT_EQ(decode_progress(message_of(bytes), read), XfrmDecoded::kEvent);
  return read;
}

TEST(XfrmRequestMessages, ProgressKeepsWhatIsTheKernels) {
  SaProgress known;
  known.added_s = 1700000000;
  known.wide = true;
  known.bitmap_words = 128;
  known.replay_window = 4096;
  known.replay_sequence = 50;
  const SaReport usage{id_of("2001:db8::2", 0x1001), true, 1000, 10, 1700000009, 5, 40};
  const SaProgress read = progress_of(usage, known);
  EXPECT_EQ(read.id, usage.id);
  EXPECT_EQ(read.bytes, 1000U);
  EXPECT_EQ(read.packets, 10U);
  EXPECT_EQ(read.added_s, 1700000000U);  // limits of time count from it
  EXPECT_EQ(read.first_used_s, 1700000009U);
  EXPECT_EQ(read.bitmap_words, 128U);
  EXPECT_EQ(read.replay_window, 4096U);
  EXPECT_EQ(read.replay_sequence, 50U);  // never back
}

TEST(XfrmRequestMessages, NumbersRunAheadOfWhatWasSent) {
  SaProgress wide;
  wide.wide = true;
  wide.bitmap_words = 2;
  SaReport usage{id_of("192.0.2.2", 0x1001), true, 0, 0, 0, 0xffffffff, 0};
  EXPECT_EQ(progress_of(usage, wide).sequence, 0xffffffffU + kSequenceReserve);
  usage.sequence = ~uint64_t{0} - 5;
  EXPECT_EQ(progress_of(usage, wide).sequence, ~uint64_t{0});
  usage.esn = false;
  usage.sequence = 7;
  EXPECT_EQ(progress_of(usage, {}).sequence, 7 + kNarrowSequenceReserve);
  EXPECT_EQ(progress_of(usage, wide).sequence, 7 + kNarrowSequenceReserve);
  usage.sequence = 0xfffffffe;
  EXPECT_EQ(progress_of(usage, {}).sequence, 0xffffffffU);
  usage.sequence = 0;  // it never sent: the kernel's stays
  SaProgress told;
  told.sequence = 99;
  EXPECT_EQ(progress_of(usage, told).sequence, 99U);
}

// The kernel may be further than hectod and its reserve: another hectod has told it, or it has sent.
TEST(XfrmRequestMessages, NumbersNeverGoBack) {
  SaProgress known;
  SaReport usage{id_of("192.0.2.2", 0x1001), false, 0, 0, 0, 7, 0};
  known.sequence = 7 + kNarrowSequenceReserve + 1;
  EXPECT_EQ(progress_of(usage, known).sequence, known.sequence);
  usage.esn = known.wide = true;
  known.bitmap_words = 2;
  known.sequence = (uint64_t{1} << 40) + 5;
  EXPECT_EQ(progress_of(usage, known).sequence, known.sequence);
}

class XfrmRequestsTest : public NamespaceTest {
 protected:
  void SetUp() override {
    NamespaceTest::SetUp();
    if (IsSkipped()) return;
    auto opened = XfrmRequests::open(*space_);
    if (!opened) GTEST_SKIP() << "this kernel has no XFRM: " << opened.error().message;
    requests_ = std::make_unique<XfrmRequests>(std::move(*opened));
  }
  bool add_sa(Spi spi, const std::string& rest) {
    const std::string command = fmt::format(
        "ip -n {} xfrm state add src 192.0.2.1 dst 192.0.2.2 spi {} proto esp reqid 7 mode tunnel "
        "aead 'rfc4106(gcm(aes))' 0x0102030405060708090a0b0c0d0e0f1011121314 128 {} 2>/dev/null",
        name_, spi.value(), rest);
    return std::system(command.c_str()) == 0;
  }
  // The one notification of `group` that `act` brings about; the kernel sends it while it acts.
  template <typename Header>
  std::optional<Header> heard(unsigned group, uint16_t type, const std::function<void()>& act) {
    auto socket = NetlinkSocket::open(*space_, NETLINK_XFRM);
    if (!socket || !socket->subscribe(group)) return std::nullopt;
    act();
    std::vector<uint8_t> buffer(16384);
    const auto datagram = socket->receive(buffer);
    MessageWalker walker(datagram.bytes);
    Message message;
    if (!walker.next(message) || message.header.nlmsg_type != type) return std::nullopt;
    return read_pod<Header>(message.body);
  }

  std::unique_ptr<XfrmRequests> requests_;
};

TEST_F(XfrmRequestsTest, SasThatAreGoneAreNoErrors) {
  std::vector<SaReport> usages;
  for (Spi spi = 0x1000; spi < 0x1100; ++spi) usages.push_back({id_of("192.0.2.2", spi)});
  const auto outcome = requests_->report(usages);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->gone, 256U);
  EXPECT_EQ(outcome->done + outcome->failed, 0U);
  const auto expired = requests_->expire(id_of("192.0.2.2", 0x1000), true);
  ASSERT_FALSE(expired);
  EXPECT_EQ(expired.error().error_number, ENOENT);
  EXPECT_NE(expired.error().message.find("expire IPsec SA 0x00001000 to 192.0.2.2"),
            std::string::npos)
      << expired.error().message;
}

TEST_F(XfrmRequestsTest, AnAcquireReachesTheIkeDaemon) {
  const auto told = heard<xfrm_user_acquire>(XFRMNLGRP_ACQUIRE, XFRM_MSG_ACQUIRE, [&] {
    const auto asked = requests_->acquire(trap());
    EXPECT_TRUE(asked) << asked.error().message;
  });
  ASSERT_TRUE(told);
  EXPECT_EQ(std::memcmp(&told->id.daddr, "\xc0\x00\x02\x02", 4), 0);
  EXPECT_EQ(std::memcmp(&told->saddr, "\xc0\x00\x02\x01", 4), 0);
  EXPECT_EQ(told->sel.prefixlen_s, 16);
  EXPECT_EQ(std::memcmp(&told->sel.daddr, "\x0a\x02", 2), 0);
  EXPECT_FALSE(requests_->acquire({}));
}

TEST_F(XfrmRequestsTest, UsageAndNumbersStandInTheKernel) {
  if (!add_sa(0x1001, "replay-window 128 flag esn") || !add_sa(0x1002, "replay-window 32")) {
    GTEST_SKIP() << "this kernel has no ESP with AES-GCM";
  }
  const SaReport usages[] = {
      {id_of("192.0.2.2", 0x1001), true, 123456, 789, 1700000000, 0x100000005, 0},
      {id_of("192.0.2.2", 0x1002), false, 1111, 22, 1700000000, 0, 33}};
  const auto outcome = requests_->report(usages);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->done, 2U);
  EXPECT_EQ(outcome->failed, 0U) << outcome->first_failure.message;
  const std::string first =
      ip("-s xfrm state get src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001");
  EXPECT_NE(first.find("123456(bytes), 789(packets)"), std::string::npos) << first;
  EXPECT_NE(first.find("oseq 0x4000005"), std::string::npos) << first;  // and 2^26 ahead
  EXPECT_NE(first.find("oseq-hi 0x1"), std::string::npos) << first;
  const std::string second =
      ip("-s xfrm state get src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1002");
  EXPECT_NE(second.find("1111(bytes), 22(packets)"), std::string::npos) << second;
  EXPECT_NE(second.find("seq 0x21"), std::string::npos) << second;
}

TEST_F(XfrmRequestsTest, ASoftExpiryIsToldAndAHardOneDeletes) {
  if (!add_sa(0x1001, "")) GTEST_SKIP() << "this kernel has no ESP with AES-GCM";
  for (const bool hard : {false, true}) {
    const auto told = heard<xfrm_user_expire>(XFRMNLGRP_EXPIRE, XFRM_MSG_EXPIRE, [&] {
      EXPECT_TRUE(requests_->expire(id_of("192.0.2.2", 0x1001), hard));
    });
    ASSERT_TRUE(told);
    EXPECT_EQ(told->hard != 0, hard);
    EXPECT_EQ(ntohl(told->state.id.spi), 0x1001U);
    EXPECT_EQ(ip("xfrm state").empty(), hard);
  }
}

// The last use of policies that `ip` shows as "use -" until a packet, or we, look them up.
TEST_F(XfrmRequestsTest, PoliciesInUseAreMarkedSo) {
  const auto use = XfrmUse::open(*space_);
  ASSERT_TRUE(use) << use.error().message;
  if (!add_sa(0x1001, "flag af-unspec")) GTEST_SKIP() << "this kernel has no ESP with AES-GCM";
  Tap twin = make_tap("wan0");
  ip("addr add 192.0.2.1/24 dev wan0");
  ip("-6 addr add 2001:db8::1/64 dev wan0 nodad");
  ip("-6 route add 2001:db8:2::/48 via 2001:db8::2");
  ASSERT_TRUE(exempt_from_xfrm(*space_, "wan0"));
  const std::pair<const char*, const char*> pairs[] = {{"10.1.0.0/16", "10.2.0.0/16"},
                                                       {"10.3.0.0/16", "0.0.0.0/0"},
                                                       {"2001:db8:1::/48", "2001:db8:2::/48"}};
  std::vector<IpsecSelector> selectors;
  for (const auto& [source, destination] : pairs) {
    ip(
        fmt::format("xfrm policy add src {} dst {} dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto "
                    "esp reqid 7 mode tunnel",
                    source, destination));
    IpsecSelector selector;
    selector.source = *IpPrefix::parse(source);
    selector.destination = *IpPrefix::parse(destination);
    selector.family = selector.source.address.family;
    selectors.push_back(selector);
  }
  const auto unused = [&] {
    const std::string said = ip("-s xfrm policy list");
    size_t count = 0;
    for (size_t at = 0; (at = said.find("use -", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  ASSERT_EQ(unused(), 3U);
  EXPECT_EQ(use->mark_used(*space_, selectors), 3U);
  EXPECT_EQ(unused(), 0U);
  uint8_t frame[2048];
  while (true) {
    const TapIo got = twin.read(frame);
    if (got.status != TapStatus::kOk) break;
    EXPECT_FALSE(got.bytes > 23 && frame[12] == 0x08 && frame[13] == 0)
        << "an IPv4 packet went out";
  }
}

// A twin whose far side is the test: what Linux sends comes out of it in clear, or not at all,
// since there is a policy and no SA.
class ExemptTwin : public XfrmRequestsTest {
 protected:
  // Whether a UDP datagram that the namespace sends to `address` comes out of the twin.
  bool sends(const char* address) {
    Tap& twin = *twin_;
    uint8_t frame[2048];
    while (twin.read(frame).status == TapStatus::kOk) {
    }
    static_cast<void>(space_->run([&]() -> Result<void> {
      const IpAddress to = *IpAddress::parse(address);
      const bool v4 = to.family == Family::kIpv4;
      const FileDescriptor udp(socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      sockaddr_in in4{};
      in4.sin_family = AF_INET;
      in4.sin_port = htons(4242);
      sockaddr_in6 in6{};
      in6.sin6_family = AF_INET6;
      in6.sin6_port = htons(4242);
      inet_pton(AF_INET, v4 ? address : "0.0.0.0", &in4.sin_addr);
      inet_pton(AF_INET6, v4 ? "::" : address, &in6.sin6_addr);
      const auto* where =
          v4 ? reinterpret_cast<const sockaddr*>(&in4) : reinterpret_cast<const sockaddr*>(&in6);
      sendto(udp.get(), "hecto", 5, MSG_DONTWAIT, where, v4 ? sizeof in4 : sizeof in6);
      return {};
    }));
    usleep(50'000);
    for (TapIo got = twin.read(frame); got.status == TapStatus::kOk; got = twin.read(frame)) {
      const std::string_view bytes(reinterpret_cast<const char*>(frame), got.bytes);
      if (bytes.size() > 5 && bytes.substr(bytes.size() - 5) == "hecto") return true;
    }
    return false;
  }
  void make_twin() {
    twin_ = std::make_unique<Tap>(make_tap("wan0"));
    ip("addr add 10.1.0.1/24 dev wan0");
    ip("route add 10.2.0.0/16 via 10.1.0.2");
    ip("neigh add 10.1.0.2 lladdr 02:00:00:00:00:22 dev wan0");
    ip("-6 addr add 2001:db8:1::1/64 dev wan0 nodad");
    ip("-6 route add 2001:db8:2::/64 via 2001:db8:1::2");
    ip("-6 neigh add 2001:db8:1::2 lladdr 02:00:00:00:00:22 dev wan0");
  }
  void protect() {
    ip("xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.2 "
       "proto esp mode tunnel");
    ip("xfrm policy add src 2001:db8:1::/48 dst 2001:db8:2::/48 dir out tmpl src 192.0.2.1 dst "
       "192.0.2.2 proto esp mode tunnel");
  }

  std::unique_ptr<Tap> twin_;
};

TEST_F(ExemptTwin, LinuxSendsInClearWhereTheRouterProtects) {
  make_twin();
  ASSERT_TRUE(sends("10.2.0.1"));
  ASSERT_TRUE(sends("2001:db8:2::1"));
  protect();
  EXPECT_FALSE(sends("10.2.0.1"));  // Linux waits for an SA
  const auto done = exempt_from_xfrm(*space_, "wan0");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_TRUE(sends("10.2.0.1"));
  EXPECT_EQ(*space_->sysctl("net/ipv4/conf/wan0/disable_policy"), "1");
  EXPECT_EQ(*space_->sysctl("net/ipv6/conf/wan0/disable_policy"), "1");
}

// Should Linux learn it, README.md has something to take back.
TEST_F(ExemptTwin, ThereIsNoSuchSwitchForIpv6) {
  make_twin();
  protect();
  ASSERT_TRUE(exempt_from_xfrm(*space_, "wan0"));
  EXPECT_FALSE(sends("2001:db8:2::1"));
  EXPECT_FALSE(space_->sysctl("net/ipv6/conf/wan0/disable_xfrm"));
}

TEST_F(ExemptTwin, AnInterfaceThatIsNotThereIsNoError) {
  EXPECT_TRUE(exempt_from_xfrm(*space_, "none0"));
}

}  // namespace
}  // namespace hecto::router
