// Tables alone.
#include "router/dataplane/flow/flow_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>

#include "bench/flow/flow.hpp"
#include "bench/lib/statistics.hpp"
#include "bench/lib/text_table.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/ports/eal.hpp"

namespace hecto::bench {
namespace {

using router::FilterKey4;
using router::FlowCell;

constexpr unsigned kAtOnce = 64;
constexpr size_t kLeastLookedUp = 1 << 15;  // keys; more where there are more entries

// As rte_hash has it: DPDK's heap.
class HeapMemory final : public lookup::Memory {
 public:
  void* allocate(size_t bytes, int socket) noexcept override {
    return rte_zmalloc_socket("hecto", bytes, RTE_CACHE_LINE_SIZE, socket);
  }
  void release(void* block, size_t) noexcept override { rte_free(block); }
  static HeapMemory& of_process() {
    static HeapMemory memory;
    return memory;
  }
};

enum class Counting { kNone, kOwn, kLocked };

class HectoFlows final : public FlowEngine {
 public:
  explicit HectoFlows(Counting counting) : counting_(counting) {}
  std::string name() const override {
    return counting_ == Counting::kNone  ? "hecto"
           : counting_ == Counting::kOwn ? "hecto, counting"
                                         : "hecto, locked adds";
  }
  std::string load(const std::vector<BenchFlow>& flows) override {
    auto made =
        router::FlowTables::create({static_cast<uint32_t>(flows.size()), 1,
                                    static_cast<int>(rte_socket_id()), router::random_flow_seed()},
                                   HeapMemory::of_process(), lookup::Reclaimer::none());
    if (!made) return made.error().message;
    tables_ = *made;
    router::FlowOrder order;
    constexpr size_t kSlice = 1024;
    std::vector<router::FlowOrder> orders;
    for (const BenchFlow& flow : flows) {
      order.key4 = flow.key;
      order.mask4 = flow.mask;
      order.priority = flow.priority;
      orders.push_back(order);
      if (orders.size() < kSlice && &flow != &flows.back()) continue;
      if (auto done = tables_->set(orders); !done) return done.error().message;
      orders.clear();
    }
    return {};
  }
  void prepare(const std::vector<FilterKey4>& keys) override { keys_ = &keys; }
  unsigned find(size_t first, unsigned n) override {
    auto& table = tables_->of(keys_->data());
    FlowCell* const cells = tables_->thread(0).cells4;
    uint32_t places[kAtOnce];
    table.find(table.list(), keys_->data() + first, n,
               counting_ == Counting::kNone ? nullptr : cells, places);
    unsigned found = 0;
    for (unsigned i = 0; i < n; ++i) {
      found += places[i] != 0;
      if (counting_ == Counting::kNone || places[i] == 0) continue;
      if (counting_ == Counting::kOwn) {
        cells[places[i]].packets.add(1);
        cells[places[i]].bytes.add(46);
      } else {
        auto* const cell = reinterpret_cast<uint64_t*>(cells + places[i]);
        __atomic_fetch_add(cell, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(cell + 1, 46, __ATOMIC_RELAXED);
      }
    }
    return found;
  }

 private:
  const Counting counting_;
  std::shared_ptr<router::FlowTables> tables_;
  const std::vector<FilterKey4>* keys_ = nullptr;
};

struct FlowContest {
  std::string what;
  std::vector<BenchFlow> flows;
  bool one_mask;
};

FilterKey4 random_flow(std::mt19937_64& random) {
  FilterKey4 key;
  std::memset(static_cast<void*>(&key), 0, sizeof key);
  key.protocol = 17;
  const uint64_t words[2] = {random(), random()};
  std::memcpy(key.source, words, 8);
  std::memcpy(key.ports, words + 1, 4);
  key.state = router::kKeyPorts;
  return key;
}

FilterKey4 mask_of(unsigned from, unsigned to, bool sport, bool dport) {
  FilterKey4 mask;
  std::memset(static_cast<void*>(&mask), 0, sizeof mask);
  const auto prefix = [](uint8_t* at, unsigned length) {
    const uint32_t bits = length == 0 ? 0 : __builtin_bswap32(UINT32_MAX << (32 - length));
    std::memcpy(at, &bits, 4);
  };
  mask.protocol = 0xff;
  prefix(mask.source, from);
  prefix(mask.destination, to);
  if (sport) std::memset(mask.ports, 0xff, 2);
  if (dport) std::memset(mask.ports + 2, 0xff, 2);
  return mask;
}

FlowContest exact(uint32_t entries) {
  std::mt19937_64 random(entries);
  FlowContest out{fmt::format("{} exact", entries), {}, true};
  const FilterKey4 mask = mask_of(32, 32, true, true);
  for (uint32_t i = 0; i < entries; ++i)
    out.flows.push_back({router::masked(random_flow(random), mask), mask, 0});
  return out;
}

// Masks in order of their priority, entries evenly over them.
FlowContest wildcard(uint32_t masks, uint32_t entries) {
  std::mt19937_64 random(masks);
  FlowContest out{fmt::format("{} of {} masks", entries, masks), {}, masks == 1};
  for (uint32_t i = 0; i < entries; ++i) {
    const uint32_t m = i % masks;
    const FilterKey4 mask = mask_of(32 - m % 8, m < 8 ? 24 : 32, false, m % 2 == 0);
    out.flows.push_back({router::masked(random_flow(random), mask), mask, masks - m});
  }
  return out;
}

// Packets of the entries, each of which holds for some.
std::vector<FilterKey4> packets_of(const FlowContest& contest) {
  std::mt19937_64 random(7);
  std::vector<FilterKey4> keys;
  const size_t many = std::max(kLeastLookedUp, contest.flows.size() / kAtOnce * kAtOnce);
  for (size_t i = 0; i < many; ++i) {
    const BenchFlow& flow = contest.flows[random() % contest.flows.size()];
    FilterKey4 key = random_flow(random);
    auto* at = reinterpret_cast<uint8_t*>(&key);
    const auto* mask = reinterpret_cast<const uint8_t*>(&flow.mask);
    const auto* wanted = reinterpret_cast<const uint8_t*>(&flow.key);
    for (size_t b = 0; b < sizeof key; ++b)
      at[b] = static_cast<uint8_t>((at[b] & ~mask[b]) | wanted[b]);
    keys.push_back(key);
  }
  return keys;
}

double cycles_a_key(FlowEngine& engine, size_t& place, size_t keys_there, unsigned milliseconds,
                    uint64_t& missed) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  uint64_t keys = 0, cycles = 0;
  while (std::chrono::steady_clock::now() < end) {
    const uint64_t start = rte_rdtsc_precise();
    for (unsigned i = 0; i < 256; ++i) {
      missed += kAtOnce - engine.find(place, kAtOnce);
      place = (place + kAtOnce) % keys_there;
    }
    cycles += rte_rdtsc_precise() - start;
    keys += 256 * kAtOnce;
  }
  return static_cast<double>(cycles) / static_cast<double>(keys);
}

}  // namespace

std::unique_ptr<FlowEngine> make_hecto_flows(bool with_counters) {
  return std::make_unique<HectoFlows>(with_counters ? Counting::kOwn : Counting::kNone);
}
std::unique_ptr<FlowEngine> make_hecto_flows_locked() {
  return std::make_unique<HectoFlows>(Counting::kLocked);
}

int measure_flow_tables(const FlowBenchOptions& options) {
  router::EalOptions eal_options;
  eal_options.control_cpu = options.cpu;
  eal_options.memory_bytes = uint64_t{options.memory_mb} << 20;
  auto eal = router::Eal::start(eal_options);
  if (!eal) {
    fmt::print(stderr, "{}\n", eal.error().message);
    return 1;
  }
  std::vector<FlowContest> contests;
  for (const uint32_t entries : options.entries) contests.push_back(exact(entries));
  for (const uint32_t masks : options.masks) contests.push_back(wildcard(masks, options.wildcards));
  std::vector<std::vector<std::string>> rows = {
      {"entries", "engine", "cycles", "least", "spread %", "M/s", "load s"}};
  const double mhz = static_cast<double>(rte_get_tsc_hz()) / 1e6;
  unsigned number = 0;
  for (const FlowContest& contest : contests) {
    const std::vector<FilterKey4> keys = packets_of(contest);
    std::vector<std::unique_ptr<FlowEngine>> engines;
    engines.push_back(make_hecto_flows(false));
    engines.push_back(make_hecto_flows(true));
    engines.push_back(make_hecto_flows_locked());
    if (contest.one_mask && contest.what.ends_with("exact"))
      engines.push_back(make_rte_hash(number));
    engines.push_back(make_rte_acl(number++));
    std::vector<std::vector<double>> cycles(engines.size());
    std::vector<size_t> places(engines.size());
    std::vector<double> seconds(engines.size());
    std::vector<std::string> wrong(engines.size());
    std::vector<uint64_t> missed(engines.size());
    for (size_t i = 0; i < engines.size(); ++i) {
      const auto start = std::chrono::steady_clock::now();
      wrong[i] = engines[i]->load(contest.flows);
      seconds[i] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      engines[i]->prepare(keys);
    }
    for (unsigned round = 0; round < options.rounds; ++round)
      for (size_t i = 0; i < engines.size(); ++i)
        if (wrong[i].empty())
          cycles[i].push_back(
              cycles_a_key(*engines[i], places[i], keys.size(), options.round_ms, missed[i]));
    for (size_t i = 0; i < engines.size(); ++i) {
      if (wrong[i].empty() && missed[i] > 0) wrong[i] = "keys that are there were not found";
      if (!wrong[i].empty()) {
        rows.push_back({contest.what, engines[i]->name(), wrong[i], "", "", "", ""});
        continue;
      }
      const double middle = median(cycles[i]);
      rows.push_back({contest.what, engines[i]->name(), fmt::format("{:.1f}", middle),
                      fmt::format("{:.1f}", *std::min_element(cycles[i].begin(), cycles[i].end())),
                      fmt::format("{:.0f}", quartile_spread(cycles[i]) * 100),
                      fmt::format("{:.1f}", mhz / middle), fmt::format("{:.3f}", seconds[i])});
    }
  }
  fmt::print("{}", align_columns(rows, 2));
  return 0;
}

}  // namespace hecto::bench
