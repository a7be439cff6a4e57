#include "config/file/key_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace hecto::config {
namespace {

constexpr size_t kMostKeyFileBytes = 4096;

}  // namespace

std::optional<std::string> key_file_path(const Value& value, const KeyFiles& files) {
  auto name = value.text("a file name");
  if (!name) return std::nullopt;
  std::error_code error;
  const auto folder = std::filesystem::absolute(files.base, error).parent_path();
  return (folder / *name).lexically_normal().string();
}

std::optional<std::string> read_key_file(const Value& value, const std::string& path,
                                         const KeyFiles& files, std::string_view right) {
  const std::string why_not = files.limit ? files.limit(path) : std::string();
  if (!why_not.empty()) {
    value.refuse(why_not);
    return std::nullopt;
  }
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    value.refuse(fmt::format("cannot be opened: {}", strerror(errno)));
    return std::nullopt;
  }
  struct stat info {};
  std::string text(kMostKeyFileBytes + 1, '\0');
  const bool regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  const ssize_t bytes = regular ? read(fd, text.data(), text.size()) : -1;
  close(fd);
  if (bytes < 0) {
    value.refuse("cannot be read as a file");
  } else if ((info.st_mode & 077) != 0) {
    value.refuse(fmt::format("is open to others (mode {:04o}); use chmod 600",
                             static_cast<unsigned>(info.st_mode & 07777)));
  } else if (static_cast<size_t>(bytes) > kMostKeyFileBytes) {
    value.refuse(fmt::format("is no key file; write {}", right));
  } else {
    text.resize(static_cast<size_t>(bytes));
    return text;
  }
  explicit_bzero(text.data(), text.size());
  return std::nullopt;
}

}  // namespace hecto::config
