// A rule as it lies over a key (key.hpp): of each four bytes either bits, or two spans of 16 bits. A list of
// ports makes several of one rule.
#pragma once

#include <array>
#include <cstdint>

#include "router/dataplane/filter/key.hpp"

namespace hecto::router {

struct TreeWord {
  uint32_t a = 0, b = 0;  // value and mask; of spans both firsts and both lasts, high half first
  bool operator==(const TreeWord&) const = default;
};

template <unsigned AddressBytes>
struct TreeRule {
  static constexpr unsigned kAddress = AddressBytes / 4;
  // Words of a key, in its order.
  static constexpr unsigned kProtocol = 0, kClasses = 1, kSource = 2,
                            kDestination = kSource + kAddress, kPorts = kDestination + kAddress,
                            kBits = kPorts + 1, kSizes = kPorts + 2, kMark = kPorts + 3,
                            kWords = kPorts + 4;
  static_assert(kMark * 4 == offsetof(FilterKey<AddressBytes>, mark));
  static constexpr bool is_spans(unsigned word) {
    return word == kClasses || word == kPorts || word == kSizes;
  }

  TreeRule() {
    for (unsigned word = 0; word < kWords; ++word)
      if (is_spans(word)) words[word].b = 0xffffffff;
  }
  bool asks(unsigned word) const {
    return is_spans(word) ? words[word].a != 0 || words[word].b != 0xffffffff : words[word].b != 0;
  }

  std::array<TreeWord, kWords> words;
  uint32_t rule = 0;  // from 0; the smaller is the first
};

}  // namespace hecto::router
