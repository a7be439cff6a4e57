#include "router/linux/tap.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace hecto::router {
namespace {

constexpr size_t kEthernetHeaderBytes = 14;

ifreq request_for(const std::string& name) {
  ifreq request{};
  std::copy_n(name.begin(), std::min<size_t>(name.size(), IFNAMSIZ - 1), request.ifr_name);
  return request;
}

tl::unexpected<Error> fail_tap(const std::string& name, const std::string& what,
                               int error_number = errno) {
  return fail(fmt::format("TAP {}: {}: {}", name, what, std::strerror(error_number)), error_number);
}

Result<void> check_interface_name(const std::string& name) {
  const bool bad = name.empty() || name.size() >= IFNAMSIZ || name == "." || name == ".." ||
                   name.find_first_of("/%: \t\n") != std::string::npos;
  if (!bad) return {};
  return fail(fmt::format("'{}' is no name for a Linux interface: 1 to 15 characters without "
                          "space, '/', ':' or '%'",
                          name),
              EINVAL);
}

// Must run inside the namespace: /dev/net/tun belongs to the namespace of who opens it.
Result<FileDescriptor> open_tap(const std::string& name) {
  FileDescriptor tap(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!tap) return fail_tap(name, "cannot open /dev/net/tun (root and the module tun are needed)");
  ifreq request = request_for(name);
  // Alone: not one that somebody made before, persistent or in use.
  request.ifr_flags = static_cast<short>(IFF_TAP | IFF_NO_PI | IFF_TUN_EXCL);
  if (ioctl(tap.get(), TUNSETIFF, &request) != 0) {
    if (errno == EBUSY)
      return fail_tap(name, "in use: a TAP of this name exists, another hectod's?", EBUSY);
    if (errno == EINVAL) return fail_tap(name, "an interface of this name exists", EEXIST);
    return fail_tap(name, "cannot create");
  }
  return tap;
}

// Whether a TAP's device is in it. Linux 5.2 and later tell.
bool in_namespace(int tap, const NetworkNamespace& space) {
  const FileDescriptor theirs(ioctl(tap, TUNGETDEVNETNS, nullptr));
  struct stat a {
  }, b{};
  return theirs && fstat(theirs.get(), &a) == 0 && fstat(space.fd(), &b) == 0 &&
         a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

Result<Tap> Tap::create(const NetworkNamespace& space, const TapOptions& options) {
  if (auto sound = check_interface_name(options.name); !sound) return tl::unexpected(sound.error());
  Tap tap;
  tap.name_ = options.name;
  auto made = space.run([&]() -> Result<void> {
    auto opened = open_tap(options.name);
    if (!opened) return tl::unexpected(opened.error());
    tap.tap_ = std::move(*opened);
    return {};
  });
  if (!made) return tl::unexpected(made.error());
  if (auto done = tap.find_device(space); !done) return tl::unexpected(done.error());

  ifreq request = request_for(tap.name_);
  request.ifr_qlen = static_cast<int>(options.transmit_queue_length);
  if (ioctl(tap.control_.get(), SIOCSIFTXQLEN, &request) != 0) {
    return fail_tap(tap.name_, fmt::format("queue of {} frames", options.transmit_queue_length));
  }
  if (auto done = tap.set_mac(options.mac); !done) return tl::unexpected(done.error());
  if (auto done = tap.set_mtu(options.mtu); !done) return tl::unexpected(done.error());
  return tap;
}

Result<Tap> Tap::adopt(const NetworkNamespace& space, FileDescriptor kept,
                       const TapOptions& options) {
  Tap tap;
  tap.name_ = options.name;
  tap.tap_ = std::move(kept);
  ifreq request{};
  if (ioctl(tap.tap_.get(), TUNGETIFF, &request) != 0 || !in_namespace(tap.tap_.get(), space))
    return fail_tap(options.name, "the one that was kept is gone, or elsewhere", ENODEV);
  if (options.name != request.ifr_name)
    return fail_tap(options.name,
                    fmt::format("the one that was kept is called {} by now", request.ifr_name),
                    ENODEV);
  if (auto done = tap.find_device(space); !done) return tl::unexpected(done.error());
  // What is right already is not set again: whoever watches the device would hear of it.
  const auto now = tap.state();
  if (!now) return fail_tap(options.name, "the one that was kept is gone", ENODEV);
  if (now->mac != options.mac)
    if (auto done = tap.set_mac(options.mac); !done) return tl::unexpected(done.error());
  if (auto done = tap.set_mtu(options.mtu); !done) return tl::unexpected(done.error());
  return tap;
}

Result<void> Tap::find_device(const NetworkNamespace& space) {
  auto made = space.run([&]() -> Result<void> {
    control_ = FileDescriptor(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    return control_ ? Result<void>{} : fail_tap(name_, "no socket");
  });
  if (!made) return made;
  ifreq request = request_for(name_);
  if (ioctl(control_.get(), SIOCGIFINDEX, &request) != 0) return fail_tap(name_, "has no index");
  ifindex_ = request.ifr_ifindex;
  return {};
}

Result<void> Tap::set_up(bool up) {
  ifreq request = request_for(name_);
  if (ioctl(control_.get(), SIOCGIFFLAGS, &request) != 0) return fail_tap(name_, "flags");
  const int flags = up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP;
  request.ifr_flags = static_cast<short>(flags);
  if (ioctl(control_.get(), SIOCSIFFLAGS, &request) != 0) {
    return fail_tap(name_, up ? "cannot set up" : "cannot set down");
  }
  return {};
}

Result<void> Tap::set_carrier(bool carrier) {
  int value = carrier ? 1 : 0;
  if (ioctl(tap_.get(), TUNSETCARRIER, &value) != 0) return fail_tap(name_, "carrier");
  return {};
}

Result<void> Tap::set_mtu(uint32_t mtu) {
  ifreq request = request_for(name_);
  request.ifr_mtu = static_cast<int>(std::min<uint32_t>(mtu, 1U << 30));
  if (ioctl(control_.get(), SIOCSIFMTU, &request) != 0) {
    return fail_tap(name_, fmt::format("MTU {}", mtu));
  }
  return {};
}

std::optional<TapState> Tap::state() const {
  ifreq request{};
  request.ifr_ifindex = ifindex_;
  if (ioctl(control_.get(), SIOCGIFNAME, &request) != 0) return std::nullopt;
  TapState state;
  state.name = request.ifr_name;
  if (ioctl(control_.get(), SIOCGIFHWADDR, &request) != 0) return std::nullopt;
  std::memcpy(state.mac.data(), request.ifr_hwaddr.sa_data, state.mac.size());
  if (ioctl(control_.get(), SIOCGIFFLAGS, &request) != 0) return std::nullopt;
  state.up = (request.ifr_flags & IFF_UP) != 0;
  return state;
}

Result<void> Tap::set_mac(const MacAddress& mac) {
  ifreq request = request_for(name_);
  request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
  std::memcpy(request.ifr_hwaddr.sa_data, mac.data(), mac.size());
  if (ioctl(control_.get(), SIOCSIFHWADDR, &request) != 0) {
    return fail_tap(name_, fmt::format("MAC {:02x}", fmt::join(mac, ":")));
  }
  return {};
}

TapIo Tap::read(std::span<uint8_t> buffer) noexcept {
  ssize_t size = 0;
  do {
    size = ::read(tap_.get(), buffer.data(), buffer.size());
  } while (size < 0 && errno == EINTR);
  if (size < 0) {
    if (errno == EAGAIN) return {0, TapStatus::kAgain};
    if (errno == EBADFD || errno == ENODEV) return {0, TapStatus::kGone};
    return {0, TapStatus::kError};
  }
  const auto bytes = static_cast<size_t>(size);
  return {bytes, bytes >= buffer.size() ? TapStatus::kTruncated : TapStatus::kOk};
}

TapIo Tap::write(std::span<const uint8_t> frame) noexcept {
  if (frame.size() < kEthernetHeaderBytes) return {0, TapStatus::kError};
  ssize_t size = 0;
  do {
    size = ::write(tap_.get(), frame.data(), frame.size());
  } while (size < 0 && errno == EINTR);
  if (size >= 0) return {static_cast<size_t>(size), TapStatus::kOk};
  switch (errno) {
    case EAGAIN:
    case ENOBUFS:
      return {0, TapStatus::kAgain};
    case EIO:
      return {0, TapStatus::kDown};
    case EBADFD:
    case ENODEV:
      return {0, TapStatus::kGone};
    default:
      return {0, TapStatus::kError};
  }
}

}  // namespace hecto::router
