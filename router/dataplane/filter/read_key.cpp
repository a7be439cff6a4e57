#include "router/dataplane/filter/read_key.hpp"

namespace hecto::router::filter_detail {

namespace {

constexpr uint8_t kHopByHop = 0, kRouting = 43, kFragment = 44, kAuthentication = 51,
                  kDestinationOptions = 60;
constexpr unsigned kMostExtensions = 16;

}  // namespace

const uint8_t* pass_extensions(const uint8_t* ip, uint32_t bytes, FilterKey6& key) noexcept {
  uint32_t at = kIpv6Bytes;
  for (unsigned passed = 0;; ++passed) {
    const uint8_t kind = key.protocol;
    const bool known = kind == kHopByHop || kind == kRouting || kind == kFragment ||
                       kind == kAuthentication || kind == kDestinationOptions;
    if (!known) return at <= bytes ? ip + at : nullptr;
    if (passed == kMostExtensions || at + 8 > bytes) return nullptr;
    const uint8_t* const header = ip + at;
    const uint32_t length = kind == kFragment         ? 8
                            : kind == kAuthentication ? (header[1] + 2) * 4u
                                                      : (header[1] + 1) * 8u;
    // One that ends beyond what is there hides what comes next, but not what it is.
    if (kind == kFragment) {
      const unsigned offset_and_more = load16_be(header + 2) & 0xfff9;
      if (offset_and_more != 0) {
        const bool later = offset_and_more > 1;
        put_fragment(later, key);
        key.protocol = header[0];
        if (later) return nullptr;
        at += length;
        continue;
      }
    }
    key.protocol = header[0];
    at += length;
    if (at > bytes) return nullptr;
  }
}

}  // namespace hecto::router::filter_detail
