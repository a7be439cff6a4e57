#include "router/dataplane/slow_path.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "router/dataplane/observe/trace.hpp"
#include "router/dataplane/tables/tables.hpp"
#include "tests/beds/packets.hpp"

namespace hecto::router::test {
namespace {

// A slow path without twins: what is punted ends as no_linux, and a trace is told so.
struct SlowPathBed {
  SlowPathBed() {
    pool();  // DPDK
    ring = rte_ring_create_elem("punts", sizeof(PuntEntry), 64, SOCKET_ID_ANY,
                                RING_F_SP_ENQ | RING_F_SC_DEQ);
    snapshot.generation = 1;
    snapshot.punt_pps.fill(1'000'000);
    current = &snapshot;
  }
  ~SlowPathBed() { rte_ring_free(ring); }

  // Punts one packet that the session `session` traced, while the snapshot holds another or it.
  size_t events_after_a_punt_of(uint16_t session) {
    SlowPath::Options options;
    options.punts = {ring};
    options.qsbr = qsbr.get();
    options.snapshot = &current;
    SlowPath slow_path(options);
    slow_path.start();
    PuntEntry entry{packet(ipv4_frame()), Reason::kLocal, 0, 0, 1, session};
    EXPECT_EQ(rte_ring_sp_enqueue_elem(ring, &entry, sizeof entry), 0);
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
  rte_ring* ring = nullptr;
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

}  // namespace
}  // namespace hecto::router::test
