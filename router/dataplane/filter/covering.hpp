// A table of few values for prefixes of many: between prefixes it may say anything, so those that lie
// beside one another and have one value are one entry.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace hecto::router {

template <typename Prefix>
struct Valued {
  Prefix prefix;
  uint32_t value;
};

template <typename Prefix>
class Covering {
 public:
  // Of prefixes in order, each once. In what is returned the longest prefix that an address is in has the
  // value of the longest that it is in here, where it is in one.
  static std::vector<Valued<Prefix>> of(std::span<const Valued<Prefix>> all) {
    Covering made(all);
    made.cover(0, all.size(), std::nullopt);
    return std::move(made.out_);
  }

 private:
  explicit Covering(std::span<const Valued<Prefix>> all) : all_(all), changes_(all.size()) {
    for (size_t i = 1; i < all.size(); ++i)
      changes_[i] = changes_[i - 1] + (all[i].value != all[i - 1].value);
  }

  // All that lies within some prefix; `around`: the value that what is returned has there.
  void cover(size_t begin, size_t end, std::optional<uint32_t> around) {
    if (begin == end) return;
    const Valued<Prefix>& first = all_[begin];
    const Prefix whole = common(first.prefix, all_[end - 1].prefix);
    if (changes_[begin] == changes_[end - 1]) {
      if (!around)
        out_.push_back({whole, first.value});
      else if (*around != first.value)
        add_outermost(begin, end);
      return;
    }
    if (first.prefix == whole) {
      if (around != first.value) out_.push_back(first);
      return cover(begin + 1, end, first.value);
    }
    const Prefix lower{whole.address, static_cast<uint8_t>(whole.length + 1)};
    const auto inside = [&](const Valued<Prefix>& each) { return lower.contains(each.prefix); };
    const auto middle = static_cast<size_t>(
        std::partition_point(all_.begin() + begin, all_.begin() + end, inside) - all_.begin());
    cover(begin, middle, around);
    cover(middle, end, around);
  }

  void add_outermost(size_t begin, size_t end) {
    const Valued<Prefix>* outer = nullptr;
    for (size_t i = begin; i < end; ++i) {
      if (outer != nullptr && outer->prefix.contains(all_[i].prefix)) continue;
      outer = &all_[i];
      out_.push_back(*outer);
    }
  }

  static Prefix common(const Prefix& first, const Prefix& last) {
    uint8_t length = std::min(first.length, last.length);
    Prefix prefix = Prefix::make(first.address, length);
    while (!prefix.contains(last)) prefix = Prefix::make(first.address, --length);
    return prefix;
  }

  const std::span<const Valued<Prefix>> all_;
  std::vector<uint32_t> changes_;  // of values, up to each
  std::vector<Valued<Prefix>> out_;
};

}  // namespace hecto::router
