#include "config/machine/machine_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/file_descriptor.hpp"

namespace hecto::config {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> failed(const std::string& path) {
  const int number = errno;
  return fail(fmt::format("{}: {}", path, std::strerror(number)), number);
}

Result<void> write_whole(int file, const std::string& path, const std::string& text) {
  const ssize_t written = ::write(file, text.data(), text.size());
  if (written == static_cast<ssize_t>(text.size())) return {};
  if (written >= 0) errno = ENOSPC;
  return failed(path);
}

}  // namespace

std::optional<std::string> MachineFiles::text(const std::string& path) const {
  std::ifstream file(root_ + path);
  std::stringstream read;
  if (!file || !(read << file.rdbuf())) {
    // An empty file gives no character, which `<<` takes for a failure.
    if (!file.is_open() || file.bad() || fs::is_directory(root_ + path)) return std::nullopt;
  }
  std::string out = read.str();
  out.erase(out.find_last_not_of(" \t\n") + 1);
  return out;
}

std::optional<uint64_t> MachineFiles::number(const std::string& path) const {
  const auto read = text(path);
  uint64_t value = 0;
  if (!read || std::sscanf(read->c_str(), "%lu", &value) != 1) return std::nullopt;
  return value;
}

bool MachineFiles::exists(const std::string& path) const {
  std::error_code error;
  return fs::exists(root_ + path, error);
}

std::string MachineFiles::target(const std::string& path) const {
  std::error_code error;
  return fs::read_symlink(root_ + path, error).filename();
}

std::vector<std::string> MachineFiles::names(const std::string& folder) const {
  std::vector<std::string> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root_ + folder, error))
    out.push_back(entry.path().filename());
  std::ranges::sort(out);
  return out;
}

Result<void> MachineFiles::write(const std::string& path, const std::string& text) {
  const FileDescriptor file(::open((root_ + path).c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!file) return failed(path);
  return write_whole(file.get(), path, text);
}

Result<void> MachineFiles::replace(const std::string& path, const std::string& text) {
  const fs::path whole = root_ + path;
  const std::string fresh = whole.string() + ".new";
  std::error_code error;
  fs::create_directories(whole.parent_path(), error);
  const FileDescriptor file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file) return failed(path);
  if (auto done = write_whole(file.get(), path, text); !done) {
    ::unlink(fresh.c_str());
    return done;
  }
  if (fsync(file.get()) != 0 || std::rename(fresh.c_str(), whole.c_str()) != 0) return failed(path);
  const FileDescriptor folder(
      ::open(whole.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || fsync(folder.get()) != 0) return failed(path);
  return {};
}

bool runs(const MachineFiles& files, const std::string& program) {
  for (const std::string& process : files.names("/proc"))
    if (process[0] >= '0' && process[0] <= '9' &&
        files.text("/proc/" + process + "/comm") == program)
      return true;
  return false;
}

}  // namespace hecto::config
