// Linux as control's objects and `show` see it: the TAP twins, and what is written into the
// kernel. LinuxNamespace is the real one; tests bring their own. There is none in static mode.
// Control only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "router/control/interface_table.hpp"
#include "router/linux/switches.hpp"
#include "router/linux/tap.hpp"

struct rte_mempool;

namespace hecto::router {

struct MirrorStats;

class LinuxSide {
 public:
  virtual ~LinuxSide() = default;

  // A TAP for the interface, up, with its MAC and MTU; its ifindex.
  virtual Result<int> make_twin(const Interface& interface) = 0;
  // Back to what it was made with, by its index.
  virtual Result<void> set_twin_name(const Interface& interface) = 0;
  virtual Result<void> set_twin_mac(const Interface& interface) = 0;
  // While its port is opened anew: out of the slow path with the next deliver(), and back with the
  // one after resume_twin(), over the port that the interface has then.
  virtual void suspend_twin(InterfaceId id) = 0;
  virtual void resume_twin(const Interface& interface) = 0;
  // The device goes once the slow path has let go of it, too: after the next deliver().
  virtual void remove_twin(InterfaceId id) = 0;
  virtual void set_twin_mtu(InterfaceId id, uint16_t mtu) = 0;
  virtual void set_twin_carrier(InterfaceId id, bool carrier) = 0;
  virtual bool twin_gone(InterfaceId id) const = 0;  // somebody deleted it
  // As it is now: news of it may be older. Empty: there is none in the namespace.
  virtual std::optional<TapState> twin_state(InterfaceId id) const = 0;
  // The slow path delivers to these interfaces' twins from now on.
  virtual void deliver(const InterfaceTable& interfaces) = 0;

  // What the sysctls say of interfaces, by name, in order.
  virtual Result<SwitchesOfAll> switches(const std::vector<std::string>& names) const = 0;

  virtual Result<LabelSwitches> label_switches() const { return LabelSwitches{}; }  // net.mpls
  virtual void read_labels(const std::string& /*why*/) {}  // their routes, again

  virtual Result<void> add_address(int ifindex, const IpPrefix& address) = 0;
  virtual Result<void> remove_address(int ifindex, const IpPrefix& address) = 0;
  virtual Result<void> set_permanent_neighbor(int ifindex, const IpAddress& address,
                                              const MacAddress& mac) = 0;
  virtual Result<void> remove_neighbor(int ifindex, const IpAddress& address) = 0;
  // A bridge's station was heard on its port.
  virtual Result<void> hear_station(int /*port*/, uint16_t /*vlan*/, const MacAddress&) {
    return {};
  }
  virtual Result<void> probe_neighbor(int ifindex, const IpAddress& address) = 0;
  // Each refusal is a line for the log.
  virtual std::vector<std::string> write_routes(const std::vector<Route>& routes, bool remove) = 0;

  // Twins of an earlier run are taken over: what that run wrote into the kernel is still there.
  virtual bool adopted() const { return false; }
  // Often: adopted twins get the carrier of their ports once those have had time to come up.
  virtual void settle() {}
  // Removes the routes of an earlier run that are not as `wanted`; how many.
  virtual Result<size_t> sweep_routes(const std::vector<Route>& /*wanted*/) { return 0; }

  virtual const std::string& name() const = 0;  // of the namespace
  // An error when its name stands for another namespace by now.
  virtual Result<void> check() const = 0;
  virtual const MirrorStats& mirror_stats() const = 0;
  virtual bool mirror_synchronized() const = 0;
  // Frames from Linux for which the pool had nothing.
  virtual uint64_t frames_without_mbuf(const rte_mempool* pool) const = 0;
};

}  // namespace hecto::router
