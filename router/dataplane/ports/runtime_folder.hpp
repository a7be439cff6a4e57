// The folder that DPDK keeps while a process runs, /run/dpdk/hecto-PID with ordinary pages and
// shared memory, and does not remove: ours goes at the end, and those of dead routers at the start.
//
// Who lives holds a lock (flock) on a file in its folder. Source: eal_create_runtime_dir().
#pragma once

#include <cstddef>
#include <string>

#include "base/file_descriptor.hpp"

namespace hecto::router {

class RuntimeFolder {
 public:
  // For what DPDK is started with: --file-prefix=prefix_of(pid). Where it cannot be made nothing
  // is held, and nothing removed.
  explicit RuntimeFolder(const std::string& prefix);
  RuntimeFolder(const std::string& prefix, const std::string& parent);  // for tests
  ~RuntimeFolder();                                                     // removes it
  RuntimeFolder(const RuntimeFolder&) = delete;
  RuntimeFolder& operator=(const RuntimeFolder&) = delete;

  static std::string prefix_of(int pid);
  // Folders with our prefix, of processes that are gone, whose lock is free; how many went.
  static size_t sweep(const std::string& parent);
  size_t sweep() const { return sweep(parent_); }
  const std::string& path() const { return path_; }

 private:
  const std::string parent_;
  const std::string path_;
  FileDescriptor lock_;
};

}  // namespace hecto::router
