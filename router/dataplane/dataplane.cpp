#include "router/dataplane/dataplane.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/nic_crypto/sessions.hpp"
#include "router/dataplane/offload/offload.hpp"
#include "router/dataplane/punt/sessions.hpp"
#include "router/privileges/privileges.hpp"

namespace hecto::router {
namespace {

constexpr unsigned kHandoffSize = 2048;
constexpr std::chrono::milliseconds kLongestHold{5};
constexpr std::chrono::microseconds kHoldPoll{20};

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

Dataplane::Dataplane(const Options& options, Tables& tables) : options_(options), tables_(tables) {
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
  for (auto& [name, handoff] : handoffs_) {
    void* packet = nullptr;
    while (rte_ring_dequeue(handoff.ring.get(), &packet) == 0)
      rte_pktmbuf_free(static_cast<rte_mbuf*>(packet));
  }
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
  for (size_t i = 0; i < workers_.size(); ++i) rte_eal_wait_lcore(static_cast<unsigned>(i + 1));
  slow_path_->stop();
}

Port* Dataplane::port(const std::string& name) const {
  const auto found = ports_.find(name);
  return found == ports_.end() ? nullptr : found->second.get();
}

Port* Dataplane::port(uint16_t id) const {
  for (const auto& [name, port] : ports_)
    if (port->id() == id) return port.get();
  return nullptr;
}

const Mempool* Dataplane::pool_of(const std::string& port) const {
  const auto found = pool_by_port_.find(port);
  return found == pool_by_port_.end() ? nullptr : found->second;
}

// The pool that the placement gives the port; made when the first port needs it.
Result<Mempool*> Dataplane::pool_for(const Port& port, const config::Placement& placement) {
  const auto wanted = std::find_if(
      placement.pools.begin(), placement.pools.end(), [&](const config::PoolPlacement& pool) {
        return std::find(pool.ports.begin(), pool.ports.end(), port.name()) != pool.ports.end();
      });
  if (wanted == placement.pools.end())
    return fail(fmt::format("port {}: the placement gives it no pool", port.name()));
  // A pool that was made for fewer ports is left alone: later ports get one beside it.
  for (const auto& pool : pools_)
    if (pool->socket() == wanted->socket && pool->data_room_bytes() == wanted->data_room_bytes &&
        pool->size() >= wanted->mbufs)
      return pool.get();
  const std::string base = fmt::format("pool_{}_{}", wanted->socket, wanted->data_room_bytes);
  const auto taken = [&](const std::string& name) {
    return std::any_of(pools_.begin(), pools_.end(),
                       [&](const auto& pool) { return pool->name() == name; });
  };
  std::string name = base;
  for (unsigned i = 1; taken(name); ++i) name = fmt::format("{}_{}", base, i);
  auto pool = Mempool::create(name, wanted->socket, wanted->mbufs, wanted->data_room_bytes);
  if (!pool) return tl::unexpected(pool.error());
  pools_.push_back(std::move(*pool));
  return pools_.back().get();
}

void Dataplane::assign_queues(const Port& port, const config::Placement& placement) {
  std::vector<unsigned> workers(port.rx_queues(), 0);
  for (const config::WorkerPlacement& worker : placement.workers)
    for (const config::QueuePlacement& queue : worker.queues)
      if (queue.port == port.name() && queue.queue < workers.size() && worker.id < workers_.size())
        workers[queue.queue] = worker.id;
  queue_workers_[port.name()] = std::move(workers);
}

// Fewer transmit queues than users: the worker of receive queue 0 owns the one there is.
Result<void> Dataplane::make_handoff(const Port& port) {
  if (port.tx_queues() > workers_.size()) return {};
  const unsigned owner = queue_workers_[port.name()][0];
  const std::string name = fmt::format("handoff-{}", port.id());
  const int where = rte_eal_has_hugepages() ? workers_[owner]->options().socket : SOCKET_ID_ANY;
  rte_ring* ring = rte_ring_create(name.c_str(), kHandoffSize, where, RING_F_SC_DEQ);
  if (ring == nullptr)
    return fail(fmt::format("port {}: no memory for its handoff ring: {}", port.name(),
                            rte_strerror(rte_errno)),
                rte_errno);
  handoffs_.insert_or_assign(port.name(), Handoff{{ring, rte_ring_free}, owner});
  return {};
}

Result<void> Dataplane::add_port(std::unique_ptr<Port> port, const config::Placement& placement) {
  if (port->id() >= kMaxPorts)
    return fail(fmt::format("port {}: DPDK numbers it {}, above the {} that hecto has room for",
                            port->name(), port->id(), kMaxPorts));
  auto pool = pool_for(*port, placement);
  if (!pool) return tl::unexpected(pool.error());
  uint16_t queues = 1;
  for (const config::PortPlacement& p : placement.ports)
    if (p.port == port->name()) queues = p.rx_queues;
  PortSetup setup;
  setup.rx_queues = queues;
  setup.tx_queues = static_cast<uint16_t>(workers_.size() + 1);
  setup.pool = (*pool)->get();
  setup.data_room_bytes = (*pool)->data_room_bytes();
  setup.nic_crypto = options_.nic != nullptr && has_ipsec();
  setup.interrupts = std::any_of(settings_.idle.begin(), settings_.idle.end(), may_wait);
  const auto begin = [&] {
    Result<void> done = port->configure(setup);
    return done ? port->start() : done;
  };
  Result<void> done = begin();
  if (!done && port->forgo_crypto(done.error().message)) done = begin();
  if (!done && port->forgo_interrupts(done.error().message)) done = begin();
  if (!done && port->can_fall_back()) {
    done = port->fall_back(done.error().message);
    if (done) done = begin();
  }
  if (done) {
    assign_queues(*port, placement);
    done = make_handoff(*port);
  }
  if (!done) {
    port->close();
    lost_mbufs_[*pool] += port->lost_mbufs();
    return done;
  }
  watch(*port, true);
  offer_crypto(*port);
  pool_by_port_[port->name()] = *pool;
  ports_[port->name()] = std::move(port);
  return {};
}

// What wakes the workers that poll it.
void Dataplane::watch(const Port& port, bool on) {
  const std::vector<unsigned>& workers = queue_workers_.at(port.name());
  for (size_t queue = 0; queue < port.wakeups().size(); ++queue)
    for (const int fd : port.wakeups()[queue]) {
      Wakeup& wakeup = workers_[workers[queue]]->wakeup();
      if (!on)
        wakeup.unwatch(fd);
      else if (!wakeup.watch(fd))
        spdlog::warn("port {}: queue {} wakes nobody: {}", port.name(), queue, strerror(errno));
    }
}

// What its NIC can do of ESP. Without memory for sessions it does nothing.
void Dataplane::offer_crypto(const Port& port) {
  const PortCrypto& crypto = port.crypto();
  if (crypto.context == nullptr) return;
  NicSessions::Port offered;
  offered.id = port.id();
  offered.name = port.name();
  offered.context = crypto.context;
  offered.opens = crypto.opens;
  offered.seals = crypto.seals;
  offered.link_up = [&port] { return port.link().up; };
  if (auto done = options_.nic->add_port(offered); !done)
    spdlog::warn("ipsec: {}; its ESP goes by CPU", done.error().message);
}

// Its rings are free of packets once it has stopped; the driver's context is there until the close.
void Dataplane::stop_and_close(Port& port, bool reopens) {
  port.stop();
  if (options_.nic != nullptr) options_.nic->drop_port(port.id());
  port.close(reopens);
}

void Dataplane::remove_port(const std::string& name) {
  const auto found = ports_.find(name);
  if (found == ports_.end()) return;
  std::unique_ptr<Port> port = std::move(found->second);
  ports_.erase(found);
  auto handoff = handoffs_.extract(name);
  if (options_.nic != nullptr) options_.nic->withdraw(port->id());
  std::erase_if(interfaces_, [&](const auto& entry) { return entry.second.port == port->id(); });
  publish();
  tables_.qsbr().synchronize();
  watch(*port, false);
  queue_workers_.erase(name);
  if (!handoff.empty()) {
    void* packet = nullptr;
    while (rte_ring_dequeue(handoff.mapped().ring.get(), &packet) == 0) {
      rte_pktmbuf_free(static_cast<rte_mbuf*>(packet));
      ++lost_with_ports_;
    }
  }
  stop_and_close(*port, true);
  lost_mbufs_[pool_by_port_[name]] += port->lost_mbufs();
  pool_by_port_.erase(name);
  reclaim();
}

// A pool goes once no port receives into it and every mbuf is back, also from the transmit queues
// of others. One that a driver lost mbufs of stays, for the next port that it suits.
void Dataplane::free_unused_pools() {
  std::erase_if(pools_, [this](const auto& pool) {
    const bool used = std::any_of(pool_by_port_.begin(), pool_by_port_.end(),
                                  [&](const auto& entry) { return entry.second == pool.get(); });
    if (used || pool->in_use() > 0) return false;
    lost_mbufs_.erase(pool.get());
    return true;
  });
}

std::unique_ptr<Snapshot> Dataplane::build() const {
  SnapshotBuilder builder(workers_.size());
  for (const auto& [name, port] : ports_) {
    SnapshotBuilder::PortSetup setup;
    setup.id = port->id();
    setup.mac = port->mac();
    setup.kernel_interface = port->kernel_interface();
    setup.opens_esp = port->crypto().opens;
    setup.seals_esp = port->crypto().seals;
    setup.linear = !port->sends_segments();
    setup.queue_workers = queue_workers_.at(name);
    if (const auto handoff = handoffs_.find(name); handoff != handoffs_.end()) {
      setup.handoff = handoff->second.ring.get();
      setup.handoff_owner = handoff->second.owner;
      if (handoff->second.owner < settings_.idle.size() &&
          may_wait(settings_.idle[handoff->second.owner]))
        setup.handoff_wakeup = &workers_[handoff->second.owner]->wakeup();
    }
    setup.wakes = !port->wakeups().empty();
    setup.interrupts = port->interrupts();
    builder.add_port(setup);
  }
  for (const auto& [id, interface] : interfaces_) builder.add_interface(interface);
  return builder.finish(settings_, options_.linux_side, generation_ + 1);
}

void Dataplane::publish() {
  std::unique_ptr<Snapshot> next = build();
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

uint64_t Dataplane::fragments_made() const {
  uint64_t made = 0;
  for (const auto& stages : ipsec_) made += stages->encap.fragments_made();
  return made;
}

unsigned Dataplane::in_flight() const {
  unsigned count = slow_path_->queued();
  for (const auto& [name, handoff] : handoffs_) count += rte_ring_count(handoff.ring.get());
  for (const auto& worker : workers_) {
    count += worker->held();
    if (worker->options().offload != nullptr) count += worker->options().offload->held();
  }
  for (const auto& stages : ipsec_) count += stages->decap.held();
  return count;
}

}  // namespace hecto::router
