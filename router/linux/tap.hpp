// A port's twin in Linux: a TAP device through which punted frames reach the kernel and the
// kernel's own frames reach the port.
//
// Whole Ethernet frames without a virtio header and without offloads: the kernel hands over
// finished checksums and never more than MTU + 18 bytes. Non-blocking and non-persistent: the
// device goes with the last descriptor of it, as a rule with the object. read() and write() may be used by one thread each (the punt core);
// everything else belongs to control.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "router/linux/netns.hpp"
#include "router/rib/route.hpp"

namespace hecto::router {

enum class TapStatus : uint8_t {
  kOk,
  kAgain,      // nothing to read, or the kernel's queue is full
  kDown,       // the device is administratively down: the frame is lost
  kGone,       // somebody deleted the device
  kTruncated,  // the frame is larger than the buffer
  kError,
};

struct TapIo {
  size_t bytes = 0;
  TapStatus status = TapStatus::kOk;
};

struct TapOptions {
  std::string name;  // 1 to 15 characters
  MacAddress mac{};
  uint32_t mtu = 1500;                    // 68 to 65521
  uint32_t transmit_queue_length = 1000;  // frames from the kernel that wait for us
};

// As it is now, whoever has changed it.
struct TapState {
  std::string name;
  MacAddress mac{};
  bool up = false;
};

class Tap {
 public:
  static Result<Tap> create(const NetworkNamespace& space, const TapOptions& options);
  // One that was created before, by a descriptor of it that somebody has kept: it keeps its index,
  // its state and its carrier. An error where it is not, or no more, the device of that name here.
  static Result<Tap> adopt(const NetworkNamespace& space, FileDescriptor kept,
                           const TapOptions& options);

  Tap(Tap&&) noexcept = default;
  Tap& operator=(Tap&&) noexcept = default;

  int fd() const noexcept { return tap_.get(); }  // for epoll
  int ifindex() const noexcept { return ifindex_; }
  const std::string& name() const noexcept { return name_; }

  // Empty: it was deleted, or is in another namespace.
  std::optional<TapState> state() const;
  Result<void> set_up(bool up);
  Result<void> set_carrier(bool carrier);  // Linux 5.0 and later
  Result<void> set_mtu(uint32_t mtu);
  Result<void> set_mac(const MacAddress& mac);

  // One frame, from its destination MAC on, without FCS. A buffer must be larger than any frame:
  // one that is filled to its last byte counts as truncated.
  TapIo read(std::span<uint8_t> buffer) noexcept;
  // 14 to 65535 bytes.
  TapIo write(std::span<const uint8_t> frame) noexcept;

 private:
  Tap() = default;
  Result<void> find_device(const NetworkNamespace& space);  // control_ and ifindex_

  std::string name_;
  FileDescriptor tap_;
  FileDescriptor control_;  // a socket of the namespace, for ioctls on the device
  int ifindex_ = 0;
};

}  // namespace hecto::router
