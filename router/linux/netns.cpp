#include "router/linux/netns.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstring>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

namespace hecto::router {
namespace {

constexpr const char* kFolder = "/run/netns";

std::string path_of(const std::string& name) {
  return fmt::format("{}/{}", kFolder, name);
}

tl::unexpected<Error> fail_errno(const std::string& what, int error_number = errno) {
  return fail(fmt::format("{}: {}", what, std::strerror(error_number)), error_number);
}

Result<void> check_namespace_name(const std::string& name) {
  const bool bad = name.empty() || name.size() > 200 || name == "." || name == ".." ||
                   name.find('/') != std::string::npos || name.find('\0') != std::string::npos;
  if (!bad) return {};
  return fail(
      fmt::format("'{}' is no name for a network namespace: use letters, digits, - and _", name),
      EINVAL);
}

// Runs on a fresh thread, so that whatever it does to its namespaces dies with it.
Result<void> on_own_thread(const std::function<Result<void>()>& task) {
  Result<void> result;
  try {
    std::thread thread([&] {
      try {
        result = task();
      } catch (const std::exception& error) {
        result = fail(error.what());
      }
    });
    thread.join();
  } catch (const std::system_error& error) {
    return fail(fmt::format("no thread for a network namespace: {}", error.what()),
                error.code().value());
  }
  return result;
}

// iproute2 shares the folder between mount namespaces, so that a name removed in one goes in all.
Result<void> prepare_folder() {
  if (mkdir(kFolder, 0755) != 0 && errno != EEXIST) {
    return fail_errno(fmt::format("cannot make {}", kFolder));
  }
  bool bound = false;
  while (mount("", kFolder, "none", MS_SHARED | MS_REC, nullptr) != 0) {
    if (errno != EINVAL || bound) return fail_errno(fmt::format("cannot share {}", kFolder));
    if (mount(kFolder, kFolder, "none", MS_BIND | MS_REC, nullptr) != 0) {
      return fail_errno(fmt::format("cannot bind {}", kFolder));
    }
    bound = true;
  }
  return {};
}

Result<void> bring_loopback_up() {
  const FileDescriptor socket_fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket_fd) return fail_errno("no socket");
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  if (ioctl(socket_fd.get(), SIOCGIFFLAGS, &request) != 0) return fail_errno("lo");
  request.ifr_flags |= IFF_UP;
  if (ioctl(socket_fd.get(), SIOCSIFFLAGS, &request) != 0) return fail_errno("lo up");
  return {};
}

Result<void> write_file(const std::string& path, std::string_view value) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return fail_errno(path);
  if (write(file.get(), value.data(), value.size()) != static_cast<ssize_t>(value.size())) {
    return fail_errno(fmt::format("{} = {}", path, value));
  }
  return {};
}

}  // namespace

Result<NetworkNamespace> NetworkNamespace::current() {
  FileDescriptor fd(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno("cannot open the process's network namespace");
  return NetworkNamespace("", std::move(fd));
}

Result<NetworkNamespace> NetworkNamespace::open(const std::string& name) {
  if (auto sound = check_namespace_name(name); !sound) return tl::unexpected(sound.error());
  FileDescriptor fd(::open(path_of(name).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno(fmt::format("cannot open network namespace {}", name));
  struct statfs filesystem {};
  if (fstatfs(fd.get(), &filesystem) != 0 || filesystem.f_type != NSFS_MAGIC) {
    return fail(fmt::format("{} is no network namespace (a leftover file?): \"ip netns del {}\" "
                            "removes it",
                            path_of(name), name),
                EINVAL);
  }
  return NetworkNamespace(name, std::move(fd));
}

Result<NetworkNamespace> NetworkNamespace::create(const std::string& name,
                                                  NamespaceLifetime lifetime) {
  if (auto sound = check_namespace_name(name); !sound) return tl::unexpected(sound.error());
  if (auto ready = prepare_folder(); !ready) return tl::unexpected(ready.error());
  const std::string path = path_of(name);
  FileDescriptor anchor(::open(path.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0));
  if (!anchor) return fail_errno(fmt::format("cannot create network namespace {}", name));
  anchor.reset();

  auto made = on_own_thread([&]() -> Result<void> {
    if (unshare(CLONE_NEWNET) != 0) {
      return fail_errno(fmt::format("cannot create network namespace {}", name));
    }
    if (mount("/proc/thread-self/ns/net", path.c_str(), "none", MS_BIND, nullptr) != 0) {
      return fail_errno(fmt::format("cannot name network namespace {}", name));
    }
    return bring_loopback_up();
  });
  Result<NetworkNamespace> opened = made ? open(name) : tl::unexpected(made.error());
  if (!opened) {
    umount2(path.c_str(), MNT_DETACH);
    unlink(path.c_str());
    return opened;
  }
  opened->created_ = true;
  opened->lifetime_ = lifetime;
  return opened;
}

Result<NetworkNamespace> NetworkNamespace::open_or_create(const std::string& name,
                                                          NamespaceLifetime lifetime) {
  auto opened = open(name);
  if (opened || opened.error().error_number != ENOENT) return opened;
  auto made = create(name, lifetime);
  if (!made && made.error().error_number == EEXIST) return open(name);  // somebody was faster
  return made;
}

Result<void> NetworkNamespace::remove(const std::string& name) {
  if (auto sound = check_namespace_name(name); !sound) return sound;
  const std::string path = path_of(name);
  umount2(path.c_str(), MNT_DETACH);  // EINVAL: a leftover file without a mount
  if (unlink(path.c_str()) != 0) {
    return fail_errno(fmt::format("cannot remove network namespace {}", name));
  }
  return {};
}

NetworkNamespace::NetworkNamespace(NetworkNamespace&& other) noexcept
    : name_(std::move(other.name_)),
      fd_(std::move(other.fd_)),
      created_(std::exchange(other.created_, false)),
      lifetime_(other.lifetime_) {}

NetworkNamespace& NetworkNamespace::operator=(NetworkNamespace&& other) noexcept {
  if (this != &other) {
    close();
    name_ = std::move(other.name_);
    fd_ = std::move(other.fd_);
    created_ = std::exchange(other.created_, false);
    lifetime_ = other.lifetime_;
  }
  return *this;
}

NetworkNamespace::~NetworkNamespace() {
  close();
}

// The name may stand for somebody else's namespace by now: that one stays.
void NetworkNamespace::close() {
  if (fd_ && created_ && lifetime_ == NamespaceLifetime::kRemove && check()) {
    static_cast<void>(remove(name_));
  }
  fd_.reset();
  created_ = false;
}

Result<void> NetworkNamespace::run(const std::function<Result<void>()>& task) const {
  return on_own_thread([&]() -> Result<void> {
    if (!name_.empty() && setns(fd_.get(), CLONE_NEWNET) != 0) {
      return fail_errno(fmt::format("cannot enter network namespace {}", name_));
    }
    return task();
  });
}

// /proc/sys/net shows the namespace of the thread that looks.
Result<void> NetworkNamespace::set_sysctl(const std::string& path, std::string_view value) const {
  return run([&] { return write_file(fmt::format("/proc/sys/{}", path), value); });
}

Result<std::string> NetworkNamespace::sysctl(const std::string& path) const {
  std::string text;
  auto done = run([&]() -> Result<void> {
    const std::string full = fmt::format("/proc/sys/{}", path);
    const FileDescriptor file(::open(full.c_str(), O_RDONLY | O_CLOEXEC));
    char buffer[256];
    const ssize_t size = file ? read(file.get(), buffer, sizeof buffer) : -1;
    if (size < 0) return fail_errno(full);
    text.assign(buffer, static_cast<size_t>(size));
    return {};
  });
  if (!done) return tl::unexpected(done.error());
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

Result<void> NetworkNamespace::enable_forwarding() const {
  if (auto done = set_sysctl("net/ipv4/ip_forward", "1"); !done) return done;
  for (const char* path : {"net/ipv6/conf/all/forwarding", "net/ipv6/conf/default/forwarding"}) {
    auto done = set_sysctl(path, "1");
    if (!done && done.error().error_number != ENOENT) return done;
  }
  if (!created_) return {};
  for (const char* where : {"all", "default"}) {
    auto done = set_sysctl(fmt::format("net/ipv4/conf/{}/rp_filter", where), "0");
    if (!done) return done;
  }
  return {};
}

Result<void> NetworkNamespace::check() const {
  if (name_.empty()) return {};
  struct stat held {};
  struct stat named {};
  if (fstat(fd_.get(), &held) != 0) return fail_errno(fmt::format("network namespace {}", name_));
  const char* const advice = "restart hectod to follow";
  if (stat(path_of(name_).c_str(), &named) != 0) {
    return fail(fmt::format("network namespace {} was removed while in use; its devices live on "
                            "without a name: create it again and {}",
                            name_, advice),
                ENOENT);
  }
  if (held.st_ino != named.st_ino || held.st_dev != named.st_dev) {
    return fail(fmt::format("network namespace {} was removed and made anew; the router still uses "
                            "the old one: {}",
                            name_, advice),
                ESTALE);
  }
  return {};
}

}  // namespace hecto::router
