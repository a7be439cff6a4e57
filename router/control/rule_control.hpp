// Linux's policy rules on their way to the workers: compiled anew whenever they, or the interfaces
// that they name, are others.
//
//   Routing::rules() ─► RuleTable ─► ForwardingPlane::set_rules()
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

namespace hecto::router {

class ForwardingPlane;
class Routing;

class RuleControl {
 public:
  // Both outlive it.
  RuleControl(const Routing& routing, ForwardingPlane& plane) : routing_(routing), plane_(plane) {}

  // Each turn, once all that Linux has is known.
  void tick();
  bool any() const { return any_; }  // others than Linux begins with
  // For the operator.
  std::vector<std::string> lines() const;

 private:
  using InterfaceNames = std::map<std::string, InterfaceId>;
  bool same_interfaces() const;
  bool compile();

  const Routing& routing_;
  ForwardingPlane& plane_;
  std::optional<uint64_t> version_;  // of the rules that workers have
  InterfaceNames named_;             // by rules, and what they were when these were compiled
  bool any_ = false;
  std::string trouble_;  // empty: none
  std::string told_;
};

}  // namespace hecto::router
