// Dataplane's NAT: the rings by which packets come to the worker that has their mapping.
#include <fmt/format.h>

#include "router/dataplane/dataplane.hpp"

namespace hecto::router {

std::vector<int> Dataplane::worker_sockets() const {
  std::vector<int> sockets;
  for (const auto& worker : workers_) sockets.push_back(worker->options().socket);
  return sockets;
}

// Rings stay once they are there: what was handed over before NAT went is taken all the same.
Result<void> Dataplane::set_nat(std::shared_ptr<NatTables> tables) {
  if (tables != nullptr && tables->has_pools() && nat_rings_.empty()) {
    decltype(nat_rings_) made;
    for (const auto& worker : workers_) {
      const std::string name = fmt::format("nat-{}", worker->options().id);
      const int where = rte_eal_has_hugepages() ? worker->options().socket : SOCKET_ID_ANY;
      rte_ring* const ring =
          rte_ring_create_elem(name.c_str(), sizeof(NatHanded), kNatRing, where, RING_F_SC_DEQ);
      if (ring == nullptr) {
        const int code = rte_errno;
        return fail(fmt::format("nat: no memory for the ring of worker {}: {}",
                                worker->options().id, rte_strerror(code)),
                    code);
      }
      made.push_back({ring, rte_ring_free});
    }
    nat_rings_ = std::move(made);
    feed_all();
  }
  if (tables != nullptr) {
    tables->rings.clear();
    for (size_t i = 0; i < nat_rings_.size(); ++i)
      tables->rings.push_back({nat_rings_[i].get(), &workers_[i]->wakeup()});
  }
  settings_.nat = std::move(tables);
  return {};
}

void Dataplane::feed_all() {
  for (const auto& [name, port] : ports_) feed(*port, pool_by_port_.at(name)->get());
}

unsigned Dataplane::nat_queued() const {
  unsigned count = 0;
  for (const auto& ring : nat_rings_) count += rte_ring_count(ring.get());
  return count;
}

void Dataplane::drop_nat_queued() {
  NatHanded handed;
  for (const auto& ring : nat_rings_)
    while (rte_ring_sc_dequeue_elem(ring.get(), &handed, sizeof handed) == 0)
      rte_pktmbuf_free(handed.packet);
}

}  // namespace hecto::router
