// What goes from one run of the service to the next, beside the twins (LinuxNamespace): what was
// written into Linux, and the tables, by which packets are forwarded while this run reads its own.
//
//   store ─► find_tables() ─► take_over(): the same ports and numbers? ─► workers use them
//                                   └► Linux loses what the file has no more
//   all routes known ─► tables_known() ─► workers use this run's; those are what the next inherits
//
// Control only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "router/control/run_state.hpp"

namespace hecto::config {
struct Config;
}

namespace hecto::router {

class DpdkForwardingPlane;
class InheritedTables;
class InterfaceTable;
class Ipsec;
class LinuxSide;
class Notes;
class ServiceManager;
class Tables;
struct Running;

class RestartControl {
 public:
  // Both outlive it.
  RestartControl(ServiceManager& service, Notes& notes);
  ~RestartControl();

  // Before this run makes its own.
  void find_tables(const std::vector<int>& sockets, uint32_t groups);
  // Before the file is applied: a start that fails halfway leaves what it wrote to the next.
  void foresee(const config::Config& wanted);
  // When ports, interfaces and twins are there. `linux_side` is null in static mode.
  void take_over(const Running& running, const InterfaceTable& interfaces, LinuxSide* linux_side,
                 const Tables& tables, DpdkForwardingPlane& plane);
  // They cannot be used after all; said where there are some.
  void drop_tables(const std::string& why);
  bool inherits() const { return inherited_ != nullptr; }  // tables, and uses them
  // Each turn: they go when a port or an interface is not what it was.
  void watch(const Running& running, const InterfaceTable& interfaces, DpdkForwardingPlane& plane);
  // This run's are whole from here on.
  void tables_known(const Tables& tables, DpdkForwardingPlane& plane, const Running& running,
                    const InterfaceTable& interfaces, const Ipsec& ipsec);
  // Where policy rules hold, tables alone do not say how packets go: the next run does without.
  void rules_hold(bool some) { rules_hold_ = some; }
  std::vector<SaNumbers> sa_numbers() const;  // of the run before
  // Writes down what has changed, for the next run; numbers of SAs with a reserve, but at the end,
  // when no worker gives out any more.
  enum class When { kRunning, kEnded };
  void keep(const Running& running, const InterfaceTable& interfaces, const Ipsec& ipsec,
            When when);

 private:
  void say_cold(const std::string& why);

  ServiceManager& service_;
  Notes& notes_;
  RunStateKeeper state_;
  std::shared_ptr<const InheritedTables> inherited_;
  std::string whole_;  // the run whose tables are
  bool rules_hold_ = false;
};

}  // namespace hecto::router
