#include "router/control/restart_control.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "router/control/dpdk_forwarding_plane.hpp"
#include "router/control/interface_table.hpp"
#include "router/control/linux_side.hpp"
#include "router/control/notes.hpp"
#include "router/control/running.hpp"
#include "router/dataplane/tables/inherited_tables.hpp"
#include "router/dataplane/tables/tables.hpp"
#include "router/ipsec/ipsec.hpp"
#include "router/process/service/service_manager.hpp"

namespace hecto::router {

RestartControl::RestartControl(ServiceManager& service, Notes& notes)
    : service_(service), notes_(notes), state_(service) {
  if (state_.damaged())
    notes_.add(
        "restart: what the run before left is damaged or of another version: it is not forwarded "
        "by "
        "its tables, and what it wrote into Linux stays there");
}

RestartControl::~RestartControl() = default;

void RestartControl::drop_tables(const std::string& why) {
  if (!inherited_) return;
  inherited_->forget();
  inherited_.reset();
  whole_.clear();
  say_cold(why);
}

void RestartControl::say_cold(const std::string& why) {
  notes_.add("restart: the tables of the run before are not used (" + why +
             "): forwarding begins when all routes are read");
}

void RestartControl::find_tables(const std::vector<int>& sockets, uint32_t groups) {
  std::string run = state_.before() ? state_.before()->tables : std::string();
  // Before anything of them is looked at.
  if (const auto& before = state_.before();
      !run.empty() && (before->numbers.empty() || before->numbers[0] != table_layout(groups))) {
    say_cold("they are of another version of hectod, or of another tables.groups");
    run.clear();
  }
  auto found = InheritedTables::take(service_, run, sockets, groups);
  if (!found) return say_cold(found.error().message);
  inherited_ = std::move(*found);
  if (inherited_) whole_ = run;
}

void RestartControl::take_over(const Running& running, const InterfaceTable& interfaces,
                               LinuxSide* linux_side, const Tables& tables,
                               DpdkForwardingPlane& plane) {
  const RunState now = state_of(running, interfaces);
  if (linux_side != nullptr && linux_side->adopted()) {
    if (state_.before()) take_back(*state_.before(), now, interfaces, *linux_side);
    spdlog::info("restart: the interfaces of the run before are taken over");
  }
  if (inherited_ && state_.before()->numbers != now.numbers)
    drop_tables("ports or interfaces are others, or Linux has VLAN devices on them");
  if (inherited_) plane.inherit(inherited_);
  if (service_.keeps() && !tables.kept())
    notes_.add(
        "restart: there are not enough free huge pages of 2 MiB for tables that outlive it: after "
        "a "
        "restart nothing is forwarded until all routes are read");
  // Of ports that the file has no more.
  for (const std::string& name : service_.kept()) {
    service_.forget(name);
    (void)service_.take(name);
  }
}

void RestartControl::watch(const Running& running, const InterfaceTable& interfaces,
                           DpdkForwardingPlane& plane) {
  if (!inherited_ || state_of(running, interfaces).numbers == state_.before()->numbers) return;
  plane.inherit(nullptr);
  drop_tables("ports or interfaces have changed since the start");
}

void RestartControl::tables_known(const Tables& tables, DpdkForwardingPlane& plane,
                                  const Running& running, const InterfaceTable& interfaces,
                                  const Ipsec& ipsec) {
  whole_ = tables.kept() ? tables.run() : std::string();
  keep(running, interfaces, ipsec, When::kRunning);  // before those that it named are let go of
  if (!inherited_) return;
  plane.inherit(nullptr);
  inherited_->forget();
  inherited_.reset();
  spdlog::info("restart: all is read; forwarding by it");
}

void RestartControl::foresee(const config::Config& wanted) {
  if (!state_.before()) return;
  RunState both = *state_.before();
  for (const config::PortConfig& port : wanted.ports) {
    for (const lookup::IpPrefix& address : port.addresses)
      both.addresses.push_back({port.name, address});
    for (const config::VlanConfig& vlan : port.vlans)
      for (const lookup::IpPrefix& address : vlan.addresses)
        both.addresses.push_back({config::interface_name(port.name, vlan), address});
  }
  for (const config::NeighborConfig& neighbor : wanted.neighbors)
    both.neighbors.push_back({neighbor.interface, neighbor.address});
  state_.keep(both);
}

std::vector<SaNumbers> RestartControl::sa_numbers() const {
  return state_.before() ? state_.before()->sas : std::vector<SaNumbers>();
}

void RestartControl::keep(const Running& running, const InterfaceTable& interfaces,
                          const Ipsec& ipsec, When when) {
  if (!service_.keeps()) return;
  RunState now = state_of(running, interfaces);
  now.sas = ipsec.sa_numbers();
  if (when == When::kRunning)
    for (SaNumbers& numbers : now.sas) numbers.sequence += SaNumbers::kReserve;
  now.tables = rules_hold_ ? std::string() : whole_;
  state_.keep(now);
}

}  // namespace hecto::router
