// Warnings of the running router, for the log and `hecto show summary`. Control only.
#pragma once

#include <string>
#include <vector>

namespace hecto::router {

class Notes {
 public:
  static constexpr size_t kMost = 50;  // kept; the oldest goes

  // One line. The log has it each time, the list once.
  void add(const std::string& line);
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

}  // namespace hecto::router
