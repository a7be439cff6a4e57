// News of kernel interfaces in this process's namespace: a carrier that comes or goes, a device that is
// made or deleted. Who waits for the descriptor asks the ports.
#pragma once

#include "base/file_descriptor.hpp"

namespace hecto::router {

class CarrierNews {
 public:
  CarrierNews();
  int fd() const { return socket_.get(); }  // -1: netlink refused, and ports are only polled
  void take() noexcept;                     // until the next one nothing is to be read

 private:
  FileDescriptor socket_;
};

}  // namespace hecto::router
