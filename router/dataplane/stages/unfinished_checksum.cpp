#include "router/dataplane/stages/unfinished_checksum.hpp"

#include "base/bytes.hpp"
#include "base/ether.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::router {

TransportChecksum transport_checksum(const rte_mbuf* packet) noexcept {
  const uint8_t* frame = rte_pktmbuf_mtod(packet, const uint8_t*);
  const uint32_t bytes = packet->data_len;
  if (bytes < kEthernetBytes + kIpv4Bytes || load16_native(frame + 12) != kEtherIpv4)
    return TransportChecksum::kNotSeen;
  const uint8_t* ip = frame + kEthernetBytes;
  const uint32_t header = (ip[0] & 0xf) * 4u;
  const uint32_t total = load16_be(ip + 2);
  const bool tcp = ip[9] == 6;
  if ((!tcp && ip[9] != 17) || header < kIpv4Bytes || total < header + (tcp ? 20u : 8u) ||
      bytes < kEthernetBytes + total || (load16_be(ip + 6) & 0x3fff) != 0)
    return TransportChecksum::kNotSeen;
  uint32_t sum = ip[9] + total - header;
  for (unsigned i = 12; i < 20; i += 2) sum += load16_be(ip + i);
  sum = (sum >> 16) + (sum & 0xffff);
  sum = (sum >> 16) + (sum & 0xffff);
  return load16_be(ip + header + (tcp ? 16 : 6)) == sum ? TransportChecksum::kUnfinished
                                                        : TransportChecksum::kFinished;
}

}  // namespace hecto::router
