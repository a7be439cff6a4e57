// The flow table between the API and the workers: its entries, by names of interfaces, and when their
// time is over. docs/flows.md.
//
//   API ─► add(), erase() ─► FlowTables ◄─ workers
//   file, interfaces ─► tick() ─► FlowView ─► ForwardingPlane::set_flows()
//
// Entries are kept till `flows.entries` changes or the table is off. Control only.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "config/file/flows.hpp"
#include "router/dataplane/flow/flow_compile.hpp"

namespace hecto::router {

class ForwardingPlane;
class InterfaceTable;
class Notes;
class Routing;

class FlowControl {
 public:
  static constexpr std::chrono::microseconds kMostExpiry{2000};  // a turn

  // All outlive it.
  FlowControl(const InterfaceTable& interfaces, Routing& routing, ForwardingPlane& plane,
              Notes& notes)
      : interfaces_(interfaces), routing_(routing), plane_(plane), notes_(notes) {}

  void follow(const config::FlowsConfig& wanted);  // each turn: the file's, and what interfaces are
  void tick(uint32_t now_s);                       // some times a second; of any clock that goes on

  // All or none; `which`, of an error: the first that is wrong. ENOENT: the table is off, or there is no
  // such entry.
  Result<void> add(std::span<const config::FlowConfig> flows, size_t* which);
  Result<void> erase(std::span<const config::FlowConfig> flows, size_t* which);
  Result<size_t> erase_all();

  bool on() const { return tables_ != nullptr; }
  const config::FlowsConfig& config() const { return config_; }
  FlowTables* tables() { return tables_.get(); }       // null: it is off
  uint64_t generation() const { return generation_; }  // another with each table
  // Asked of each entry before it goes, while its numbers still hold.
  using Gone = std::function<void(const FlowTables& tables, const FlowId& id)>;
  void watch(Gone gone) { gone_ = std::move(gone); }
  config::FlowConfig describe(const FlowTables::Status& status) const;

 private:
  FlowPlace place_of(const std::string& interface);  // 0: there is no room for more names
  Result<FlowPlace> place_of_interface(const std::string& interface);
  Result<FlowOrder> compile(const config::FlowConfig& flow);
  void make_tables();
  std::shared_ptr<FlowView> view();

  const InterfaceTable& interfaces_;
  Routing& routing_;
  ForwardingPlane& plane_;
  Notes& notes_;
  config::FlowsConfig config_;
  uint64_t interfaces_version_ = 0;
  bool changed_ = true;
  std::shared_ptr<FlowTables> tables_;
  uint64_t generation_ = 0;
  Gone gone_;
  std::optional<FilterMark> mark_;
  std::map<std::string, FlowPlace> places_;
  std::vector<std::string> names_{""};  // by place
  uint32_t now_s_ = 1;
};

}  // namespace hecto::router
