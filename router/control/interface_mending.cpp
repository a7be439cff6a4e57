// What somebody else does to twins and devices, and how it is mended: a twin that is renamed or
// given another MAC gets back its own, one that is deleted or moved to another namespace is made
// again, a port whose device is back is opened anew under the same interfaces. At once the first
// time, then after pauses that double: whoever fights for a name does not keep control busy.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "router/control/forwarding_plane.hpp"
#include "router/control/interface_control.hpp"
#include "router/control/linux_side.hpp"
#include "router/control/notes.hpp"
#include "router/control/running.hpp"
#include "router/dataplane/sampler.hpp"
#include "router/rib/routing.hpp"

namespace hecto::router {
namespace {

using Clock = std::chrono::steady_clock;

// A twin is deleted, and Linux says so, before the slow path may have let go of it.
constexpr const char* kGone = "its TAP was deleted, or moved to another namespace";

}  // namespace

void InterfaceControl::trouble(Interface& interface, const std::string& words,
                               const std::string& line) {
  if (interface.trouble == words) return;
  interface.trouble = words;
  if (!line.empty()) notes_.add(fmt::format("interface {}: {}", interface.name, line));
}

// Its name, MAC and state are ours to set; those of a VLAN device that Linux made are Linux's.
void InterfaceControl::follow_twin(Interface& interface, const LinuxLink& link) {
  if (!interface.has_twin || link.name.empty()) return;
  // News of what was before it was made ready are no news.
  const TapState twin =
      linux_->twin_state(interface.id).value_or(TapState{link.name, link.mac, link.up});
  interface.twin_name = twin.name;
  interface.twin_mac = twin.mac;
  if (interface.twin_down != !twin.up) {
    interface.twin_down = !twin.up;
    spdlog::info("interface {}: {} in Linux", interface.name, twin.up ? "set up" : "set down");
  }
  (void)mend(interface);
  if (interface.trouble.empty() && interface.twin_down) interface.trouble = "set down in Linux";
  if (!interface.twin_down && interface.trouble == "set down in Linux") interface.trouble.clear();
}

bool InterfaceControl::lose_twin(Interface& interface) {
  refresh(interface);
  if (!interface.has_twin) return false;
  interface.twin_gone = true;
  notes_.add(
      fmt::format("interface {}: {}; it is made again, and what others had put there is lost",
                  interface.name, kGone));
  interface.trouble = kGone;
  return mend(interface);
}

// True: a twin is new, and what Linux has to know of it must be written.
bool InterfaceControl::mend(Interface& interface) {
  const bool renamed = !interface.twin_name.empty() && interface.twin_name != interface.name;
  const bool other_mac = interface.twin_mac != MacAddress{} && interface.twin_mac != interface.mac;
  if (!interface.twin_gone && !renamed && !other_mac) {
    if (interface.trouble != "set down in Linux") interface.trouble.clear();
    return false;
  }
  Mending& mending = mending_[interface.id];
  const auto now = Clock::now();
  if (now < mending.due) return false;
  mending.due = now + mending.pause.pause(now);
  if (interface.twin_gone) return remake_twin(interface);
  if (auto done = restore_twin(interface); !done)
    trouble(interface, done.error().message, done.error().message);
  return false;
}

Result<void> InterfaceControl::restore_twin(Interface& interface) {
  if (interface.twin_name != interface.name) {
    notes_.add(fmt::format("interface {}: its TAP was renamed to {}; it gets its name back",
                           interface.name, interface.twin_name));
    if (auto done = linux_->set_twin_name(interface); !done) return done;
    interface.twin_name = interface.name;
  }
  if (interface.twin_mac != interface.mac) {
    notes_.add(fmt::format("interface {}: its TAP was given the MAC {}; it gets {} back",
                           interface.name, to_string(interface.twin_mac),
                           to_string(interface.mac)));
    if (auto done = linux_->set_twin_mac(interface); !done) return done;
    interface.twin_mac = interface.mac;
  }
  interface.trouble.clear();
  return {};
}

bool InterfaceControl::remake_twin(Interface& interface) {
  // The old device, wherever it is, goes with the slow path's hold on it.
  linux_->remove_twin(interface.id);
  update_twins();
  const auto ifindex = linux_->make_twin(interface);
  if (!ifindex) {
    trouble(interface, ifindex.error().message,
            fmt::format("its TAP cannot be made again: {}", ifindex.error().message));
    return false;
  }
  interface.ifindex = *ifindex;
  interface.twin_gone = interface.twin_down = false;
  interface.twin_name.clear();
  interface.twin_mac = {};
  interface.trouble.clear();
  linux_->set_twin_carrier(interface.id, interface.up);
  (void)routing_.update_interface(interface);
  refresh(interface);
  update_twins();
  note_refusals(write_to_linux(interface));
  spdlog::info("interface {}: its TAP is made again", interface.name);
  return true;
}

bool InterfaceControl::watch() {
  bool write_routes = retry_ports();
  for (const std::string& line : plane_.mend_ports()) notes_.add(line);
  for (const PortStatus& port : plane_.ports()) {
    bool& gone = port_gone_[port.name()];
    if (!port.present && !gone)
      notes_.add(fmt::format("port {}: {} is gone; its interfaces are down, the other ports go on",
                             port.name(), port.config.device));
    gone = !port.present;
    if (port.device_back) write_routes |= reopen(port);
    // A NIC on its way out of its slot: the kernel waits until it is let go.
    if (gone && port.config.kind == config::DeviceKind::kPci) lose_port(port, "");
  }
  for (auto& [id, interface] : table_.all()) {
    if (!interface.has_twin) continue;
    if (!interface.twin_gone && linux_->twin_gone(id))
      write_routes |= lose_twin(interface);
    else
      write_routes |= mend(interface);
  }
  tell_masters();
  return write_routes;
}

// A twin in a bridge or a bond: its addresses and routes are the other device's, which Linux alone
// has, so its packets go there.
// In a VRF it stays an interface of its own.
std::vector<std::string> InterfaceControl::lines() const {
  std::vector<std::string> lines;
  for (const auto& [id, interface] : table_.all()) {
    const LinuxLink* const master = routing_.interfaces().master_of(interface);
    if (master != nullptr && !interface.bridged &&
        routing_.interfaces().vrf_of(interface).table == 0)
      lines.push_back(
          fmt::format("interface {}: in Linux it is a port of {} ({}): what goes by {} "
                      "Linux forwards, at its speed",
                      interface.name, master->name, master->kind, master->name));
  }
  return lines;
}

void InterfaceControl::tell_masters() {
  for (auto& [id, interface] : table_.all()) {
    const bool linux_only = !interface.bridged &&
                            routing_.interfaces().master_of(interface) != nullptr &&
                            routing_.interfaces().vrf_of(interface).table == 0;
    if (std::exchange(interface.linux_only, linux_only) != linux_only) refresh(interface);
  }
  std::vector<std::string> now = lines();
  for (const std::string& line : now)
    if (std::find(masters_told_.begin(), masters_told_.end(), line) == masters_told_.end())
      spdlog::warn(line);
  masters_told_ = std::move(now);
}

// The port is opened anew under the same interfaces, whose twins, with what Linux and others have
// put there, stay. One that cannot be is tried again, as `config` says.
Result<void> InterfaceControl::remake_port(const config::PortConfig& config) {
  const std::string name = config.name;
  PortStatus gone = *plane_.port(name);
  for (const auto& [id, interface] : table_.all())
    if (interface.port_name == name && interface.has_twin) linux_->suspend_twin(id);
  update_twins();
  plane_.remove_port(name);
  auto port = plane_.add_port(config, running_.placement);
  if (!port) {
    gone.config = config;
    lose_port(gone, port.error().message);
    return tl::unexpected(port.error());
  }
  sampler_.reset_port(port->id);
  for (auto& [id, interface] : table_.all()) {
    if (interface.port_name != name) continue;
    interface.port = port->id;
    interface.up = port->up();
    const bool other_mac = interface.mac != port->mac && !interface.made_by_linux;
    // A device of Linux may have one of its own.
    if (!interface.made_by_linux || interface.mac == gone.mac) interface.mac = port->mac;
    if (interface.has_twin) linux_->resume_twin(interface);
    if (interface.bridged) (void)plane_.set_promiscuous(name, true);
    if (interface.has_twin && other_mac) (void)linux_->set_twin_mac(interface);
    if (interface.has_twin) linux_->set_twin_carrier(id, interface.up);
    interface.twin_mac = {};
    (void)routing_.update_interface(interface);
    refresh(interface);
  }
  update_mtus(*port);
  for (const auto& [id, interface] : table_.all())
    if (interface.port_name == name && interface.has_twin && interface.tags.vlan == 0)
      linux_->set_twin_mtu(id, port->mtu);
  update_twins();
  plane_.publish();
  port_gone_[name] = false;
  return {};
}

Result<void> InterfaceControl::open_as_before(const config::PortConfig& config,
                                              const std::string& driver) {
  const auto is = [&] { return plane_.port(config.name); };
  if (is() && is()->driver == driver) return {};
  if (const auto lost = lost_ports_.find(config.name); lost != lost_ports_.end())
    return fail(fmt::format("port {}: {}", config.name, lost->second.status.trouble));
  if (!is() || driver.empty()) return {};  // it was not there before either
  if (auto done = remake_port(config); !done) return done;
  if (is()->driver == driver) return {};
  return fail(fmt::format("port {}: it was {} and is {} now", config.name, driver, is()->driver));
}

// The device was deleted and made again.
bool InterfaceControl::reopen(const PortStatus& gone) {
  const std::string name = gone.name();
  Mending& mending = reopening_[name];
  const auto now = Clock::now();
  if (now < mending.due) return false;
  mending.due = now + mending.pause.pause(now);
  const config::PortConfig config = gone.config;
  if (!remake_port(config)) return false;
  notes_.add(fmt::format("port {}: {} is back and used again", name, config.device));
  return true;
}

void InterfaceControl::lose_port(const PortStatus& gone, const std::string& why) {
  const std::string name = gone.name();
  LostPort lost{gone, {}};
  lost.status.present = !why.empty();  // another device of its name
  lost.status.link = {};
  lost.status.rx_queues = lost.status.tx_queues = 0;
  if (!why.empty())
    lost.status.trouble = fmt::format("{} is back but cannot be used: {}", gone.config.device, why);
  for (const auto& [id, interface] : table_.all())
    if (interface.port_name == name) lost.ids[interface.name] = id;
  if (!why.empty()) notes_.add(fmt::format("port {}: {}", name, lost.status.trouble));
  const Mending mending = reopening_[name];
  remove_port(name);
  reopening_[name] = mending;
  lost_ports_[name] = std::move(lost);
}

std::vector<PortStatus> InterfaceControl::lost_ports() const {
  std::vector<PortStatus> all;
  for (const auto& [name, lost] : lost_ports_) all.push_back(lost.status);
  return all;
}

InterfaceId InterfaceControl::id_for(const Interface& interface) const {
  std::set<InterfaceId> kept;
  for (const auto& [port, lost] : lost_ports_) {
    for (const auto& [name, id] : lost.ids) {
      if (name == interface.name && port == interface.port_name && table_.find(id) == nullptr)
        return id;
      kept.insert(id);
    }
  }
  return table_.free_id(kept);
}

// Ports whose device refused when it was back, and NICs that were taken out.
bool InterfaceControl::retry_ports() {
  bool made = false;
  const std::map<std::string, LostPort> lost = lost_ports_;
  for (const auto& [name, port] : lost) {
    Mending& mending = reopening_[name];
    const auto now = Clock::now();
    if (now < mending.due) continue;
    mending.due = now + mending.pause.pause(now);
    const Mending kept = mending;
    const config::PortConfig& config = port.status.config;
    if (auto added = add_port(config, running_.placement); !added) {
      lost_ports_[name] = port;  // undoing it forgot both
      lost_ports_[name].status.trouble = port.status.present
                                             ? fmt::format("{} is back but cannot be used: {}",
                                                           config.device, added.error().message)
                                             : added.error().message;
      reopening_[name] = kept;
      continue;
    }
    lost_ports_.erase(name);
    update_twins();
    for (const config::NeighborConfig& neighbor : running_.config.neighbors)
      if (const Interface* on = table_.find(neighbor.interface); on && on->port_name == name)
        (void)add_neighbor(neighbor);
    for (const auto& [id, interface] : table_.all())
      if (interface.port_name == name) note_refusals(write_to_linux(interface));
    // Published at the end of the turn, with the rules and filters that hold for what comes in by it.
    notes_.add(fmt::format("port {}: {} is used again", name, config.device));
    made = true;
  }
  return made;
}

}  // namespace hecto::router
