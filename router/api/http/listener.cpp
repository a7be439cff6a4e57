#include "router/api/http/listener.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace hecto::router {
namespace {

constexpr int kBacklog = 64;

tl::unexpected<Error> refuse(const std::string& path, const std::string& what, int number = 0) {
  std::string line = "API socket " + path + ": " + what;
  if (number != 0) line += fmt::format(": {}", std::strerror(number));
  return fail(std::move(line), number);
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

// The process that serves the socket, 0 when nobody does, -1 when somebody does but is not known.
pid_t served_by(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  const sockaddr_un address = address_of(path);
  pid_t pid = 0;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    ucred peer{};
    socklen_t length = sizeof peer;
    pid = ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 ? peer.pid : -1;
  } else if (errno != ECONNREFUSED && errno != ENOENT) {
    pid = -1;  // EAGAIN: a full backlog; EACCES: somebody else's
  }
  ::close(fd);
  return pid;
}

std::string live_line(pid_t pid) {
  const std::string who = pid > 0 ? fmt::format(" (pid {})", pid) : std::string();
  return "another router" + who + " serves it; stop that one, or give this one another API socket";
}

// The lock file may be unlinked by its owner between open and flock: then it is not the one that
// others see, and the game starts again.
Result<int> take_lock(const std::string& path) {
  const std::string file = path + ".lock";
  for (;;) {
    const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0660);
    if (fd < 0) return refuse(path, "cannot create " + file, errno);
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
      const int number = errno;
      ::close(fd);
      if (number == EWOULDBLOCK) return refuse(path, live_line(served_by(path)));
      return refuse(path, "cannot lock " + file, number);
    }
    struct stat mine {
    }, seen{};
    if (::fstat(fd, &mine) == 0 && ::stat(file.c_str(), &seen) == 0 && mine.st_ino == seen.st_ino &&
        mine.st_dev == seen.st_dev) {
      return fd;
    }
    ::close(fd);
  }
}

Result<void> remove_stale(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return refuse(path, "cannot look at it", errno);
  }
  if (!S_ISSOCK(status.st_mode)) {
    return refuse(path, "exists and is not a socket; remove it, or choose another path");
  }
  if (const pid_t pid = served_by(path); pid != 0) return refuse(path, live_line(pid));
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return refuse(path, "cannot remove the stale socket", errno);
  }
  return {};
}

}  // namespace

Result<Listener> Listener::open(const std::string& path, unsigned mode) {
  if (path.empty() || path.front() != '/') return refuse(path, "use an absolute path");
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return refuse(path, fmt::format("the path has {} bytes; use at most {}", path.size(),
                                    sizeof(sockaddr_un::sun_path) - 1));
  }
  std::error_code error;
  const auto directory = std::filesystem::path(path).parent_path();
  std::filesystem::create_directories(directory, error);
  if (error) {
    return refuse(path, "cannot create the directory " + directory.string(), error.value());
  }
  auto lock = take_lock(path);
  if (!lock) return tl::unexpected<Error>(lock.error());
  Listener listener(path, *lock);
  if (auto done = remove_stale(path); !done) return tl::unexpected<Error>(done.error());
  if (auto done = listener.bind_and_listen(mode); !done) return tl::unexpected<Error>(done.error());
  return listener;
}

Result<Listener> Listener::open_tcp(const config::HttpEndpoint& endpoint) {
  const lookup::IpAddress& address = endpoint.address;
  const bool ipv6 = address.family == lookup::Family::kIpv6;
  sockaddr_storage storage{};
  socklen_t length = ipv6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (ipv6) {
    auto& to = reinterpret_cast<sockaddr_in6&>(storage);
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(endpoint.port);
    std::memcpy(&to.sin6_addr, address.bytes.data(), address.size());
  } else {
    auto& to = reinterpret_cast<sockaddr_in&>(storage);
    to.sin_family = AF_INET;
    to.sin_port = htons(endpoint.port);
    std::memcpy(&to.sin_addr, address.bytes.data(), address.size());
  }
  Listener listener(config::to_string(endpoint), -1);
  listener.fd_ = ::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;  // connections of the hectod before may still linger
  auto* name = reinterpret_cast<sockaddr*>(&storage);
  if (listener.fd_ < 0 ||
      ::setsockopt(listener.fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(listener.fd_, name, length) != 0 || ::listen(listener.fd_, kBacklog) != 0 ||
      ::getsockname(listener.fd_, name, &length) != 0)
    return fail(
        fmt::format("API listener {}: cannot listen: {}", listener.path_, std::strerror(errno)),
        errno);
  listener.port_ = ntohs(ipv6 ? reinterpret_cast<sockaddr_in6&>(storage).sin6_port
                              : reinterpret_cast<sockaddr_in&>(storage).sin_port);
  listener.path_ = config::to_string(config::HttpEndpoint{address, listener.port_});
  return listener;
}

Result<void> Listener::bind_and_listen(unsigned mode) {
  fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0) return refuse(path_, "cannot create a socket", errno);
  const sockaddr_un address = address_of(path_);
  // Nobody gets in between bind and chmod: without listen a connect is refused.
  if (::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(path_.c_str(), mode) != 0 || ::listen(fd_, kBacklog) != 0) {
    const int number = errno;
    ::close(std::exchange(fd_, -1));
    return refuse(path_, "cannot listen", number);
  }
  return {};
}

Listener::Listener(Listener&& other) noexcept
    : path_(std::move(other.path_)),
      lock_fd_(std::exchange(other.lock_fd_, -1)),
      fd_(std::exchange(other.fd_, -1)),
      port_(other.port_) {}

Listener::~Listener() {
  if (lock_fd_ < 0) {
    if (fd_ >= 0) ::close(fd_);
    return;
  }
  if (fd_ >= 0) {
    ::unlink(path_.c_str());
    ::close(fd_);
  }
  ::unlink((path_ + ".lock").c_str());
  ::close(lock_fd_);
}

}  // namespace hecto::router
