// Dataplane's ports: their pools, their queues and whose these are, in and out again.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/dataplane.hpp"
#include "router/dataplane/nic_crypto/sessions.hpp"
#include "router/dataplane/ports/bond.hpp"
#include "router/dataplane/transmit_queues.hpp"

namespace hecto::router {
namespace {

constexpr unsigned kHandoffSize = 2048;

const config::PoolPlacement* placed_pool(const config::Placement& placement,
                                         const std::string& port) {
  for (const config::PoolPlacement& pool : placement.pools)
    if (std::find(pool.ports.begin(), pool.ports.end(), port) != pool.ports.end()) return &pool;
  return nullptr;
}

}  // namespace

// The pool that the placement gives the port; made when the first port needs it.
Result<Mempool*> Dataplane::pool_for(const Port& port, const config::Placement& placement) {
  const config::PoolPlacement* const wanted = placed_pool(placement, port.name());
  if (wanted == nullptr)
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

// By receive queue, of as many as the placement gives it.
std::vector<unsigned> Dataplane::queue_workers(const Port& port,
                                               const config::Placement& placement) const {
  uint16_t queues = 1;
  for (const config::PortPlacement& p : placement.ports)
    if (p.port == port.name()) queues = p.rx_queues;
  std::vector<unsigned> workers(queues, 0);
  for (const config::WorkerPlacement& worker : placement.workers)
    for (const config::QueuePlacement& queue : worker.queues)
      if (queue.port == port.name() && queue.queue < workers.size() && worker.id < workers_.size())
        workers[queue.queue] = worker.id;
  return workers;
}

// Who sends by which of its queues.
std::vector<TransmitShare> Dataplane::shares_of(const Port& port, int socket,
                                                const std::vector<unsigned>& receivers) const {
  std::vector<TransmitThread> threads;
  for (const auto& worker : workers_) threads.push_back({worker->options().socket, false});
  for (const unsigned worker : receivers) threads[worker].receives = true;
  threads.push_back({options_.workers.front().socket, false});
  return share_transmit_queues(std::max<uint16_t>(port.max_tx_queues(), 1), threads, socket);
}

// By which queues nothing will leave but plain mbufs of the port's own pool. Ports that are not
// there yet are taken as the placement has them; if they turn out to be others, what they give is
// copied (TransmitPath::plain_only).
std::vector<bool> Dataplane::plain_queues(const Port& port, const Mempool& pool,
                                          const config::Placement& placement,
                                          const std::vector<TransmitShare>& shares) const {
  const config::PoolPlacement* const own = placed_pool(placement, port.name());
  const auto fed_by_own = [&](const std::string& other) {
    const bool plain = other != port.name() || port.gives_plain_mbufs();
    return plain && placed_pool(placement, other) == own;
  };
  const auto plain = [&](size_t thread) {
    if (!feeds_.only(thread, pool.get())) return false;
    if (thread == workers_.size()) return placement.pools.size() == 1 || !options_.linux_side;
    const config::WorkerPlacement& worker = placement.workers.at(thread);
    const bool spread_to = std::any_of(
        placement.ports.begin(), placement.ports.end(), [&](const config::PortPlacement& p) {
          return config::takes(worker, p, placement) && !fed_by_own(p.port);
        });
    return !spread_to &&
           std::all_of(worker.queues.begin(), worker.queues.end(),
                       [&](const config::QueuePlacement& q) { return fed_by_own(q.port); });
  };
  std::vector<bool> all(shares.size(), true);
  for (size_t thread = 0; thread < shares.size(); ++thread)
    if (!plain(thread)) all[shares[thread].queue] = false;
  return all;
}

// A ring for each thread that hands over, which only it fills.
Result<std::vector<Dataplane::Handoff>> Dataplane::make_handoffs(
    const Port& port, const std::vector<TransmitShare>& shares) const {
  std::vector<Handoff> handoffs;
  for (unsigned thread = 0; thread < shares.size(); ++thread) {
    if (!shares[thread].owner) continue;
    const unsigned owner = *shares[thread].owner;
    const std::string name = fmt::format("handoff-{}-{}", port.id(), thread);
    const int where = rte_eal_has_hugepages() ? workers_[owner]->options().socket : SOCKET_ID_ANY;
    rte_ring* ring =
        rte_ring_create(name.c_str(), kHandoffSize, where, RING_F_SP_ENQ | RING_F_SC_DEQ);
    if (ring == nullptr) {
      const int code = rte_errno;
      return fail(fmt::format("port {}: no memory for its handoff rings: {}", port.name(),
                              rte_strerror(code)),
                  code);
    }
    handoffs.push_back({{ring, rte_ring_free}, thread, owner});
  }
  return handoffs;
}

uint64_t Dataplane::drop_handed(const std::vector<Handoff>& handoffs) {
  uint64_t dropped = 0;
  void* packet = nullptr;
  for (const Handoff& handoff : handoffs)
    while (rte_ring_sc_dequeue(handoff.ring.get(), &packet) == 0) {
      rte_pktmbuf_free(static_cast<rte_mbuf*>(packet));
      ++dropped;
    }
  return dropped;
}

// Null where it never waits.
Wakeup* Dataplane::wakeup_of(unsigned worker) const {
  const bool waits = worker < settings_.idle.size() && may_wait(settings_.idle[worker]);
  return waits ? &workers_[worker]->wakeup() : nullptr;
}

// Of each worker, and behind them the slow path's.
std::vector<TransmitPath> Dataplane::transmit_paths(const Port& port) const {
  const std::vector<TransmitShare>& shares = shares_.at(port.name());
  std::vector<TransmitPath> paths(shares.size());
  for (size_t thread = 0; thread < paths.size(); ++thread) {
    TransmitPath& path = paths[thread];
    path.queue = shares[thread].queue;
    path.linear = !port.sends_segments();
    path.pool = pool_by_port_.at(port.name())->get();
    path.plain_only = port.promised_plain(path.queue) && !feeds_.only(thread, path.pool);
  }
  for (const Handoff& handoff : handoffs_.at(port.name())) {
    paths[handoff.thread].handoff = handoff.ring.get();
    paths[handoff.thread].owner = wakeup_of(handoff.owner);
  }
  return paths;
}

// From now on its packets are among those that these threads hold. A driver that was promised others
// is given copies, and it is said once.
void Dataplane::feed(const Port& port, const rte_mempool* pool) {
  for (const unsigned worker : queue_workers_.at(port.name()))
    feeds_.add(worker, pool, port.gives_plain_mbufs());
  for (const unsigned worker : spreads_.at(port.name()).takers())
    feeds_.add(worker, pool, port.gives_plain_mbufs());
  if (options_.linux_side) feeds_.add(workers_.size(), pool, true);
  for (size_t worker = 0; worker < nat_rings_.size(); ++worker)  // handed over by any other
    feeds_.add(worker, pool, port.gives_plain_mbufs());
  bool broken = false;
  for (const auto& [name, other] : ports_) {
    const std::vector<TransmitPath> paths = transmit_paths(*other);
    const bool copies = std::any_of(paths.begin(), paths.end(),
                                    [](const TransmitPath& path) { return path.plain_only; });
    broken |= copies;
    if (!copies || !copying_.insert(name).second) continue;
    const std::string line = fmt::format(
        "fast_free: {} came with buffers that its driver was not told of, and they are "
        "copied to leave here; remove the port and add it again, or restart",
        port.name());
    spdlog::warn("port {}: {}", name, line);
    other->refuse(line);
  }
  // Nobody may hold one of these and not know of it: a twin of the port may come before its snapshot.
  if (!broken) return;
  publish();
  tables_.qsbr().synchronize();
}

Result<void> Dataplane::open(Port& port, const Mempool& pool, const config::Placement& placement) {
  std::vector<unsigned> receivers = queue_workers(port, placement);
  const size_t wanted = receivers.size();
  receivers.resize(std::min<size_t>(wanted, std::max<uint16_t>(port.max_rx_queues(), 1)));
  const std::vector<TransmitShare> shares = shares_of(port, pool.socket(), receivers);
  PortSetup setup;
  setup.rx_queues = static_cast<uint16_t>(wanted);
  setup.tx_queues = static_cast<uint16_t>(shares.size());
  setup.pool = pool.get();
  setup.data_room_bytes = pool.data_room_bytes();
  setup.nic_crypto = options_.nic != nullptr && has_ipsec();
  setup.interrupts = std::any_of(settings_.idle.begin(), settings_.idle.end(), may_wait);
  setup.segments =
      port.scatters(pool.data_room_bytes()) ||
      std::any_of(ports_.begin(), ports_.end(), [&](const auto& entry) {
        return entry.second->scatters(pool_by_port_.at(entry.first)->data_room_bytes());
      });
  setup.plain_queues = plain_queues(port, pool, placement, shares);
  // Before the port starts: who tries again configures it, which a running one refuses.
  auto handoffs = make_handoffs(port, shares);
  if (!handoffs) return tl::unexpected(handoffs.error());
  auto spread = make_spread(port, receivers);
  if (!spread) return tl::unexpected(spread.error());
  if (auto done = port.configure(setup); !done) return done;
  if (auto done = port.start(); !done) return done;
  queue_workers_[port.name()] = std::move(receivers);
  shares_[port.name()] = shares;
  handoffs_[port.name()] = std::move(*handoffs);
  spreads_[port.name()] = std::move(*spread);
  return {};
}

Result<void> Dataplane::add_port(std::unique_ptr<Port> port, const config::Placement& placement) {
  if (port->id() >= kMaxPorts)
    return fail(fmt::format("port {}: DPDK numbers it {}, above the {} that hecto has room for",
                            port->name(), port->id(), kMaxPorts));
  auto pool = pool_for(*port, placement);
  if (!pool) return tl::unexpected(pool.error());
  const auto begin = [&] { return open(*port, **pool, placement); };
  Result<void> done = begin();
  if (!done && port->forgo_crypto(done.error().message)) done = begin();
  if (!done && port->forgo_interrupts(done.error().message)) done = begin();
  if (!done && port->can_fall_back()) {
    done = port->fall_back(done.error().message);
    if (done) done = begin();
  }
  if (!done) {
    port->close();
    lost_mbufs_[*pool] += port->lost_mbufs();
    return done;
  }
  watch(*port, true);
  offer_crypto(*port);
  pool_by_port_[port->name()] = *pool;
  Port& added = *(ports_[port->name()] = std::move(port));
  feed(added, (*pool)->get());
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

// A worker may be within a burst of a member that is out: it is closed behind that.
bool Dataplane::follow_members() {
  bool moved = false;
  for (const auto& [name, port] : ports_) {
    Bond* const bond = port->bond();
    if (bond == nullptr || port.get() == paused_) continue;
    const bool others = bond->follow();
    if (bond->leaving()) {
      tables_.qsbr().synchronize();
      bond->close_leavers();  // epoll forgets their sockets with them
    }
    if (!others) continue;
    moved = true;
    port->find_wakeups();
    watch(*port, true);
  }
  return moved;
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
  const std::vector<Handoff> handoffs = std::move(handoffs_.extract(name).mapped());
  PortSpread spread = std::move(spreads_.extract(name).mapped());
  if (options_.nic != nullptr) options_.nic->withdraw(port->id());
  std::erase_if(interfaces_, [&](const auto& entry) { return entry.second.port == port->id(); });
  publish();
  tables_.qsbr().synchronize();
  watch(*port, false);
  queue_workers_.erase(name);
  shares_.erase(name);
  copying_.erase(name);
  lost_with_ports_ += drop_handed(handoffs) + spread.drop();
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
    feeds_.forget(pool->get());
    return true;
  });
}

// Some drivers change their MTU only while they are stopped: workers let go of the port first, and
// find it again behind. What comes meanwhile is lost, what was to leave dropped as interface_down.
Result<void> Dataplane::set_mtu(const std::string& name, uint16_t mtu) {
  Port* const port = this->port(name);
  if (port == nullptr) return fail("there is no port " + name);
  // One that did not start again is tried again.
  auto done = port->running() ? port->set_mtu(mtu) : Result<void>(fail("it does not run", EBUSY));
  if (done || done.error().error_number != EBUSY || port->crypto().context != nullptr) return done;
  paused_ = port;
  publish();
  tables_.qsbr().synchronize();
  watch(*port, false);
  done = port->set_mtu_stopped(mtu);
  watch(*port, true);
  paused_ = nullptr;
  publish();
  if (!done) return done;
  spdlog::warn(
      "port {}: the driver {} changes its MTU only while it is stopped: it was, and what "
      "came or was to leave meanwhile is lost",
      name, port->driver());
  return done;
}

}  // namespace hecto::router
