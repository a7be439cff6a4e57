#include "bench/restart/service_store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

namespace hecto::bench {
namespace {

constexpr int kFirstHeld = 100;  // above what a process opens by itself, and above its copies

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

}  // namespace

Result<std::unique_ptr<ServiceStore>> ServiceStore::open(const std::string& path) {
  std::unique_ptr<ServiceStore> store(new ServiceStore);
  store->path_ = path;
  store->socket_ = FileDescriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_of(path);
  if (bind(store->socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return fail(fmt::format("{}: {}", path, std::strerror(errno)), errno);
  store->thread_ = std::thread([&store = *store] { store.listen(); });
  return store;
}

ServiceStore::~ServiceStore() {
  shutdown(socket_.get(), SHUT_RDWR);
  if (thread_.joinable()) thread_.join();
  unlink(path_.c_str());
}

void ServiceStore::listen() {
  for (;;) {
    char text[1024] = {};
    iovec part{text, sizeof text - 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC) <= 0) return;
    FileDescriptor descriptor;
    for (cmsghdr* at = CMSG_FIRSTHDR(&message); at != nullptr; at = CMSG_NXTHDR(&message, at)) {
      if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(at), sizeof fd);
      descriptor = FileDescriptor(fd);
    }
    hear(text, std::move(descriptor));
  }
}

void ServiceStore::hear(const std::string& lines, FileDescriptor descriptor) {
  bool keep = false, forget = false;
  std::string name, line;
  for (std::istringstream all(lines); std::getline(all, line);) {
    keep |= line == "FDSTORE=1";
    forget |= line == "FDSTOREREMOVE=1";
    if (line.starts_with("FDNAME=")) name = line.substr(sizeof "FDNAME=" - 1);
  }
  const std::lock_guard lock(mutex_);
  if (forget) held_.erase(name);
  if (keep && descriptor)
    held_[name] = FileDescriptor(fcntl(descriptor.get(), F_DUPFD_CLOEXEC, kFirstHeld));
}

ServiceStore::Start ServiceStore::start_of(const std::vector<std::string>& program) const {
  const std::lock_guard lock(mutex_);
  Start start;
  std::string names;
  for (const auto& [name, descriptor] : held_) {
    names += (names.empty() ? "" : ":") + name;
    start.descriptors.push_back(descriptor.get());
  }
  start.words = {"env",
                 "NOTIFY_SOCKET=" + path_,
                 "FDSTORE=4096",
                 fmt::format("LISTEN_FDS={}", held_.size()),
                 "LISTEN_FDNAMES=" + names,
                 "sh",
                 "-c",
                 "LISTEN_PID=$$ exec \"$@\"",
                 "sh"};
  start.words.insert(start.words.end(), program.begin(), program.end());
  return start;
}

size_t ServiceStore::held() const {
  const std::lock_guard lock(mutex_);
  return held_.size();
}

}  // namespace hecto::bench
