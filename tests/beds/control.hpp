// Control without a data plane and without Linux, which are played (control_sides.hpp). Tables,
// Routing and Ipsec are the real ones.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "config/file/load.hpp"
#include "router/control/filter_control.hpp"
#include "router/control/interface_control.hpp"
#include "router/control/linux_events.hpp"
#include "router/control/notes.hpp"
#include "router/control/parts.hpp"
#include "router/control/route_control.hpp"
#include "router/control/rule_control.hpp"
#include "router/control/running.hpp"
#include "router/control/startup.hpp"
#include "router/dataplane/sampler.hpp"
#include "router/ipsec/ipsec.hpp"
#include "router/linux/mirror_base.hpp"
#include "router/rib/routing.hpp"
#include "tests/beds/addresses.hpp"
#include "tests/beds/control_sides.hpp"

namespace hecto::router::test {

inline config::Config read(const std::string& yaml) {
  auto config = config::parse(yaml, "t.yaml");
  EXPECT_TRUE(config) << (config ? "" : config.error()[0]);
  return config ? *config : config::Config{};
}

// One socket of four cores.
inline config::Topology small_box() {
  config::Topology box;
  box.sockets = {0};
  for (unsigned cpu = 0; cpu < 4; ++cpu) box.cores.push_back({cpu, {}, 0, true});
  return box;
}

class ControlBed {
 public:
  explicit ControlBed(const std::string& yaml, bool with_linux = false) {
    running.config = read(yaml);
    running.topology = small_box();
    auto placement = config::place(running.config, running.topology);
    EXPECT_TRUE(placement) << (placement ? "" : placement.error());
    if (placement) running.placement = *placement;
    if (!with_linux) return;
    interfaces.attach(linux_side);
    routes.attach(linux_side);
  }

  Parts parts() {
    return {running, plane, routing, interfaces, routes, rules, filters, ipsec, notes};
  }
  Result<void> start() {
    auto done = probe_ports(running, plane);
    return done ? bring_up(parts()) : done;
  }
  // Started, and what was said till then forgotten.
  static std::unique_ptr<ControlBed> started(const std::string& yaml, bool with_linux = false) {
    auto bed = std::make_unique<ControlBed>(yaml, with_linux);
    const auto done = bed->start();
    EXPECT_TRUE(done) << (done ? "" : done.error().message);
    bed->said.clear();
    return bed;
  }

  // Linux says so of a twin or a device.
  void link(int ifindex, bool up, uint32_t mtu = 1500) {
    events.link({ifindex, "", {}, mtu, up, up}, false);
  }
  // Where packets to the address go: an interface's name, or a reason.
  std::string way(const std::string& address) {
    routing.commit();
    const Explanation e = routing.explain(ip(address));
    if (!e.group) return "no_route";
    const lookup::NextHopRecord& record = e.group->record;
    const bool refused =
        record.kind == lookup::RecordKind::kDrop || record.kind == lookup::RecordKind::kPunt;
    if (refused) return std::string(info(static_cast<Reason>(record.reason)).name);
    return e.group->members.front().next_hop.interface_name;
  }
  const Interface& interface(const std::string& name) const {
    const Interface* found = interfaces.table().find(name);
    if (found == nullptr) throw std::invalid_argument(name);
    return *found;
  }
  // Position in what was said; the end if it was not.
  size_t at(const std::string& line) const {
    return static_cast<size_t>(std::find(said.begin(), said.end(), line) - said.begin());
  }
  size_t count(const std::string& line) const {
    return static_cast<size_t>(std::count(said.begin(), said.end(), line));
  }
  bool noted(const std::string& part) const {
    return std::any_of(notes.lines().begin(), notes.lines().end(), [&](const std::string& line) {
      return line.find(part) != std::string::npos;
    });
  }

  Said said;
  Running running;
  Notes notes;
  FakePlane plane{said};
  FakeLinux linux_side{said};
  Totals totals = empty_totals();
  Sampler sampler{[this] { return totals; }};
  std::unique_ptr<lookup::Fib4> fib4 =
      lookup::Fib4::create({}, lookup::Memory::system(), lookup::Reclaimer::none()).value();
  std::unique_ptr<lookup::Fib6> fib6 =
      lookup::Fib6::create({}, lookup::Memory::system(), lookup::Reclaimer::none()).value();
  std::unique_ptr<lookup::NextHopTable> next_hops =
      lookup::NextHopTable::create(next_hop_options(), lookup::Memory::system(),
                                   lookup::Reclaimer::none())
          .value();
  std::unique_ptr<lookup::Fib4> further4 =
      lookup::Fib4::create(further_options(), lookup::Memory::system(), lookup::Reclaimer::none())
          .value();
  std::unique_ptr<lookup::Fib6> further6 =
      lookup::Fib6::create(further_options(), lookup::Memory::system(), lookup::Reclaimer::none())
          .value();
  Routing routing{*fib4, *fib6, *next_hops, routing_options()};
  InterfaceControl interfaces{running, routing, plane, sampler, notes};
  // The clock of loads and sweeps: so much passes at each look.
  std::chrono::nanoseconds look_takes = RouteControl::kShare / 4;
  RouteControl routes{running, routing, interfaces.table(), notes,
                      [this] { return clock_ += look_takes; }};
  RuleControl rules{routing, plane};
  // What compiles filters, for tests that want it slow or failing.
  FilterJob::Compile compile_filters = FilterTables::compile;
  FilterControl filters{
      running, routing, plane, nullptr,
      [this](const config::FiltersConfig& config, const FilterSurroundings& around,
             const FilterTables* before) { return compile_filters(config, around, before); }};
  LinuxEventFanOut events{{}, routing, [this](const LinuxLink& link, bool removed) {
                            if (interfaces.follow_link(link, removed)) routes.write_to_linux();
                          }};
  Ipsec ipsec;

 private:
  static constexpr lookup::TableId kFurtherTables = 8;
  RouteControl::Clock::time_point clock_{};
  static Totals empty_totals() {
    Totals totals;
    totals.interfaces.resize(kMaxInterfaces);
    totals.workers.resize(2);
    return totals;
  }
  static lookup::NextHopOptions next_hop_options() {
    lookup::NextHopOptions options;
    options.max_groups = 512;
    options.no_route_kind = lookup::RecordKind::kPunt;
    options.no_route_reason = static_cast<uint8_t>(Reason::kNoRoute);
    return options;
  }
  static lookup::FibOptions further_options() {
    lookup::FibOptions options;
    options.engine = lookup::Engine::kTrie;
    options.tables = kFurtherTables;
    return options;
  }
  RoutingOptions routing_options() const {
    RoutingOptions options;
    options.max_groups = 512;
    options.further4 = further4.get();
    options.further6 = further6.get();
    options.further_tables = kFurtherTables;
    return options;
  }
};

}  // namespace hecto::router::test
