#include "router/process/log/repeat_limit.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hecto::router {
namespace {

std::string told(const std::string& text, uint64_t more) {
  return fmt::format("{} … {} time{} more", text, more, more == 1 ? "" : "s");
}

}  // namespace

bool RepeatLimit::passes(std::string_view text, int level, Clock::time_point now) {
  auto found = windows_.find(std::string(text));
  if (found == windows_.end()) {
    if (windows_.size() >= kMostTexts) return true;
    found = windows_.emplace(text, Window{level, 0, now + kWindow}).first;
  }
  return ++found->second.lines <= kMost;
}

std::vector<RepeatLimit::Held> RepeatLimit::take(Clock::time_point now) {
  std::vector<Held> held;
  std::erase_if(windows_, [&](const auto& entry) {
    const auto& [text, window] = entry;
    if (window.end > now) return false;
    if (window.holds()) held.push_back({window.level, told(text, window.lines - kMost)});
    return true;
  });
  return held;
}

std::optional<RepeatLimit::Clock::time_point> RepeatLimit::due() const {
  std::optional<Clock::time_point> first;
  for (const auto& [text, window] : windows_)
    if (window.holds()) first = std::min(first.value_or(window.end), window.end);
  return first;
}

}  // namespace hecto::router
