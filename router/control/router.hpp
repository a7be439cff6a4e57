// hectod's heart: the control thread. It takes events from Linux, orders from the API and the
// clock, one at a time, and is the only writer of what the workers read.
//
//   netlink ─┐
//   API ─────┼─► run(): one event at a time ─► InterfaceControl, RouteControl, IpsecControl, …
//   timers ──┘                                   └► Routing (tables) and ForwardingPlane
//   (snapshots)
//
// Router keeps the turn and the order of birth; what is done in a turn is its objects' business
// (README.md).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/result.hpp"
#include "router/control/commands.hpp"
#include "router/control/route_files.hpp"
#include "router/control/turn_times.hpp"

namespace hecto::config {
struct Config;
struct Placement;
struct Topology;
}  // namespace hecto::config

namespace hecto::router {

class BridgeControl;
class CaptureControl;
class CarrierNews;
class Dataplane;
class DpdkForwardingPlane;
class FlowControl;
class Eal;
class FilterControl;
class Gate;
class InstanceLocks;
class InterfaceControl;
class Ipsec;
class IpsecControl;
class LateRouteFiles;
class LinuxEventFanOut;
class LinuxNamespace;
class Liveness;
class MemifGuard;
class NatControl;
class NeighborControl;
class Notes;
class Offload;
class OffloadWatch;
class PersistControl;
class PuntControl;
class ReloadControl;
class ReorderWatch;
class RestartControl;
class RouteControl;
class RuleControl;
class SampleControl;
class Routing;
class Sampler;
class SpreadControl;
class ServiceManager;
class Tables;
class TunnelControl;
class LabelControl;
class XfrmControl;
struct Parts;
struct Running;
struct SaNumbers;

class Router {
 public:
  static constexpr int kTick_ms = 50;  // of housekeeping
  // Brings everything up but the workers. Errors are one line for the operator. `topology`: the
  // box, for who wants another view of it than this machine's.
  // `locks`, those of the configuration (instance.hpp), outlives it; null: nothing is locked.
  // `service` as well, which keeps for the next run what can outlive this one; null: nobody does.
  static Result<std::unique_ptr<Router>> create(const config::Config& config,
                                                InstanceLocks* locks = nullptr);
  static Result<std::unique_ptr<Router>> create(const config::Config& config,
                                                config::Topology topology,
                                                InstanceLocks* locks = nullptr,
                                                ServiceManager* service = nullptr);
  ~Router();
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  void run();            // until stop(); the calling thread becomes control
  void stop() noexcept;  // from any thread or a signal handler
  Commands& commands() { return commands_; }

  // Control thread only, from here on.
  ReloadControl& reloads() { return *reloads_; }
  FilterControl& filters() { return *filters_; }
  Parts parts();
  void publish_ipsec();  // what was added and removed there; else done at the end of each turn

  const Running& running() const { return *running_; }
  const config::Config& config() const;
  const config::Placement& placement() const;
  std::chrono::seconds uptime() const;
  std::vector<std::string> warnings() const;

  InterfaceControl& interfaces() { return *interfaces_; }
  RouteControl& routes() { return *routes_; }
  PersistControl& persist() { return *persist_; }
  CaptureControl& captures() { return *captures_; }
  SampleControl& samples() { return *samples_; }
  IpsecControl& ipsec_control() { return *ipsec_; }
  Ipsec& ipsec();
  Tables& tables() { return *tables_; }
  Routing& routing();
  Dataplane& dataplane();
  DpdkForwardingPlane& plane() { return *plane_; }
  const Gate& gate() const { return *gate_; }
  const TurnTimes& times() const { return times_; }
  const Sampler& sampler() const { return *sampler_; }
  const OffloadWatch& offload_watch() const { return *offload_watch_; }
  const ReorderWatch& reorder_watch() const { return *reorder_watch_; }
  const NatControl& nat() const { return *nat_; }
  const Offload* offload() const { return offload_.get(); }
  const std::string& offload_found() const { return offload_found_; }
  FlowControl& flows() { return *flows_; }
  const BridgeControl* bridges() const { return bridges_.get(); }
  const TunnelControl* tunnels() const { return tunnels_.get(); }
  const LabelControl* labels() const { return labels_.get(); }
  const LinuxNamespace* linux_side() const { return linux_.get(); }

 private:
  Router(const config::Config& config, config::Topology topology, ServiceManager* service);

  // In this order.
  Result<void> start_environment();
  Result<void> start_tables();
  void start_interfaces();
  Result<void> start_linux_side();
  Result<void> start_xfrm();
  std::vector<SaNumbers> continue_sas();
  Result<void> read_left_out_files();  // of bring_up()
  void log_start();

  void turn(int timeout_ms);
  void housekeeping();
  void watch(int fd);
  void rest_mirror(bool rest);
  template <typename Mirror>
  bool read_mirror(Mirror& mirror);  // true: there may be more
  void watch_ipsec();
  void read_left_out_policies();
  void update_gate();
  void sweep_linux();
  void watch_for_trouble();

  const std::unique_ptr<ServiceManager> nobody_;
  ServiceManager& service_;
  std::unique_ptr<Running> running_;
  std::unique_ptr<Notes> notes_;
  std::unique_ptr<ReloadControl> reloads_;
  std::unique_ptr<RestartControl> restart_;
  std::unique_ptr<Gate> gate_;
  std::unique_ptr<LateRouteFiles> late_files_;
  std::unique_ptr<OffloadWatch> offload_watch_;
  std::unique_ptr<ReorderWatch> reorder_watch_;
  std::unique_ptr<NatControl> nat_;
  TurnTimes times_;
  std::atomic<bool> stop_{false};
  Commands commands_;
  FileDescriptor poll_, timer_;
  std::unique_ptr<CarrierNews> carriers_;
  bool mirror_rests_ = false;
  uint64_t ticks_ = 0;
  bool ran_ = false;
  bool namespace_lost_ = false, small_pages_told_ = false;
  bool answered_ = false;  // the API, once
  bool swept_ = false;     // Linux, of what an earlier run left
  bool tables_known_ = false;

  // In the order of birth: what comes later goes first.
  std::unique_ptr<Eal> eal_;
  std::unique_ptr<Tables> tables_;
  std::unique_ptr<MemifGuard> memif_guard_;
  std::unique_ptr<Offload> offload_;  // null without a device
  std::string offload_found_;         // devices, or why there is none
  std::unique_ptr<IpsecControl> ipsec_;
  std::unique_ptr<DpdkForwardingPlane> plane_;  // probes ports before the tables are there
  std::unique_ptr<Sampler> sampler_;
  std::unique_ptr<Liveness> liveness_;
  std::unique_ptr<SpreadControl> spread_;
  std::unique_ptr<InterfaceControl> interfaces_;
  std::unique_ptr<RouteControl> routes_;
  std::unique_ptr<RuleControl> rules_;
  std::unique_ptr<FilterControl> filters_;
  std::unique_ptr<FlowControl> flows_;
  std::unique_ptr<PersistControl> persist_;
  std::unique_ptr<CaptureControl> captures_;
  std::unique_ptr<SampleControl> samples_;
  std::unique_ptr<LinuxEventFanOut> linux_events_;
  std::unique_ptr<LinuxNamespace> linux_;       // null: static mode
  std::unique_ptr<BridgeControl> bridges_;      // null: static mode
  std::unique_ptr<TunnelControl> tunnels_;      // likewise
  std::unique_ptr<LabelControl> labels_;        // likewise
  std::unique_ptr<NeighborControl> neighbors_;  // null: static mode
  std::unique_ptr<PuntControl> punt_;           // null: static mode
  std::unique_ptr<XfrmControl> xfrm_;           // null where Linux has none, or it is not wanted
};

}  // namespace hecto::router
