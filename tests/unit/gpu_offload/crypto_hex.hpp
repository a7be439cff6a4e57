// Bytes from hexadecimal digits, for vectors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hecto::gpu_offload::crypto {

using Bytes = std::vector<uint8_t>;

// An even number of digits and nothing else.
inline Bytes hex(std::string_view digits) {
  Bytes bytes;
  for (size_t i = 0; i < digits.size(); i += 2) {
    bytes.push_back(
        static_cast<uint8_t>(std::stoul(std::string(digits.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

inline Bytes bytes_of(std::string_view text) {
  return {text.begin(), text.end()};
}

}  // namespace hecto::gpu_offload::crypto
