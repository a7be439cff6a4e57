#include "router/control/tunnel_control.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "router/control/forwarding_plane.hpp"
#include "router/control/interface_control.hpp"
#include "router/rib/routing.hpp"

namespace hecto::router {
namespace {

// Whether packets that come in cannot be told to be of one or the other.
bool is_same_in(const LinuxTunnel& one, const LinuxTunnel& other) {
  if (one.gre != other.gre || one.local != other.local || one.remote != other.remote) return false;
  if (one.gre) return one.key_in == other.key_in;
  return (one.carries4 && other.carries4) || (one.carries6 && other.carries6);
}

}  // namespace

void TunnelControl::tick() {
  const uint64_t version = routing_.interfaces().version();
  if (version_ == version) return;
  configure();
  // What was done here has changed interfaces, too.
  version_ = routing_.interfaces().version();
}

TunnelStatus TunnelControl::judge(const LinuxLink& link) const {
  TunnelStatus status{link.name, link.kind, *link.tunnel, "", link.tunnel->beyond};
  if (link.tunnel->link != 0 && status.trouble.empty()) {
    const Interface* const by = interfaces_.table().by_ifindex(link.tunnel->link);
    if (by == nullptr)
      status.trouble = "its packets leave by a device that is none of the router's";
    else
      status.link = by->name;
  }
  for (const TunnelStatus& other : status_)
    if (status.trouble.empty() && other.trouble.empty() && is_same_in(other.tunnel, *link.tunnel))
      status.trouble = fmt::format("{} has the same ends and key", other.name);
  return status;
}

// Those that carry nothing of Linux's own (gre0, sit0 and the like, which are down) are not spoken of.
void TunnelControl::configure() {
  std::vector<LinuxLink> links = routing_.interfaces().tunnels();
  std::sort(links.begin(), links.end(),
            [](const LinuxLink& a, const LinuxLink& b) { return a.ifindex < b.ifindex; });
  std::vector<TunnelSetup> setups;
  bool gre_is_known = true;
  status_.clear();
  for (const LinuxLink& link : links) {
    const bool up = link.up && link.carrier;
    TunnelStatus status = judge(link);
    if (status.trouble.empty()) status.trouble = interfaces_.adopt_tunnel(link);
    const Interface* const interface = interfaces_.table().by_ifindex(link.ifindex);
    if (!status.trouble.empty() || interface == nullptr) {
      if (interface != nullptr) interfaces_.drop(interface->id, status.trouble);
      gre_is_known &= !(up && link.tunnel->gre);
      if (up) status_.push_back(std::move(status));
      continue;
    }
    status_.push_back(std::move(status));
    const Interface* const by = interfaces_.table().by_ifindex(link.tunnel->link);
    if (up) setups.push_back({interface->id, by == nullptr ? kNoInterface : by->id, *link.tunnel});
  }
  if (setups != setups_ || gre_is_known != gre_is_known_) plane_.set_tunnels(setups, gre_is_known);
  setups_ = std::move(setups);
  gre_is_known_ = gre_is_known;
  std::vector<std::string> now = lines();
  for (const std::string& line : now)
    if (std::find(told_.begin(), told_.end(), line) == told_.end()) spdlog::warn(line);
  told_ = std::move(now);
}

std::vector<std::string> TunnelControl::lines() const {
  std::vector<std::string> lines;
  bool carried = false;
  for (const TunnelStatus& status : status_) {
    carried |= status.trouble.empty();
    if (!status.trouble.empty())
      lines.push_back(fmt::format("tunnel {}: its packets are Linux's, at its speed: {}",
                                  status.name, status.trouble));
  }
  if (carried && plane_.uses_ipsec())
    lines.push_back(
        "tunnels: with IPsec their packets are Linux's, at its speed: policies hold for what goes "
        "in "
        "and for what comes of it");
  return lines;
}

}  // namespace hecto::router
