#include "bench/bed/packet_ring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <random>
#include <stdexcept>

#include "router/dataplane/core/dpdk.hpp"

namespace hecto::bench {
namespace {

constexpr size_t kTouched_bytes = 3 * RTE_CACHE_LINE_SIZE;  // of a packet
constexpr unsigned kLeastMbufs = 4096, kMostMbufs = 65536;
constexpr uint64_t kRingSeed = 3;

}  // namespace

std::string_view to_string(PacketCache cache) {
  constexpr std::string_view kNames[] = {"l1", "l2", "l3"};
  return kNames[static_cast<size_t>(cache)];
}

PacketCache cache_by_name(std::string_view name) {
  return name == "l1" ? PacketCache::kL1 : name == "l2" ? PacketCache::kL2 : PacketCache::kL3;
}

unsigned ring_packets(PacketCache cache, const CacheSizes& sizes) {
  // Four times what would fit in the first level, twice what would in the second.
  const auto beyond = [](size_t bytes) {
    return std::clamp(static_cast<unsigned>(std::bit_ceil(bytes / kTouched_bytes)), kLeastMbufs,
                      kMostMbufs);
  };
  switch (cache) {
    case PacketCache::kL1:
      break;
    case PacketCache::kL2:
      return beyond(4 * sizes.l1);
    case PacketCache::kL3:
      return std::max(2 * kLeastMbufs, beyond(2 * sizes.l2));
  }
  return 0;
}

std::string_view ring_note(PacketCache cache, const CacheSizes& sizes) {
  const size_t bytes = ring_packets(cache, sizes) * kTouched_bytes;
  if (cache == PacketCache::kL2 && bytes > sizes.l2)
    return "l2: 4,096 packets are more than this second-level cache holds; part of them comes from "
           "beyond";
  if (cache == PacketCache::kL3 && bytes < 2 * sizes.l2)
    return "l3: 65,536 packets are less than twice this second-level cache; part of them comes "
           "from it";
  return "";
}

void PacketRing::resize(rte_mempool* pool, unsigned packets) {
  if (slots_.size() == packets) return;
  release();
  if (packets == 0) return;
  std::vector<rte_mbuf*> mbufs(packets);
  if (rte_pktmbuf_alloc_bulk(pool, mbufs.data(), packets) != 0)
    throw std::runtime_error(fmt::format("the pool has no {} mbufs for a ring", packets));
  // As after hours of packets freed on other ports: no stride for a prefetcher.
  std::shuffle(mbufs.begin(), mbufs.end(), std::mt19937_64(kRingSeed));
  for (rte_mbuf* mbuf : mbufs) slots_.push_back({mbuf, 0});
  next_ = 0;
}

void PacketRing::exchange(rte_mbuf** packets, uint16_t count) noexcept {
  for (uint16_t i = 0; i < count; ++i) {
    Slot& slot = slots_[next_];
    next_ = (next_ + 1) & (slots_.size() - 1);
    rte_mbuf* fresh = packets[i];
    rte_mbuf* packet = packets[i] = slot.packet;
    packet->port = fresh->port;
    packet->ol_flags = 0;
    packet->packet_type = 0;
    packet->data_len = slot.bytes;
    packet->pkt_len = slot.bytes;
    slot = {fresh, fresh->data_len};
  }
}

void PacketRing::release() {
  for (const Slot& slot : slots_) rte_pktmbuf_free(slot.packet);
  slots_.clear();
}

void PacketRing::read_batch(size_t from, rte_mbuf** packets) const {
  for (size_t i = 0; i < kBatch; ++i) {
    packets[i] = slots_[(next_ + from + i) & (slots_.size() - 1)].packet;
  }
}

void PacketRing::take_lengths(size_t from) {
  for (size_t i = 0; i < kBatch; ++i) {
    Slot& slot = slots_[(next_ + from + i) & (slots_.size() - 1)];
    slot.bytes = slot.packet->data_len;
  }
}

}  // namespace hecto::bench
