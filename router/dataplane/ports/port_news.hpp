// News of ports, told by DPDK's interrupt thread: a link that changed, a device that goes. One
// descriptor for all ports of the process becomes readable; who waits for it asks the ports.
#pragma once

#include "base/file_descriptor.hpp"

namespace hecto::router {

class PortNews {
 public:
  static PortNews& of_process();
  int fd() const { return bell_.get(); }
  void tell() noexcept;  // any thread
  void take() noexcept;  // until the next one nothing is to be read

 private:
  PortNews();
  FileDescriptor bell_;
};

}  // namespace hecto::router
