#include "router/ipsec/esp/headers.hpp"

namespace hecto::router::esp {
namespace {

// Destination options belong to ESP's payload unless a routing header follows them.
bool skipped(const uint8_t* extension, uint8_t protocol, bool before_esp) {
  if (protocol == kProtocolHopByHop || protocol == kProtocolRouting) return true;
  return protocol == kProtocolDestinationOptions &&
         (!before_esp || extension[0] == kProtocolRouting);
}

}  // namespace

std::optional<UpperLayer> upper_layer6(const uint8_t* ip, uint32_t bytes,
                                       bool before_esp) noexcept {
  UpperLayer upper{40, ip[6], 6, false};
  for (unsigned i = 0;; ++i) {
    if (upper.protocol == kProtocolFragment) upper.fragment = true;
    const bool extension = upper.protocol == kProtocolHopByHop ||
                           upper.protocol == kProtocolRouting ||
                           upper.protocol == kProtocolDestinationOptions;
    if (!extension) return upper;
    if (i == kMaxExtensions || upper.offset + 8 > bytes) return std::nullopt;
    const uint8_t* header = ip + upper.offset;
    if (!skipped(header, upper.protocol, before_esp)) return upper;
    upper.next_header = upper.offset;
    upper.protocol = header[0];
    upper.offset += (header[1] + 1U) * 8;
    if (upper.offset > bytes) return std::nullopt;
  }
}

void renew_checksum(uint8_t* ip, uint32_t bytes, uint32_t offset, uint8_t protocol) noexcept {
  const bool udp = protocol == kProtocolUdp, ipv4 = is_ipv4(ip);
  if ((!udp && protocol != kProtocolTcp) || (!ipv4 && offset != 40)) return;
  uint8_t* segment = ip + offset;
  uint32_t covered = bytes - offset;
  if (covered < (udp ? 8 : 20)) return;
  if (udp) {
    const uint32_t said = load16_be(segment + 4);
    if (said < 8 || said > covered || load16_be(segment + 6) == 0) return;
    covered = said;
  }
  uint8_t* checksum = segment + (udp ? 6 : 16);
  store16_be(checksum, 0);
  const uint32_t addresses = ipv4 ? sum_words(ip + 12, 8) : sum_words(ip + 8, 32);
  const auto right = static_cast<uint16_t>(
      ~fold_sum(uint64_t{sum_data(segment, covered)} + addresses + covered + protocol));
  store16_be(checksum, udp && right == 0 ? 0xffff : right);  // 0 would say that there is none
}

}  // namespace hecto::router::esp
