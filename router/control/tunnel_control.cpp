#include "router/control/tunnel_control.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "router/control/forwarding_plane.hpp"
#include "router/control/interface_control.hpp"
#include "router/rib/routing.hpp"

namespace hecto::router {

std::vector<TunnelControl::EndsKey> TunnelControl::keys_of(const LinuxTunnel& tunnel) {
  const auto key = [&](uint64_t of) {
    return EndsKey{tunnel.gre, tunnel.local, tunnel.remote, of};
  };
  if (tunnel.gre) return {key(tunnel.key_in ? uint64_t{1} << 32 | *tunnel.key_in : 0)};
  std::vector<EndsKey> keys;
  if (tunnel.carries4) keys.push_back(key(4));
  if (tunnel.carries6) keys.push_back(key(6));
  return keys;
}

InterfaceId TunnelControl::id_of(int ifindex) const {
  return ifindex == 0 ? kNoInterface : routing_.interfaces().by_ifindex(ifindex);
}

TunnelControl::Places TunnelControl::places_of(const std::vector<LinuxLink>& links) const {
  Places places;
  places.reserve(links.size());
  for (const LinuxLink& link : links)
    places.emplace_back(id_of(link.ifindex), id_of(link.tunnel->link));
  return places;
}

// Links change all the time that are no tunnels.
void TunnelControl::tick() {
  const uint64_t version = routing_.interfaces().version();
  if (version_ == version) return;
  std::vector<LinuxLink> links = routing_.interfaces().tunnels();
  std::sort(links.begin(), links.end(),
            [](const LinuxLink& a, const LinuxLink& b) { return a.ifindex < b.ifindex; });
  const bool same = links == links_ && places_of(links) == places_;
  if (!same) {
    configure(links);
    places_ = places_of(links);
    links_ = std::move(links);
  }
  if (!same || told_with_ipsec_ != plane_.uses_ipsec()) tell();
  // What was done here has changed interfaces, too.
  version_ = routing_.interfaces().version();
}

TunnelStatus TunnelControl::judge(const LinuxLink& link) {
  TunnelStatus status{link.name, link.kind, *link.tunnel, "", link.tunnel->beyond};
  ++looks_;
  if (link.tunnel->link != 0 && status.trouble.empty()) {
    const Interface* const by = interfaces_.table().find(id_of(link.tunnel->link));
    if (by == nullptr)
      status.trouble = "its packets leave by a device that is none of the router's";
    else
      status.link = by->name;
  }
  for (const EndsKey& key : keys_of(*link.tunnel)) {
    const auto other = carried_.find(key);
    if (other == carried_.end() || !status.trouble.empty()) continue;
    ++looks_;
    status.trouble = fmt::format("{} has the same ends and key", status_[other->second].name);
  }
  return status;
}

// Those that carry nothing of Linux's own (gre0, sit0 and the like, which are down) are not spoken of.
void TunnelControl::configure(const std::vector<LinuxLink>& links) {
  std::vector<TunnelSetup> setups;
  bool gre_is_known = true;
  status_.clear();
  carried_.clear();
  for (const LinuxLink& link : links) {
    const bool up = link.up && link.carrier;
    TunnelStatus status = judge(link);
    if (status.trouble.empty()) status.trouble = interfaces_.adopt_tunnel(link);
    const Interface* const interface = interfaces_.table().find(id_of(link.ifindex));
    if (!status.trouble.empty() || interface == nullptr) {
      if (interface != nullptr) interfaces_.drop(interface->id, status.trouble);
      gre_is_known &= !(up && link.tunnel->gre);
      if (up) status_.push_back(std::move(status));
      continue;
    }
    for (const EndsKey& key : keys_of(*link.tunnel)) carried_.emplace(key, status_.size());
    status_.push_back(std::move(status));
    const Interface* const by = interfaces_.table().find(id_of(link.tunnel->link));
    if (up) setups.push_back({interface->id, by == nullptr ? kNoInterface : by->id, *link.tunnel});
  }
  if (setups != setups_ || gre_is_known != gre_is_known_) plane_.set_tunnels(setups, gre_is_known);
  setups_ = std::move(setups);
  gre_is_known_ = gre_is_known;
}

void TunnelControl::tell() {
  told_with_ipsec_ = plane_.uses_ipsec();
  std::set<std::string> now;
  for (std::string& line : lines()) {
    if (!told_.contains(line)) spdlog::warn(line);
    now.insert(std::move(line));
  }
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
