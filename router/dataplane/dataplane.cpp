#include "router/dataplane/dataplane.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "router/dataplane/core/bridge_views.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/nic_crypto/sessions.hpp"
#include "router/dataplane/offload/offload.hpp"
#include "router/dataplane/punt/sessions.hpp"
#include "router/process/privileges/privileges.hpp"

namespace hecto::router {
namespace {

constexpr std::chrono::milliseconds kLongestHold{5};
constexpr std::chrono::microseconds kHoldPoll{20};
constexpr std::chrono::microseconds kStopPoll{100};

using RingPointer = std::unique_ptr<rte_ring, void (*)(rte_ring*)>;

RingPointer punt_ring(unsigned worker, unsigned priority, int socket) {
  const std::string name = fmt::format("punt-{}-{}", worker, priority);
  const int where = rte_eal_has_hugepages() ? socket : SOCKET_ID_ANY;
  rte_ring* ring = rte_ring_create_elem(name.c_str(), sizeof(PuntEntry), kPuntQueueSize, where,
                                        RING_F_SP_ENQ | RING_F_SC_DEQ);
  if (ring == nullptr)
    throw std::runtime_error(
        fmt::format("punt ring of worker {}: {}", worker, rte_strerror(rte_errno)));
  return {ring, rte_ring_free};
}

}  // namespace

Dataplane::Dataplane(const Options& options, Tables& tables)
    : options_(options), tables_(tables), feeds_(options.workers.size() + 1) {
  Qsbr& qsbr = tables_.qsbr();
  SlowPath::Options slow;
  for (const config::WorkerPlacement& placement : options_.workers) {
    Worker::Options worker;
    for (unsigned priority = 0; priority < kPuntPriorities; ++priority) {
      punt_rings_.push_back(punt_ring(placement.id, priority, placement.socket));
      worker.punts[priority] = punt_rings_.back().get();
    }
    slow.punts.push_back(worker.punts);
    worker.id = placement.id;
    worker.cpu = placement.cpu;
    worker.socket = placement.socket;
    worker.tables = tables_.views(placement.socket);
    worker.qsbr = qsbr.get();
    worker.snapshot = &current_;
    if (options_.offload != nullptr) worker.offload = options_.offload->worker(placement.id);
    worker.ipsec = make_ipsec(worker.offload);
    worker.holds_gleans = &holds_gleans_;
    workers_.push_back(make_on_socket<Worker>(tables_.memory(), placement.socket, worker));
  }
  slow.qsbr = qsbr.get();
  slow.qsbr_thread = static_cast<unsigned>(options_.workers.size());
  slow.snapshot = &current_;
  slow.ipsec = make_ipsec(nullptr);
  slow.socket = options_.workers.front().socket;
  slow.tables = tables_.views(slow.socket);
  slow_path_ = std::make_unique<SlowPath>(slow);
  publish();
}

// For one more thread; null in a router without IPsec.
IpsecStages* Dataplane::make_ipsec(WorkerOffload* offload) {
  if (!options_.ipsec) return nullptr;
  auto stages = IpsecStages::create(*options_.ipsec, offload == nullptr ? nullptr : offload->esp());
  if (!stages) throw std::runtime_error(stages.error().message);
  ipsec_.push_back(std::move(*stages));
  return ipsec_.back().get();
}

Dataplane::~Dataplane() {
  stop();
  for (const auto& worker : workers_) worker->drain();  // of who polled them himself
  if (options_.nic != nullptr)
    for (auto& [name, port] : ports_) options_.nic->withdraw(port->id());
  for (auto& [name, port] : ports_) port->stop();
  for (auto& [name, port] : ports_) {
    stop_and_close(*port, false);
    lost_mbufs_[pool_by_port_[name]] += port->lost_mbufs();
  }
  ports_.clear();
  for (auto& [name, handoffs] : handoffs_) (void)drop_handed(handoffs);
  for (auto& [name, spread] : spreads_) (void)spread.drop();
  drop_nat_queued();
  PuntEntry entry;
  for (const RingPointer& ring : punt_rings_)
    while (rte_ring_sc_dequeue_elem(ring.get(), &entry, sizeof entry) == 0)
      rte_pktmbuf_free(entry.packet);
  for (const auto& pool : pools_)
    if (const uint32_t leaked = pool->in_use(); leaked > lost_mbufs_[pool.get()])
      spdlog::error("pool {}: {} mbufs did not come back", pool->name(), leaked);
  delete current_.load(std::memory_order_relaxed);
}

// A pass of all threads ends what was under way to the rings, the next one what was in the slow
// path's hands. Linux sends what it holds for a neighbor before it tells of the neighbor.
void Dataplane::hold_gleans() {
  using Clock = std::chrono::steady_clock;
  if (!running_ || holds_gleans_.exchange(true)) return;
  const auto until = Clock::now() + kLongestHold;
  const auto left = [&] { return Clock::now() < until; };
  for (unsigned quiet = 0; quiet < 2 && left();) {
    const uint64_t injected = slow_path_->injected();
    const uint64_t token = tables_.qsbr().start();
    while (!tables_.qsbr().passed(token) && left()) std::this_thread::sleep_for(kHoldPoll);
    const bool moved = slow_path_->injected() != injected || slow_path_->queued() > 0;
    quiet = moved ? 0 : quiet + 1;
  }
}

void Dataplane::start() {
  running_ = true;
  for (size_t i = 0; i < workers_.size(); ++i) {
    const auto run = [](void* worker) {
      confine_worker();
      static_cast<Worker*>(worker)->run();
      return 0;
    };
    rte_eal_remote_launch(run, workers_[i].get(), static_cast<unsigned>(i + 1));
  }
  if (options_.linux_side) slow_path_->start();
}

void Dataplane::stop() {
  if (!running_) return;
  running_ = false;
  for (const auto& worker : workers_) worker->stop();
  for (size_t i = 0; i < workers_.size(); ++i) {
    const auto lcore = static_cast<unsigned>(i + 1);
    // DPDK waits in a loop that never sleeps: under a real-time scheduler the worker would not come
    // to its end where it has to do so on this thread's core.
    while (rte_eal_get_lcore_state(lcore) == RUNNING) std::this_thread::sleep_for(kStopPoll);
    rte_eal_wait_lcore(lcore);
  }
  slow_path_->stop();
}

Port* Dataplane::port(const std::string& name) const {
  const auto found = ports_.find(name);
  return found == ports_.end() ? nullptr : found->second.get();
}

Port* Dataplane::port(PortId id) const {
  for (const auto& [name, port] : ports_)
    if (port->id() == id) return port.get();
  return nullptr;
}

const Mempool* Dataplane::pool_of(const std::string& port) const {
  const auto found = pool_by_port_.find(port);
  return found == pool_by_port_.end() ? nullptr : found->second;
}

std::unique_ptr<Snapshot> Dataplane::build() const {
  SnapshotBuilder builder(workers_.size());
  for (const auto& [name, port] : ports_) {
    if (port.get() == paused_ || !port->running()) continue;
    SnapshotBuilder::PortSetup setup;
    setup.id = port->id();
    setup.mac = port->mac();
    setup.longest_frame = port->longest_frame();
    setup.bond = port->bond() != nullptr;
    setup.opens_esp = port->crypto().opens;
    setup.seals_esp = port->crypto().seals;
    setup.checks_ipv4 = port->checks_ipv4();
    setup.hides_service_tags = port->hides_service_tags();
    setup.sends_lacp = port->sends_lacp();
    setup.queue_workers = queue_workers_.at(name);
    setup.transmit = transmit_paths(*port);
    for (const Handoff& handoff : handoffs_.at(name))
      setup.handoffs.emplace_back(handoff.ring.get(), handoff.owner);
    setup.spreads = spreads_.at(name).views([this](unsigned worker) { return wakeup_of(worker); });
    setup.wakes = !port->wakeups().empty();
    setup.interrupts = port->interrupts();
    builder.add_port(setup);
  }
  for (const auto& [id, interface] : interfaces_) builder.add_interface(interface);
  std::unique_ptr<Snapshot> made = builder.finish(settings_, options_.linux_side, generation_ + 1);
  for (size_t i = 0; i < nat_rings_.size(); ++i) made->workers[i].handed = nat_rings_[i].get();
  return made;
}

// Ahead of the snapshot that has their interfaces.
void Dataplane::accept_macs() {
  std::map<PortId, std::vector<MacAddress>> wanted;
  for (const auto& [id, interface] : interfaces_)
    if (interface.up && interface.mac != MacAddress{} && interface.port != kNoPort)
      wanted[interface.port].push_back(interface.mac);
  for (const auto& [name, port] : ports_) {
    if (port.get() == paused_ || !port->running()) continue;
    std::vector<MacAddress>& macs = wanted[port->id()];
    std::erase(macs, port->mac());
    std::sort(macs.begin(), macs.end());
    macs.erase(std::unique(macs.begin(), macs.end()), macs.end());
    port->accept_macs(macs);
  }
}

std::shared_ptr<lookup::MacTable> Dataplane::make_station_table(size_t entries) {
  std::random_device seed;
  auto table = std::make_shared<lookup::MacTable>(entries, uint64_t{seed()} << 32 | seed(),
                                                  lookup::Memory::system(),
                                                  options_.workers.front().socket, tables_.qsbr());
  return table->room() == 0 ? nullptr : table;
}

Result<std::shared_ptr<FlowTables>> Dataplane::make_flow_tables(uint32_t entries) {
  const auto threads = static_cast<unsigned>(workers_.size() + 1);
  return FlowTables::create({entries, threads, options_.workers.front().socket, random_flow_seed()},
                            tables_.memory(), tables_.qsbr());
}

void Dataplane::publish() {
  accept_macs();
  install(build());
}

void Dataplane::install(std::unique_ptr<Snapshot> next) {
  next->generation = generation_ + 1;
  const Snapshot* before = current_.exchange(next.release(), std::memory_order_acq_rel);
  ++generation_;
  if (before != nullptr)
    retired_.push_back({std::unique_ptr<const Snapshot>(before), tables_.qsbr().start()});
  for (const auto& worker : workers_) worker->wakeup().ring();
  reclaim();
}

void Dataplane::reclaim() {
  while (!retired_.empty() && tables_.qsbr().passed(retired_.front().token)) retired_.pop_front();
  if (retired_.empty()) free_unused_pools();
}

PacketAnswer Dataplane::explain(const PacketQuestion& question) const {
  return explain_packet(question, snapshot(), tables_.views(options_.workers.front().socket),
                        options_.ipsec);
}

uint64_t Dataplane::too_big_answered() const {
  uint64_t made = slow_path_->too_big_answers().made();
  for (const auto& stages : ipsec_) made += stages->encap.answers().made();
  for (const auto& worker : workers_) made += worker->too_big_answers().made();
  return made;
}

uint64_t Dataplane::fragments_made() const {
  uint64_t made = 0;
  for (const auto& stages : ipsec_) made += stages->encap.fragments_made();
  for (const auto& worker : workers_) made += worker->counters().reasons.fragments.get();
  made += slow_path_->counters().reasons.fragments.get();
  return made;
}

uint64_t Dataplane::copies_made() const {
  uint64_t made = 0;
  for (const auto& worker : workers_) made += worker->counters().reasons.copies.get();
  return made;
}

unsigned Dataplane::in_flight() const {
  unsigned count = slow_path_->queued();
  for (const auto& [name, handoffs] : handoffs_)
    for (const Handoff& handoff : handoffs) count += rte_ring_count(handoff.ring.get());
  for (const auto& [name, spread] : spreads_) count += spread.queued();
  count += nat_queued();
  for (const auto& worker : workers_) {
    count += worker->held();
    if (worker->options().offload != nullptr) count += worker->options().offload->held();
  }
  for (const auto& stages : ipsec_) count += stages->decap.held();
  return count;
}

}  // namespace hecto::router
