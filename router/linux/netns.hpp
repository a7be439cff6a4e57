// A network namespace by name, as `ip netns` knows it (/run/netns/NAME).
//
// The calling thread never changes its namespace: what must happen inside runs on a short-lived
// thread. Sockets and TAP devices opened there stay there. Control thread only; needs
// CAP_SYS_ADMIN for everything but current().
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/file_descriptor.hpp"
#include "base/result.hpp"

namespace hecto::router {

// What becomes of a namespace that create() made when its object goes.
enum class NamespaceLifetime { kKeep, kRemove };

class NetworkNamespace {
 public:
  // The namespace of the process itself; name() is empty.
  static Result<NetworkNamespace> current();
  // An existing one; ENOENT when there is none.
  static Result<NetworkNamespace> open(const std::string& name);
  // A new one, like `ip netns add`, with lo up; EEXIST when the name is taken.
  static Result<NetworkNamespace> create(const std::string& name, NamespaceLifetime lifetime);
  static Result<NetworkNamespace> open_or_create(const std::string& name,
                                                 NamespaceLifetime lifetime);
  // Takes the name away, like `ip netns del`. The namespace itself lives as long as somebody
  // (a process, a socket, a descriptor) is in it.
  static Result<void> remove(const std::string& name);

  NetworkNamespace(NetworkNamespace&& other) noexcept;
  NetworkNamespace& operator=(NetworkNamespace&& other) noexcept;
  ~NetworkNamespace();

  const std::string& name() const { return name_; }
  bool created() const { return created_; }  // by this object
  int fd() const { return fd_.get(); }

  // Runs `task` inside, on a thread of its own, and waits. An exception becomes an error.
  Result<void> run(const std::function<Result<void>()>& task) const;

  // "net/ipv4/ip_forward" below /proc/sys, inside.
  Result<void> set_sysctl(const std::string& path, std::string_view value) const;
  Result<std::string> sysctl(const std::string& path) const;
  // What a router's namespace needs: IPv4 and IPv6 forwarding on; in a new one rp_filter off. A
  // kernel without IPv6 is fine.
  Result<void> enable_forwarding() const;

  // An error when the name is gone or stands for another namespace by now, though this one is
  // still held open: what others do under that name no longer reaches the router.
  Result<void> check() const;

 private:
  NetworkNamespace(std::string name, FileDescriptor fd)
      : name_(std::move(name)), fd_(std::move(fd)) {}
  void close();

  std::string name_;
  FileDescriptor fd_;
  bool created_ = false;
  NamespaceLifetime lifetime_ = NamespaceLifetime::kKeep;
};

}  // namespace hecto::router
