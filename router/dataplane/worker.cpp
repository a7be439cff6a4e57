#include "router/dataplane/worker.hpp"

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <array>

#include "base/bytes.hpp"
#include "base/ether.hpp"
#include "base/frame_tags.hpp"
#include "router/dataplane/offload/worker_offload.hpp"
#include "router/dataplane/stages/classify.hpp"
#include "router/dataplane/stages/link_local.hpp"
#include "router/dataplane/tables/inherited_tables.hpp"

namespace hecto::router {
namespace {

// Of its sleeps: Linux adds up to 50 us to each otherwise, and a NIC at 14.88 Mpps fills 1,024
// descriptors in 69. Threads of real-time classes have none.
constexpr unsigned long kTimerSlack_ns = 1;

constexpr uint64_t kLacpRounds = 50;  // a second

// By port: drivers change a mask that all its queues share (DPDK's l3fwd-power guards it likewise).
std::array<rte_spinlock_t, kMaxPorts> g_interrupt_masks;

}  // namespace

Worker::Worker(const Options& options)
    : options_(options),
      own_tables_(options.tables),
      pipeline_({options.id, options.tables, options.offload, options.ipsec, options.socket},
                *this) {}

void Worker::refresh() noexcept {
  const Snapshot* newest = options_.snapshot->load(std::memory_order_acquire);
  // By number: the new one may lie where an old one was freed.
  if (newest->generation == generation_) [[likely]]
    return;
  generation_ = newest->generation;
  snapshot_ = newest;
  view_ = &newest->workers[options_.id];
  pipeline_.use(*newest, view_->transmit);
  options_.tables = newest->inherited ? newest->inherited->views(options_.socket) : own_tables_;
  pipeline_.use(options_.tables);
  idle_.use(view_->idle, newest->idle_sleep_us, view_->can_wait);
  cpu_.use(*view_);
  gate_.configure(rte_get_tsc_hz(), {newest->punt_pps, newest->punt_class_pps});
}

unsigned Worker::poll_once() noexcept {
  unsigned packets = 0;
  // What Linux and others have sent before what is received leaves before it.
  for (const HandoffQueue& handoff : view_->handoffs)
    packets += pipeline_.transmit_handoff(handoff);
  release_held();
  for (const ReceiveQueue& queue : view_->queues) packets += pipeline_.receive(queue, chunk_);
  for (const SpreadQueue& queue : view_->spreads)
    packets += pipeline_.receive_spread(queue, chunk_);
  if (view_->handed != nullptr) [[unlikely]]
    packets += pipeline_.receive_handed(view_->handed, chunk_);
  if (pipeline_.nat().on()) [[unlikely]]
    pipeline_.nat().tick(rte_rdtsc());
  if (pipeline_.filter().logs()) [[unlikely]]
    pipeline_.filter().tick(rte_rdtsc());
  pipeline_.poll_offload();
  pipeline_.expire_fragments();
  pipeline_.flush();
  if (!view_->lacp.empty()) [[unlikely]]
    send_lacp();
  return packets;
}

// net_bonding sends a member's LACPDU along with a burst; without one the other end would let go. A
// worker waits for no longer than `longest_wait`.
void Worker::send_lacp() noexcept {
  const uint64_t now = rte_rdtsc();
  if (now - lacp_sent_ < rte_get_tsc_hz() / kLacpRounds) return;
  lacp_sent_ = now;
  for (const LacpQueue& queue : view_->lacp)
    (void)rte_eth_tx_burst(queue.port, queue.queue, nullptr, 0);
}

// With packets on a device there is no moment at which this worker holds nothing. A token is
// reported when all that was taken before it was read has been delivered.
void Worker::report_quiescent() noexcept {
  if (options_.offload == nullptr) {
    rte_rcu_qsbr_quiescent(options_.qsbr, options_.id);
    return;
  }
  WorkerOffload& offload = *options_.offload;
  if (!quiescence_marked_) {
    quiescent_token_ = __atomic_load_n(&options_.qsbr->token, __ATOMIC_ACQUIRE);
    offload.mark();
    quiescence_marked_ = true;
  }
  if (!offload.passed()) return;
  __atomic_store_n(&options_.qsbr->qsbr_cnt[options_.id].cnt, quiescent_token_, __ATOMIC_RELEASE);
  quiescence_marked_ = false;
}

void Worker::keep_example(const Refused& refused) noexcept {
  const rte_mbuf* packet = refused.packet;
  const uint8_t* frame = rte_pktmbuf_mtod(packet, const uint8_t*);
  if (packet->data_len < kEthernetBytes) return;
  const FrameTags l2 = read_frame_tags(frame, packet->data_len);
  const uint32_t at = l2.l2_bytes;
  ExamplePacket example;
  example.interface = refused.interface;
  example.port = PortId(packet->port);
  example.ether_type = l2.ether_type;
  if (example.ether_type == kEtherIpv4 && packet->data_len >= at + kIpv4Bytes)
    example.destination[0] = load32_native(frame + at + 16);
  else if (example.ether_type == kEtherIpv6 && packet->data_len >= at + kIpv6Bytes)
    std::memcpy(example.destination.data(), frame + at + 24, 16);
  pipeline_.counters().reasons.examples[static_cast<size_t>(refused.reason)].set(example);
}

// Into the punt queue when Linux should see it, the bucket allows it and there is room; else the
// reason to drop it is left in `refused`.
bool Worker::punt(Refused& refused, uint64_t now) noexcept {
  const auto [punt_class, may_pass] =
      gate_.ask(refused.packet, refused.reason, refused.interface, options_.tables,
                snapshot_->punt_sessions.get(), now);
  if (!may_pass) return false;
  PuntEntry entry{refused.packet, refused.reason, punt_class, refused.interface, 0, 0};
  const Observer& observer = pipeline_.observer();
  if (observer.tracing()) [[unlikely]] {
    entry.trace = observer.trace_number(refused.packet);
    entry.session = observer.trace_session();
  }
  rte_ring* const queue = options_.punts[info(punt_class).priority];
  if (rte_ring_sp_enqueue_elem(queue, &entry, sizeof entry) == 0) return true;
  gate_.dropped(punt_class, refused.interface);
  refused.reason = Reason::kPuntQueueFull;
  return false;
}

bool Worker::holding() const noexcept {
  return options_.holds_gleans != nullptr && options_.holds_gleans->load(std::memory_order_acquire);
}

// Not with IPsec: what it has opened cannot go through the policies again.
bool Worker::hold(const Refused& refused) noexcept {
  const unsigned count = held();
  if (refused.reason != Reason::kGlean || !holding() || count == held_.size() ||
      (snapshot_->features & kFeatureIpsec) != 0)
    return false;
  held_[count] = refused;
  held_count_.store(count + 1, std::memory_order_relaxed);
  return true;
}

// They are looked up once more, before what came after them.
void Worker::release_held() noexcept {
  const unsigned count = held();
  if (count == 0 || holding()) [[likely]]
    return;
  if (snapshot_->closed) {
    drop_held(Reason::kNotReady);
    return;
  }
  held_count_.store(0, std::memory_order_relaxed);
  chunk_.v4.count = chunk_.v6.count = chunk_.refused_count = 0;
  for (unsigned i = 0; i < count; ++i) {
    rte_mbuf* const packet = held_[i].packet;
    const FrameTags l2 =
        read_frame_tags(rte_pktmbuf_mtod(packet, const uint8_t*), packet->data_len);
    const Ingress ingress(held_[i].interface, l2.l2_bytes);
    classify_again(chunk_, packet, ingress, snapshot_->ports[packet->port], *snapshot_);
  }
  chunk_.v4.table = chunk_.v6.table = 0;  // main, and then all rules
  lookup_batch(options_.tables.fib4, chunk_.v4.destinations, chunk_.v4.groups, chunk_.v4.count);
  lookup_batch(options_.tables.fib6, chunk_.v6.destinations, chunk_.v6.groups, chunk_.v6.count);
  pipeline_.after_hold(chunk_);
}

void Worker::drop_held(Reason reason) noexcept {
  const unsigned count = held_count_.exchange(0, std::memory_order_relaxed);
  for (unsigned i = 0; i < count; ++i) rte_pktmbuf_free(held_[i].packet);
  pipeline_.counters().reasons.dropped[static_cast<size_t>(reason)].add(count);
}

void Worker::take_refused(Chunk& chunk) noexcept {
  Observer& observer = pipeline_.observer();
  ReasonCounters& reasons = pipeline_.counters().reasons;
  rte_mbuf* dead[kChunkSize];
  unsigned dead_count = 0;
  const uint64_t now = rte_rdtsc();
  for (unsigned i = 0; i < chunk.refused_count; ++i) {
    Refused& refused = chunk.refused[i];
    const bool wanted =
        info(refused.reason).punt && (refused.reason != Reason::kLinkLocal ||
                                      ends_on_this_link(refused.packet, options_.tables));
    bool punted = false;
    if (wanted && (options_.punts[0] == nullptr || !snapshot_->linux_side)) {
      refused.reason = Reason::kNoLinux;
    } else if (wanted && hold(refused)) {
      continue;
    } else if (wanted) {
      // Count and note before the slow path can own (and free) the packet.
      if (observer.follows()) [[unlikely]]
        observer.punted(refused.packet, refused.reason, refused.interface);
      punted = punt(refused, now);
    }
    if (punted) {
      reasons.punted[static_cast<size_t>(refused.reason)].add(1);
      continue;
    }
    reasons.dropped[static_cast<size_t>(refused.reason)].add(1);
    dropped_at_.add(refused.reason, refused.interface);
    if (i % 32 == 0) keep_example(refused);
    if (observer.follows()) [[unlikely]]
      observer.dropped(refused.packet, refused.reason, refused.interface);
    dead[dead_count++] = refused.packet;
  }
  rte_pktmbuf_free_bulk(dead, dead_count);
  chunk.refused_count = 0;
}

void Worker::sleep(uint32_t us) noexcept {
  const timespec time{us / 1'000'000, static_cast<long>(us % 1'000'000) * 1000};
  quiescence_marked_ = false;
  rte_rcu_qsbr_thread_offline(options_.qsbr, options_.id);
  nanosleep(&time, nullptr);
  rte_rcu_qsbr_thread_online(options_.qsbr, options_.id);
}

void Worker::ask_for_interrupts(bool on) noexcept {
  for (const ReceiveQueue& queue : view_->queues)
    if (queue.interrupts) {
      rte_spinlock_lock(&g_interrupt_masks[queue.port]);
      (on ? rte_eth_dev_rx_intr_enable : rte_eth_dev_rx_intr_disable)(queue.port, queue.queue);
      rte_spinlock_unlock(&g_interrupt_masks[queue.port]);
    }
}

// What came before somebody was there to wake this thread is looked for once more. The snapshot may
// go as soon as a quiescent state was reported, and while this thread is offline.
unsigned Worker::wait() noexcept {
  refresh();
  wakeup_.begin();
  ask_for_interrupts(true);
  const unsigned packets = poll_once();
  const Snapshot* newest = options_.snapshot->load(std::memory_order_acquire);
  if (packets == 0 && newest->generation == generation_ && !stop_.load(std::memory_order_relaxed)) {
    quiescence_marked_ = false;
    rte_rcu_qsbr_thread_offline(options_.qsbr, options_.id);
    wakeup_.wait(options_.longest_wait);
    rte_rcu_qsbr_thread_online(options_.qsbr, options_.id);
    refresh();
  }
  ask_for_interrupts(false);
  wakeup_.end();
  return packets;
}

// After a poll that moved nothing. Offline for QSBR while it sleeps or waits, and not before what is
// on a device has come back. Returns packets received.
unsigned Worker::rest(unsigned empty_polls) noexcept {
  if (options_.offload != nullptr && !options_.offload->empty()) {
    rte_pause();
    return 0;
  }
  const Rest rest = idle_.next(empty_polls, pipeline_.counters().cycles.busy_iterations.get());
  switch (rest.step) {
    case RestStep::kSpin:
      rte_pause();
      return 0;
    case RestStep::kPause:
      refresh();  // its port may have gone since this thread was quiescent
      cpu_.pause(rest.us);
      return 0;
    case RestStep::kSleep:
      sleep(rest.us);
      return 0;
    case RestStep::kWait:
      break;
  }
  if (held() == 0) return wait();
  sleep(1);  // who has what waits for a neighbor released rings no bell
  return 0;
}

void Worker::run() noexcept {
  thread_id_.store(rte_gettid(), std::memory_order_relaxed);
  prctl(PR_SET_TIMERSLACK, kTimerSlack_ns);
  rte_rcu_qsbr_thread_register(options_.qsbr, options_.id);
  rte_rcu_qsbr_thread_online(options_.qsbr, options_.id);
  CycleCounters& cycles = pipeline_.counters().cycles;
  unsigned empty_polls = 0;
  uint64_t before = rte_rdtsc();
  while (!stop_.load(std::memory_order_relaxed)) {
    refresh();
    unsigned packets = poll_once();
    unsigned moved = packets + pipeline_.take_delivered();
    report_quiescent();
    if (moved == 0) moved = packets = rest(++empty_polls);
    const uint64_t now = rte_rdtsc();
    cycles.iterations.add(1);
    if (packets > 0) {
      cycles.busy_iterations.add(1);
      cycles.packets.add(packets);
    }
    if (moved > 0) {
      empty_polls = 0;
      cycles.busy.add(now - before);
    } else {
      cycles.idle.add(now - before);
    }
    before = now;
  }
  drain();
  drop_held(Reason::kGlean);
  pipeline_.flush();
  rte_rcu_qsbr_thread_offline(options_.qsbr, options_.id);
  rte_rcu_qsbr_thread_unregister(options_.qsbr, options_.id);
  thread_id_.store(0, std::memory_order_relaxed);
  stop_.store(false, std::memory_order_relaxed);  // it may be run again
}

}  // namespace hecto::router
