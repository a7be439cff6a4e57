// The router's hold on Linux: its namespace, the TAP twins, the mirror that reads and the requests
// that write. Control only; a twin's frames belong to the slow path.
//
// With a service manager that keeps descriptors, twins and namespace outlive the process (names
// "twin-INTERFACE"): the next one adopts them as they are, with their index, addresses, routes and
// carrier, and nobody in the namespace hears of the restart. What is stale then is swept later.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <set>

#include "config/file/config.hpp"
#include "router/control/linux_side.hpp"
#include "router/linux/mirror.hpp"
#include "router/linux/requests.hpp"

namespace hecto::router {

class Dataplane;
class Notes;
class ServiceManager;
struct Twin;

class LinuxNamespace final : public LinuxSide {
 public:
  // All four outlive it. `events` hears what the mirror reads, in process().
  static Result<std::unique_ptr<LinuxNamespace>> open(const config::LinuxConfig& config,
                                                      Dataplane& dataplane, Notes& notes,
                                                      LinuxEvents& events, ServiceManager& service);
  ~LinuxNamespace() override;
  LinuxNamespace(const LinuxNamespace&) = delete;
  LinuxNamespace& operator=(const LinuxNamespace&) = delete;

  int fd() const { return mirror_->fd(); }  // readable when process() has something to do
  Result<size_t> process(size_t messages) { return mirror_->process(messages); }
  const NetworkNamespace& space() const { return space_; }
  // Linux's IPsec leaves alone what passes the twins that are made from now on.
  void exempt_twins_from_xfrm() { exempt_from_xfrm_ = true; }

  Result<int> make_twin(const Interface& interface) override;
  Result<void> set_twin_name(const Interface& interface) override;
  Result<void> set_twin_mac(const Interface& interface) override;
  void suspend_twin(InterfaceId id) override { suspended_.insert(id); }
  void resume_twin(const Interface& interface) override;
  void remove_twin(InterfaceId id) override;
  void set_twin_mtu(InterfaceId id, uint16_t mtu) override;
  void set_twin_carrier(InterfaceId id, bool carrier) override;
  bool twin_gone(InterfaceId id) const override;
  std::optional<TapState> twin_state(InterfaceId id) const override;
  void deliver(const InterfaceTable& interfaces) override;

  Result<SwitchesOfAll> switches(const std::vector<std::string>& names) const override {
    return read_switches(space_, names);
  }
  Result<LabelSwitches> label_switches() const override { return read_label_switches(space_); }
  void read_labels(const std::string& why) override { mirror_->read_labels(why); }
  Result<void> add_address(int ifindex, const IpPrefix& address) override;
  Result<void> remove_address(int ifindex, const IpPrefix& address) override;
  Result<void> set_permanent_neighbor(int ifindex, const IpAddress& address,
                                      const MacAddress& mac) override;
  Result<void> remove_neighbor(int ifindex, const IpAddress& address) override;
  Result<void> hear_station(int port, uint16_t vlan, const MacAddress& mac) override;
  Result<void> probe_neighbor(int ifindex, const IpAddress& address) override;
  std::vector<std::string> write_routes(const std::vector<Route>& routes, bool remove) override;
  bool adopted() const override { return adopted_; }
  void settle() override;
  Result<size_t> sweep_routes(const std::vector<Route>& wanted) override;

  const std::string& name() const override { return space_.name(); }
  Result<void> check() const override { return space_.check(); }
  const MirrorStats& mirror_stats() const override { return mirror_->stats(); }
  bool mirror_synchronized() const override { return mirror_->synchronized(); }
  bool mirror_known() const { return mirror_->known(); }  // its first reading has ended
  uint64_t frames_without_mbuf(const rte_mempool* pool) const override;

 private:
  LinuxNamespace(NetworkNamespace space, NetlinkRequests requests, Dataplane& dataplane,
                 Notes& notes, ServiceManager& service);
  Result<Tap> tap_for(const Interface& interface);
  std::optional<Tap> adopt_tap(const TapOptions& options);
  bool holds_carrier(InterfaceId id) const;

  NetworkNamespace space_;
  NetlinkRequests requests_;
  Dataplane& dataplane_;
  Notes& notes_;
  ServiceManager& service_;
  const bool adopted_;
  const std::chrono::steady_clock::time_point opened_ = std::chrono::steady_clock::now();
  std::map<InterfaceId, bool> carriers_;  // of adopted twins, as their ports said; not told yet
  bool exempt_from_xfrm_ = false;
  std::map<InterfaceId, std::shared_ptr<Twin>> twins_;
  std::set<InterfaceId> suspended_;
  std::unique_ptr<NetlinkMirror> mirror_;
};

}  // namespace hecto::router
