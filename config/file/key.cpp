#include "config/file/key.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hecto::config {
namespace {

std::string filled(std::string_view words, const std::string& low, const std::string& high) {
  std::string out(words);
  for (const auto& [mark, number] : {std::pair("{low}", &low), std::pair("{high}", &high)})
    if (const size_t at = out.find(mark); at != std::string::npos)
      out.replace(at, std::string_view(mark).size(), *number);
  return out;
}

}  // namespace

std::string range_words(const Range& range) {
  return filled(range.words, std::to_string(range.low), std::to_string(range.high));
}

std::string size_range_words(const Range& range) {
  return filled(range.words, least_size_words(range.low), most_size_words(range.high));
}

std::string bit_rate_range_words(const Range& range) {
  return filled(range.words, bit_rate_words(range.low), bit_rate_words(range.high));
}

std::string any_of_words(std::span<const std::string_view> words) {
  return fmt::format("{} or {}", fmt::join(words.first(words.size() - 1), ", "), words.back());
}

}  // namespace hecto::config
