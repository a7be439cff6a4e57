// Helpers for text that several rooms print. Values only; thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace hecto {

// The candidate that `word` was probably meant to be, for "did you mean": the first of the least
// edit distance (insert, remove, replace, or swap two neighbors), within a third of the word's
// length but at least 1; empty when none is. Words longer than any key or command are near to none.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);
// The same within `most` edits.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates,
                         size_t most);

// Columns on a terminal, of UTF-8 whose code points take one each: letters and plain arrows.
size_t display_width(std::string_view text) noexcept;

}  // namespace hecto
