#include "bench/bed/replay.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/ether.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::bench {

using namespace router;

namespace {

constexpr uint8_t kSender[6] = {0x02, 0, 0, 0, 0xbe, 0x01};
// UDP from 198.18.0.1 and 2001:2::1; lengths are filled in.
constexpr uint8_t kHeader4[kIpv4Bytes] = {0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 0, 1};
constexpr uint8_t kHeader6[8] = {0x60, 0, 0, 0, 0, 0, 17, 64};
constexpr uint8_t kSource6[16] = {0x20, 0x01, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

}  // namespace

CacheSweep::CacheSweep() {
  const long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE);
  bytes_.resize(2 * static_cast<size_t>(l1 > 0 ? l1 : 64 << 10));
}

void CacheSweep::run() {
  const uint64_t start = rte_rdtsc();
  for (size_t i = 0; i < bytes_.size(); i += RTE_CACHE_LINE_SIZE) sum_ += bytes_[i];
  cycles_ += rte_rdtsc_precise() - start;
}

ReplayDestinations replay_destinations(const std::vector<uint32_t>& destinations4,
                                       std::vector<lookup::Ipv6Address> destinations6) {
  ReplayDestinations out;
  out.ipv6 = std::move(destinations6);
  for (const uint32_t destination : destinations4) {
    uint8_t header[kIpv4Bytes];
    std::memcpy(header, kHeader4, sizeof header);
    const uint32_t address = __builtin_bswap32(destination);
    std::memcpy(&header[16], &address, 4);
    uint32_t sum = 0;
    for (unsigned i = 0; i < sizeof header; i += 2) sum += load16_native(&header[i]);
    out.ipv4.push_back({address, sum});
  }
  return out;
}

Replay::Replay(uint16_t port, const MacAddress& port_mac, rte_mempool* pool,
               const ReplayDestinations& destinations, const std::vector<ReplayFrames>& frames)
    : port_(port), pool_(pool), destinations_(destinations), payload_(kLargestFrame_bytes) {
  for (const ReplayFrames& kind : frames) kinds_.emplace_back(port_mac, kind);
  kind_ = &kinds_.front();
  callback_ = rte_eth_add_rx_callback(port_, 0, fill, this);
  if (callback_ == nullptr) throw std::runtime_error("this DPDK has no receive callbacks");
}

Replay::~Replay() {
  rte_eth_remove_rx_callback(port_, 0, callback_);
}

Replay::Kind::Kind(const MacAddress& port_mac, const ReplayFrames& frames)
    : plain(frames.plain()),
      copied(frames.copied),
      swept(frames.swept),
      in_gre(frames.in_gre),
      ring_packets(bench::ring_packets(frames.cache, cache_sizes())) {
  for (const uint16_t bytes : frames.sizes) {
    const auto same = std::find_if(shapes.begin(), shapes.end(),
                                   [bytes](const Shape& shape) { return shape.bytes == bytes; });
    turn.push_back(static_cast<uint8_t>(same - shapes.begin()));
    if (same == shapes.end()) shapes.push_back(make_shape(port_mac, bytes));
  }
}

Replay::Shape Replay::make_shape(const MacAddress& port_mac, uint16_t bytes) {
  Shape shape{};
  shape.bytes = bytes;
  for (auto* header : {&shape.header4, &shape.header6}) {
    std::memcpy(header->data(), port_mac.data(), 6);
    std::memcpy(header->data() + 6, kSender, 6);
  }
  // Lengths fill the frame, so that nothing is trimmed.
  uint8_t* ip4 = shape.header4.data() + kEthernetBytes;
  std::memcpy(shape.header4.data() + 12, &kEtherIpv4, 2);
  std::memcpy(ip4, kHeader4, sizeof kHeader4);
  store16_be(ip4 + 2, bytes - kEthernetBytes);
  shape.length4_be = load16_native(ip4 + 2);
  uint8_t* ip6 = shape.header6.data() + kEthernetBytes;
  std::memcpy(shape.header6.data() + 12, &kEtherIpv6, 2);
  std::memcpy(ip6, kHeader6, sizeof kHeader6);
  store16_be(ip6 + 4, bytes - kEthernetBytes - kIpv6Bytes);
  std::memcpy(ip6 + 8, kSource6, sizeof kSource6);
  const std::span<const uint8_t, 12> macs(shape.header4.data(), 12);
  shape.front4 = gre_front(macs, bytes, true);
  shape.front6 = gre_front(macs, bytes, false);
  return shape;
}

inline void Replay::write4(uint8_t* frame, const Shape& shape) {
  const auto& destination = destinations_.ipv4[next_++ & (destinations_.ipv4.size() - 1)];
  uint32_t sum = destination.sum + shape.length4_be;
  sum = (sum >> 16) + (sum & 0xffff);
  sum += sum >> 16;
  const auto checksum = static_cast<uint16_t>(~sum);
  std::memcpy(frame, shape.header4.data(), kHeader_bytes);
  std::memcpy(frame + kEthernetBytes + 10, &checksum, 2);
  std::memcpy(frame + kEthernetBytes + 16, &destination.address_be, 4);
}

inline void Replay::write6(uint8_t* frame, const Shape& shape) {
  std::memcpy(frame, shape.header6.data(), kHeader_bytes);
  std::memcpy(frame + kEthernetBytes + 24,
              &destinations_.ipv6[next_++ & (destinations_.ipv6.size() - 1)], 16);
}

uint16_t Replay::write(uint8_t* frame) {
  Kind& kind = *kind_;
  const Shape& shape = kind.shapes[kind.turn[kind.next_turn]];
  kind.next_turn = kind.next_turn + 1 == kind.turn.size() ? 0 : kind.next_turn + 1;
  const bool four = traffic_.load(std::memory_order_relaxed) == Traffic::kIpv4;
  // What is inside has an Ethernet header where the outer one's last bytes are.
  uint8_t* const own = kind.in_gre ? frame + kOuterBytes : frame;
  four ? write4(own, shape) : write6(own, shape);
  if (kind.copied) std::memcpy(own + kHeader_bytes, payload_.data(), shape.bytes - kHeader_bytes);
  if (!kind.in_gre) return shape.bytes;
  std::memcpy(frame, (four ? shape.front4 : shape.front6).data(), kGreFront);
  return static_cast<uint16_t>(shape.bytes + kOuterBytes);
}

// net_null has set the length of all, to that of the least frame.
template <Traffic kTraffic>
void Replay::fill_plain(rte_mbuf** packets, uint16_t count) {
  const Shape& shape = kind_->shapes[0];
  for (uint16_t i = 0; i < count; ++i) {
    auto* frame = rte_pktmbuf_mtod(packets[i], uint8_t*);
    kTraffic == Traffic::kIpv4 ? write4(frame, shape) : write6(frame, shape);
  }
}

void Replay::fill_any(rte_mbuf** packets, uint16_t count) {
  for (uint16_t i = 0; i < count; ++i) {
    const uint16_t bytes = write(rte_pktmbuf_mtod(packets[i], uint8_t*));
    packets[i]->data_len = bytes;
    packets[i]->pkt_len = bytes;
  }
}

void WholeFrames::add(const uint8_t* frame, size_t length) {
  bytes.insert(bytes.end(), frame, frame + length);
  ends.push_back(bytes.size());
}

void Replay::select_frames(size_t kind) {
  kind_ = &kinds_[kind];
  ring_.resize(pool_, kind_->ring_packets);
  settle();
}

void Replay::select_whole(const WholeFrames* frames, bool to_port) {
  whole_ = frames;
  whole_to_port_ = to_port;
  next_whole_ = 0;
  settle();
}

void Replay::settle() {
  ring_.rewrite([this](rte_mbuf** packets, uint16_t count) {
    for (uint16_t i = 0; i < count; ++i)
      packets[i]->data_len = packets[i]->pkt_len = kLeastFrame_bytes;
    fill_selected(packets, count);
  });
}

void Replay::fill_whole(rte_mbuf** packets, uint16_t count) {
  for (uint16_t i = 0; i < count; ++i) {
    const size_t begin = next_whole_ == 0 ? 0 : whole_->ends[next_whole_ - 1];
    const auto bytes = static_cast<uint16_t>(whole_->ends[next_whole_] - begin);
    next_whole_ = next_whole_ + 1 == whole_->ends.size() ? 0 : next_whole_ + 1;
    auto* frame = rte_pktmbuf_mtod(packets[i], uint8_t*);
    std::memcpy(frame, whole_->bytes.data() + begin, bytes);
    if (whole_to_port_) std::memcpy(frame, kind_->shapes[0].header4.data(), sizeof(MacAddress));
    packets[i]->data_len = bytes;
    packets[i]->pkt_len = bytes;
  }
}

void Replay::fill_selected(rte_mbuf** packets, uint16_t count) {
  if (whole_ != nullptr)
    fill_whole(packets, count);
  else if (!kind_->plain)
    fill_any(packets, count);
  else if (traffic_.load(std::memory_order_relaxed) == Traffic::kIpv4)
    fill_plain<Traffic::kIpv4>(packets, count);
  else
    fill_plain<Traffic::kIpv6>(packets, count);
}

void Replay::follow(const Replay* leader, double share) {
  share_ = share;
  began_ = given_.load(std::memory_order_relaxed);
  leader_began_ = leader == nullptr ? 0 : leader->given_.load(std::memory_order_relaxed);
  leader_.store(leader, std::memory_order_release);
}

void Replay::pace(double pps) {
  began_ = given_.load(std::memory_order_relaxed);
  paced_since_ = rte_rdtsc();
  per_cycle_ = pps / static_cast<double>(rte_get_tsc_hz());
}

bool Replay::ahead() const {
  const auto mine = static_cast<double>(given_.load(std::memory_order_relaxed) - began_);
  if (per_cycle_ > 0) return mine >= per_cycle_ * static_cast<double>(rte_rdtsc() - paced_since_);
  const Replay* const leader = leader_.load(std::memory_order_acquire);
  if (leader == nullptr) return false;
  const uint64_t theirs = leader->given_.load(std::memory_order_relaxed) - leader_began_;
  return mine >= share_ * static_cast<double>(theirs);
}

uint16_t Replay::fill(uint16_t, uint16_t, rte_mbuf** packets, uint16_t count, uint16_t,
                      void* self) {
  auto& replay = *static_cast<Replay*>(self);
  if (!replay.active_.load(std::memory_order_relaxed) || replay.ahead()) [[unlikely]] {
    rte_pktmbuf_free_bulk(packets, count);
    return 0;
  }
  replay.fill_selected(packets, count);
  if (!replay.ring_.empty()) replay.ring_.exchange(packets, count);
  if (replay.kind_->swept) replay.sweep_.run();
  replay.given_.store(replay.given_.load(std::memory_order_relaxed) + count,
                      std::memory_order_relaxed);
  return count;
}

Sink::Sink(uint16_t port, uint16_t queue)
    : port_(port), queue_(queue), frame_(kLargestFrame_bytes) {
  callback_ = rte_eth_add_tx_callback(port_, queue_, take, this);
  if (callback_ == nullptr) throw std::runtime_error("this DPDK has no transmit callbacks");
}

Sink::~Sink() {
  rte_eth_remove_tx_callback(port_, queue_, callback_);
}

void Sink::select_frames(const ReplayFrames& frames) {
  copied_ = frames.copied;
  swept_ = frames.swept;
}

uint16_t Sink::take(uint16_t, uint16_t, rte_mbuf** packets, uint16_t count, void* self) {
  auto& sink = *static_cast<Sink*>(self);
  for (uint16_t i = 0; sink.copied_ && i < count; ++i)
    std::memcpy(sink.frame_.data(), rte_pktmbuf_mtod(packets[i], const uint8_t*),
                packets[i]->data_len);
  if (sink.swept_) sink.sweep_.run();
  return count;
}

}  // namespace hecto::bench
