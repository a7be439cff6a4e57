#include "router/dataplane/ports/runtime_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>

namespace hecto::router {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "hecto-";
constexpr const char* kLock = "/hecto.lock";

// Where DPDK puts them.
std::string parent_folder() {
  const char* folder = "/var/run";
  if (const char* given = getenv("RUNTIME_DIRECTORY"))
    folder = given;
  else if (getuid() != 0)
    folder = getenv("XDG_RUNTIME_DIR") != nullptr ? getenv("XDG_RUNTIME_DIR") : "/tmp";
  return fmt::format("{}/dpdk", folder);
}

int pid_of(const std::string& name) {
  const std::string_view prefix(kPrefix);
  int pid = 0;
  if (!name.starts_with(prefix)) return 0;
  const char* end = name.data() + name.size();
  const auto read = std::from_chars(name.data() + prefix.size(), end, pid);
  return read.ec == std::errc() && read.ptr == end ? pid : 0;
}

bool is_of_the_dead(const fs::directory_entry& entry) {
  const int pid = pid_of(entry.path().filename());
  std::error_code error;
  if (pid <= 0 || !entry.is_directory(error) || entry.is_symlink(error)) return false;
  if (kill(pid, 0) == 0 || errno != ESRCH) return false;
  const FileDescriptor lock(
      open((entry.path().string() + kLock).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  return !lock || flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
}

}  // namespace

std::string RuntimeFolder::prefix_of(int pid) {
  return fmt::format("{}{}", kPrefix, pid);
}

RuntimeFolder::RuntimeFolder(const std::string& prefix) : RuntimeFolder(prefix, parent_folder()) {}

RuntimeFolder::RuntimeFolder(const std::string& prefix, const std::string& parent)
    : parent_(parent), path_(parent + "/" + prefix) {
  std::error_code error;
  if (fs::create_directories(parent_, error)) fs::permissions(parent_, fs::perms::owner_all, error);
  if (fs::create_directory(path_, error)) fs::permissions(path_, fs::perms::owner_all, error);
  lock_ = FileDescriptor(
      open((path_ + kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (lock_) (void)flock(lock_.get(), LOCK_EX | LOCK_NB);
}

RuntimeFolder::~RuntimeFolder() {
  std::error_code error;
  if (lock_) fs::remove_all(path_, error);
}

size_t RuntimeFolder::sweep(const std::string& parent) {
  size_t swept = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error))
    if (is_of_the_dead(entry) && fs::remove_all(entry.path(), error) > 0) ++swept;
  return swept;
}

}  // namespace hecto::router
