// hectod's heart: the control thread. It owns everything, takes events from Linux, orders from the
// API and the clock, and is the only writer of what the workers read.
//
//   netlink ─┐
//   API ─────┼─► run(): one event at a time ─► Routing (tables) and Dataplane (snapshots)
//   timers ──┘
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/secret_memory.hpp"
#include "config/box/topology.hpp"
#include "config/file/config.hpp"
#include "config/file/diff.hpp"
#include "config/placement/placement.hpp"
#include "router/control/commands.hpp"
#include "router/control/interface_table.hpp"
#include "router/control/linux_side.hpp"
#include "router/dataplane/dataplane.hpp"
#include "router/dataplane/nic_crypto/sessions.hpp"
#include "router/dataplane/observe/reader.hpp"
#include "router/dataplane/offload/offload.hpp"
#include "router/dataplane/ports/eal.hpp"
#include "router/dataplane/sampler.hpp"
#include "router/dataplane/tables/tables.hpp"
#include "router/ipsec/ipsec.hpp"
#include "router/linux/xfrm/xfrm_mirror.hpp"
#include "router/linux/xfrm/xfrm_requests.hpp"
#include "router/linux/xfrm/xfrm_use.hpp"

namespace hecto::router {

void keep_worker_ids(config::Placement& placement, const config::Placement& running);

class Router {
 public:
  // Brings everything up but the workers. Errors are one line for the operator. `topology`: the
  // box, for who wants another view of it than this machine's.
  static Result<std::unique_ptr<Router>> create(const config::Config& config);
  static Result<std::unique_ptr<Router>> create(const config::Config& config,
                                                config::Topology topology);
  ~Router();
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  void run();            // until stop(); the calling thread becomes control
  void stop() noexcept;  // from any thread or a signal handler
  Commands& commands() { return commands_; }

  // Control thread only, from here on.
  const config::Config& config() const { return config_; }
  const config::Topology& topology() const { return topology_; }
  const config::Placement& placement() const { return placement_; }
  Tables& tables() { return *tables_; }
  Routing& routing() { return tables_->routing(); }
  Dataplane& dataplane() { return *dataplane_; }
  InterfaceTable& interfaces() { return interfaces_; }
  const Sampler& sampler() const { return *sampler_; }
  const Offload* offload() const { return offload_.get(); }
  Ipsec& ipsec() { return *ipsec_; }
  const NicSessions* nic() const { return nic_.get(); }
  void publish_ipsec();  // what was added and removed there; else done at the end of each turn
  const std::string& ipsec_found() const { return ipsec_found_; }
  const std::string& offload_found() const { return offload_found_; }
  const LinuxSide* linux_side() const { return linux_side_.get(); }
  std::chrono::seconds uptime() const;
  int64_t loaded_unix_s() const { return loaded_unix_s_; }
  std::vector<std::string> warnings() const;

  // The wanted configuration, whole or not at all. Returns the changes in words, or the problems.
  tl::expected<std::vector<std::string>, std::vector<std::string>> reload(
      const config::Config& wanted);

  Result<bool> add_route(const config::RouteConfig& route, RouteOrigin origin);
  Result<void> remove_route(const IpPrefix& prefix, uint32_t metric, RouteOrigin origin);
  // Goes on over several turns; `done` runs on the control thread.
  void load_routes(std::shared_ptr<const RouteTable> table, const LoadOptions& options,
                   std::function<void(Result<LoadCounts>)> done);
  void set_trace(std::shared_ptr<TraceSession> trace);
  // capture/control.cpp: one at a time; the number tells it from those before. `buffer_bytes`: of
  // all threads together.
  Result<uint32_t> start_capture(CaptureOptions options, size_t buffer_bytes);
  std::shared_ptr<CaptureReader> capture(uint32_t id) const;  // null: there is no such
  void stop_capture();                                        // takes no more; it can still be read
  void end_capture();
  // All SAs' keys, in Wireshark's words; refused unless the file allows it.
  Result<std::shared_ptr<const SecretBytes>> esp_keys() const;
  Result<NextHop> next_hop(const config::NextHopConfig& config);

 private:
  Router(const config::Config& config, config::Topology topology);

  // startup.cpp
  Result<void> start_environment();
  Result<void> probe_ports(std::vector<std::unique_ptr<Port>>& ports);
  Result<void> start_tables();
  Result<void> start_linux_side();
  void watch(int fd);
  Result<void> bring_up(std::unique_ptr<Port> port);
  void apply_settings();
  Result<void> apply_static_state();
  Result<void> load_route_files();
  Result<void> load_route_file(const std::string& file, std::shared_ptr<const RouteTable> table);
  void log_start();

  // interfaces.cpp
  Result<void> add_interfaces(Port& port, const config::PortConfig& config);
  Result<Interface*> add_interface(Interface interface);
  void remove_interface(InterfaceId id);
  void update_twins();
  void refresh_interface(Interface& interface);  // what depends on links
  void poll_links();
  void update_mtus(const Port& port);
  void on_linux_link(const LinuxLink& link, bool removed);
  void adopt_vlan_device(const LinuxLink& link);
  void restore_linux_state(const Interface& interface);

  // reload.cpp
  struct Rollback;
  Result<void> add_ports(const config::Config& wanted, const config::Difference& difference,
                         Rollback& rollback);
  Result<void> change_mtus(const config::Difference& difference, Rollback& rollback);
  config::Placement place_beside(const config::Config& wanted, const std::string& port,
                                 std::string& error) const;
  std::vector<std::string> check_references(const config::Config& wanted,
                                            const config::Difference& difference);
  void change_port(const config::PortConfig& wanted);
  void remove_port(const std::string& name);

  // routes.cpp
  Result<Route> route_of(const config::RouteConfig& config, RouteOrigin origin);
  void write_file_routes(const std::vector<config::RouteConfig>& routes, bool remove);
  Result<std::shared_ptr<const RouteTable>> read_route_file(const std::string& path);
  void continue_loads();

  // ipsec.cpp
  std::optional<IpsecStages::Options> start_ipsec();
  Result<void> mirror_ipsec();
  void start_nic_crypto();
  void commit_ipsec();
  void watch_ipsec();  // once a second
  void report_usage();
  void follow_policies();

  // router.cpp
  void turn(int timeout_ms);
  void housekeeping();
  void probe_stale_neighbors();
  void watch_for_trouble();
  void watch_capture();
  void publish_if_dirty();
  void note(const std::string& line);

  config::Config config_;
  config::Topology topology_;
  config::Placement placement_;
  int64_t loaded_unix_s_ = 0;
  std::chrono::steady_clock::time_point started_;
  std::atomic<bool> stop_{false};
  Commands commands_;
  FileDescriptor poll_, timer_;

  // In the order of birth: what comes later goes first.
  std::unique_ptr<Eal> eal_;
  std::unique_ptr<Tables> tables_;
  std::unique_ptr<Offload> offload_;  // null without a device
  std::string offload_found_;         // devices, or why there is none
  std::unique_ptr<NicSessions> nic_;  // null: NICs are to do no crypto
  std::unique_ptr<Ipsec> ipsec_;
  std::atomic<uint32_t> now_s_{0};  // the clock of SAs' lifetimes, for workers too
  std::string ipsec_found_;         // what encrypts, or why nothing does
  std::unique_ptr<Dataplane> dataplane_;
  InterfaceTable interfaces_;
  std::unique_ptr<FilteredEvents> events_;
  std::unique_ptr<LinuxSide> linux_side_;
  std::unique_ptr<XfrmMirror> xfrm_mirror_;    // null where Linux has none, or it is not wanted
  std::optional<XfrmRequests> xfrm_requests_;  // with the mirror
  std::optional<XfrmUse> xfrm_use_;
  using PolicyTag = std::pair<PolicyDirection, uint32_t>;  // and Linux's index
  std::map<PolicyTag, uint64_t> policy_packets_;
  std::map<SaId, uint64_t> reported_packets_;  // of Linux's SAs
  std::unique_ptr<Sampler> sampler_;
  std::shared_ptr<CaptureReader> capture_;  // null: none; API threads may hold it longer
  uint32_t capture_id_ = 0;

  struct PendingLoad {
    LoadId id;
    std::function<void(Result<LoadCounts>)> done;
  };
  std::list<PendingLoad> loads_;
  std::map<std::string, LoadId> file_loads_;  // by route file
  bool snapshot_dirty_ = false;
  bool namespace_lost_ = false;
  bool checksums_told_ = false;
  std::map<std::string, bool> port_gone_;
  uint64_t ticks_ = 0;
  std::vector<std::string> notes_;  // warnings of the running router
};

}  // namespace hecto::router
