// What a worker is made of: where it lies, and what control reads of it while it writes.
#include "router/dataplane/worker.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <thread>

#include "router/dataplane/filter/filter_tables.hpp"
#include "router/dataplane/tables/socket_memory.hpp"
#include "router/rib/rule_table.hpp"
#include "tests/unit/router/dataplane/stages/two_gateways.hpp"

namespace hecto::router::test {
namespace {

// A worker beside the gateway's pipeline, with its tables and the wire that leaves by port 1. What
// is put into its hands is as if a stage had refused it.
class RefusingWorker : public TwoGateways {
 protected:
  static constexpr unsigned kQueue = 64;  // one less fits

  RefusingWorker() {
    for (unsigned priority = 0; priority < kPuntPriorities; ++priority)
      rings_[priority] =
          rte_ring_create_elem(("worker-" + std::to_string(priority)).c_str(), sizeof(PuntEntry),
                               kQueue, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    wire_ = rte_ring_create("worker-wire", kQueue, SOCKET_ID_ANY, RING_F_SC_DEQ);
    snapshot_ = left_.snapshot();
    snapshot_.generation = 1;
    snapshot_.features = 0;
    snapshot_.linux_side = true;
    snapshot_.punt_pps.fill(1'000'000);
    snapshot_.punt_class_pps.fill(1'000'000);
    snapshot_.workers.resize(1);
    snapshot_.workers[0].transmit[1] = {0, false, false, wire_};
    current_ = &snapshot_;
    Worker::Options options;
    options.tables = left_.tables();
    options.punts = rings_;
    options.snapshot = &current_;
    options.holds_gleans = &holds_gleans_;
    worker_ = std::make_unique<Worker>(options);
    worker_->refresh();
  }
  ~RefusingWorker() override {
    for (rte_ring* ring : rings_) {
      PuntEntry entry;
      while (rte_ring_sc_dequeue_elem(ring, &entry, sizeof entry) == 0)
        rte_pktmbuf_free(entry.packet);
      rte_ring_free(ring);
    }
    rte_ring_free(wire_);
  }

  void refuse(rte_mbuf* packet, Reason reason, InterfaceId interface = 0) {
    packet->port = 0;
    chunk_->refused_count = 0;
    chunk_->refuse(packet, reason, interface);
    worker_->take_refused(*chunk_);
  }
  unsigned punted() const {
    unsigned count = 0;
    for (const rte_ring* ring : rings_) count += rte_ring_count(ring);
    return count;
  }
  uint64_t dropped(Reason reason) const {
    return worker_->counters().reasons.dropped[static_cast<size_t>(reason)].get();
  }
  // Lengths of what left by port 1, in order.
  std::vector<uint32_t> sent() {
    std::vector<uint32_t> lengths;
    void* packet = nullptr;
    while (rte_ring_sc_dequeue(wire_, &packet) == 0) {
      lengths.push_back(static_cast<rte_mbuf*>(packet)->pkt_len);
      rte_pktmbuf_free(static_cast<rte_mbuf*>(packet));
    }
    return lengths;
  }

  PuntQueues rings_{};
  rte_ring* wire_ = nullptr;
  Snapshot snapshot_;
  std::atomic<const Snapshot*> current_{nullptr};
  std::atomic<bool> holds_gleans_{false};
  std::unique_ptr<Worker> worker_;
  std::unique_ptr<Chunk> chunk_ = std::make_unique<Chunk>();
};

// The slow path does not keep up: here it is not even there.
TEST_F(RefusingWorker, DropsAsPuntQueueFullWhatTheQueueHasNoRoomFor) {
  for (unsigned i = 0; i < kQueue + 9; ++i) refuse(packet(ipv4_frame()), Reason::kOtherProtocol);
  EXPECT_EQ(punted(), kQueue - 1);
  EXPECT_EQ(dropped(Reason::kPuntQueueFull), 10u);
  EXPECT_EQ(dropped(Reason::kOtherProtocol), 0u);
  const auto& classes = worker_->punt_meter().counters();
  EXPECT_EQ(classes[static_cast<size_t>(PuntClass::kOther)].dropped.get(), 10u);
}

// What is punted is Linux's: the slow path tells where it came in, once it is delivered.
TEST_F(RefusingWorker, TellsByWhichInterfaceWhatItDropsCameIn) {
  refuse(packet(ipv4_frame()), Reason::kBlackhole, 3);
  refuse(packet(ipv4_frame()), Reason::kBlackhole, 5);
  refuse(packet(ipv4_frame()), Reason::kBlackhole, 5);
  refuse(packet(ipv4_frame()), Reason::kNotForUs, kNoInterface);
  refuse(packet(ipv4_frame()), Reason::kOtherProtocol, 5);
  std::map<std::pair<Reason, InterfaceId>, uint64_t> told;
  worker_->dropped_at().each([&](Reason reason, InterfaceId interface, uint64_t packets) {
    told[{reason, interface}] = packets;
  });
  const std::map<std::pair<Reason, InterfaceId>, uint64_t> wanted = {
      {{Reason::kBlackhole, 3}, 1},
      {{Reason::kBlackhole, 5}, 2},
      {{Reason::kNotForUs, kNoInterface}, 1}};
  EXPECT_EQ(told, wanted);
}

TEST_F(RefusingWorker, HoldsWhatWaitsForANeighborAndSendsItInOrder) {
  holds_gleans_ = true;
  for (const uint16_t payload : {30, 40, 50})
    refuse(packet(ipv4_frame(from_left(payload))), Reason::kGlean);
  EXPECT_EQ(worker_->held(), 3u);
  worker_->poll_once();
  EXPECT_EQ(worker_->held(), 3u);
  EXPECT_EQ(punted(), 0u);
  holds_gleans_ = false;
  worker_->poll_once();
  EXPECT_EQ(worker_->held(), 0u);
  const auto lengths = sent();
  ASSERT_EQ(lengths.size(), 3u);
  EXPECT_EQ(lengths[1], lengths[0] + 10);
  EXPECT_EQ(lengths[2], lengths[0] + 20);
}

TEST_F(RefusingWorker, HoldsNothingElseAndNoMoreThanAChunk) {
  holds_gleans_ = true;
  refuse(packet(ipv4_frame()), Reason::kOtherProtocol);
  EXPECT_EQ(worker_->held(), 0u);
  EXPECT_EQ(punted(), 1u);
  for (unsigned i = 0; i < kChunkSize + 5; ++i)
    refuse(packet(ipv4_frame(from_left())), Reason::kGlean);
  EXPECT_EQ(worker_->held(), kChunkSize);
  EXPECT_EQ(punted(), 6u);
  holds_gleans_ = false;
  worker_->poll_once();
  EXPECT_EQ(worker_->held(), 0u);
  EXPECT_EQ(sent().size(), kQueue - 1);  // the wire's
}

// Another worker received them, and counted them; bytes are counted where packets are looked at.
TEST_F(RefusingWorker, ForwardsWhatAnotherWorkerSpreadsToIt) {
  rte_ring* const ring =
      rte_ring_create("worker-spread", kQueue, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
  snapshot_.workers[0].spreads.push_back({ring, 0, 3});
  uint32_t bytes = 0;
  for (const uint16_t payload : {30, 40, 50}) {
    rte_mbuf* const made = packet(ipv4_frame(from_left(payload)));
    made->port = 0;
    bytes += made->pkt_len;
    ASSERT_EQ(rte_ring_sp_enqueue(ring, made), 0);
  }
  EXPECT_EQ(worker_->poll_once(), 3u);
  EXPECT_EQ(sent().size(), 3u);
  EXPECT_EQ(worker_->counters().ports[0].rx_packets.get(), 0u);
  EXPECT_EQ(worker_->counters().ports[0].rx_bytes.get(), bytes);
  EXPECT_EQ(worker_->poll_once(), 0u);
  rte_ring_free(ring);
}

// Whatever became of the packets before it in the worker's hands: a VRF's go by its own table.
TEST_F(RefusingWorker, WhatIsHeldMeetsThePolicyRulesBehindPacketsThatWereLed) {
  constexpr uint32_t kVrfTable = 10, kEmptyTable = 100;
  Routing& routing = left_.routing();
  Route nowhere;
  nowhere.prefix = *IpPrefix::parse("10.2.0.0/16");
  nowhere.origin = RouteOrigin::kFile;
  nowhere.table = kVrfTable;
  nowhere.type = RouteType::kBlackhole;
  ASSERT_TRUE(routing.add(nowhere));
  config::FiltersConfig all;
  all.filters.resize(1);
  all.filters[0].in = {"in"};
  all.filters[0].rules.resize(1);
  all.filters[0].rules[0].table = kEmptyTable;
  FilterSurroundings around;
  around.interface = [](const std::string&) { return InterfaceId(0); };
  around.table = [&](const config::FilterRuleConfig& rule) {
    return routing.fib_table(rule.table);
  };
  snapshot_.filters = FilterTables::compile(all, around).value();
  routing.commit();
  PolicyRule of_members;
  of_members.priority = 100;
  of_members.l3mdev = true;
  PolicyRule main;
  main.priority = 32766;
  main.table = 254;
  RuleSurroundings surroundings;
  surroundings.interface = [](const std::string&) { return kNoInterface; };
  surroundings.table = [&](uint32_t table) { return routing.fib_table(table); };
  surroundings.vrf_members = {{InterfaceId(0), "red", kVrfTable}};
  auto rules = std::make_shared<RuleTables>();
  rules->ipv4 = RuleTable<uint32_t>::compile(std::vector{of_members, main}, surroundings).value();
  snapshot_.rules = rules;
  rte_ring* const ring =
      rte_ring_create("worker-spread", kQueue, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
  snapshot_.workers[0].spreads.push_back({ring, 0, 3});
  snapshot_.interfaces[0].up = snapshot_.interfaces[1].up = true;
  snapshot_.generation = 2;
  worker_->refresh();
  rte_mbuf* const led = packet(ipv4_frame(from_left()));
  led->port = 0;
  ASSERT_EQ(rte_ring_sp_enqueue(ring, led), 0);
  EXPECT_EQ(worker_->poll_once(), 1u);
  EXPECT_EQ(dropped(Reason::kFilterLed), 1u) << "its table is empty";
  holds_gleans_ = true;
  refuse(packet(ipv4_frame(from_left())), Reason::kGlean);
  EXPECT_EQ(worker_->held(), 1u);
  holds_gleans_ = false;
  worker_->poll_once();
  EXPECT_TRUE(sent().empty()) << "main has a route";
  EXPECT_EQ(dropped(Reason::kBlackhole), 1u);
  rte_ring_free(ring);
}

TEST_F(RefusingWorker, WhatIsHeldDoesNotLeaveOnceNothingIsForwarded) {
  holds_gleans_ = true;
  refuse(packet(ipv4_frame(from_left())), Reason::kGlean);
  snapshot_.closed = true;
  holds_gleans_ = false;
  worker_->poll_once();
  EXPECT_EQ(worker_->held(), 0u);
  EXPECT_EQ(dropped(Reason::kNotReady), 1u);
  EXPECT_TRUE(sent().empty());
}

TEST_F(RefusingWorker, WithIpsecNothingIsHeld) {
  snapshot_.features = kFeatureIpsec;
  holds_gleans_ = true;
  refuse(packet(ipv4_frame(from_left())), Reason::kGlean);
  EXPECT_EQ(worker_->held(), 0u);
  EXPECT_EQ(punted(), 1u);
}

class RecordingMemory final : public lookup::Memory {
 public:
  void* allocate(size_t bytes, int socket) noexcept override {
    socket_ = socket;
    bytes_ = bytes;
    return block_ = system().allocate(bytes, socket);
  }
  void release(void* block, size_t bytes) noexcept override {
    if (block == block_ && bytes == bytes_) ++released_;
    system().release(block, bytes);
  }
  bool holds(const void* object, size_t bytes) const {
    const auto* first = static_cast<const uint8_t*>(block_);
    const auto* at = static_cast<const uint8_t*>(object);
    return at >= first && at + bytes <= first + bytes_;
  }

  int socket_ = -1;
  size_t bytes_ = 0;
  void* block_ = nullptr;
  unsigned released_ = 0;
};

TEST(Worker, LiesOnItsSocketAsAWhole) {
  RecordingMemory memory;
  Worker::Options options;
  options.socket = 3;
  auto worker = make_on_socket<Worker>(memory, options.socket, options);
  EXPECT_EQ(memory.socket_, 3);
  EXPECT_TRUE(memory.holds(worker.get(), sizeof(Worker)));
  EXPECT_TRUE(memory.holds(&worker->counters(), sizeof(PipelineCounters)));
  EXPECT_GE(sizeof(Worker), sizeof(PipelineCounters) + sizeof(Chunk));
  worker.reset();
  EXPECT_EQ(memory.released_, 1u);
}

TEST(Example, IsReadWholeOrNotAtAllWhileItIsWritten) {
  Example example;
  EXPECT_FALSE(example.get());
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (uint16_t i = 1; !stop.load(std::memory_order_relaxed); ++i)
      example.set({InterfaceId(i), PortId(i), i, {i, i}});
  });
  unsigned read = 0;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (read < 20'000 && std::chrono::steady_clock::now() < until) {
    const auto packet = example.get();
    if (!packet) continue;
    ++read;
    const uint16_t n = packet->interface;
    ASSERT_EQ(*packet, (ExamplePacket{InterfaceId(n), PortId(n), n, {n, n}}));
  }
  stop.store(true);
  writer.join();
  EXPECT_EQ(read, 20'000u);
}

}  // namespace
}  // namespace hecto::router::test
