#include "router/control/ipsec_control.hpp"
#include "router/control/xfrm_control.hpp"
#include "tests/beds/control.hpp"
#include "tests/unit/router/ipsec/ipsec_bed.hpp"

namespace hecto::router::test {
namespace {

constexpr const char* kOnePort = "workers: {0: [1]}\nports: {wan0: {device: eth1}}\n";

struct Controlled {
  std::unique_ptr<ControlBed> bed = ControlBed::started(kOnePort);
  IpsecControl control{config(), bed->routing, lookup::Reclaimer::none(), nullptr};

  static config::IpsecConfig config() {
    config::IpsecConfig config;
    config.nic = config::IpsecNic::kNever;
    return config;
  }
};

TEST(IpsecControl, WorkersRunItsStagesWhileThereIsSomethingToDo) {
  Controlled c;
  c.control.commit(c.bed->plane);
  EXPECT_FALSE(c.bed->plane.ipsec);
  c.control.ipsec().sa(sa_state(0x100));
  c.control.commit(c.bed->plane);
  EXPECT_TRUE(c.bed->plane.ipsec);
  c.control.ipsec().sa_removed({ip(kThere), 0x100});
  c.control.commit(c.bed->plane);
  EXPECT_FALSE(c.bed->plane.ipsec);
}

TEST(IpsecControl, KeysAreGivenOnlyWhereTheFileSaysSo) {
  Controlled c;
  c.control.ipsec().sa(sa_state(0x100));
  const auto refused = c.control.keys(false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error_number, EACCES);
  const auto given = c.control.keys(true);
  ASSERT_TRUE(given);
  const std::string text((*given)->begin(), (*given)->end());
  EXPECT_NE(text.find("0x00000100"), std::string::npos) << text;
}

// What was asked of the kernel, in order.
class FakeKernel final : public XfrmKernel {
 public:
  Result<void> expire(const SaId& id, bool hard) override {
    said.push_back(fmt::format("expire {:#x} {}", id.spi, hard ? "hard" : "soft"));
    return answer;
  }
  Result<UsageOutcome> report(std::span<const SaReport> reports) override {
    for (const SaReport& report : reports)
      said.push_back(
          fmt::format("report {:#x} {} of {}", report.id.spi, report.packets, report.first_used_s));
    return UsageOutcome{};
  }
  Result<void> acquire(const IpsecPolicy& policy) override {
    said.push_back("acquire " + policy.selector.destination.to_string());
    return {};
  }
  void mark_used(std::span<const IpsecSelector> selectors) override {
    for (const IpsecSelector& selector : selectors)
      said.push_back("touch " + selector.destination.to_string());
  }

  Said said;
  Result<void> answer;
};

class XfrmUsageTest : public IpsecBed {
 protected:
  FakeKernel kernel;
  Notes notes;
  std::unique_ptr<XfrmUsage> usage;

  void SetUp() override {
    make();
    usage = std::make_unique<XfrmUsage>(kernel, *ipsec, notes);
  }
};

TEST_F(XfrmUsageTest, AnExpiryIsToldOfLinuxsSasAlone) {
  Expiry expiry;
  expiry.id = {ip(kThere), 0x100};
  expiry.hard = true;
  expiry.origin = RouteOrigin::kFile;
  usage->expired(expiry);
  EXPECT_TRUE(kernel.said.empty());
  expiry.origin = RouteOrigin::kLinux;
  usage->expired(expiry);
  EXPECT_EQ(kernel.said, Said{"expire 0x100 hard"});
  kernel.answer = fail("no such SA", ENOENT);
  usage->expired(expiry);
  EXPECT_TRUE(notes.lines().empty());
  kernel.answer = fail("the socket is gone", EBADF);
  usage->expired(expiry);
  EXPECT_EQ(notes.lines(), Said{"ipsec: the socket is gone"});
}

TEST_F(XfrmUsageTest, APolicyWithoutAnSaAsksForOneOnceAPacketMetIt) {
  IpsecPolicy policy = out_policy("10.1.0.0/16", "10.2.0.0/16");
  policy.index = 9;
  ipsec->policy(policy);
  ipsec->commit();
  usage->report(now_s, 5000);
  EXPECT_TRUE(kernel.said.empty());
  out()->packets.fetch_add(1);
  usage->report(now_s, 5000);
  EXPECT_EQ(kernel.said, Said{"acquire 10.2.0.0/16"});
  usage->report(now_s, 5000);
  EXPECT_EQ(kernel.said.size(), 1u);  // no packet more
}

TEST_F(XfrmUsageTest, APolicyThatMovedPacketsIsInUse) {
  IpsecPolicy policy = out_policy("10.1.0.0/16", "10.2.0.0/16");
  policy.index = 9;
  ipsec->policy(policy);
  ipsec->sa(sa_state(0x100));
  ipsec->commit();
  out()->packets.fetch_add(1);
  usage->report(now_s, 5000);
  EXPECT_EQ(kernel.said, Said{"touch 10.2.0.0/16"});
}

}  // namespace
}  // namespace hecto::router::test
