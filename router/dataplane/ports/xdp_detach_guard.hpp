// Keeps net_af_xdp from taking off what is not hecto's: when a port is closed, the driver takes off
// whatever XDP program is on the interface then. While a guard for an interface lives, libbpf's
// bpf_xdp_detach() does nothing there: the program has one of that name, which the dynamic linker
// finds first (router/meson.build exports it).
//
// Control thread only.
#pragma once

namespace hecto::router {

class XdpDetachGuard {
 public:
  explicit XdpDetachGuard(int ifindex);
  ~XdpDetachGuard();
  XdpDetachGuard(const XdpDetachGuard&) = delete;
  XdpDetachGuard& operator=(const XdpDetachGuard&) = delete;

 private:
  int ifindex_;
};

}  // namespace hecto::router
