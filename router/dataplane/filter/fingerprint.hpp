// Whether two things say the same, without keeping either: 128 bits of all that they say. Not for what
// an attacker chooses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace hecto::router {

struct Fingerprint {
  uint64_t first = 0x9e3779b97f4a7c15, second = 0xc2b2ae3d27d4eb4f;

  bool operator==(const Fingerprint&) const = default;
  void add(uint64_t word) noexcept {
    first = mix(first ^ word, 0xff51afd7ed558ccd);
    second = mix(second + word, 0xc4ceb9fe1a85ec53);
  }
  void add(std::string_view text) noexcept {
    add(text.size());
    while (!text.empty()) {
      uint64_t word = 0;
      const size_t bytes = text.size() < sizeof word ? text.size() : sizeof word;
      std::memcpy(&word, text.data(), bytes);
      add(word);
      text.remove_prefix(bytes);
    }
  }

 private:
  // Every bit of the word moves every bit of it (MurmurHash3's finalizer).
  static uint64_t mix(uint64_t word, uint64_t factor) noexcept {
    word = (word ^ word >> 33) * factor;
    return word ^ word >> 29;
  }
};

struct FingerprintHash {
  size_t operator()(const Fingerprint& print) const noexcept { return print.first; }
};

}  // namespace hecto::router
