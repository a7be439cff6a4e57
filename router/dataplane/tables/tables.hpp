// The tables that workers read and control writes: FIBs, next hops, reverse-path bits, one replica
// per socket that has workers; and the reclamation that lets control reuse what readers let go of.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/file/config.hpp"
#include "gpu_offload/table_feed.hpp"
#include "lookup/fib.hpp"
#include "lookup/nexthop.hpp"
#include "router/dataplane/core/table_views.hpp"
#include "router/dataplane/tables/kept_memory.hpp"
#include "router/rib/routing.hpp"

struct rte_rcu_qsbr;

namespace hecto::router {

// DPDK's QSBR variable, one thread id per worker and one for the slow path.
class Qsbr final : public lookup::Reclaimer {
 public:
  explicit Qsbr(unsigned threads);
  ~Qsbr() override;
  Qsbr(const Qsbr&) = delete;
  Qsbr& operator=(const Qsbr&) = delete;

  uint64_t start() noexcept override;
  bool passed(uint64_t token) noexcept override;
  // Waits (microseconds, as a rule) until every reader has let go of what it held.
  void synchronize() noexcept;
  rte_rcu_qsbr* get() const { return variable_; }

 private:
  rte_rcu_qsbr* variable_ = nullptr;
};

class Tables {
 public:
  // Throws std::runtime_error with one line when there is no memory (start-up only).
  // `service`, which outlives it, keeps the tables for the next process; null: nobody does.
  Tables(const config::TablesConfig& config, const std::vector<int>& sockets, unsigned threads,
         RoutingLog log, ServiceManager* service = nullptr);
  ~Tables();

  Routing& routing() { return *routing_; }
  const Routing& routing() const { return *routing_; }
  Qsbr& qsbr() { return qsbr_; }
  lookup::Memory& memory() { return memory_; }
  TableViews views(int socket) const;
  const lookup::Fib4& fib4() const { return *fib4_; }
  const lookup::Fib6& fib6() const { return *fib6_; }
  const lookup::Fib4& further4() const { return *further4_; }
  const lookup::Fib6& further6() const { return *further6_; }
  const lookup::NextHopTable& next_hops() const { return *next_hops_; }
  // All of it is held for the next process.
  bool kept() const;
  const std::string& run() const { return run_; }  // under which it is held
  uint32_t max_groups() const { return max_groups_; }
  // What the devices' copies of the main tables are fed from. Once, when there are devices.
  void feed_devices();
  gpu_offload::TableFeed& feed4() { return feed4_; }
  gpu_offload::TableFeed& feed6() { return feed6_; }

 private:
  lookup::Memory& memory_of(const char* table, ServiceManager* service);

  SocketMemory memory_;
  std::string run_;
  std::vector<std::unique_ptr<KeptMemory>> kept_memories_;
  Qsbr qsbr_;
  gpu_offload::TableFeed feed4_, feed6_;
  gpu_offload::DeviceReaders readers_{qsbr_};  // workers, and devices with copies of the tables
  uint32_t max_groups_;
  std::unique_ptr<lookup::Fib4> fib4_;
  std::unique_ptr<lookup::Fib6> fib6_;
  std::unique_ptr<lookup::Fib4> further4_;  // tables other than local, main and default
  std::unique_ptr<lookup::Fib6> further6_;
  std::unique_ptr<lookup::NextHopTable> next_hops_;
  std::unique_ptr<Routing> routing_;
};

}  // namespace hecto::router
