#include "bench/ipsec/cases.hpp"

#include <fmt/format.h>

#include <charconv>

#include "bench/bed/bed.hpp"

namespace hecto::bench {

using namespace router;

const std::vector<std::string>& ipsec_algorithms() {
  static const std::vector<std::string> kAll = {"aes-128-gcm", "aes-256-gcm",
                                                "aes-128-cbc+hmac-sha1",
                                                "aes-128-cbc+hmac-sha2-256", "chacha20-poly1305"};
  return kAll;
}

Result<esp::Transform> ipsec_transform(const std::string& algorithm) {
  const size_t plus = algorithm.find('+');
  if (plus == std::string::npos) return esp::transform_by_name(algorithm, "");
  return esp::transform_by_name(algorithm.substr(0, plus), algorithm.substr(plus + 1));
}

Result<std::vector<uint16_t>> inner_sizes(const std::string& size) {
  if (size == "imix") {
    auto sizes = frame_sizes(size);
    for (uint16_t& bytes : *sizes) bytes = static_cast<uint16_t>(bytes - kIpOverhead_bytes);
    return sizes;
  }
  unsigned bytes = 0;
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), bytes);
  constexpr unsigned kLeast = kLeastFrame_bytes - kIpOverhead_bytes;
  constexpr unsigned kMost = kLargestFrame_bytes - kIpOverhead_bytes;
  if (error != std::errc() || end != size.data() + size.size() || bytes < kLeast || bytes > kMost)
    return fail(fmt::format("--size {}: use imix, or {} to {} bytes of the packet inside", size,
                            kLeast, kMost));
  return std::vector<uint16_t>{static_cast<uint16_t>(bytes)};
}

}  // namespace hecto::bench
