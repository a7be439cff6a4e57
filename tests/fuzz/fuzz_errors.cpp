// What is read of a packet that classify has cleared, beyond its header: what routers say of paths'
// MTUs, five-tuples behind extension headers, and the answer to what does not fit. Nothing beyond
// its end is read, and an answer is a packet that classify clears.
#include <algorithm>
#include <cstdlib>
#include <memory>

#include "router/dataplane/stages/classify.hpp"
#include "router/dataplane/stages/icmp_error.hpp"
#include "router/dataplane/stages/path_mtu.hpp"
#include "router/ipsec/esp/flow_key.hpp"
#include "tests/beds/packets.hpp"

using namespace hecto;
using namespace hecto::router;

namespace {

// In memory of just that size, where a sanitizer sees what is read behind it.
void read_beyond_header(const uint8_t* ip, uint32_t bytes, lookup::Family family) {
  const auto exact = std::make_unique<uint8_t[]>(bytes);
  std::memcpy(exact.get(), ip, bytes);
  const bool v4 = family == lookup::Family::kIpv4;
  const auto said = v4 ? read_path_mtu4(exact.get(), bytes) : read_path_mtu6(exact.get(), bytes);
  if (said) {
    const size_t address = v4 ? 4 : 16;
    for (const uint8_t* end : {said->source + address, said->destination + address})
      if (end > exact.get() + bytes) std::abort();
    if (said->spi == 0) std::abort();
  }
  const esp::FlowKey key = esp::flow_key(family, exact.get(), bytes);
  if (key.family != family) std::abort();
}

void answer(rte_mbuf* packet, unsigned l2_length, uint16_t mtu, bool v4) {
  InterfaceView interface;
  interface.up = true;
  interface.address4 = 0xc6336401;
  interface.address6.bytes = {0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  const test::Frame before = test::bytes_of(packet);
  if (!(v4 ? make_too_big4 : make_too_big6)(packet, l2_length, mtu, interface)) {
    if (test::bytes_of(packet) != before) std::abort();
    return;
  }
  const uint8_t* ip = rte_pktmbuf_mtod(packet, const uint8_t*) + l2_length;
  const uint32_t bytes = packet->data_len - l2_length;
  if (bytes > 1280 || ip[0] >> 4 != (v4 ? 4 : 6)) std::abort();
  if (v4 && fold_sum(sum_data(ip, 20)) != 0xffff) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static test::Bed bed;
  if (size < 20 || size > 2000) return 0;
  test::Frame frame(data + 2, data + size);
  // To our MAC and with a right sum, so that more comes further than the first checks.
  if (data[0] & 1) std::memcpy(frame.data(), test::kPortMac.data(), test::kPortMac.size());
  if (data[0] & 2 && frame.size() >= kEthernetBytes + 60) test::fix_checksum(frame);
  rte_mbuf* packet = test::packet(frame);
  const Diagnosis d = diagnose(packet, bed.port(), bed.snapshot);
  if (d.reason == Reason::kNone) {
    const uint8_t* ip = rte_pktmbuf_mtod(packet, const uint8_t*) + d.l2_length;
    read_beyond_header(ip, packet->data_len - d.l2_length, d.family);
    const uint16_t mtu = static_cast<uint16_t>(576 + data[1] * 4);
    answer(packet, d.l2_length, mtu, d.family == lookup::Family::kIpv4);
  }
  rte_pktmbuf_free(packet);
  return 0;
}
