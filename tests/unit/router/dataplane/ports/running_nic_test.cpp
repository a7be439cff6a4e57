// What becomes of NICs while they run: links, removal, MTU; and who sends by queues that are too few.
#include <gtest/gtest.h>
#include <poll.h>

#include "router/dataplane/ports/port_news.hpp"
#include "router/dataplane/stages/transmit.hpp"
#include "tests/unit/router/dataplane/ports/nic_box.hpp"

namespace hecto::router::test {
namespace {

// A thread that the kernel takes its CPU from in the middle of handing over: the others go on, and
// what they hand over arrives.
TEST(TooFewTransmitQueues, AThreadKeptFromItsCpuStopsNobody) {
  EthdevScript script = i40e();
  script.max_tx_queues = 1;
  ScriptedEthdev nic("one", script);
  Box box(3);
  box.place("p0", {0});
  const Port& port = box.add(nic, "p0");
  EXPECT_EQ(box.path(0, port).handoff, nullptr);
  rte_ring* const kept = box.path(1, port).handoff;
  ASSERT_NE(kept, nullptr);
  ASSERT_NE(box.path(2, port).handoff, nullptr);
  EXPECT_NE(box.path(2, port).handoff, kept);
  const uint32_t tail = kept->prod.tail;
  kept->prod.head = tail + 1;  // it has taken its place, and not yet put a packet there

  std::array<PortCounters, kMaxPorts> counters;
  ReasonCounters reasons;
  Transmitter sender(counters, reasons), owner(counters, reasons);
  sender.use(&box.dataplane().snapshot().workers[2].transmit);
  owner.use(&box.dataplane().snapshot().workers[0].transmit);
  for (int i = 0; i < 8; ++i)
    sender.enqueue(port.id(), rte_pktmbuf_alloc(box.dataplane().pool_of("p0")->get()));
  sender.flush_all();
  EXPECT_EQ(box.dataplane().in_flight(), 8u);
  unsigned sent = 0;
  for (const HandoffQueue& handoff : box.dataplane().snapshot().workers[0].handoffs)
    sent += owner.drain(handoff);
  EXPECT_EQ(sent, 8u);
  EXPECT_EQ(counters[port.id()].tx_packets.get(), 8u);
  kept->prod.head = tail;
}

TEST(TooFewTransmitQueues, OnlyTheThreadWithoutOneHandsOver) {
  EthdevScript script = i40e();
  script.max_tx_queues = 3;
  ScriptedEthdev nic("three", script);
  Box box(3);
  box.place("p0", {0});
  const Port& port = box.add(nic, "p0");
  for (unsigned worker = 0; worker < 3; ++worker) {
    EXPECT_EQ(box.path(worker, port).handoff, nullptr);
    EXPECT_EQ(box.path(worker, port).queue, worker);
  }
  const TransmitPath& slow = box.dataplane().snapshot().slow_path[port.id()];
  EXPECT_NE(slow.handoff, nullptr);
  ASSERT_EQ(box.dataplane().snapshot().workers[slow.queue].handoffs.size(), 1u);
  EXPECT_EQ(box.dataplane().snapshot().workers[slow.queue].handoffs[0].ring, slow.handoff);
}

bool news() {
  pollfd one{PortNews::of_process().fd(), POLLIN, 0};
  return ::poll(&one, 1, 0) == 1;
}

class RunningNic : public testing::Test {
 protected:
  explicit RunningNic() {
    script_ = i40e();
    script_.link_interrupts = true;
    box_.place("p0", {0});
    PortNews::of_process().take();
  }
  Port& add() {
    nic_ = std::make_unique<ScriptedEthdev>("running", script_);
    return box_.add(*nic_, "p0");
  }
  EthdevScript script_;
  std::unique_ptr<ScriptedEthdev> nic_;
  Box box_{1};
};

TEST_F(RunningNic, TellsOfItsLinkByInterrupt) {
  Port& port = add();
  EXPECT_EQ(nic_->asked.intr_conf.lsc, 1u);
  EXPECT_TRUE(port.link_interrupts());
  EXPECT_TRUE(port.link().up);
  EXPECT_FALSE(news());
  nic_->announce_link(false);
  EXPECT_TRUE(news());
  EXPECT_FALSE(port.link().up);
  PortNews::of_process().take();
  EXPECT_FALSE(news());
}

TEST_F(RunningNic, IsNotAskedForInterruptsThatItsDriverHasNot) {
  script_.link_interrupts = false;
  EXPECT_FALSE(add().link_interrupts());
  EXPECT_EQ(nic_->asked.intr_conf.lsc, 0u);
}

TEST_F(RunningNic, IsPolledForItsLinkWhereItsDriverTellsNothingThoughItSaysSo) {
  script_.driver = "net_vmxnet3";
  EXPECT_FALSE(add().link_interrupts());
  EXPECT_EQ(nic_->asked.intr_conf.lsc, 0u);
}

TEST_F(RunningNic, IsGoneWhenTheBusSaysSo) {
  Port& port = add();
  EXPECT_TRUE(port.present());
  nic_->announce_removal();
  EXPECT_FALSE(port.present());
  EXPECT_TRUE(news());
  box_.dataplane().remove_port("p0");
  EXPECT_EQ(nic_->calls, (std::vector<std::string>{"start", "stop"}));
}

TEST_F(RunningNic, IsStoppedForItsMtuWhereItsDriverWantsThatWithNobodyAtItsQueues) {
  script_.mtu_wants_stop = true;
  Port& port = add();
  unsigned stops = 0;
  nic_->on_stop = [&] {
    ++stops;
    EXPECT_EQ(box_.path(0, port).queue, TransmitPath::kNone);
    EXPECT_TRUE(box_.dataplane().snapshot().workers[0].queues.empty());
  };
  const auto done = box_.dataplane().set_mtu("p0", 1600);
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_EQ(nic_->calls,
            (std::vector<std::string>{"start", "mtu 1600", "stop", "mtu 1600", "start"}));
  EXPECT_EQ(stops, 1u);
  EXPECT_EQ(port.mtu(), 1600);
  EXPECT_EQ(box_.path(0, port).queue, 0);
  EXPECT_EQ(box_.dataplane().snapshot().workers[0].queues.size(), 1u);
  nic_->on_stop = {};
}

TEST_F(RunningNic, OneThatDoesNotStartAgainIsLeftAloneAndSaid) {
  script_.mtu_wants_stop = true;
  script_.starts_again = false;
  Port& port = add();
  const auto done = box_.dataplane().set_mtu("p0", 1600);
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("does not start it again"), std::string::npos);
  EXPECT_FALSE(port.running());
  EXPECT_FALSE(port.link().up);
  EXPECT_EQ(box_.path(0, port).queue, TransmitPath::kNone);
  EXPECT_TRUE(box_.dataplane().snapshot().workers[0].queues.empty());
  EXPECT_EQ(port.mtu(), 1500);
  nic_->script.starts_again = true;  // the next who asks finds it well again
  EXPECT_TRUE(box_.dataplane().set_mtu("p0", 1500));
  EXPECT_TRUE(port.running());
  EXPECT_EQ(box_.path(0, port).queue, 0);
}

TEST_F(RunningNic, RunsOnAsItDidWhereItDoesNotStartWithAnMtu) {
  script_.mtu_wants_stop = true;
  script_.no_start_with_mtu = 1600;
  Port& port = add();
  const auto done = box_.dataplane().set_mtu("p0", 1600);
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("does not start with MTU 1600"), std::string::npos);
  EXPECT_TRUE(port.running());
  EXPECT_EQ(port.mtu(), 1500);
  EXPECT_EQ(box_.path(0, port).queue, 0);
}

}  // namespace
}  // namespace hecto::router::test
