#include "bench/forward/replay.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "router/dpdk.hpp"
#include "router/stages/wire.hpp"

namespace hecto::bench {

using namespace router;

namespace {

constexpr uint8_t kSender[6] = {0x02, 0, 0, 0, 0xbe, 0x01};
// UDP from 198.18.0.1 and 2001:2::1; lengths are filled in.
constexpr uint8_t kHeader4[kIpv4Bytes] = {0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 0, 1};
constexpr uint8_t kHeader6[8] = {0x60, 0, 0, 0, 0, 0, 17, 64};
constexpr uint8_t kSource6[16] = {0x20, 0x01, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

void put16_be(uint8_t* at, uint32_t value) {
  at[0] = static_cast<uint8_t>(value >> 8);
  at[1] = static_cast<uint8_t>(value);
}

}  // namespace

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
    for (unsigned i = 0; i < sizeof header; i += 2) sum += load16(&header[i]);
    out.ipv4.push_back({address, sum});
  }
  return out;
}

Replay::Replay(uint16_t port, const MacAddress& port_mac, const ReplayDestinations& destinations,
               const ReplayFrames& frames)
    : port_(port),
      plain_(frames.plain()),
      copied_(frames.copied),
      destinations_(destinations),
      payload_(kLargestFrame_bytes) {
  for (const uint16_t bytes : frames.sizes) {
    const auto same = std::find_if(shapes_.begin(), shapes_.end(),
                                   [bytes](const Shape& shape) { return shape.bytes == bytes; });
    turn_.push_back(static_cast<uint8_t>(same - shapes_.begin()));
    if (same == shapes_.end()) shapes_.push_back(make_shape(port_mac, bytes));
  }
  callback_ = rte_eth_add_rx_callback(port_, 0, fill, this);
  if (callback_ == nullptr) throw std::runtime_error("this DPDK has no receive callbacks");
}

Replay::~Replay() {
  rte_eth_remove_rx_callback(port_, 0, callback_);
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
  put16_be(ip4 + 2, bytes - kEthernetBytes);
  shape.length4_be = load16(ip4 + 2);
  uint8_t* ip6 = shape.header6.data() + kEthernetBytes;
  std::memcpy(shape.header6.data() + 12, &kEtherIpv6, 2);
  std::memcpy(ip6, kHeader6, sizeof kHeader6);
  put16_be(ip6 + 4, bytes - kEthernetBytes - kIpv6Bytes);
  std::memcpy(ip6 + 8, kSource6, sizeof kSource6);
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
  const Shape& shape = shapes_[turn_[next_turn_]];
  next_turn_ = next_turn_ + 1 == turn_.size() ? 0 : next_turn_ + 1;
  traffic_.load(std::memory_order_relaxed) == Traffic::kIpv4 ? write4(frame, shape)
                                                             : write6(frame, shape);
  if (copied_) std::memcpy(frame + kHeader_bytes, payload_.data(), shape.bytes - kHeader_bytes);
  return shape.bytes;
}

// net_null has set the length of all.
template <Traffic kTraffic>
void Replay::fill_plain(rte_mbuf** packets, uint16_t count) {
  const Shape& shape = shapes_[0];
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

uint16_t Replay::fill(uint16_t, uint16_t, rte_mbuf** packets, uint16_t count, uint16_t,
                      void* self) {
  auto& replay = *static_cast<Replay*>(self);
  if (!replay.active_.load(std::memory_order_relaxed)) [[unlikely]] {
    rte_pktmbuf_free_bulk(packets, count);
    return 0;
  }
  if (!replay.plain_)
    replay.fill_any(packets, count);
  else if (replay.traffic_.load(std::memory_order_relaxed) == Traffic::kIpv4)
    replay.fill_plain<Traffic::kIpv4>(packets, count);
  else
    replay.fill_plain<Traffic::kIpv6>(packets, count);
  return count;
}

CopyingSink::CopyingSink(uint16_t port, uint16_t queue)
    : port_(port), queue_(queue), frame_(kLargestFrame_bytes) {
  callback_ = rte_eth_add_tx_callback(port_, queue_, copy, this);
  if (callback_ == nullptr) throw std::runtime_error("this DPDK has no transmit callbacks");
}

CopyingSink::~CopyingSink() {
  rte_eth_remove_tx_callback(port_, queue_, callback_);
}

uint16_t CopyingSink::copy(uint16_t, uint16_t, rte_mbuf** packets, uint16_t count, void* self) {
  auto& sink = *static_cast<CopyingSink*>(self);
  for (uint16_t i = 0; i < count; ++i)
    std::memcpy(sink.frame_.data(), rte_pktmbuf_mtod(packets[i], const uint8_t*),
                packets[i]->data_len);
  return count;
}

}  // namespace hecto::bench
