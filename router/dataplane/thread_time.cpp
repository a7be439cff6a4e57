#include "router/dataplane/thread_time.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>

#include "base/file_descriptor.hpp"

namespace hecto::router {

std::optional<ThreadTime> parse_schedstat(std::string_view text) noexcept {
  ThreadTime time;
  const char* const end = text.data() + text.size();
  const auto ran = std::from_chars(text.data(), end, time.ran_ns);
  if (ran.ec != std::errc() || ran.ptr == end || *ran.ptr != ' ') return std::nullopt;
  const auto waited = std::from_chars(ran.ptr + 1, end, time.waited_ns);
  if (waited.ec != std::errc()) return std::nullopt;
  return time;
}

std::optional<ThreadTime> time_of_thread(int id) {
  const std::string path = fmt::format("/proc/self/task/{}/schedstat", id);
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[128];
  const ssize_t bytes = file.get() < 0 ? -1 : ::read(file.get(), text, sizeof text);
  if (bytes <= 0) return std::nullopt;
  return parse_schedstat({text, static_cast<size_t>(bytes)});
}

}  // namespace hecto::router
