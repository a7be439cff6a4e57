#include "router/linux/xfrm/mirror.hpp"

#include <fmt/format.h>

#include <fstream>

#include "tests/unit/router/linux/ipsec_recorder.hpp"
#include "tests/unit/router/linux/test_namespace.hpp"

namespace hecto::router {
namespace {

constexpr const char* kGcm =
    "proto esp reqid 7 mode tunnel aead 'rfc4106(gcm(aes))' "
    "0x0102030405060708090a0b0c0d0e0f1011121314 128";

class XfrmMirrorTest : public NamespaceTest {
 protected:
  void SetUp() override {
    NamespaceTest::SetUp();
    if (IsSkipped()) return;
    auto socket = NetlinkSocket::open(*space_, NETLINK_XFRM);
    if (!socket) GTEST_SKIP() << "this kernel has no XFRM: " << socket.error().message;
  }

  void start(const MirrorOptions& options = {}) {
    auto opened = XfrmMirror::open(
        *space_, ipsec_, [this](const std::string& line) { told_.push_back(line); }, options);
    ASSERT_TRUE(opened) << opened.error().message;
    xfrm_ = std::move(*opened);
    ASSERT_TRUE(settle_xfrm());
  }
  bool settle_xfrm(size_t budget = 64) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < end) {
      pollfd descriptor{xfrm_->fd(), POLLIN, 0};
      const int ready = poll(&descriptor, 1, 20);
      if (ready == 0 && xfrm_->synchronized() && !xfrm_->resync_pending()) return true;
      if (ready > 0 && !xfrm_->process(budget)) return false;
    }
    return false;
  }
  // False where this kernel has no ESP or no ciphers: the bed of a guest kernel runs these as well.
  bool kernel_has_esp() {
    const std::string command = "ip -n " + name_ + " xfrm state add src 203.0.113.1 dst " +
                                "203.0.113.2 spi 0x9999 " + kGcm + " 2>/dev/null";
    if (std::system(command.c_str()) != 0) return false;
    ip("xfrm state del src 203.0.113.1 dst 203.0.113.2 proto esp spi 0x9999");
    return true;
  }
  void add_policy(const std::string& direction, const std::string& from, const std::string& to,
                  const std::string& rest = "") {
    ip(fmt::format(
        "xfrm policy add src {} dst {} dir {} {} tmpl src 192.0.2.1 dst 192.0.2.2 proto "
        "esp reqid 7 mode tunnel",
        from, to, direction, rest));
  }
  // `ip -batch`, by a file of the folder that tests may write to.
  void batch(const std::string& lines) {
    const std::string path = ::testing::TempDir() + name_ + ".batch";
    std::ofstream(path) << lines;
    ip("-batch " + path);
    unlink(path.c_str());
  }
  const SaState* sa(const std::string& destination, Spi spi) {
    const auto found = ipsec_.sas.find({*IpAddress::parse(destination), spi});
    return found == ipsec_.sas.end() ? nullptr : &found->second;
  }

  IpsecRecorder ipsec_;
  std::vector<std::string> told_;
  std::unique_ptr<XfrmMirror> xfrm_;  // before what it tells goes
};

TEST_F(XfrmMirrorTest, TellsPoliciesOfTheStartAndThoseThatFollow) {
  add_policy("out", "10.1.0.0/16", "10.2.0.0/16", "priority 5");
  add_policy("in", "2001:db8:1::/48", "2001:db8:2::/48");
  start();
  const IpsecPolicy* out = ipsec_.find_policy(PolicyDirection::kOut, "10.1.0.0/16");
  ASSERT_TRUE(out);
  EXPECT_EQ(out->priority, 5U);
  EXPECT_EQ(out->action, PolicyAction::kProtect);
  ASSERT_TRUE(out->protection);
  EXPECT_EQ(out->protection->destination.to_string(), "192.0.2.2");
  EXPECT_EQ(out->protection->reqid, 7U);
  EXPECT_TRUE(ipsec_.find_policy(PolicyDirection::kIn, "2001:db8:1::/48"));

  add_policy("fwd", "10.3.0.0/16", "10.4.0.0/16", "if_id 9");
  ip("xfrm policy add src 10.5.0.0/16 dst 0.0.0.0/0 proto tcp dport 443 dir out action block");
  ip("xfrm policy add src 10.6.0.0/16 dst 0.0.0.0/0 dir out");
  ip("xfrm policy update src 10.1.0.0/16 dst 10.2.0.0/16 dir out priority 6 tmpl src 192.0.2.1 dst "
     "192.0.2.9 proto esp reqid 8 mode tunnel");
  ASSERT_TRUE(settle_xfrm());
  const IpsecPolicy* forward = ipsec_.find_policy(PolicyDirection::kForward, "10.3.0.0/16");
  ASSERT_TRUE(forward);
  EXPECT_EQ(forward->if_id, 9U);
  const IpsecPolicy* block = ipsec_.find_policy(PolicyDirection::kOut, "10.5.0.0/16");
  ASSERT_TRUE(block);
  EXPECT_EQ(block->action, PolicyAction::kDiscard);
  EXPECT_EQ(block->selector.destination_port, 443);
  EXPECT_EQ(ipsec_.find_policy(PolicyDirection::kOut, "10.6.0.0/16")->action,
            PolicyAction::kBypass);
  out = ipsec_.find_policy(PolicyDirection::kOut, "10.1.0.0/16");
  ASSERT_TRUE(out);
  EXPECT_EQ(out->priority, 6U);
  EXPECT_EQ(out->protection->reqid, 8U);
  EXPECT_EQ(xfrm_->stats().malformed, 0U);
}

TEST_F(XfrmMirrorTest, FollowsRemovalsByIndexAndBySelectorAndFlushes) {
  add_policy("out", "10.1.0.0/16", "10.2.0.0/16");
  add_policy("out", "10.3.0.0/16", "10.4.0.0/16");
  add_policy("in", "10.5.0.0/16", "10.6.0.0/16");
  start();
  ASSERT_EQ(ipsec_.policies.size(), 3U);
  ip(fmt::format("xfrm policy delete dir out index {}",
                 ipsec_.find_policy(PolicyDirection::kOut, "10.1.0.0/16")->index));
  ip("xfrm policy delete src 10.3.0.0/16 dst 10.4.0.0/16 dir out");
  ASSERT_TRUE(settle_xfrm());
  EXPECT_EQ(ipsec_.policies.size(), 1U);
  ip("xfrm policy flush");
  ASSERT_TRUE(settle_xfrm());
  EXPECT_TRUE(ipsec_.policies.empty());
  EXPECT_EQ(xfrm_->stats().malformed, 0U);
}

TEST_F(XfrmMirrorTest, APolicyThatRunsOutGoes) {
  add_policy("out", "10.1.0.0/16", "10.2.0.0/16", "limit time-hard 1");
  start();
  ASSERT_EQ(ipsec_.policies.size(), 1U);
  for (int i = 0; i < 40 && !ipsec_.policies.empty(); ++i) {
    usleep(100'000);
    ASSERT_TRUE(settle_xfrm());
  }
  EXPECT_TRUE(ipsec_.policies.empty());
}

TEST_F(XfrmMirrorTest, WhatItCannotDoIsToldOnceAndDiscards) {
  start();
  for (const char* source : {"10.1.0.0/16", "10.2.0.0/16"}) {
    ip(
        fmt::format("xfrm policy add src {} dst 10.9.0.0/16 dir out tmpl src 192.0.2.1 dst "
                    "192.0.2.2 proto ah mode tunnel",
                    source));
  }
  add_policy("out", "10.3.0.0/16", "10.9.0.0/16", "mark 5");
  ASSERT_TRUE(settle_xfrm());
  ASSERT_EQ(told_.size(), 2U);
  EXPECT_EQ(told_[0],
            "IPsec policy 10.1.0.0/16 to 10.9.0.0/16: a policy that asks for AH or "
            "IPComp: not supported, so its packets are dropped");
  EXPECT_EQ(told_[1],
            "IPsec policy 10.3.0.0/16 to 10.9.0.0/16: a policy for a mark: not supported, "
            "so it applies to no packet");
  EXPECT_EQ(xfrm_->unsupported().at("a policy that asks for AH or IPComp"), 2U);
  ASSERT_EQ(ipsec_.policies.size(), 2U);
  EXPECT_EQ(ipsec_.policies.front().policy.action, PolicyAction::kDiscard);
}

TEST_F(XfrmMirrorTest, AStateThatWaitsForKeysIsNone) {
  ip("xfrm state allocspi src 192.0.2.1 dst 192.0.2.2 proto esp min 256 max 512");
  start();
  EXPECT_TRUE(ipsec_.sas.empty());
  EXPECT_EQ(xfrm_->stats().malformed, 0U);
  EXPECT_GE(xfrm_->stats().ignored, 1U);
}

TEST_F(XfrmMirrorTest, AResyncTellsAllAgainAndTheOlderFirst) {
  std::string lines;
  for (int i = 0; i < 2000; ++i) {
    lines += fmt::format(
        "xfrm policy add src 10.{}.{}.0/24 dst 10.255.0.0/16 dir out tmpl src 192.0.2.1 dst "
        "192.0.2.2 proto esp reqid {} mode tunnel\n",
        i / 256, i % 256, i + 1);
  }
  batch(lines);
  start();
  ASSERT_EQ(ipsec_.policies.size(), 2000U);
  uint32_t expected = 0;
  for (const auto& known : ipsec_.policies) {
    ASSERT_EQ(known.policy.protection->reqid, ++expected);
  }
  // Changes in the midst of the next one.
  xfrm_->request_resync("test");
  ASSERT_TRUE(xfrm_->process(2));
  ASSERT_FALSE(xfrm_->synchronized());
  ip("xfrm policy delete src 10.0.5.0/24 dst 10.255.0.0/16 dir out");
  add_policy("in", "10.250.0.0/16", "10.251.0.0/16");
  ASSERT_TRUE(settle_xfrm());
  EXPECT_EQ(ipsec_.policies.size(), 2000U);
  EXPECT_FALSE(ipsec_.find_policy(PolicyDirection::kOut, "10.0.5.0/24"));
  EXPECT_TRUE(ipsec_.find_policy(PolicyDirection::kIn, "10.250.0.0/16"));
  EXPECT_EQ(xfrm_->stats().resyncs, 2U);
  EXPECT_EQ(xfrm_->stats().repeated_dumps, 0U);
}

TEST_F(XfrmMirrorTest, AnOverrunIsFollowedByAResync) {
  MirrorOptions options;
  options.receive_buffer_bytes = 4096;
  start(options);
  std::string lines;
  for (int i = 0; i < 1000; ++i) {
    lines += fmt::format("xfrm policy add src 10.{}.{}.0/24 dst 10.255.0.0/16 dir out\n", i / 256,
                         i % 256);
  }
  batch(lines);
  ASSERT_TRUE(settle_xfrm());
  EXPECT_GE(xfrm_->stats().overruns, 1U);
  EXPECT_GE(xfrm_->stats().resyncs, 2U);
  EXPECT_EQ(ipsec_.policies.size(), 1000U);
}

TEST_F(XfrmMirrorTest, IsNotWholeFromAnOverrunToTheEndOfTheResync) {
  MirrorOptions options;
  options.receive_buffer_bytes = 4096;
  start(options);
  EXPECT_TRUE(xfrm_->whole());
  std::string lines;
  for (int i = 0; i < 1000; ++i)
    lines += fmt::format("xfrm policy add src 10.{}.{}.0/24 dst 10.255.0.0/16 dir out\n", i / 256,
                         i % 256);
  batch(lines);
  while (xfrm_->stats().overruns == 0) ASSERT_TRUE(xfrm_->process(1));
  EXPECT_FALSE(xfrm_->whole());
  ASSERT_TRUE(settle_xfrm());
  EXPECT_TRUE(xfrm_->whole());
  EXPECT_EQ(ipsec_.policies.size(), 1000U);
}

TEST_F(XfrmMirrorTest, TellsStatesOfTheStartAndThoseThatFollow) {
  if (!kernel_has_esp()) GTEST_SKIP() << "this kernel has no ESP with AES-GCM";
  ip(
      fmt::format("xfrm state add src 192.0.2.1 dst 192.0.2.2 spi 0x1001 {} replay-window 64 flag "
                  "esn",
                  kGcm));
  ip(
      fmt::format("xfrm state add src 192.0.2.1 dst 192.0.2.2 spi 0x1002 {} encap espinudp 4500 "
                  "4501 0.0.0.0 limit byte-soft 1000",
                  kGcm));
  start();
  ASSERT_EQ(ipsec_.sas.size(), 2U);
  ASSERT_EQ(ipsec_.order.size(), 2U);
  EXPECT_EQ(ipsec_.order[0].spi, 0x1001U);  // the older
  const SaState* first = sa("192.0.2.2", 0x1001);
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->esn);
  EXPECT_EQ(first->replay_window, 64U);
  EXPECT_EQ(first->reqid, 7U);
  EXPECT_EQ(first->transform,
            (esp::Transform{esp::Cipher::kAesGcm, esp::Integrity::kNone, 16, 16}));
  EXPECT_EQ(first->keys.cipher[0], 1);
  EXPECT_EQ(first->keys.cipher[19], 0x14);
  const SaState* second = sa("192.0.2.2", 0x1002);
  EXPECT_EQ(second->encapsulation, (UdpEncapsulation{4500, 4501}));
  EXPECT_EQ(second->lifetime.soft_bytes, 1000U);

  ip(fmt::format("xfrm state add src 2001:db8::1 dst 2001:db8::2 spi 0x1003 {}", kGcm));
  ip("xfrm state add src 192.0.2.1 dst 192.0.2.2 spi 0x1004 proto esp mode transport enc "
     "'cbc(aes)' "
     "0x0102030405060708090a0b0c0d0e0f10 auth-trunc 'hmac(sha256)' "
     "0x0102030405060708090a0b0c0d0e0f100102030405060708090a0b0c0d0e0f10 128");
  ip("xfrm state delete src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001");
  ASSERT_TRUE(settle_xfrm());
  EXPECT_EQ(ipsec_.sas.size(), 3U);
  EXPECT_FALSE(sa("192.0.2.2", 0x1001));
  ASSERT_TRUE(sa("192.0.2.2", 0x1004));
  EXPECT_EQ(sa("192.0.2.2", 0x1004)->mode, IpsecMode::kTransport);
  EXPECT_EQ(sa("192.0.2.2", 0x1004)->transform.icv_bytes, 16);
  ip("xfrm state flush");
  ASSERT_TRUE(settle_xfrm());
  EXPECT_TRUE(ipsec_.sas.empty());
  EXPECT_EQ(xfrm_->stats().malformed, 0U);
}

TEST_F(XfrmMirrorTest, AStateThatRunsOutGoes) {
  if (!kernel_has_esp()) GTEST_SKIP() << "this kernel has no ESP with AES-GCM";
  start();
  ip(fmt::format("xfrm state add src 192.0.2.1 dst 192.0.2.2 spi 0x1001 {} limit time-hard 1",
                 kGcm));
  ASSERT_TRUE(settle_xfrm());
  ASSERT_EQ(ipsec_.sas.size(), 1U);
  for (int i = 0; i < 40 && !ipsec_.sas.empty(); ++i) {
    usleep(100'000);
    ASSERT_TRUE(settle_xfrm());
  }
  EXPECT_TRUE(ipsec_.sas.empty());
}

}  // namespace
}  // namespace hecto::router
