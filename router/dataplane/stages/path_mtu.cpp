#include "router/dataplane/stages/path_mtu.hpp"

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "router/dataplane/stages/esp_parse.hpp"

namespace hecto::router {
namespace {

constexpr uint8_t kIcmp = 1, kIcmpv6 = 58;
constexpr uint32_t kIcmpBytes = 8;

// `rest`: what is quoted behind the IP header.
Spi quoted_spi(uint8_t protocol, const uint8_t* rest, uint32_t bytes) noexcept {
  if (protocol == esp_parse::kProtocolEsp) return Spi(bytes < 4 ? 0 : load32_be(rest));
  if (protocol != esp_parse::kProtocolUdp || bytes < esp_parse::kUdpBytes + 4) return 0;
  const bool natt =
      load16_be(rest) == esp_parse::kPortNatt || load16_be(rest + 2) == esp_parse::kPortNatt;
  return Spi(natt ? load32_be(rest + esp_parse::kUdpBytes) : 0);  // 0: IKE (RFC 3948 §2.2)
}

}  // namespace

std::optional<PathMtu> read_path_mtu4(const uint8_t* ip, uint32_t bytes) noexcept {
  const uint32_t header = (ip[0] & 0xf) * 4u;
  if (ip[9] != kIcmp || bytes < header + kIcmpBytes + kIpv4Bytes) return {};
  const uint8_t* icmp = ip + header;
  if (icmp[0] != 3 || icmp[1] != 4) return {};
  if (fold_sum(sum_data(icmp, bytes - header)) != 0xffff) return {};
  const uint8_t* meant = icmp + kIcmpBytes;
  const uint32_t quoted = bytes - header - kIcmpBytes, meant_header = (meant[0] & 0xf) * 4u;
  if (meant[0] >> 4 != 4 || meant_header < kIpv4Bytes || meant_header > quoted ||
      (load16_be(meant + 6) & 0x1fff) != 0)
    return {};
  const PathMtu said{quoted_spi(meant[9], meant + meant_header, quoted - meant_header),
                     lookup::Family::kIpv4, meant + 12, meant + 16, load16_be(icmp + 6)};
  if (said.spi == 0) return {};
  return said;
}

std::optional<PathMtu> read_path_mtu6(const uint8_t* ip, uint32_t bytes) noexcept {
  if (ip[6] != kIcmpv6 || bytes < kIpv6Bytes + kIcmpBytes + kIpv6Bytes) return {};
  const uint8_t* icmp = ip + kIpv6Bytes;
  const uint32_t length = bytes - kIpv6Bytes;
  if (icmp[0] != 2 || icmp[1] != 0) return {};
  // The pseudo header (RFC 8200 §8.1): addresses, length, next header.
  const uint64_t pseudo = uint64_t{sum_data(ip + 8, 32)} + length + kIcmpv6;
  if (fold_sum(pseudo + sum_data(icmp, length)) != 0xffff) return {};
  const uint8_t* meant = icmp + kIcmpBytes;
  if (meant[0] >> 4 != 6) return {};
  const PathMtu said{quoted_spi(meant[6], meant + kIpv6Bytes, length - kIcmpBytes - kIpv6Bytes),
                     lookup::Family::kIpv6, meant + 8, meant + 24, load32_be(icmp + 4)};
  if (said.spi == 0) return {};
  return said;
}

}  // namespace hecto::router
