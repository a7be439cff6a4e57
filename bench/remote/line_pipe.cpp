#include "bench/remote/line_pipe.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>

namespace hecto::bench {
namespace {

constexpr size_t kMostOfALine = size_t{256} << 20;  // a million prefixes are 20 MB
constexpr size_t kAtOnce = 65536;

}  // namespace

std::optional<std::string> LinePipe::take_line() {
  const size_t end = buffer_.find('\n', searched_);
  if (end == std::string::npos) {
    searched_ = buffer_.size();
    return std::nullopt;
  }
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  searched_ = 0;
  return line;
}

std::optional<std::string> LinePipe::read(double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    if (auto line = take_line()) return line;
    if (ended_) return std::nullopt;
    const std::chrono::duration<double, std::milli> left = until - Clock::now();
    pollfd news = {fd_, POLLIN, 0};
    const int timeout = seconds < 0 ? -1 : std::max(0, static_cast<int>(left.count()));
    const int ready = poll(&news, 1, timeout);
    if (ready < 0 && errno == EINTR && seconds < 0) continue;
    if (ready <= 0) return std::nullopt;
    const size_t before = buffer_.size();
    buffer_.resize(before + kAtOnce);
    const ssize_t got = ::read(fd_, buffer_.data() + before, kAtOnce);
    buffer_.resize(before + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || buffer_.size() > kMostOfALine) ended_ = true;
  }
}

bool write_line(int fd, std::string_view line) {
  struct sigaction ignore = {}, before = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &before);
  std::string text(line);
  text += '\n';
  size_t said = 0;
  while (said < text.size()) {
    const ssize_t wrote = write(fd, text.data() + said, text.size() - said);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    said += static_cast<size_t>(wrote);
  }
  sigaction(SIGPIPE, &before, nullptr);
  return said == text.size();
}

}  // namespace hecto::bench
