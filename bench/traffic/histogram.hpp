// A histogram of whole numbers with a bounded relative error (HdrHistogram's idea, Gil Tene):
// buckets of equal width within each power of two, so that any quantile is exact to 1 part in 128.
// Fixed size, no allocation after construction, one writer.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace hecto::bench {

class Histogram {
 public:
  static constexpr unsigned kSubBits = 7;   // 128 buckets a power of two
  static constexpr unsigned kMaxBits = 40;  // values from 2^40 on (18 minutes in ns) count as that

  void record(uint64_t value, uint64_t times = 1) noexcept {
    counts_[index(value)] += times;
    count_ += times;
    sum_ += value * times;
    max_ = value > max_ ? value : max_;
    min_ = value < min_ ? value : min_;
  }
  void merge(const Histogram& other);
  void clear();

  uint64_t count() const noexcept { return count_; }
  uint64_t max() const noexcept { return max_; }
  uint64_t min() const noexcept { return count_ == 0 ? 0 : min_; }
  double mean() const noexcept;
  // The value that `part` (0 to 1) of the values do not exceed; 0 when there are none.
  uint64_t quantile(double part) const noexcept;

  // All that it is, for another process: the buckets that have some, by number.
  struct Parts {
    uint64_t min = 0, max = 0, sum = 0;
    std::vector<std::pair<uint32_t, uint64_t>> buckets;
  };
  Parts parts() const;
  static std::optional<Histogram> of(const Parts& parts);  // none: there is no such bucket

 private:
  static unsigned index(uint64_t value) noexcept;
  static uint64_t upper(unsigned index) noexcept;  // the largest value of that bucket

  std::vector<uint64_t> counts_ = std::vector<uint64_t>((kMaxBits - kSubBits + 1) << kSubBits);
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  uint64_t max_ = 0;
  uint64_t min_ = UINT64_MAX;
};

inline unsigned Histogram::index(uint64_t value) noexcept {
  constexpr uint64_t kLargest = (uint64_t{1} << kMaxBits) - 1;
  if (value > kLargest) value = kLargest;
  if (value < (1u << kSubBits)) return static_cast<unsigned>(value);
  const auto shift = static_cast<unsigned>(std::bit_width(value)) - kSubBits - 1;
  return ((shift + 1) << kSubBits) + static_cast<unsigned>(value >> shift) - (1u << kSubBits);
}

}  // namespace hecto::bench
