// Where the API listens: a socket file, taken, guarded, removed; or a port on loopback.
//
// Who holds the lock on "<socket>.lock" owns the path. The kernel drops the lock when the process
// dies, so that a socket file without a lock is stale and may be replaced, without a race between
// two routers that start together.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "config/file/endpoint.hpp"

namespace hecto::router {

class Listener {
 public:
  // Missing directories are created with 0755.
  static Result<Listener> open(const std::string& path, unsigned mode = 0660);
  // TCP. The port is taken, and who connects waits until somebody accepts. Port 0: any.
  static Result<Listener> open_tcp(const config::HttpEndpoint& endpoint);
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&&) = delete;
  ~Listener();  // closes, and removes the files when they are still ours

  int fd() const { return fd_; }
  const std::string& path() const { return path_; }  // of TCP: address and port
  uint16_t port() const { return port_; }            // of TCP

 private:
  Listener(std::string path, int lock_fd) : path_(std::move(path)), lock_fd_(lock_fd) {}
  Result<void> bind_and_listen(unsigned mode);

  std::string path_;
  int lock_fd_ = -1;  // of a socket file
  int fd_ = -1;
  uint16_t port_ = 0;
};

}  // namespace hecto::router
