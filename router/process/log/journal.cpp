#include "router/process/log/journal.hpp"

#include <fmt/format.h>
#include <spdlog/common.h>
#include <sys/stat.h>
#include <syslog.h>
#include <systemd/sd-journal.h>

#include <cstdlib>

namespace hecto::router {
namespace {

constexpr size_t kLongestSubject = 40;

iovec part(std::string& text) {
  return {text.data(), text.size()};
}

}  // namespace

bool is_journal(int fd) {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat is {};
  return stream != nullptr && ::fstat(fd, &is) == 0 &&
         stream == fmt::format("{}:{}", is.st_dev, is.st_ino);
}

int syslog_priority(int level) noexcept {
  if (level >= spdlog::level::critical) return LOG_CRIT;
  if (level == spdlog::level::err) return LOG_ERR;
  if (level == spdlog::level::warn) return LOG_WARNING;
  return level == spdlog::level::info ? LOG_INFO : LOG_DEBUG;
}

std::string_view subject_of(std::string_view line) noexcept {
  const size_t end = line.find(": ");
  return end == line.npos || end > kLongestSubject ? std::string_view() : line.substr(0, end);
}

bool send_to_journal(int priority, std::string_view line) {
  std::string message = fmt::format("MESSAGE={}", line);
  std::string level = fmt::format("PRIORITY={}", priority);
  const std::string_view name = subject_of(line);
  std::string subject = fmt::format("SUBJECT={}", name);
  const iovec parts[] = {part(message), part(level), part(subject)};
  return ::sd_journal_sendv(parts, name.empty() ? 2 : 3) >= 0;
}

}  // namespace hecto::router
