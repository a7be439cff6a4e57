#include "router/dataplane/ports/xdp_detach_guard.hpp"

#include <dlfcn.h>

#include <cerrno>
#include <cstdint>
#include <mutex>
#include <set>

namespace hecto::router {
namespace {

std::mutex guard_mutex;
std::multiset<int> guarded_interfaces;

bool is_guarded(int ifindex) {
  const std::lock_guard lock(guard_mutex);
  return guarded_interfaces.contains(ifindex);
}

}  // namespace

XdpDetachGuard::XdpDetachGuard(int ifindex) : ifindex_(ifindex) {
  const std::lock_guard lock(guard_mutex);
  guarded_interfaces.insert(ifindex_);
}

XdpDetachGuard::~XdpDetachGuard() {
  const std::lock_guard lock(guard_mutex);
  guarded_interfaces.erase(guarded_interfaces.find(ifindex_));
}

}  // namespace hecto::router

// As libbpf declares it (bpf.h, 0.7 and later).
extern "C" __attribute__((visibility("default"))) int bpf_xdp_detach(int ifindex, uint32_t flags,
                                                                     const void* options) {
  if (hecto::router::is_guarded(ifindex)) return 0;
  using Detach = int (*)(int, uint32_t, const void*);
  static const auto detach = [] {
    void* library = dlopen("libbpf.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) library = dlopen("libbpf.so.0", RTLD_LAZY | RTLD_NOLOAD);
    return library == nullptr ? nullptr
                              : reinterpret_cast<Detach>(dlsym(library, "bpf_xdp_detach"));
  }();
  return detach == nullptr ? -ENOSYS : detach(ifindex, flags, options);
}
