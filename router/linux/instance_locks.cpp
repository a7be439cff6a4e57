#include "router/linux/instance_locks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/bpf.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

namespace hecto::router {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRootFolder = "/run/hecto/locks";
constexpr const char* kEnd = ".lock";
constexpr size_t kMostText = 512;  // bytes of a lock file
constexpr std::string_view kXdp = " xdp ", kOff = " off ";
constexpr std::string_view kFeatureLetters = "abcdefghijklmnopqrstuvwxyz0123456789-";
constexpr size_t kMostName = 180;
// Who sweeps holds a lock for an instant: a start that meets it looks again.
constexpr int kAttempts = 10;
constexpr std::chrono::milliseconds kPause{10};

std::string_view take_number(std::string_view text, uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || text[0] == '0') number = 0;
  if (number == 0) return {};
  return text.substr(static_cast<size_t>(end - text.data()));
}

// "5 rx-gro,rx-lro"
bool take_features(std::string_view text, FeaturesOff& off) {
  uint64_t ifindex = 0;
  if (text.empty()) return false;
  text = take_number(text, ifindex);
  if (ifindex == 0 || ifindex > INT32_MAX || text.size() < 2 || text[0] != ' ') return false;
  off.ifindex = static_cast<int>(ifindex);
  for (text.remove_prefix(1);;) {
    const std::string_view name = text.substr(0, text.find(','));
    if (name.empty() || name.find_first_not_of(kFeatureLetters) != std::string_view::npos)
      return false;
    off.names.emplace_back(name);
    if (name.size() == text.size()) return true;
    text.remove_prefix(name.size() + 1);
  }
}

std::string read_text(int fd) {
  char text[kMostText];
  const ssize_t bytes = pread(fd, text, sizeof text, 0);
  return bytes <= 0 ? std::string() : std::string(text, static_cast<size_t>(bytes));
}

void write_text(int fd, const LockText& text) {
  const std::string line = text.to_string();
  // Shorter than a page, on a file in memory: all of it or none.
  if (ftruncate(fd, 0) == 0) (void)!pwrite(fd, line.data(), line.size(), 0);
}

bool is_file_at(int fd, const std::string& path) {
  struct stat mine {
  }, seen{};
  return fstat(fd, &mine) == 0 && lstat(path.c_str(), &seen) == 0 && mine.st_ino == seen.st_ino &&
         mine.st_dev == seen.st_dev;
}

bool is_dead(pid_t pid) {
  return kill(pid, 0) != 0 && errno == ESRCH;
}

// True also where this is not known.
bool program_exists(uint32_t id) {
  bpf_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.prog_id = id;
  const FileDescriptor program(
      static_cast<int>(syscall(SYS_bpf, BPF_PROG_GET_FD_BY_ID, &attributes, sizeof attributes)));
  return program || errno != ENOENT;
}

const char* remedy(int number) {
  if (number == EROFS)
    return "; make it writable: RuntimeDirectory=hecto in a unit, or mount -o remount,rw";
  return number == ENOSPC ? "; make room there" : "";
}

tl::unexpected<Error> refuse(const std::string& path, const std::string& what, int number = errno) {
  return fail(fmt::format("locks of this machine's routers: {}: {}: {}{}", path, what,
                          std::strerror(number), remedy(number)),
              number);
}

// Whose lock is free and whose process is gone. The lock is ours till `file` is closed.
bool is_of_the_dead(const FileDescriptor& file, const std::string& path) {
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0 || !is_file_at(file.get(), path)) return false;
  const auto text = LockText::parse(read_text(file.get()));
  if (!text || !is_dead(text->pid) || !text->off.names.empty()) return false;
  return text->xdp_program == 0 || !program_exists(text->xdp_program);
}

}  // namespace

std::string LockText::to_string() const {
  std::string text = std::to_string(pid);
  if (xdp_program != 0) text += fmt::format("{}{}", kXdp, xdp_program);
  if (!off.names.empty())
    text += fmt::format("{}{} {}", kOff, off.ifindex, fmt::join(off.names, ","));
  return text + "\n";
}

std::optional<LockText> LockText::parse(std::string_view text) {
  if (text.empty() || text.back() != '\n') return std::nullopt;
  text.remove_suffix(1);
  uint64_t pid = 0, program = 0;
  if (text.empty()) return std::nullopt;
  std::string_view rest = take_number(text, pid);
  if (pid == 0 || pid > INT32_MAX) return std::nullopt;
  if (rest.starts_with(kXdp) && rest.size() > kXdp.size()) {
    rest = take_number(rest.substr(kXdp.size()), program);
    if (program == 0 || program > UINT32_MAX) return std::nullopt;
  }
  LockText read{static_cast<pid_t>(pid), static_cast<uint32_t>(program)};
  if (rest.empty()) return read;
  if (!rest.starts_with(kOff) || !take_features(rest.substr(kOff.size()), read.off))
    return std::nullopt;
  return read;
}

std::string lock_file_name(const std::string& key) {
  std::string name;
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    hash = (hash ^ byte) * 0x100000001b3;
    if (isalnum(byte) || c == '.' || c == '-' || c == '_' || c == ':')
      name += c;
    else
      name += fmt::format("%{:02X}", byte);
  }
  if (name.size() > kMostName) name = fmt::format("{}-{:016x}", name.substr(0, kMostName), hash);
  return name + kEnd;
}

std::string InstanceLocks::folder_for(const std::string& api_socket) {
  if (geteuid() == 0) return kRootFolder;
  return fs::path(api_socket).parent_path() / fmt::format("hecto-locks-{}", geteuid());
}

Result<std::unique_ptr<InstanceLocks>> InstanceLocks::open(const std::string& folder) {
  std::error_code error;
  fs::create_directories(fs::path(folder).parent_path(), error);
  if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) return refuse(folder, "cannot be made");
  struct stat status {};
  if (lstat(folder.c_str(), &status) != 0) return refuse(folder, "cannot be looked at");
  if (!S_ISDIR(status.st_mode)) return refuse(folder, "is no folder", ENOTDIR);
  if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return refuse(folder, "others may write there", EPERM);
  return std::unique_ptr<InstanceLocks>(new InstanceLocks(folder));
}

InstanceLocks::~InstanceLocks() {
  while (!held_.empty()) release(held_.begin()->first);
}

std::string InstanceLocks::path_of(const std::string& key) const {
  return folder_ + "/" + lock_file_name(key);
}

Result<void> InstanceLocks::take(const std::string& key, const std::string& subject) {
  if (holds(key)) return {};
  const std::string path = path_of(key);
  std::string said;
  for (int attempt = 0; attempt < kAttempts;) {
    FileDescriptor file(
        ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
    if (!file) return refuse(path, "cannot be opened");
    const int number = flock(file.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    said = read_text(file.get());
    if (number == EWOULDBLOCK || (number == 0 && !is_file_at(file.get(), path))) {
      ++attempt;
      std::this_thread::sleep_for(kPause);
      continue;
    }
    if (number != 0) return refuse(path, "cannot be locked", number);
    const auto before = LockText::parse(said);
    if (!said.empty() && !before) return refuse(path, "is not hecto's; remove it", EEXIST);
    Held held{std::move(file), {getpid(), 0}, before ? before->xdp_program : 0};
    held.text.xdp_program = held.inherited_program;  // until it is off: a crash must not forget it
    if (before) held.text.off = before->off;         // likewise
    write_text(held.file.get(), held.text);
    held_.emplace(key, std::move(held));
    return {};
  }
  const auto holder = LockText::parse(said);
  return fail(fmt::format("{}: another hectod{} has it; stop that one first", subject,
                          holder ? fmt::format(" (pid {})", holder->pid) : ""),
              EWOULDBLOCK);
}

void InstanceLocks::release(const std::string& key) {
  const auto found = held_.find(key);
  if (found == held_.end()) return;
  // A program that stays behind must not be forgotten, or nobody may take it off; nor what is off.
  const LockText& text = found->second.text;
  if (text.xdp_program == 0 && text.off.names.empty()) unlink(path_of(key).c_str());
  held_.erase(found);
}

uint32_t InstanceLocks::inherited_program(const std::string& key) const {
  const auto found = held_.find(key);
  return found == held_.end() ? 0 : found->second.inherited_program;
}

void InstanceLocks::note_program(const std::string& key, uint32_t program) {
  const auto found = held_.find(key);
  if (found == held_.end()) return;
  found->second.text.xdp_program = program;
  found->second.inherited_program = 0;
  write_text(found->second.file.get(), found->second.text);
}

FeaturesOff InstanceLocks::features_off(const std::string& key) const {
  const auto found = held_.find(key);
  return found == held_.end() ? FeaturesOff{} : found->second.text.off;
}

void InstanceLocks::note_features_off(const std::string& key, const FeaturesOff& off) {
  const auto found = held_.find(key);
  if (found == held_.end() || found->second.text.off == off) return;
  found->second.text.off = off;
  write_text(found->second.file.get(), found->second.text);
}

size_t InstanceLocks::sweep() const {
  size_t swept = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    const std::string path = entry.path();
    if (!path.ends_with(kEnd)) continue;
    const FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (is_of_the_dead(file, path) && unlink(path.c_str()) == 0) ++swept;
  }
  return swept;
}

}  // namespace hecto::router
