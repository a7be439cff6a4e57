#include "bench/forward/replay.hpp"

#include <cstring>
#include <stdexcept>

#include "router/dpdk.hpp"
#include "router/stages/wire.hpp"

namespace hecto::bench {

using namespace router;

Replay::Replay(uint16_t port, const MacAddress& port_mac, std::vector<uint32_t> destinations4,
               std::vector<lookup::Ipv6Address> destinations6)
    : port_(port), destinations6_(std::move(destinations6)) {
  make_templates(port_mac);
  for (const uint32_t destination : destinations4) {
    std::array<uint8_t, kIpv4Bytes> header;
    std::memcpy(header.data(), template4_.data() + kEthernetBytes, header.size());
    const uint32_t address = __builtin_bswap32(destination);
    std::memcpy(&header[16], &address, 4);
    uint32_t sum = 0;
    for (unsigned i = 0; i < header.size(); i += 2) sum += load16(&header[i]);
    sum = (sum >> 16) + (sum & 0xffff);
    sum += sum >> 16;
    destinations4_.push_back({address, static_cast<uint16_t>(~sum)});
  }
  callback_ = rte_eth_add_rx_callback(port_, 0, fill, this);
  if (callback_ == nullptr) throw std::runtime_error("this DPDK has no receive callbacks");
}

Replay::~Replay() {
  rte_eth_remove_rx_callback(port_, 0, callback_);
}

void Replay::make_templates(const MacAddress& port_mac) {
  for (auto* frame : {&template4_, &template6_}) {
    std::memcpy(frame->data(), port_mac.data(), 6);
    const uint8_t sender[6] = {0x02, 0, 0, 0, 0xbe, 0x01};
    std::memcpy(frame->data() + 6, sender, 6);
  }
  // UDP in both; lengths fill the 64 bytes, so that nothing is trimmed.
  uint8_t* ip4 = template4_.data() + kEthernetBytes;
  std::memcpy(template4_.data() + 12, &kEtherIpv4, 2);
  const uint8_t header4[kIpv4Bytes] = {
      0x45, 0, 0, kPacketBytes - kEthernetBytes, 0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 0, 1};
  std::memcpy(ip4, header4, sizeof header4);
  uint8_t* ip6 = template6_.data() + kEthernetBytes;
  std::memcpy(template6_.data() + 12, &kEtherIpv6, 2);
  const uint8_t header6[8] = {0x60, 0, 0, 0, 0, kPacketBytes - kEthernetBytes - kIpv6Bytes, 17, 64};
  std::memcpy(ip6, header6, sizeof header6);
  const uint8_t source6[16] = {0x20, 0x01, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  std::memcpy(ip6 + 8, source6, sizeof source6);
}

inline void Replay::write4(uint8_t* frame) {
  const Destination4& destination = destinations4_[next_++ & (destinations4_.size() - 1)];
  std::memcpy(frame, template4_.data(), kPacketBytes);
  std::memcpy(frame + kEthernetBytes + 10, &destination.checksum, 2);
  std::memcpy(frame + kEthernetBytes + 16, &destination.address_be, 4);
}

inline void Replay::write6(uint8_t* frame) {
  std::memcpy(frame, template6_.data(), kPacketBytes);
  std::memcpy(frame + kEthernetBytes + 24, &destinations6_[next_++ & (destinations6_.size() - 1)],
              16);
}

uint16_t Replay::fill(uint16_t, uint16_t, rte_mbuf** packets, uint16_t count, uint16_t,
                      void* self) {
  auto& replay = *static_cast<Replay*>(self);
  if (replay.traffic_ == Traffic::kIpv4)
    for (uint16_t i = 0; i < count; ++i) replay.write4(rte_pktmbuf_mtod(packets[i], uint8_t*));
  else
    for (uint16_t i = 0; i < count; ++i) replay.write6(rte_pktmbuf_mtod(packets[i], uint8_t*));
  return count;
}

}  // namespace hecto::bench
