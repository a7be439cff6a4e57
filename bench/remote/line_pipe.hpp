// Lines over a pipe to or from another process.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hecto::bench {

inline constexpr double kForever_s = -1;

// Reads from `fd`, which stays open. Of one thread.
class LinePipe {
 public:
  explicit LinePipe(int fd) : fd_(fd) {}

  // The next line, without its end. None: none came within `seconds`, or none will (`ended`).
  std::optional<std::string> read(double seconds);
  // The other side has closed it, or said more than a line may have.
  bool ended() const { return ended_; }

 private:
  std::optional<std::string> take_line();

  int fd_;
  bool ended_ = false;
  std::string buffer_;
  size_t searched_ = 0;  // of `buffer_`: no end of a line before
};

// With its end. False: nobody reads it any more.
bool write_line(int fd, std::string_view line);

}  // namespace hecto::bench
