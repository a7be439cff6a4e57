// The names of what `hecto-bench ipsec` measures: algorithms, and sizes of the packets inside.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "router/ipsec/esp/transform.hpp"

namespace hecto::bench {

inline constexpr uint16_t kIpOverhead_bytes = 14;  // of a frame: Ethernet

// "aes-128-gcm", "aes-128-cbc+hmac-sha1": a cipher, and an HMAC behind a plus.
const std::vector<std::string>& ipsec_algorithms();
Result<router::esp::Transform> ipsec_transform(const std::string& algorithm);

// Bytes of one inner IP packet after another: as frame_sizes(), without Ethernet.
Result<std::vector<uint16_t>> inner_sizes(const std::string& size);

}  // namespace hecto::bench
