// The socket file of the API: taken, guarded, removed.
//
// Who holds the lock on "<socket>.lock" owns the path. The kernel drops the lock when the process
// dies, so that a socket file without a lock is stale and may be replaced, without a race between
// two routers that start together.
#pragma once

#include <string>

#include "base/result.hpp"

namespace hecto::router {

class Listener {
 public:
  // Missing directories are created with 0755.
  static Result<Listener> open(const std::string& path, unsigned mode = 0660);
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&&) = delete;
  ~Listener();  // closes, and removes the files when they are still ours

  int fd() const { return fd_; }
  const std::string& path() const { return path_; }

 private:
  Listener(std::string path, int lock_fd) : path_(std::move(path)), lock_fd_(lock_fd) {}
  Result<void> bind_and_listen(unsigned mode);

  std::string path_;
  int lock_fd_ = -1;
  int fd_ = -1;
};

}  // namespace hecto::router
