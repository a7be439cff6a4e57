#include "router/dataplane/slow_path.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "router/dataplane/observe/trace.hpp"
#include "router/dataplane/ports/mempool.hpp"
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
  uint64_t at_wan0 = 0;
  slow_path.dropped_at().each([&](Reason reason, InterfaceId interface, uint64_t packets) {
    EXPECT_EQ(reason, Reason::kTapFull);
    if (interface == 0) at_wan0 += packets;
  });
  EXPECT_EQ(at_wan0, 5u);
  slow_path.punted_at().each([](Reason, InterfaceId, uint64_t) { ADD_FAILURE(); });
}

// A TAP whose device end is a socket, on which the test plays Linux.
class TagsTest : public NamespaceTest {
 protected:
  void start(const VlanTags& tags, bool service_interface = false) {
    auto twin = std::make_shared<Twin>(make_tap("wan0"));
    twin->interface = 0;
    twin->tags = tags;
    twin->pool = pool();
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends_), 0);
    ASSERT_EQ(dup2(ends_[0], twin->tap.fd()), twin->tap.fd());
    bed_.snapshot.interfaces[0].service_tag = service_interface;
    sent_ = rte_ring_create("tags", 64, SOCKET_ID_ANY, 0);
    bed_.snapshot.slow_path[0] = {0, false, false, sent_};
    SlowPath::Options options;
    options.punts = {bed_.rings};
    options.qsbr = bed_.qsbr.get();
    options.snapshot = &bed_.current;
    slow_path_ = std::make_unique<SlowPath>(options);
    const auto list = std::make_shared<TwinList>();
    list->twins = {twin};
    list->by_interface = {twin.get()};
    slow_path_->set_twins(list);
    slow_path_->start();
  }
  void TearDown() override {
    slow_path_.reset();
    for (const int end : ends_)
      if (end >= 0) close(end);
    rte_ring_free(sent_);
    EXPECT_EQ(mbufs_in_use(), 0u);
  }
  // What Linux sees of a frame that is punted.
  Frame to_linux(const FrameOptions& options) {
    PuntEntry entry{packet(ipv4_frame(options)), Reason::kLocal, PuntClass::kLocal, 0, 0, 0};
    rte_ring* const ring = bed_.rings[info(PuntClass::kLocal).priority];
    EXPECT_EQ(rte_ring_sp_enqueue_elem(ring, &entry, sizeof entry), 0);
    Frame frame(2000);
    pollfd waiting{ends_[1], POLLIN, 0};
    EXPECT_EQ(poll(&waiting, 1, 10'000), 1);
    const ssize_t bytes = read(ends_[1], frame.data(), frame.size());
    frame.resize(bytes > 0 ? static_cast<size_t>(bytes) : 0);
    return frame;
  }
  // What the port sends of a frame of Linux.
  Frame from_linux(const FrameOptions& options) {
    const Frame frame = ipv4_frame(options);
    EXPECT_EQ(write(ends_[1], frame.data(), frame.size()), static_cast<ssize_t>(frame.size()));
    void* mbuf = nullptr;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (rte_ring_dequeue(sent_, &mbuf) != 0 && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (mbuf == nullptr) return {};
    auto* const sent = static_cast<rte_mbuf*>(mbuf);
    Frame out = bytes_of(sent);
    rte_pktmbuf_free(sent);
    return out;
  }
  SlowPathBed bed_;
  std::unique_ptr<SlowPath> slow_path_;
  rte_ring* sent_ = nullptr;
  int ends_[2] = {-1, -1};
};

constexpr FrameOptions kBothTags{.vlan = 10, .outer_vlan = 100, .service = true};

TEST_F(TagsTest, ATwinOfTheFilesHasFramesWithoutItsTags) {
  start({10, 100, true});
  EXPECT_EQ(to_linux(kBothTags), ipv4_frame());
  EXPECT_EQ(from_linux({}), ipv4_frame(kBothTags));
  // Not its own: as they are.
  EXPECT_EQ(to_linux({.vlan = 100}), ipv4_frame({.vlan = 100}));
}

TEST_F(TagsTest, ATwinOfOneTagKeepsTheTagWithin) {
  start({100, 0, true});
  EXPECT_EQ(to_linux(kBothTags), ipv4_frame({.vlan = 10}));
  EXPECT_EQ(from_linux({.vlan = 10}), ipv4_frame(kBothTags));
}

TEST_F(TagsTest, ATwinOfAPortHasThemAll) {
  start({}, true);
  EXPECT_EQ(to_linux(kBothTags), ipv4_frame(kBothTags));
  EXPECT_EQ(from_linux(kBothTags), ipv4_frame(kBothTags));
  EXPECT_EQ(to_linux({.vlan = 10, .outer_vlan = 100}), ipv4_frame(kBothTags))
      << "a port that hides the protocol";
}

// All that a pool has, until the end.
class DrainedPool {
 public:
  explicit DrainedPool(rte_mempool* mempool) {
    while (rte_mbuf* mbuf = rte_pktmbuf_alloc(mempool)) mbufs_.push_back(mbuf);
  }
  ~DrainedPool() { give_back(); }
  DrainedPool(const DrainedPool&) = delete;
  DrainedPool& operator=(const DrainedPool&) = delete;
  void give_back() {
    for (rte_mbuf* mbuf : mbufs_) rte_pktmbuf_free(mbuf);
    mbufs_.clear();
  }

 private:
  std::vector<rte_mbuf*> mbufs_;
};

// What Linux sends while its port's pool is empty is lost, told twice over, and nothing more.
TEST_F(FullTapTest, FramesFromLinuxWithoutAnMbufAreCountedAndTheNextOnesGo) {
  SlowPathBed bed;
  SlowPath::Options options;
  options.punts = {bed.rings};
  options.qsbr = bed.qsbr.get();
  options.snapshot = &bed.current;
  rte_ring* const sent = rte_ring_create("no-mbuf", 64, SOCKET_ID_ANY, 0);
  ASSERT_NE(sent, nullptr);
  bed.snapshot.slow_path[0] = {0, false, false, sent};
  SlowPath slow_path(options);
  auto mempool = Mempool::create("tiny", 0, 63, 2176);
  ASSERT_TRUE(mempool) << mempool.error().message;
  const auto list = std::make_shared<TwinList>();
  list->twins = {full_twin()};
  list->twins[0]->pool = (*mempool)->get();
  list->by_interface = {list->twins[0].get()};
  slow_path.set_twins(list);
  auto drained = std::make_unique<DrainedPool>((*mempool)->get());
  const auto send = [&](unsigned frames) {
    const std::vector<uint8_t> frame(60);
    for (unsigned i = 0; i < frames; ++i) EXPECT_EQ(write(ends_[1], frame.data(), 60), 60);
  };
  const auto wait_for = [](const auto& done) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!done() && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return done();
  };
  slow_path.start();
  send(5);
  const auto& dropped = slow_path.counters().reasons.dropped;
  const auto full = [&] { return dropped[static_cast<size_t>(Reason::kTransmitFull)].get(); };
  EXPECT_TRUE(wait_for([&] { return full() == 5; })) << full();
  EXPECT_EQ(list->twins[0]->no_mbuf.get(), 5u);
  drained->give_back();
  send(3);
  EXPECT_TRUE(wait_for([&] { return rte_ring_count(sent) == 3; })) << rte_ring_count(sent);
  slow_path.stop();
  EXPECT_EQ(list->twins[0]->no_mbuf.get(), 5u);
  EXPECT_EQ(full(), 5u);
  EXPECT_EQ(slow_path.injected(), 8u);
  EXPECT_EQ(slow_path.injected_handed(), 3u);
  void* mbuf = nullptr;
  while (rte_ring_dequeue(sent, &mbuf) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(mbuf));
  rte_ring_free(sent);
  EXPECT_EQ((*mempool)->in_use(), 0u);
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
