// The line that lies nearest to points, by least squares of relative distances: what is small
// counts as much as what is large.
#pragma once

#include <cstddef>
#include <vector>

namespace hecto::bench {

struct Line {
  double at_zero = 0;
  double slope = 0;
};

// As many `y`, all above 0, as `x`; at least two different `x`.
inline Line fit(const std::vector<double>& x, const std::vector<double>& y) {
  double weights = 0, mean_x = 0, mean_y = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double weight = 1 / (y[i] * y[i]);
    weights += weight;
    mean_x += weight * x[i];
    mean_y += weight * y[i];
  }
  mean_x /= weights;
  mean_y /= weights;
  double over = 0, under = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double weight = 1 / (y[i] * y[i]);
    over += weight * (x[i] - mean_x) * (y[i] - mean_y);
    under += weight * (x[i] - mean_x) * (x[i] - mean_x);
  }
  const double slope = over / under;
  return {mean_y - slope * mean_x, slope};
}

}  // namespace hecto::bench
