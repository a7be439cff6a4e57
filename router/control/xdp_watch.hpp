// The XDP programs of AF_XDP ports: ours alone is replaced or taken off, and one that somebody
// took off while the port runs is put back. The program is held by a descriptor from the start, so
// that this needs CAP_NET_ADMIN and nothing more. Control only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "router/dataplane/ports/xdp_detach_guard.hpp"
#include "router/linux/instance_locks.hpp"
#include "router/linux/xdp_link.hpp"

namespace hecto::router {

class XdpWatch {
 public:
  // `locks` may be null: then no program is known to be of a router that is dead.
  explicit XdpWatch(InstanceLocks* locks) : locks_(locks) {}

  // Before a port is opened there: takes off what a dead router left; an error where the program is
  // somebody else's. `key` is that of the device's lock.
  Result<void> clear_way(const std::string& port, const std::string& interface,
                         const std::string& key);
  // The port runs: its program is the one that is there now. Nothing to watch where there is none.
  void started(const std::string& port, const std::string& interface, const std::string& key);
  // Once a second: what has changed, a line each; whose program is gone gets it back.
  std::vector<std::string> check();
  // The trouble of a port in words; empty: none.
  std::string trouble(const std::string& port) const;
  // Before a port is closed: a program of somebody else's stays where it is. And after.
  void stopping(const std::string& port);
  void stopped(const std::string& port);

 private:
  struct Watched {
    std::string interface, key;
    XdpState state;  // as it was put on
    FileDescriptor program;
    std::string trouble;
    std::unique_ptr<XdpDetachGuard> foreign;  // while the port is closed
  };

  XdpLink* link();  // null: netlink does not answer
  std::string check(const std::string& port, Watched& watched);

  InstanceLocks* const locks_;
  std::optional<XdpLink> link_;
  std::map<std::string, Watched> watched_;  // by port
};

}  // namespace hecto::router
