#include "router/dataplane/slow_path.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "router/dataplane/observe/trace.hpp"
#include "router/dataplane/tables/tables.hpp"
#include "tests/beds/packets.hpp"
#include "tests/unit/router/linux/test_namespace.hpp"

namespace hecto::router::test {
namespace {

// A slow path without twins: what is punted ends as no_linux, and a trace is told so.
struct SlowPathBed {
  SlowPathBed() {
    pool();  // DPDK
    for (unsigned priority = 0; priority < kPuntPriorities; ++priority)
      rings[priority] =
          rte_ring_create_elem(("punts-" + std::to_string(priority)).c_str(), sizeof(PuntEntry), 64,
                               SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    snapshot.generation = 1;
    snapshot.punt_pps.fill(1'000'000);
    snapshot.punt_class_pps.fill(1'000'000);
    current = &snapshot;
  }
  ~SlowPathBed() {
    for (rte_ring* ring : rings) rte_ring_free(ring);
  }
  void punt(PuntClass punt_class, uint16_t trace, uint16_t session) {
    PuntEntry entry{packet(ipv4_frame()), Reason::kLocal, punt_class, 0, trace, session};
    rte_ring* const ring = rings[info(punt_class).priority];
    EXPECT_EQ(rte_ring_sp_enqueue_elem(ring, &entry, sizeof entry), 0);
  }

  // Punts one packet that the session `session` traced, while the snapshot holds another or it.
  size_t events_after_a_punt_of(uint16_t session) {
    SlowPath::Options options;
    options.punts = {rings};
    options.qsbr = qsbr.get();
    options.snapshot = &current;
    SlowPath slow_path(options);
    slow_path.start();
    punt(PuntClass::kLocal, 1, session);
    const auto& dropped = slow_path.counters().reasons.dropped;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (dropped[static_cast<size_t>(Reason::kNoLinux)].get() == 0 &&
           std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    slow_path.stop();
    EXPECT_EQ(dropped[static_cast<size_t>(Reason::kNoLinux)].get(), 1u);
    return snapshot.trace->events().size();
  }

  Qsbr qsbr{1};
  PuntQueues rings{};
  Snapshot snapshot;
  std::atomic<const Snapshot*> current{nullptr};
};

TEST(SlowPath, TellsATraceWhatBecameOfItsPacket) {
  SlowPathBed bed;
  bed.snapshot.trace = std::make_shared<TraceSession>(PacketMatch{}, 4, 7);
  EXPECT_EQ(bed.events_after_a_punt_of(7), 1u);
}

TEST(SlowPath, APacketOfAnEarlierTraceIsNotInTheNext) {
  SlowPathBed bed;
  bed.snapshot.trace = std::make_shared<TraceSession>(PacketMatch{}, 4, 8);
  EXPECT_EQ(bed.events_after_a_punt_of(7), 0u);
}

// A TAP whose device end is a socket that nobody reads and whose queue is full.
class FullTapTest : public NamespaceTest {
 protected:
  std::shared_ptr<Twin> full_twin() {
    auto twin = std::make_shared<Twin>(make_tap("wan0"));
    twin->interface = 0;
    twin->pool = pool();
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends_), 0);
    EXPECT_EQ(dup2(ends_[0], twin->tap.fd()), twin->tap.fd());
    const std::vector<uint8_t> frame(60);
    while (twin->tap.write(frame).status == TapStatus::kOk) ++room_;
    return twin;
  }
  void TearDown() override {
    for (const int end : ends_)
      if (end >= 0) close(end);
  }
  int ends_[2] = {-1, -1};
  unsigned room_ = 0;
};

TEST_F(FullTapTest, WhatLinuxDoesNotTakeIsTapFull) {
  SlowPathBed bed;
  SlowPath::Options options;
  options.punts = {bed.rings};
  options.qsbr = bed.qsbr.get();
  options.snapshot = &bed.current;
  SlowPath slow_path(options);
  const auto list = std::make_shared<TwinList>();
  list->twins = {full_twin()};
  list->by_interface = {list->twins[0].get()};
  ASSERT_GT(room_, 0u);
  slow_path.set_twins(list);
  for (unsigned i = 0; i < 5; ++i) bed.punt(PuntClass::kLocal, 0, 0);
  slow_path.start();
  const auto& reasons = slow_path.counters().reasons;
  const auto full = [&] { return reasons.dropped[static_cast<size_t>(Reason::kTapFull)].get(); };
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (full() < 5 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  slow_path.stop();
  EXPECT_EQ(full(), 5u);
  EXPECT_EQ(reasons.punted[static_cast<size_t>(Reason::kLocal)].get(), 0u);
  const auto& classes = slow_path.punt_meter().counters();
  EXPECT_EQ(classes[static_cast<size_t>(PuntClass::kLocal)].dropped.get(), 5u);
}

// Errors fill their queue before sessions come: those are taken first all the same, each time.
TEST(SlowPath, TakesSessionsBeforeErrors) {
  SlowPathBed bed;
  bed.snapshot.trace = std::make_shared<TraceSession>(PacketMatch{}, 64, 7);
  SlowPath::Options options;
  options.punts = {bed.rings};
  options.qsbr = bed.qsbr.get();
  options.snapshot = &bed.current;
  SlowPath slow_path(options);
  for (unsigned i = 0; i < 60; ++i) bed.punt(PuntClass::kTtl, 1, 7);
  bed.punt(PuntClass::kRequests, 2, 7);
  bed.punt(PuntClass::kRouting, 3, 7);
  bed.punt(PuntClass::kSessions, 4, 7);
  EXPECT_EQ(slow_path.queued(), 63u);
  slow_path.start();
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (slow_path.queued() > 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  slow_path.stop();
  std::vector<uint16_t> order;
  for (const TraceEvent& event : bed.snapshot.trace->events()) order.push_back(event.number);
  ASSERT_EQ(order.size(), 63u);
  order.resize(4);
  EXPECT_EQ(order, (std::vector<uint16_t>{4, 3, 2, 1}));
  const auto& classes = slow_path.punt_meter().counters();
  EXPECT_EQ(classes[static_cast<size_t>(PuntClass::kTtl)].dropped.get(), 60u);  // no twin here
}

}  // namespace
}  // namespace hecto::router::test
