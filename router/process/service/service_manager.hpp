// The service manager that started this process: what it is told, and what it holds for the next
// process of the service (sd_notify(3), sd_listen_fds(3), systemd's file descriptor store).
//
//   keep()   a descriptor goes to the manager under a name, and lives on when this process ends,
//            however it ends; forget() has it closed there
//   take()   what the process before has kept, once for each name
//
// Without a manager (no NOTIFY_SOCKET) nothing is told and nothing is kept. Names are 1 to 255
// printable characters without ':'. Any thread may tell; take() belongs to the start.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"

namespace hecto::router {

class ServiceManager {
 public:
  // None.
  ServiceManager() = default;
  // The one that the environment names ($NOTIFY_SOCKET, $FDSTORE, $LISTEN_FDS, $WATCHDOG_USEC). Once
  // a process, before any thread exists.
  static ServiceManager from_environment();

  bool there() const { return there_; }
  // A manager that holds descriptors: then what is kept need not be made again.
  bool keeps() const { return keeps_; }

  // Lines of sd_notify(3): "READY=1", "STATUS=…", several by '\n'. Never blocks for long.
  void tell(const std::string& lines) const;
  void ready() const { tell("READY=1"); }
  void stopping(const std::string& why) const { tell("STOPPING=1\nSTATUS=" + why); }
  void alive() const { tell("WATCHDOG=1"); }
  // alive() is due in this time, or the manager ends the process; zero: it does not watch.
  std::chrono::microseconds watchdog() const { return watchdog_; }

  bool keep(const std::string& name, int fd) const;
  void forget(const std::string& name) const;
  FileDescriptor take(const std::string& name);
  std::vector<std::string> kept() const;  // that nobody has taken

 private:
  bool there_ = false, keeps_ = false;
  std::chrono::microseconds watchdog_{0};
  std::map<std::string, FileDescriptor> kept_;
};

}  // namespace hecto::router
