#include "router/control/notes.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace hecto::router {

void Notes::add(const std::string& line) {
  spdlog::warn(line);
  if (std::find(lines_.begin(), lines_.end(), line) != lines_.end()) return;
  if (lines_.size() >= kMost) lines_.erase(lines_.begin());
  lines_.push_back(line);
}

}  // namespace hecto::router
