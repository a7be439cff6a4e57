#include "bench/traffic/histogram.hpp"

#include <algorithm>
#include <cmath>

namespace hecto::bench {

void Histogram::merge(const Histogram& other) {
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
  min_ = std::min(min_, other.min_);
}

void Histogram::clear() {
  std::fill(counts_.begin(), counts_.end(), 0);
  count_ = sum_ = max_ = 0;
  min_ = UINT64_MAX;
}

Histogram::Parts Histogram::parts() const {
  Parts parts{min(), max_, sum_, {}};
  for (uint32_t i = 0; i < counts_.size(); ++i)
    if (counts_[i] != 0) parts.buckets.emplace_back(i, counts_[i]);
  return parts;
}

std::optional<Histogram> Histogram::of(const Parts& parts) {
  Histogram histogram;
  for (const auto& [bucket, count] : parts.buckets) {
    if (bucket >= histogram.counts_.size()) return std::nullopt;
    histogram.counts_[bucket] += count;
    histogram.count_ += count;
  }
  if (histogram.count_ == 0) return histogram;
  histogram.min_ = parts.min;
  histogram.max_ = parts.max;
  histogram.sum_ = parts.sum;
  return histogram;
}

double Histogram::mean() const noexcept {
  return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
}

uint64_t Histogram::upper(unsigned index) noexcept {
  if (index < (2u << kSubBits)) return index;
  const unsigned shift = (index >> kSubBits) - 1;
  const uint64_t first = uint64_t{(index & ((1u << kSubBits) - 1)) + (1u << kSubBits)} << shift;
  return first + (uint64_t{1} << shift) - 1;
}

uint64_t Histogram::quantile(double part) const noexcept {
  if (count_ == 0) return 0;
  const auto rank =
      std::max<uint64_t>(1, static_cast<uint64_t>(std::ceil(part * static_cast<double>(count_))));
  uint64_t seen = 0;
  for (unsigned i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= rank) return std::min(upper(i), max_);
  }
  return max_;
}

}  // namespace hecto::bench
