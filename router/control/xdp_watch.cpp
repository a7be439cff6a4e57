#include "router/control/xdp_watch.hpp"

#include <fmt/format.h>
#include <linux/if_link.h>
#include <spdlog/spdlog.h>

namespace hecto::router {

XdpLink* XdpWatch::link() {
  if (link_) return &*link_;
  auto opened = XdpLink::open();
  if (!opened) return nullptr;
  link_ = std::move(*opened);
  return &*link_;
}

Result<void> XdpWatch::clear_way(const std::string& port, const std::string& interface,
                                 const std::string& key) {
  XdpLink* const netlink = link();
  if (netlink == nullptr) return {};
  const auto state = netlink->state(interface);
  if (!state || state->program == 0) return {};
  const uint32_t ours = locks_ == nullptr ? 0 : locks_->inherited_program(key);
  if (ours != state->program)
    return fail(fmt::format("port {} ({}): an XDP program that is not hecto's is on it (id {}); if "
                            "nobody needs it, \"ip link set dev {} {} off\" takes it off",
                            port, interface, state->program, interface,
                            state->flags == XDP_FLAGS_SKB_MODE ? "xdpgeneric" : "xdp"),
                EBUSY);
  if (auto done = netlink->detach(*state); !done) return done;
  locks_->note_program(key, 0);
  spdlog::info("port {}: the XDP program of an earlier run is taken off {}", port, interface);
  return {};
}

void XdpWatch::started(const std::string& port, const std::string& interface,
                       const std::string& key) {
  XdpLink* const netlink = link();
  if (netlink == nullptr) return;
  const auto state = netlink->state(interface);
  if (!state || state->program == 0) return;
  if (locks_ != nullptr) locks_->note_program(key, state->program);
  watched_[port] = {interface, key, *state, xdp_program_by_id(state->program), "", nullptr};
}

std::string XdpWatch::trouble(const std::string& port) const {
  const auto found = watched_.find(port);
  return found == watched_.end() ? "" : found->second.trouble;
}

std::vector<std::string> XdpWatch::check() {
  std::vector<std::string> lines;
  for (auto& [port, watched] : watched_) {
    std::string trouble = check(port, watched);
    if (trouble == watched.trouble) continue;
    watched.trouble = trouble;
    if (!trouble.empty()) lines.push_back(fmt::format("port {}: {}", port, trouble));
  }
  return lines;
}

std::string XdpWatch::check(const std::string& port, Watched& watched) {
  XdpLink* const netlink = link();
  if (netlink == nullptr) return watched.trouble;
  const auto now = netlink->state(watched.interface);
  if (!now) {
    link_.reset();
    return watched.trouble;
  }
  // Gone with its interface, or a namesake's.
  if (now->ifindex != watched.state.ifindex || now->program == watched.state.program) return {};
  if (now->program != 0)
    return fmt::format(
        "an XDP program of somebody else (id {}) took the place of hecto's on {}: "
        "nothing is received there until it is taken off",
        now->program, watched.interface);
  if (!watched.program)
    return fmt::format(
        "its XDP program was taken off {} and cannot be put back: it could not be "
        "held (CAP_SYS_ADMIN); reload without the port and then with it",
        watched.interface);
  auto done = netlink->attach(watched.state.ifindex, watched.program.get(), watched.state.flags);
  if (!done)
    return fmt::format("its XDP program was taken off {} and does not go back: {}",
                       watched.interface, done.error().message);
  spdlog::warn("port {}: somebody took hecto's XDP program off {}; it is back", port,
               watched.interface);
  return {};
}

void XdpWatch::stopping(const std::string& port) {
  const auto found = watched_.find(port);
  XdpLink* const netlink = link();
  if (found == watched_.end() || netlink == nullptr) return;
  Watched& watched = found->second;
  const auto now = netlink->state(watched.interface);
  if (now && now->program != 0 && now->program != watched.state.program)
    watched.foreign = std::make_unique<XdpDetachGuard>(now->ifindex);
}

void XdpWatch::stopped(const std::string& port) {
  auto found = watched_.extract(port);
  if (found.empty() || locks_ == nullptr) return;
  XdpLink* const netlink = link();
  const Watched& watched = found.mapped();
  const auto now = netlink == nullptr ? Result<XdpState>() : netlink->state(watched.interface);
  if (now && now->program != watched.state.program) locks_->note_program(watched.key, 0);
}

}  // namespace hecto::router
