// Policy rules on their way to the workers: Linux's, in static mode the file's. Compiled anew whenever
// they, or the interfaces that they name, are others.
//
//   file ─┐
//         ├─► Routing::rules(), VRFs ─► RuleTable ─► ForwardingPlane::set_rules()
//   Linux ┘                   └─► lines(): what Linux forwards for their sake
//
// Control only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/net.hpp"
#include "base/result.hpp"
#include "router/rib/rule_table.hpp"

namespace hecto::config {
struct Config;
}

namespace hecto::router {

class ForwardingPlane;
class Routing;

class RuleControl {
 public:
  // Both outlive it.
  RuleControl(Routing& routing, ForwardingPlane& plane) : routing_(routing), plane_(plane) {}

  // Static mode: the file's rules, and that of VRFs while it has some or an interface is in one, from
  // now on. Before the interfaces that come with them are published, or their packets would be main's.
  // An error: packets go by the rules of before.
  Result<void> follow(const config::Config& config);
  // Each turn, once all that Linux has is known. `marks`: the file's filters give packets some.
  void tick(bool marks);
  bool any() const { return any_; }  // others than Linux begins with
  // For the operator.
  std::vector<std::string> lines() const;

 private:
  using InterfaceNames = std::map<std::string, InterfaceId>;
  std::vector<RuleSurroundings::VrfMember> vrf_members() const;
  std::vector<RuleTables::InVrf> ipsec_in_vrfs() const;  // by the members of now
  bool same_interfaces() const;
  void tick();
  bool compile();

  Routing& routing_;  // which makes tables that rules name
  ForwardingPlane& plane_;
  std::optional<uint64_t> version_;     // of the rules that workers have
  uint64_t interfaces_version_ = 0;     // that they were compiled with
  std::vector<uint32_t> without_room_;  // tables, the same
  InterfaceNames named_;                // by rules, and what they were when these were compiled
  std::vector<RuleSurroundings::VrfMember> members_;  // of VRFs, the same
  std::vector<RuleTables::InVrf> ipsec_;              // the same
  bool any_ = false;
  bool marks_ = false;   // that they were compiled with
  std::string trouble_;  // empty: none
  std::string told_;
};

}  // namespace hecto::router
