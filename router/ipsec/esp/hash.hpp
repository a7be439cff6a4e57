// A seeded hash of a few words: the halves of 128-bit products, folded.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <random>

namespace hecto::router::esp {

inline uint64_t fold_product(uint64_t a, uint64_t b) noexcept {
  __extension__ using Wide = unsigned __int128;
  const auto product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

template <typename Word>
Word load_word(const uint8_t* from) noexcept {
  Word word;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

template <size_t kWords>
std::array<uint64_t, kWords> random_words() {
  std::random_device device;
  std::array<uint64_t, kWords> words;
  for (uint64_t& word : words) word = uint64_t{device()} << 32 | device();
  return words;
}

}  // namespace hecto::router::esp
