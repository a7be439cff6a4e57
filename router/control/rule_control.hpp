// Linux's policy rules on their way to the workers: compiled anew whenever they, or the interfaces
// that they name, are others.
//
//   Routing::rules(), VRFs ─► RuleTable ─► ForwardingPlane::set_rules()
//                   └─► lines(): what Linux forwards for their sake
//
// Control only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/net.hpp"
#include "router/rib/rule_table.hpp"

namespace hecto::router {

class ForwardingPlane;
class Routing;

class RuleControl {
 public:
  // Both outlive it.
  RuleControl(Routing& routing, ForwardingPlane& plane) : routing_(routing), plane_(plane) {}

  // Each turn, once all that Linux has is known.
  void tick();
  bool any() const { return any_; }  // others than Linux begins with
  // For the operator.
  std::vector<std::string> lines() const;

 private:
  using InterfaceNames = std::map<std::string, InterfaceId>;
  std::vector<RuleSurroundings::VrfMember> vrf_members() const;
  bool same_interfaces() const;
  bool compile();

  Routing& routing_;  // which makes tables that rules name
  ForwardingPlane& plane_;
  std::optional<uint64_t> version_;     // of the rules that workers have
  uint64_t interfaces_version_ = 0;     // that they were compiled with
  std::vector<uint32_t> without_room_;  // tables, the same
  InterfaceNames named_;                // by rules, and what they were when these were compiled
  std::vector<RuleSurroundings::VrfMember> members_;  // of VRFs, the same
  bool any_ = false;
  std::string trouble_;  // empty: none
  std::string told_;
};

}  // namespace hecto::router
