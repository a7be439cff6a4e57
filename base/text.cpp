#include "base/text.hpp"

#include <algorithm>

namespace hecto {
namespace {

constexpr size_t kLongest = 32;

// Optimal string alignment of two words of at most kLongest letters.
size_t edit_distance(std::string_view a, std::string_view b) {
  size_t d[kLongest + 1][kLongest + 1];
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] =
          std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates,
                         size_t most) {
  if (word.size() > kLongest) return {};
  std::string_view best;
  for (std::string_view candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    const size_t distance = edit_distance(word, candidate);
    if (distance > most) continue;
    best = candidate;
    if (distance == 0) break;
    most = distance - 1;  // a later one has to be nearer
  }
  return best;
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  return nearest(word, candidates, std::max<size_t>(1, word.size() / 3));
}

size_t display_width(std::string_view text) noexcept {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace hecto
