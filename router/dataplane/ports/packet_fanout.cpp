#include "router/dataplane/ports/packet_fanout.hpp"

#include <dlfcn.h>
#include <linux/if_packet.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

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

namespace hecto::router {

bool fragments_stay_apart() {
  return dlsym(RTLD_DEFAULT, "setsockopt") == reinterpret_cast<void*>(&setsockopt);
}

}  // namespace hecto::router
