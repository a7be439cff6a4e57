#include "router/control/label_control.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "router/control/forwarding_plane.hpp"
#include "router/control/interface_control.hpp"
#include "router/control/linux_side.hpp"
#include "router/rib/routing.hpp"

namespace hecto::router {

void LabelControl::tick() {
  const uint64_t labels = routing_.labels().version(), links = routing_.interfaces().version();
  if (labels == labels_version_ && links == links_version_) return;
  adopt_vrfs();
  labels_version_ = labels;
  // What was done here has changed interfaces, too.
  links_version_ = routing_.interfaces().version();
}

void LabelControl::adopt_vrfs() {
  const std::vector<int> wanted = routing_.labels().vrfs();
  refused_.clear();
  for (const int ifindex : wanted) {
    const LinuxLink* const vrf = routing_.interfaces().vrf(ifindex);
    if (vrf == nullptr) continue;
    if (const std::string why = interfaces_.adopt_vrf(*vrf); !why.empty())
      refused_.push_back(
          fmt::format("labels into {}: their packets are Linux's: {}", vrf->name, why));
  }
  std::vector<InterfaceId> gone;
  for (const auto& [id, interface] : interfaces_.table().all())
    if (interface.vrf_device &&
        std::find(wanted.begin(), wanted.end(), interface.ifindex) == wanted.end())
      gone.push_back(id);
  for (const InterfaceId id : gone) interfaces_.drop(id, "no label leads into it");
}

// The kernel's own routes of reserved labels come with its table, without a word.
void LabelControl::tick_second() {
  const auto now = linux_.label_switches();
  if (!now) return;
  const LabelSwitches before = std::exchange(switches_, *now);
  if (before != *now) routing_.set_label_switches(*now);
  if (std::exchange(known_, true) && before.platform_labels != now->platform_labels)
    linux_.read_labels("net.mpls.platform_labels has changed");
  const bool on = now->platform_labels != 0;
  if (std::exchange(on_, on) != on) plane_.set_labels(on);
  std::vector<std::string> lines = this->lines();
  for (const std::string& line : lines)
    if (std::find(told_.begin(), told_.end(), line) == told_.end()) spdlog::warn(line);
  told_ = std::move(lines);
}

std::vector<std::string> LabelControl::lines() const {
  std::vector<std::string> lines = refused_;
  if (!on_) return lines;
  const LabelCounts counts = routing_.labels().counts();
  if (counts.linuxs > 0)
    lines.push_back(
        fmt::format("labels: packets of {} of {} are Linux's, at its speed (hecto show labels says "
                    "which and why)",
                    counts.linuxs, counts.routes));
  std::string ports;
  for (const auto& [id, interface] : interfaces_.table().all())
    if (interface.switches.labels && (interface.bridged || interface.linux_only))
      ports += (ports.empty() ? "" : ", ") + interface.name;
  if (!ports.empty())
    lines.push_back(
        fmt::format("labels: what comes in by {}, of a bridge or a bond, is Linux's", ports));
  if (counts.routes > 0 && plane_.uses_ipsec())
    lines.push_back(
        "labels: with IPsec what comes in with labels is Linux's, at its speed: policies hold "
        "for what is inside");
  return lines;
}

}  // namespace hecto::router
