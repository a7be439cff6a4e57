// What becomes of many measurements of one thing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace hecto::bench {

// The value below which `part` (0 to 1) of the values lie: one of them, no mean. `values` not
// empty.
inline double quantile(std::vector<double> values, double part) {
  const auto index = static_cast<size_t>(part * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(index),
                   values.end());
  return values[index];
}

// Of an even number of values the mean of the two in the middle.
inline double median(std::vector<double> values) {
  const size_t half = values.size() / 2;
  std::sort(values.begin(), values.end());
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// (largest - smallest) / median: how far the repetitions of one measurement lie apart. 0 when the
// median is.
inline double spread(const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const double middle = median(values);
  return middle == 0 ? 0 : (*most - *least) / middle;
}

// How far apart the middle half lies, as a part of the median.
inline double quartile_spread(const std::vector<double>& values) {
  return (quantile(values, 0.75) - quantile(values, 0.25)) / median(values);
}

// What becomes of the repetitions of one measurement.
struct Summary {
  double median = 0, least = 0, most = 0, spread = 0;
  size_t count = 0;
};

// `values` not empty.
inline Summary summarize(const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {median(values), *least, *most, spread(values), values.size()};
}

}  // namespace hecto::bench
