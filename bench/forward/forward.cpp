#include "bench/forward/forward.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/destinations.hpp"
#include "bench/forward/replay.hpp"
#include "bench/machine.hpp"
#include "bench/statistics.hpp"
#include "lookup/kernels.hpp"
#include "router/control/route_file.hpp"
#include "router/control/synthetic_table.hpp"
#include "router/dpdk.hpp"
#include "router/router.hpp"

namespace hecto::bench {
namespace {

using namespace router;
using nlohmann::json;

struct Measured {
  double cycles = 0;  // TSC per packet, median
  double mpps = 0;
  std::array<double, 5> stages{};  // receive, classify, lookup, rewrite, transmit
};

// Two egress ports, half of the next hops on each, all neighbors known.
config::Config make_config(const ForwardOptions& options) {
  config::Config c;
  c.linux_side.enabled = false;
  c.idle = config::IdleMode::kPoll;
  c.burst = static_cast<uint16_t>(options.burst);
  const auto port = [&](const char* name, const char* device, const char* a4, const char* a6) {
    config::PortConfig p;
    p.name = name;
    p.device = device;
    p.kind = config::DeviceKind::kVdev;
    p.addresses = {*lookup::IpPrefix::parse_interface(a4), *lookup::IpPrefix::parse_interface(a6)};
    c.ports.push_back(p);
  };
  port("in0", "net_null0,size=64", "198.18.0.254/24", "2001:2::fe/64");
  port("out0", "net_null1,size=64,no-rx=1", "100.64.0.254/24", "2001:db8:0::fe/64");
  port("out1", "net_null2,size=64,no-rx=1", "100.64.1.254/24", "2001:db8:1::fe/64");
  for (unsigned i = 0; i < options.next_hops; ++i) {
    const unsigned side = i % 2;
    const auto host = i / 2 + 1;
    const config::MacAddress mac = {
        0x02, 0, 0, 1, static_cast<uint8_t>(side), static_cast<uint8_t>(host)};
    for (const std::string& address :
         {fmt::format("100.64.{}.{}", side, host), fmt::format("2001:db8:{}::{:x}", side, host)})
      c.neighbors.push_back({*lookup::IpAddress::parse(address), fmt::format("out{}", side), mac});
  }
  return c;
}

struct Table {
  std::shared_ptr<const RouteTable> routes;
  std::string name;
  std::vector<uint32_t> destinations4;
  std::vector<lookup::Ipv6Address> destinations6;
};

Result<void> choose_destinations(Table& table, unsigned count) {
  std::vector<lookup::Prefix4> v4;
  std::vector<lookup::Prefix6> v6;
  for (const RouteTable::Entry& entry : table.routes->entries)
    if (entry.prefix.address.family == lookup::Family::kIpv4)
      v4.push_back(entry.prefix.v4());
    else
      v6.push_back(entry.prefix.v6());
  if (v4.empty() || v6.empty())
    return fail(fmt::format("table {}: {} IPv4 and {} IPv6 prefixes; some of both are needed",
                            table.name, v4.size(), v6.size()));
  table.destinations4 = make_destinations(Destinations::kInTable, v4, count, 7);
  table.destinations6 = make_destinations(Destinations::kInTable, v6, count, 7);
  return {};
}

Result<Table> read_table(const ForwardOptions& options, Router& router) {
  RouteFileOptions parse;
  for (const config::NeighborConfig& neighbor : router.config().neighbors) {
    auto hop = router.next_hop({neighbor.address, neighbor.interface, 1});
    if (!hop) return tl::unexpected(hop.error());
    parse.via.push_back(*hop);
  }
  Table table;
  RouteFile file;
  const std::string path =
      options.table.empty() ? find_real_table(options.root).value_or("") : options.table;
  if (path.empty()) {
    const auto prefixes = synthetic_prefixes();
    file = with_next_hops(prefixes, parse);
    table.name = "synthetic";
  } else {
    auto read = read_routes(path, parse);
    if (!read) return tl::unexpected(read.error());
    file = std::move(*read);
    table.name = std::filesystem::path(path).filename();
  }
  table.routes = std::make_shared<const RouteTable>(std::move(file.table));
  if (auto done = choose_destinations(table, options.destinations); !done)
    return tl::unexpected(done.error());
  return table;
}

Result<double> program(Router& router, std::shared_ptr<const RouteTable> routes) {
  const auto start = std::chrono::steady_clock::now();
  auto counts = router.routing().load(std::move(routes), {});
  if (!counts) return tl::unexpected(counts.error());
  if (counts->refused > 0) return fail(counts->first_error);
  router.routing().commit();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class Bench {
 public:
  Bench(Router& router, Replay& replay, const ForwardOptions& options)
      : worker_(router.dataplane().worker(0)),
        replay_(replay),
        options_(options),
        in_(router.dataplane().port("in0")->id()),
        out_{router.dataplane().port("out0")->id(), router.dataplane().port("out1")->id()} {
    worker_.refresh();
  }

  // Receive and transmit, nothing between: what `testpmd` calls io forwarding.
  double floor() {
    return measure([this] {
      rte_mbuf* packets[kChunkSize];
      const uint16_t count =
          rte_eth_rx_burst(in_, 0, packets, static_cast<uint16_t>(options_.burst));
      const uint16_t port = out_[turn_++ % 2];
      const uint16_t sent = rte_eth_tx_burst(port, 0, packets, count);
      for (uint16_t i = sent; i < count; ++i) rte_pktmbuf_free(packets[i]);
      return unsigned{count};
    });
  }
  double forward(Traffic traffic) {
    replay_.select(traffic);
    return measure([this] { return worker_.poll_once(); });
  }

 private:
  template <typename Poll>
  double measure(Poll poll) {
    const uint64_t length = rte_get_tsc_hz() / 1000 * options_.round_ms;
    const uint64_t warm = rte_rdtsc() + length / 10;
    while (rte_rdtsc() < warm) poll();
    uint64_t packets = 0;
    const uint64_t start = rte_rdtsc();
    uint64_t now = start;
    while (now - start < length) {
      for (unsigned i = 0; i < 64; ++i) packets += poll();
      now = rte_rdtsc();
    }
    return static_cast<double>(now - start) / static_cast<double>(packets);
  }

  Worker& worker_;
  Replay& replay_;
  const ForwardOptions& options_;
  uint16_t in_;
  uint16_t out_[2];
  unsigned turn_ = 0;
};

// TSC cycles a packet in each stage, of the sampled chunks between two totals.
std::array<double, 5> stage_cycles(const WorkerTotals& before, const WorkerTotals& after) {
  std::array<double, 5> cycles{};
  const auto packets = static_cast<double>(after.sampled_packets - before.sampled_packets);
  for (size_t i = 0; i < cycles.size() && packets > 0; ++i)
    cycles[i] = static_cast<double>(after.stage_cycles[i] - before.stage_cycles[i]) / packets;
  return cycles;
}

// One family's or the floor's rounds.
struct Series {
  std::vector<double> cycles;
  std::array<std::vector<double>, 5> stages;

  void add(double per_packet, const std::array<double, 5>& stage) {
    cycles.push_back(per_packet);
    for (size_t i = 0; i < stages.size(); ++i) stages[i].push_back(stage[i]);
  }
  Measured result() const {
    Measured m;
    m.cycles = median(cycles);
    m.mpps = static_cast<double>(rte_get_tsc_hz()) / m.cycles / 1e6;
    for (size_t i = 0; i < stages.size(); ++i) m.stages[i] = median(stages[i]);
    return m;
  }
};

// Every packet that came in went out again: a benchmark of drops would be fast, too.
bool all_forwarded(Router& router) {
  const Totals totals = collect(router.dataplane());
  if (totals.dropped_total() == 0 && totals.punted_total() == 0) return true;
  for (size_t i = 1; i < kReasonCount; ++i)
    if (totals.dropped[i] > 0)
      fmt::print(stderr, "dropped {} packets: {}\n", totals.dropped[i],
                 info(static_cast<Reason>(i)).name);
  return false;
}

void report(const ForwardOptions& options, const Table& table, double load_s, const Measured& floor,
            const Measured& v4, const Measured& v6, bool hugepages) {
  const std::string machine = machine_name();
  fmt::print("forwarding, one core, 64-byte packets, {} routes ({}), {} next hops, burst {}\n",
             table.routes->entries.size(), table.name, options.next_hops, options.burst);
  fmt::print("{}, TSC {:.1f} GHz, {}, look-up {}; routes programmed in {:.2f} s\n\n", machine,
             static_cast<double>(rte_get_tsc_hz()) / 1e9, hugepages ? "hugepages" : "no hugepages",
             lookup::to_string(lookup::kernels().isa), load_s);
  fmt::print("{:<8} {:>10} {:>16} {:>18}\n", "", "Mpps", "cycles/packet", "over the floor");
  fmt::print("{:<8} {:>10.1f} {:>16.1f} {:>18}\n", "floor", floor.mpps, floor.cycles, "");
  fmt::print("{:<8} {:>10.1f} {:>16.1f} {:>18.1f}\n", "ipv4", v4.mpps, v4.cycles,
             v4.cycles - floor.cycles);
  fmt::print("{:<8} {:>10.1f} {:>16.1f} {:>18.1f}\n", "ipv6", v6.mpps, v6.cycles,
             v6.cycles - floor.cycles);
  fmt::print(
      "\nstages (sampled, with the clock's own cost): receive, classify, look-up, rewrite, "
      "transmit\n");
  for (const auto& [family, m] : {std::pair("ipv4", &v4), std::pair("ipv6", &v6)})
    fmt::print("{:<8} {:>10.1f} {:>8.1f} {:>8.1f} {:>8.1f} {:>8.1f}\n", family, m->stages[0],
               m->stages[1], m->stages[2], m->stages[3], m->stages[4]);
  if (options.json.empty()) return;
  const auto row = [](const Measured& m) {
    return json{{"mpps", m.mpps}, {"cycles_per_packet", m.cycles}, {"stages", m.stages}};
  };
  json out = {{"floor", row(floor)},
              {"ipv4", row(v4)},
              {"ipv6", row(v6)},
              {"machine", machine},
              {"table", table.name},
              {"isa", lookup::to_string(lookup::kernels().isa)},
              {"tsc_hz", rte_get_tsc_hz()},
              {"hugepages", hugepages},
              {"routes", table.routes->entries.size()},
              {"next_hops", options.next_hops},
              {"burst", options.burst},
              {"load_s", load_s},
              {"dpdk", Eal::version()}};
  out["ipv4"]["cycles_over_floor"] = v4.cycles - floor.cycles;
  out["ipv6"]["cycles_over_floor"] = v6.cycles - floor.cycles;
  std::filesystem::create_directories(std::filesystem::absolute(options.json).parent_path());
  std::ofstream(options.json) << out.dump(2) << "\n";
  fmt::print("\nwritten: {}\n", options.json);
}

}  // namespace

int forward(const ForwardOptions& options) {
  spdlog::set_level(spdlog::level::warn);
  config::Config config = make_config(options);
  config.log_level = "warn";
  auto router = Router::create(config);
  if (!router) {
    fmt::print(stderr, "{}\n", router.error().message);
    return 1;
  }
  auto table = read_table(options, **router);
  if (!table) {
    fmt::print(stderr, "{}\n", table.error().message);
    return 1;
  }
  auto load_s = program(**router, table->routes);
  if (!load_s) {
    fmt::print(stderr, "{}\n", load_s.error().message);
    return 1;
  }
  Port& in = *(*router)->dataplane().port("in0");
  Replay replay(in.id(), in.mac(), table->destinations4, table->destinations6);
  Bench bench(**router, replay, options);
  Series floor, v4, v6;
  const auto forwarded = [&](Traffic traffic, Series& series) {
    const WorkerTotals before = collect((*router)->dataplane()).workers[0];
    const double cycles = bench.forward(traffic);
    series.add(cycles, stage_cycles(before, collect((*router)->dataplane()).workers[0]));
  };
  for (unsigned round = 0; round < options.rounds; ++round) {
    floor.add(bench.floor(), {});
    forwarded(Traffic::kIpv4, v4);
    forwarded(Traffic::kIpv6, v6);
  }
  report(options, *table, *load_s, floor.result(), v4.result(), v6.result(),
         rte_eal_has_hugepages() != 0);
  return all_forwarded(**router) ? 0 : 1;
}

}  // namespace hecto::bench
