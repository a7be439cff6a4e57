// Fragments in any order and of any kind: each is held, joined or given up, none is lost, and what
// comes out whole is a packet of one segment that is as long as it says.
#include <cstdlib>

#include "router/dataplane/stages/classify.hpp"
#include "router/dataplane/stages/esp_parse.hpp"
#include "router/dataplane/stages/reassembly.hpp"
#include "tests/beds/packets.hpp"

using namespace hecto;
using namespace hecto::router;

namespace {

void take(Reassembly& reassembly, test::Bed& bed, ReasonCounters& reasons, test::Frame frame) {
  std::memcpy(frame.data(), test::kPortMac.data(), test::kPortMac.size());
  if ((frame[14] & 0xf) * 4U + kEthernetBytes <= frame.size()) test::fix_checksum(frame);
  rte_mbuf* packet = test::packet(frame);
  const Diagnosis d = diagnose(packet, bed.port(), bed.snapshot);
  const uint8_t* ip = rte_pktmbuf_mtod(packet, const uint8_t*) + d.l2_length;
  const bool v4 = d.family == lookup::Family::kIpv4;
  const uint32_t bytes = packet->data_len - d.l2_length;
  static Lane4 lane4;
  static Lane6 lane6;
  if (d.reason != Reason::kNone ||
      !(v4 ? esp_parse::payload(lane4, ip, bytes) : esp_parse::payload(lane6, ip, bytes)).fragment)
    return rte_pktmbuf_free(packet);
  const bool known = (ip[v4 ? 15 : 23] & 1) != 0;  // both tables have their turn
  rte_mbuf* whole = v4 ? reassembly.take4(packet, d.l2_length, known, reasons)
                       : reassembly.take6(packet, d.l2_length, known, reasons);
  if (whole == nullptr) return;
  if (whole->nb_segs != 1 || whole->pkt_len != whole->data_len) std::abort();
  ip = rte_pktmbuf_mtod(whole, const uint8_t*) + d.l2_length;
  const uint32_t said = v4 ? load16_be(ip + 2) : load16_be(ip + 4) + kIpv6Bytes;
  if (said + d.l2_length > whole->data_len) std::abort();
  rte_pktmbuf_free(whole);
}

}  // namespace

// Frames one after the other, each with its length in front.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static test::Bed bed;
  (void)test::pool();
  const unsigned before = test::mbufs_in_use();
  ReasonCounters reasons;
  {
    Reassembly reassembly;
    unsigned frames = 0;
    while (size >= 2 && ++frames < 64) {
      const size_t bytes = std::min<size_t>(load16_be(data), size - 2);
      data += 2;
      size -= 2;
      if (bytes >= kEthernetBytes + kIpv4Bytes && bytes <= 2000)
        take(reassembly, bed, reasons, test::Frame(data, data + bytes));
      data += bytes;
      size -= bytes;
    }
    if (test::mbufs_in_use() != before + reassembly.held()) std::abort();
  }
  if (test::mbufs_in_use() != before) std::abort();
  return 0;
}
