#include "router/dataplane/worker.hpp"

#include <time.h>

#include <algorithm>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/ether.hpp"
#include "router/dataplane/offload/worker_offload.hpp"
#include "router/dataplane/stages/ipsec.hpp"

namespace hecto::router {
namespace {

constexpr uint32_t kSampleEvery = 64;  // chunks between two that are timed stage by stage
constexpr unsigned kPausePolls = 256;  // empty polls before the first sleep
constexpr unsigned kSampledChecksums = 1000;

// True when the transport checksum is still the pseudo header's sum: a sender left it to its NIC,
// and there was none (the far end of a veth).
bool unfinished_checksum(const rte_mbuf* packet, bool& checked) noexcept {
  const uint8_t* frame = rte_pktmbuf_mtod(packet, const uint8_t*);
  const uint32_t bytes = packet->data_len;
  checked = false;
  if (bytes < kEthernetBytes + kIpv4Bytes || load16_native(frame + 12) != kEtherIpv4) return false;
  const uint8_t* ip = frame + kEthernetBytes;
  const uint32_t header = (ip[0] & 0xf) * 4u;
  const uint32_t total = load16_be(ip + 2);
  const bool tcp = ip[9] == 6;
  if ((!tcp && ip[9] != 17) || header < kIpv4Bytes || total < header + (tcp ? 20u : 8u) ||
      bytes < kEthernetBytes + total || (load16_be(ip + 6) & 0x3fff) != 0)
    return false;
  checked = true;
  uint32_t sum = ip[9] + total - header;
  for (unsigned i = 12; i < 20; i += 2) sum += load16_be(ip + i);
  sum = (sum >> 16) + (sum & 0xffff);
  sum = (sum >> 16) + (sum & 0xffff);
  return load16_be(ip + header + (tcp ? 16 : 6)) == sum;
}

}  // namespace

Worker::Worker(const Options& options)
    : options_(options), transmitter_(counters_.ports, counters_.reasons) {}

void Worker::refresh() noexcept {
  const Snapshot* newest = options_.snapshot->load(std::memory_order_acquire);
  // By number: the new one may lie where an old one was freed.
  if (newest->generation == generation_) [[likely]]
    return;
  generation_ = newest->generation;
  snapshot_ = newest;
  view_ = &newest->workers[options_.id];
  transmitter_.use(&view_->transmit);
  observer_.use(*newest, options_.id);
  transmitter_.follow(watching());
  unsigned features = newest->features;
  if (const WorkerOffload* offload = options_.offload; offload != nullptr) {
    if (offload->has_lookups()) features |= kFeatureOffload;
    // What came out of a tunnel and is in flight meets the policies also when the last one goes.
    if (!offload->empty()) features |= features_ & kFeatureIpsec;
  }
  if (options_.ipsec == nullptr) features &= ~unsigned{kFeatureIpsec};
  features_ = features;
  stages_ = stages_for(features);
  idle_sleep_us_ = newest->idle_sleep_us;
  if (newest->punt_pps == punt_pps_) return;
  punt_pps_ = newest->punt_pps;
  for (size_t i = 0; i < kReasonCount; ++i)
    buckets_[i].configure(rte_get_tsc_hz(), newest->punt_pps[i], punt_burst(newest->punt_pps[i]));
}

unsigned Worker::poll(const ReceiveQueue& queue) noexcept {
  const bool sampled = ++chunks_ % kSampleEvery == 0;
  if (sampled) stage_mark_ = rte_rdtsc();
  chunk_.count = rte_eth_rx_burst(queue.port, queue.queue, chunk_.packets, snapshot_->burst);
  if (chunk_.count == 0) return 0;
  counters_.ports[queue.port].rx_packets.add(chunk_.count);
  if (sampled) {
    const uint64_t now = rte_rdtsc();
    counters_.cycles.stage_cycles[0].add(now - stage_mark_);
    counters_.cycles.sampled_packets.add(chunk_.count);
    stage_mark_ = now;
  }
  const PortView& port = snapshot_->ports[queue.port];
  if (snapshot_->observed) [[unlikely]] {
    observer_.received(chunk_, static_cast<uint16_t>(options_.id), queue.port, queue.queue);
    transmitter_.follow(watching());
  }
  if (port.check_checksums && counters_.checked_checksums.get() < kSampledChecksums) [[unlikely]] {
    bool checked = false;
    if (unfinished_checksum(chunk_.packets[0], checked)) counters_.unfinished_checksums.add(1);
    if (checked) counters_.checked_checksums.add(1);
  }
  stages_.pipeline(*this, port, sampled);
  counters_.ports[queue.port].rx_bytes.add(chunk_.bytes);
  if (chunk_.refused_count > 0) dispose_refused(chunk_);
  if (sampled || observer_.tracing()) {
    transmitter_.flush_all();
    if (sampled) counters_.cycles.stage_cycles[4].add(rte_rdtsc() - stage_mark_);
    observer_.chunk_done();
    transmitter_.follow(watching());
  }
  return chunk_.count;
}

unsigned Worker::poll_once() noexcept {
  unsigned packets = 0;
  for (const ReceiveQueue& queue : view_->queues) packets += poll(queue);
  if (options_.offload != nullptr) poll_offload();
  if (options_.ipsec != nullptr && options_.ipsec->held() > 0) [[unlikely]]
    options_.ipsec->expire(counters_.reasons);
  for (const HandoffQueue& handoff : view_->handoffs) packets += transmitter_.drain(handoff);
  transmitter_.flush_all();
  return packets;
}

// Hands on what the device has answered, and what waited behind it: in the order of the pipeline,
// each into what comes after.
void Worker::poll_offload() noexcept {
  const WorkerOffload& offload = *options_.offload;
  const bool esp = offload.esp() != nullptr && options_.ipsec != nullptr;
  if (esp) poll_opened();
  if (offload.has_lookups()) poll_lookups();
  if (esp) poll_sealed();
}

void Worker::hand_on(Finish stages, Chunk& chunk, unsigned packets) noexcept {
  delivered_ += packets;
  stages(*this, chunk);
  if (chunk.refused_count > 0) dispose_refused(chunk);
  chunk.v4.count = chunk.v6.count = 0;  // both: a tunnel may change the family
}

void Worker::poll_opened() noexcept {
  Chunk& chunk = options_.offload->opened_chunk();
  options_.ipsec->poll_opened(chunk, *snapshot_,
                              [&](unsigned packets) { hand_on(stages_.inner, chunk, packets); });
}

void Worker::poll_lookups() noexcept {
  WorkerOffload& offload = *options_.offload;
  Chunk& chunk = offload.chunk();
  const auto poll = [&](auto& lane, const auto& fib) {
    offload.of(lane).poll(lane, fib, offload, [&] { hand_on(stages_.finish, chunk, lane.count); });
  };
  poll(chunk.v4, options_.tables.fib4);
  poll(chunk.v6, options_.tables.fib6);
}

void Worker::poll_sealed() noexcept {
  Chunk& chunk = options_.offload->sealed_chunk();
  options_.ipsec->poll_sealed(chunk,
                              [&](unsigned packets) { hand_on(stages_.leave, chunk, packets); });
}

void Worker::decap(Chunk& chunk, const PortView& port) noexcept {
  IpsecStages& ipsec = *options_.ipsec;
  Observer* const observer = watching();
  bool done = ipsec.decap(chunk, port, options_.tables, *snapshot_, counters_.reasons, observer);
  while (!done) {
    poll_opened();
    done = ipsec.decap_rest(chunk, port, *snapshot_, observer);
  }
}

void Worker::encap(Chunk& chunk) noexcept {
  IpsecStages& ipsec = *options_.ipsec;
  Observer* const observer = watching();
  bool done = ipsec.encap(chunk, options_.tables, *snapshot_, observer);
  while (!done) {
    poll_sealed();
    done = ipsec.encap_rest(chunk, options_.tables, observer);
  }
  if (ipsec.has_for_nics()) [[unlikely]]
    ipsec.leave_by_nic(transmitter_, *snapshot_, counters_.interfaces);
}

void Worker::drain() noexcept {
  if (options_.offload == nullptr) return;
  while (!options_.offload->empty()) poll_offload();
  transmitter_.flush_all();
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
  uint32_t at = kEthernetBytes;
  ExamplePacket example;
  example.interface = refused.interface;
  example.port = packet->port;
  example.ether_type = load16_native(frame + 12);
  if (example.ether_type == kEtherVlan && packet->data_len >= at + kVlanTagBytes) {
    example.ether_type = load16_native(frame + 16);
    at += kVlanTagBytes;
  }
  if (example.ether_type == kEtherIpv4 && packet->data_len >= at + kIpv4Bytes)
    example.destination[0] = load32_native(frame + at + 16);
  else if (example.ether_type == kEtherIpv6 && packet->data_len >= at + kIpv6Bytes)
    std::memcpy(example.destination.data(), frame + at + 24, 16);
  counters_.reasons.examples[static_cast<size_t>(refused.reason)].set(example);
}

// Into the punt queue when Linux should see it, the bucket allows it and there is room; else the
// reason to drop it is left in `refused`.
bool Worker::punt(Refused& refused, uint64_t now) noexcept {
  const auto index = static_cast<size_t>(refused.reason);
  if (!buckets_[index].take(now)) return false;
  PuntEntry entry{refused.packet, refused.reason, 0, refused.interface, 0, 0};
  if (observer_.tracing()) [[unlikely]] {
    entry.trace = observer_.trace_number(refused.packet);
    entry.session = observer_.trace_session();
  }
  if (rte_ring_sp_enqueue_elem(options_.punts, &entry, sizeof entry) == 0) return true;
  refused.reason = Reason::kPuntQueueFull;
  return false;
}

void Worker::dispose_refused(Chunk& chunk) noexcept {
  rte_mbuf* dead[kChunkSize];
  unsigned dead_count = 0;
  const uint64_t now = rte_rdtsc();
  for (unsigned i = 0; i < chunk.refused_count; ++i) {
    Refused& refused = chunk.refused[i];
    const bool wanted = info(refused.reason).punt;
    bool punted = false;
    if (wanted && (options_.punts == nullptr || !snapshot_->linux_side)) {
      refused.reason = Reason::kNoLinux;
    } else if (wanted) {
      // Count and note before the slow path can own (and free) the packet.
      if (observer_.active()) [[unlikely]]
        observer_.punted(refused.packet, refused.reason, refused.interface);
      punted = punt(refused, now);
    }
    if (punted) {
      counters_.reasons.punted[static_cast<size_t>(refused.reason)].add(1);
      continue;
    }
    counters_.reasons.dropped[static_cast<size_t>(refused.reason)].add(1);
    if (i % 32 == 0) keep_example(refused);
    if (observer_.active()) [[unlikely]]
      observer_.dropped(refused.packet, refused.reason, refused.interface);
    dead[dead_count++] = refused.packet;
  }
  rte_pktmbuf_free_bulk(dead, dead_count);
  chunk.refused_count = 0;
}

// Sleeps double from 1 us to the configured bound; the thread is offline for QSBR meanwhile.
void Worker::rest(unsigned empty_polls) noexcept {
  const bool waiting = options_.offload != nullptr && !options_.offload->empty();
  if (idle_sleep_us_ == 0 || empty_polls < kPausePolls || waiting) {
    rte_pause();
    return;
  }
  const unsigned doublings = std::min((empty_polls - kPausePolls) / 8, 16u);
  const uint32_t us = std::min<uint32_t>(1u << doublings, idle_sleep_us_);
  const timespec time{us / 1'000'000, static_cast<long>(us % 1'000'000) * 1000};
  quiescence_marked_ = false;
  rte_rcu_qsbr_thread_offline(options_.qsbr, options_.id);
  nanosleep(&time, nullptr);
  rte_rcu_qsbr_thread_online(options_.qsbr, options_.id);
}

void Worker::run() noexcept {
  rte_rcu_qsbr_thread_register(options_.qsbr, options_.id);
  rte_rcu_qsbr_thread_online(options_.qsbr, options_.id);
  CycleCounters& cycles = counters_.cycles;
  unsigned empty_polls = 0;
  uint64_t before = rte_rdtsc();
  while (!stop_.load(std::memory_order_relaxed)) {
    refresh();
    delivered_ = 0;
    const unsigned packets = poll_once();
    report_quiescent();
    if (packets + delivered_ == 0) rest(++empty_polls);
    const uint64_t now = rte_rdtsc();
    cycles.iterations.add(1);
    if (packets > 0) {
      cycles.busy_iterations.add(1);
      cycles.packets.add(packets);
    }
    if (packets + delivered_ > 0) {
      empty_polls = 0;
      cycles.busy.add(now - before);
    } else {
      cycles.idle.add(now - before);
    }
    before = now;
  }
  drain();
  transmitter_.flush_all();
  rte_rcu_qsbr_thread_offline(options_.qsbr, options_.id);
  rte_rcu_qsbr_thread_unregister(options_.qsbr, options_.id);
  stop_.store(false, std::memory_order_relaxed);  // it may be run again
}

}  // namespace hecto::router
