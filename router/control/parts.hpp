// What startup and reload work on: the objects of control, which own their state. Control only.
#pragma once

namespace hecto::router {

class FilterControl;
class ForwardingPlane;
class InterfaceControl;
class Ipsec;
class Notes;
class RouteControl;
class Routing;
class RuleControl;
struct Running;

struct Parts {
  Running& running;
  ForwardingPlane& plane;
  Routing& routing;
  InterfaceControl& interfaces;
  RouteControl& routes;
  RuleControl& rules;
  FilterControl& filters;
  Ipsec& ipsec;
  Notes& notes;
};

}  // namespace hecto::router
