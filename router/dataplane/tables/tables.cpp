#include "router/dataplane/tables/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "router/dataplane/core/dpdk.hpp"
#include "router/process/service/service_manager.hpp"

namespace hecto::router {
namespace {

template <typename Table>
std::unique_ptr<Table> created(tl::expected<std::unique_ptr<Table>, lookup::Error> result,
                               const char* what) {
  if (result) return std::move(*result);
  throw std::runtime_error(fmt::format("tables: no memory for the {}: {}; reduce `tables`", what,
                                       lookup::to_string(result.error())));
}

// Beside local, main and default, one less: number 0 is not used. Empty ones take 4 bytes of an arena.
constexpr lookup::TableId kFurtherTables = 4096;

lookup::Engine engine_of(config::Ipv4Engine engine) {
  switch (engine) {
    case config::Ipv4Engine::kDirect:
      return lookup::Engine::kDirect;
    case config::Ipv4Engine::kCompact:
      return lookup::Engine::kTrie;
    case config::Ipv4Engine::kAuto:
      break;
  }
  return lookup::Engine::kAuto;
}

}  // namespace

Qsbr::Qsbr(unsigned threads) {
  const size_t bytes = rte_rcu_qsbr_get_memsize(threads);
  const size_t rounded =
      (bytes + RTE_CACHE_LINE_SIZE - 1) / RTE_CACHE_LINE_SIZE * RTE_CACHE_LINE_SIZE;
  variable_ = static_cast<rte_rcu_qsbr*>(std::aligned_alloc(RTE_CACHE_LINE_SIZE, rounded));
  if (variable_ == nullptr) throw std::bad_alloc();
  std::memset(variable_, 0, rounded);
  rte_rcu_qsbr_init(variable_, threads);
}

Qsbr::~Qsbr() {
  std::free(variable_);
}

uint64_t Qsbr::start() noexcept {
  return rte_rcu_qsbr_start(variable_);
}

bool Qsbr::passed(uint64_t token) noexcept {
  return rte_rcu_qsbr_check(variable_, token, false) == 1;
}

void Qsbr::synchronize() noexcept {
  const uint64_t token = start();
  while (!passed(token)) std::this_thread::sleep_for(std::chrono::microseconds(20));
}

Tables::Tables(const config::TablesConfig& config, const std::vector<int>& sockets,
               unsigned threads, RoutingLog log, ServiceManager* service)
    : run_(fmt::format("{:x}", std::chrono::system_clock::now().time_since_epoch().count())),
      qsbr_(threads),
      max_groups_(config.groups) {
  lookup::FibOptions fib;
  fib.sockets = sockets;
  fib.max_bytes = config.memory_bytes.value_or(0);
  fib.engine = engine_of(config.ipv4_engine);
  fib4_ = created(lookup::Fib4::create(fib, memory_of("fib4", service), qsbr_), "IPv4 FIB");
  fib6_ = created(lookup::Fib6::create(fib, memory_of("fib6", service), qsbr_), "IPv6 FIB");
  // Not kept for the next process: without rules nothing leads there, and with rules nothing is.
  fib.engine = lookup::Engine::kTrie;
  fib.tables = kFurtherTables;
  further4_ = created(lookup::Fib4::create(fib, memory_, qsbr_), "further IPv4 tables");
  further6_ = created(lookup::Fib6::create(fib, memory_, qsbr_), "further IPv6 tables");
  lookup::NextHopOptions next_hops;
  next_hops.sockets = sockets;
  next_hops.max_groups = config.groups;
  next_hops.no_route_kind = lookup::RecordKind::kPunt;
  next_hops.no_route_reason = static_cast<uint8_t>(Reason::kNoRoute);
  next_hops_ =
      created(lookup::NextHopTable::create(next_hops, memory_of("nexthops", service), readers_),
              "next hops");
  RoutingOptions options;
  options.sockets = sockets;
  options.max_groups = config.groups;
  options.memory = &memory_of("urpf", service);
  options.readers = &qsbr_;
  options.consistent_ecmp = config.consistent_ecmp;
  options.further4 = further4_.get();
  options.further6 = further6_.get();
  options.further_tables = kFurtherTables;
  lookup::FibOptions large;
  large.sockets = sockets;
  large.max_bytes = config.memory_bytes.value_or(0);
  large.engine = engine_of(config.ipv4_engine);
  options.make4 = [this, large] {
    auto made = lookup::Fib4::create(large, memory_, qsbr_);
    return made ? std::move(*made) : nullptr;
  };
  options.make6 = [this, large] {
    auto made = lookup::Fib6::create(large, memory_, qsbr_);
    return made ? std::move(*made) : nullptr;
  };
  options.log = std::move(log);
  routing_ = std::make_unique<Routing>(*fib4_, *fib6_, *next_hops_, std::move(options));
}

// What this process has had stays for the next one: from here on nothing is let go of.
Tables::~Tables() {
  for (const auto& memory : kept_memories_) memory->leave();
}

lookup::Memory& Tables::memory_of(const char* table, ServiceManager* service) {
  if (service == nullptr || !service->keeps()) return memory_;
  kept_memories_.push_back(std::make_unique<KeptMemory>(run_ + "-" + table, *service, memory_));
  return *kept_memories_.back();
}

bool Tables::kept() const {
  const auto whole = [](const auto& memory) { return memory->whole(); };
  return !kept_memories_.empty() &&
         std::all_of(kept_memories_.begin(), kept_memories_.end(), whole);
}

void Tables::feed_devices() {
  readers_.watch(feed4_);
  readers_.watch(feed6_);
  fib4_->attach(&feed4_.journal());
  fib6_->attach(&feed6_.journal());
}

TableViews Tables::views(int socket) const {
  return {fib4_->view(socket),           fib6_->view(socket),
          next_hops_->view(socket),      routing_->urpf(socket),
          further4_->view(socket),       further6_->view(socket),
          routing_->large_views(socket), routing_->labels().view(socket)};
}

}  // namespace hecto::router
