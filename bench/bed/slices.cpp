#include "bench/bed/slices.hpp"

#include <algorithm>

#include "bench/lib/stopwatch.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/sampler.hpp"

namespace hecto::bench {

using namespace router;

std::string_view to_string(BedWork work) {
  constexpr std::string_view kNames[] = {"rx", "tx", "floor", "ipv4", "ipv6", "bridge"};
  return kNames[static_cast<size_t>(work)];
}

bool through_worker(BedWork work) {
  return work >= BedWork::kIpv4;
}

Slices::Slices(Bed& bed, unsigned burst)
    : bed_(bed), pool_(bed.pool(0)), burst_(static_cast<uint16_t>(burst)) {}

unsigned Slices::receive() {
  rte_mbuf* packets[kChunkSize];
  const uint16_t count = rte_eth_rx_burst(bed_.in(0), 0, packets, burst_);
  rte_pktmbuf_free_bulk(packets, count);
  return count;
}

unsigned Slices::transmit() {
  rte_mbuf* packets[kChunkSize];
  if (rte_pktmbuf_alloc_bulk(pool_, packets, burst_) != 0) return 0;
  for (uint16_t i = 0; i < burst_; ++i) {
    const uint16_t bytes = bed_.replay(0).write(rte_pktmbuf_mtod(packets[i], uint8_t*));
    packets[i]->data_len = bytes;
    packets[i]->pkt_len = bytes;
  }
  bed_.replay(0).exchange(packets, burst_);
  return send(packets, burst_);
}

unsigned Slices::floor() {
  rte_mbuf* packets[kChunkSize];
  return send(packets, rte_eth_rx_burst(bed_.in(0), 0, packets, burst_));
}

unsigned Slices::send(rte_mbuf** packets, uint16_t count) {
  const uint16_t sent = rte_eth_tx_burst(bed_.out()[turn_++ % 2], 0, packets, count);
  rte_pktmbuf_free_bulk(packets + sent, count - sent);
  return count;
}

// Own time only: what the kernel gave to others meanwhile is told apart.
template <typename Poll>
void Slices::time(Poll poll, unsigned milliseconds, Slice& slice) {
  const uint64_t length = rte_get_tsc_hz() / 1000 * milliseconds;
  const uint64_t warm = rte_rdtsc() + length / 10;
  while (rte_rdtsc() < warm) poll();
  uint64_t packets = 0;
  const uint64_t swept = bed_.sweep_cycles();
  const Stopwatch watch;
  const uint64_t start = rte_rdtsc();
  while (rte_rdtsc() - start < length)
    for (unsigned i = 0; i < 64; ++i) packets += poll();
  const double own = watch.cpu_seconds();
  slice.taken = std::max(0.0, 1 - own / watch.seconds());
  const double ticks = own * static_cast<double>(rte_get_tsc_hz()) -
                       static_cast<double>(bed_.sweep_cycles() - swept);
  slice.cycles = ticks / static_cast<double>(packets);
}

Slice Slices::measure(const std::function<unsigned()>& poll, unsigned milliseconds) {
  Slice slice;
  time(poll, milliseconds, slice);
  return slice;
}

Slice Slices::measure(BedWork work, unsigned milliseconds) {
  Slice slice;
  bed_.replay(0).select(work == BedWork::kIpv6 ? Traffic::kIpv6 : Traffic::kIpv4);
  bed_.replay(0).settle();
  switch (work) {
    case BedWork::kReceive:
      time([this] { return receive(); }, milliseconds, slice);
      return slice;
    case BedWork::kTransmit:
      time([this] { return transmit(); }, milliseconds, slice);
      return slice;
    case BedWork::kFloor:
      time([this] { return floor(); }, milliseconds, slice);
      return slice;
    case BedWork::kIpv4:
    case BedWork::kIpv6:
    case BedWork::kBridge:
      break;
  }
  Worker& worker = bed_.router().dataplane().worker(0);
  const WorkerTotals before = collect(bed_.router().dataplane()).workers[0];
  time([&worker] { return worker.poll_once(); }, milliseconds, slice);
  const WorkerTotals after = collect(bed_.router().dataplane()).workers[0];
  const auto packets = static_cast<double>(after.sampled_packets - before.sampled_packets);
  if (packets == 0) return slice;
  slice.stages.emplace();
  for (size_t i = 0; i < kBedStages; ++i)
    (*slice.stages)[i] =
        static_cast<double>(after.stage_cycles[i] - before.stage_cycles[i]) / packets;
  return slice;
}

}  // namespace hecto::bench
