// Ports, pools, workers and the slow path, and the snapshots that tie them together. Control's
// handle on everything below the line: it prepares a change, publishes it, and waits for nobody
// but readers that must let go of something before it is destroyed.
//
// Owned and called by the control thread.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "config/file/config.hpp"
#include "config/placement/placement.hpp"
#include "router/dataplane/explain_packet.hpp"
#include "router/dataplane/pool_feeds.hpp"
#include "router/dataplane/port_spread.hpp"
#include "router/dataplane/ports/mempool.hpp"
#include "router/dataplane/ports/port.hpp"
#include "router/dataplane/slow_path.hpp"
#include "router/dataplane/snapshot_builder.hpp"
#include "router/dataplane/stages/ipsec_stages.hpp"
#include "router/dataplane/tables/tables.hpp"
#include "router/dataplane/transmit_queues.hpp"
#include "router/dataplane/worker.hpp"

namespace hecto::lookup {
class MacTable;
}

namespace hecto::router {

class NicSessions;
struct NatTables;
class Offload;

class Dataplane {
 public:
  struct Options {
    std::vector<config::WorkerPlacement> workers;
    bool linux_side = false;
    Offload* offload = nullptr;
    std::optional<IpsecStages::Options> ipsec;  // none: no IPsec in this router
    NicSessions* nic = nullptr;                 // null: NICs do no crypto
    // Of a spread that begins, in which rings that nobody drains may fill.
    std::chrono::milliseconds longest_settling{5};
  };
  Dataplane(const Options& options, Tables& tables);
  ~Dataplane();  // stops workers, then ports; reports buffers that did not come home
  Dataplane(const Dataplane&) = delete;
  Dataplane& operator=(const Dataplane&) = delete;

  // Configures and starts a probed port; packets flow after the next publish().
  Result<void> add_port(std::unique_ptr<Port> port, const config::Placement& placement);
  // Publishes without it, waits for readers, then stops and closes it.
  void remove_port(const std::string& name);
  // Members of bonds whose link or device came or went, in or out. True: some did.
  bool follow_members();
  // While running. A refusal leaves the port as it was.
  Result<void> set_mtu(const std::string& name, uint16_t mtu);
  void set_interface(const InterfaceSetup& interface) { interfaces_[interface.id] = interface; }
  const std::vector<IpPrefix>& addresses_of(InterfaceId id) const {
    return interfaces_.at(id).addresses;
  }
  bool has_ipsec() const { return options_.ipsec.has_value(); }
  // From now on the queue's flows go over the workers of its socket. False: it is not one that waits
  // for that, or it would gain too little.
  bool spread(const std::string& port, QueueId queue, const SpreadCosts& costs);
  const PortSpread& spread_of(const std::string& port) const { return spreads_.at(port); }
  void remove_interface(InterfaceId id) { interfaces_.erase(id); }
  void set_twins(std::shared_ptr<const TwinList> twins) { slow_path_->set_twins(std::move(twins)); }

  // What the next snapshot will say of everything else.
  using Settings = SnapshotSettings;
  Settings& settings() { return settings_; }
  // NAT of the next snapshot; null: none. Its rings are the data plane's.
  Result<void> set_nat(std::shared_ptr<NatTables> tables);
  std::vector<int> worker_sockets() const;
  lookup::Memory& memory() { return tables_.memory(); }
  // For the stations of bridges; null: there is no memory. Its readers are the workers.
  std::shared_ptr<lookup::MacTable> make_station_table(size_t entries);
  Result<std::shared_ptr<FlowTables>> make_flow_tables(uint32_t entries);  // likewise
  void publish();
  void reclaim();  // frees snapshots that nobody reads any more, and pools that nobody needs

  // From now until release_gleans() workers hold what waits for a neighbor; returns when what went
  // to Linux for one has left, or after 5 ms. So the first packets of a flow leave in order: those
  // that waited in Linux before those that take the fast path. Again means nothing.
  void hold_gleans();
  void release_gleans() { holds_gleans_.store(false, std::memory_order_release); }

  void start();  // launches workers and the slow path
  void stop();
  // For benchmarks: workers that nobody launches, polled by the caller.
  Worker& worker(unsigned id) { return *workers_[id]; }

  const std::map<std::string, std::unique_ptr<Port>>& ports() const { return ports_; }
  Port* port(const std::string& name) const;
  Port* port(PortId id) const;
  const std::vector<SocketPointer<Worker>>& workers() const { return workers_; }
  const std::vector<std::unique_ptr<Mempool>>& pools() const { return pools_; }
  const Mempool* pool_of(const std::string& port) const;
  const SlowPath& slow_path() const { return *slow_path_; }
  const Snapshot& snapshot() const { return *current_.load(std::memory_order_relaxed); }
  PacketAnswer explain(const PacketQuestion& question) const;
  unsigned in_flight() const;         // packets in rings between threads and on devices
  uint64_t fragments_made() const;    // more packets than came in: cut to fit
  uint64_t copies_made() const;       // likewise: for mirrors
  uint64_t too_big_answered() const;  // packets that became an answer to their sender
  uint64_t lost_with_ports() const { return lost_with_ports_; }  // handed over to ports removed

 private:
  struct Handoff {
    std::unique_ptr<rte_ring, void (*)(rte_ring*)> ring;
    unsigned thread;  // that fills it
    unsigned owner;   // worker that drains it
  };

  Result<Mempool*> pool_for(const Port& port, const config::Placement& placement);
  void offer_crypto(const Port& port);
  void watch(const Port& port, bool on);
  void stop_and_close(Port& port, bool reopens);
  Result<void> open(Port& port, const Mempool& pool, const config::Placement& placement);
  std::vector<unsigned> queue_workers(const Port& port, const config::Placement& placement) const;
  std::vector<TransmitShare> shares_of(const Port& port, int socket,
                                       const std::vector<unsigned>& receivers) const;
  std::vector<bool> plain_queues(const Port& port, const Mempool& pool,
                                 const config::Placement& placement,
                                 const std::vector<TransmitShare>& shares) const;
  Result<std::vector<Handoff>> make_handoffs(const Port& port,
                                             const std::vector<TransmitShare>& shares) const;
  static uint64_t drop_handed(const std::vector<Handoff>& handoffs);
  std::vector<TransmitPath> transmit_paths(const Port& port) const;
  Result<PortSpread> make_spread(const Port& port, const std::vector<unsigned>& heads) const;
  bool settle(unsigned worker, const std::function<bool()>& full);
  Wakeup* wakeup_of(unsigned worker) const;
  void feed(const Port& port, const rte_mempool* pool);
  void free_unused_pools();
  std::unique_ptr<Snapshot> build() const;
  unsigned nat_queued() const;
  void drop_nat_queued();
  void feed_all();
  void accept_macs();
  void install(std::unique_ptr<Snapshot> next);
  IpsecStages* make_ipsec(WorkerOffload* offload);

  Options options_;
  Tables& tables_;
  Settings settings_;
  std::vector<std::unique_ptr<Mempool>> pools_;  // ports hold their buffers: pools go last
  std::map<std::string, Mempool*> pool_by_port_;
  std::map<const Mempool*, uint32_t> lost_mbufs_;  // of each pool, over all ports so far
  std::map<std::string, std::unique_ptr<Port>> ports_;
  std::map<std::string, std::vector<unsigned>> queue_workers_;  // by port: worker of each queue
  std::map<std::string, std::vector<TransmitShare>> shares_;    // by port: of each thread
  std::map<std::string, std::vector<Handoff>> handoffs_;
  std::map<std::string, PortSpread> spreads_;
  PoolFeeds feeds_;
  std::set<std::string> copying_;  // ports whose driver gets copies, and it is said
  const Port* paused_ = nullptr;   // nobody's for now
  std::map<InterfaceId, InterfaceSetup> interfaces_;
  std::vector<std::unique_ptr<rte_ring, void (*)(rte_ring*)>> punt_rings_;
  std::vector<std::unique_ptr<rte_ring, void (*)(rte_ring*)>> nat_rings_;  // by worker, once asked
  std::vector<std::unique_ptr<IpsecStages>> ipsec_;  // of the workers and the slow path; or none
  std::vector<SocketPointer<Worker>> workers_;
  std::unique_ptr<SlowPath> slow_path_;
  std::atomic<const Snapshot*> current_{nullptr};
  std::atomic<bool> holds_gleans_{false};
  struct Retired {
    std::unique_ptr<const Snapshot> snapshot;
    uint64_t token;
  };
  std::deque<Retired> retired_;
  uint64_t generation_ = 0;
  uint64_t lost_with_ports_ = 0;
  bool running_ = false;
};

}  // namespace hecto::router
