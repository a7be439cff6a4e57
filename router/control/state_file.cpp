#include "router/control/state_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/file_descriptor.hpp"

namespace hecto::router {
namespace {

tl::unexpected<Error> failed(const std::string& path, int error = errno) {
  return fail(fmt::format("{}: {}", path, std::strerror(error)), error);
}

std::string beside(const std::string& path) {
  return path + ".new";
}

bool write_all(int fd, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(done));
  }
  return true;
}

// The name is on the disk, too; a file system that cannot say so has done what it can.
void sync_folder(const std::string& path) {
  const FileDescriptor folder(::open(std::filesystem::path(path).parent_path().c_str(),
                                     O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) (void)::fsync(folder.get());
}

}  // namespace

Result<std::optional<SecretBytes>> StateFile::read() const {
  (void)::unlink(beside(path_).c_str());  // of a run that was killed; it may hold keys
  const FileDescriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file && errno == ENOENT) return std::nullopt;
  struct stat is {};
  if (!file || ::fstat(file.get(), &is) != 0) return failed(path_);
  if (!S_ISREG(is.st_mode) || is.st_uid != ::geteuid() || (is.st_mode & 077) != 0)
    return fail(path_ + ": is no file that this user alone can read and write", EACCES);
  if (static_cast<size_t>(is.st_size) > kMostBytes) return failed(path_, EFBIG);
  SecretBytes bytes(static_cast<size_t>(is.st_size));
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t got =
        ::pread(file.get(), bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return failed(path_, got == 0 ? EIO : errno);
    at += static_cast<size_t>(got);
  }
  return bytes;
}

Result<StateFile::Staged> StateFile::stage(std::span<const uint8_t> bytes) const {
  if (bytes.size() > kMostBytes) return failed(path_, EFBIG);
  const std::string name = beside(path_);
  (void)::mkdir(std::filesystem::path(path_).parent_path().c_str(), 0755);
  (void)::unlink(name.c_str());  // of a run that was killed
  const FileDescriptor file(
      ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return failed(path_);
  Staged staged(path_);
  staged.there_ = true;
  if (!write_all(file.get(), bytes) || ::fsync(file.get()) != 0) return failed(path_);
  return staged;
}

StateFile::Staged::~Staged() {
  if (there_) (void)::unlink(beside(path_).c_str());
}

Result<void> StateFile::Staged::commit() {
  if (::rename(beside(path_).c_str(), path_.c_str()) != 0) return failed(path_);
  there_ = false;
  sync_folder(path_);
  return {};
}

Result<void> StateFile::write(std::span<const uint8_t> bytes) const {
  auto staged = stage(bytes);
  return staged ? staged->commit() : tl::unexpected(staged.error());
}

Result<void> StateFile::remove() const {
  if (::unlink(path_.c_str()) != 0) return errno == ENOENT ? Result<void>{} : failed(path_);
  sync_folder(path_);
  return {};
}

std::string state_directory() {
  const char* given = ::getenv("STATE_DIRECTORY");
  if (given == nullptr || *given != '/') return "/var/lib/hecto";
  const std::string all(given);
  return all.substr(0, all.find(':'));
}

std::string state_path(const std::string& directory, const std::string& api_socket,
                       const std::string& kind) {
  std::string name =
      api_socket.substr(std::min(api_socket.find_first_not_of('/'), api_socket.size()));
  std::replace(name.begin(), name.end(), '/', ':');
  return fmt::format("{}/{}.{}", directory, name, kind);
}

}  // namespace hecto::router
