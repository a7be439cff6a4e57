// What NAT reads of packets of anybody, and writes into them: no read or write goes beyond the bytes
// that there are, and an ICMP error's checksum stays as right or wrong as it was.
#include <cstdlib>
#include <memory>

#include "router/dataplane/nat/icmp_error.hpp"
#include "router/dataplane/nat/prefix6.hpp"

using namespace hecto;
using namespace hecto::router::nat;

namespace {

unsigned message_sum(const uint8_t* ip, uint32_t bytes) {
  return fold_sum(sum_words(ip + kHeaderBytes, (bytes - kHeaderBytes) & ~1u)) % 0xffff;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < kHeaderBytes || size > 2000) return 0;
  const auto bytes = static_cast<uint32_t>(size);
  const std::unique_ptr<uint8_t[]> ip(new uint8_t[size]);
  std::memcpy(ip.get(), data, size);
  if (const Ipv4Packet read = read_packet(ip.get(), bytes); read.kind == Kind::kError) {
    if (const auto embedded = find_embedded(ip.get(), bytes)) {
      const unsigned before = message_sum(ip.get(), bytes);
      const bool ports = embedded->kind <= Kind::kQuery;
      const std::optional<uint16_t> port = ports ? std::optional<uint16_t>(4711) : std::nullopt;
      rewrite_embedded(ip.get(), *embedded, data[0] % 2 == 0 ? End::kSource : End::kDestination,
                       0x01020304, port);
      if (message_sum(ip.get(), bytes) != before) std::abort();
    }
  } else if (read.kind <= Kind::kQuery) {
    rewrite_end(ip.get(), End::kSource, read.kind, 0x01020304, 4711, 0x1234, 0x4321);
  } else {
    rewrite_address(ip.get(), bytes, End::kDestination, 0x01020304, 0x1234);
  }
  std::memcpy(ip.get(), data, size);
  if (uint8_t* const inner = bytes >= 40 ? find_embedded6(ip.get(), bytes) : nullptr)
    inner[39] ^= 1;
  return 0;
}
