#include "router/dataplane/ports/packet_fanout.hpp"

#include <dlfcn.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

// Before the C library's in the order in which the dynamic linker looks.
extern "C" __attribute__((visibility("default"))) int setsockopt(int fd, int level, int name,
                                                                 const void* value,
                                                                 socklen_t bytes) noexcept {
  int fanout = 0;
  if (level == SOL_PACKET && name == PACKET_FANOUT && bytes == sizeof fanout) {
    std::memcpy(&fanout, value, sizeof fanout);
    fanout &= ~(PACKET_FANOUT_FLAG_DEFRAG << 16);  // the mode and its flags are the upper half
    value = &fanout;
  }
  return static_cast<int>(syscall(SYS_setsockopt, fd, level, name, value, bytes));
}

// The C library declares that its own only writes `fds`.
extern "C" __attribute__((visibility("default"))) int poll_with_end(pollfd* fds, nfds_t count,
                                                                    int timeout_ms) __asm__("poll");
int poll_with_end(pollfd* fds, nfds_t count, int timeout_ms) {
  constexpr int kMostForRoom_ms = 10;
  constexpr int kSpared = 64;  // calls for a ring that had no room, before one waits again
  thread_local int full = -1, spared = 0;
  const bool for_room = timeout_ms < 0 && count == 1 && fds->events == POLLOUT;
  if (for_room) timeout_ms = fds->fd == full && spared-- > 0 ? 0 : kMostForRoom_ms;
  const timespec time{timeout_ms / 1000, timeout_ms % 1000 * 1'000'000L};
  const int ready = ppoll(fds, count, timeout_ms < 0 ? nullptr : &time, nullptr);
  if (for_room && ready != 0) full = -1;
  if (ready != 0 || !for_room) return ready;
  if (timeout_ms > 0) full = fds->fd, spared = kSpared;
  errno = EAGAIN;
  return -1;
}

namespace hecto::router {

bool fragments_stay_apart() {
  return dlsym(RTLD_DEFAULT, "setsockopt") == reinterpret_cast<void*>(&setsockopt);
}

}  // namespace hecto::router
