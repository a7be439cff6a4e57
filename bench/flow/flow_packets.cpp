// What an entry costs a packet: the whole worker, with the table on and off in turn.
#include <fmt/format.h>

#include <array>

#include "bench/bed/bed.hpp"
#include "bench/bed/slices.hpp"
#include "bench/flow/flow.hpp"
#include "bench/lib/statistics.hpp"
#include "bench/lib/text_table.hpp"
#include "config/file/flow_words.hpp"
#include "router/control/dpdk_forwarding_plane.hpp"
#include "router/control/flow_control.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/worker.hpp"

namespace hecto::bench {
namespace {

struct FlowWay {
  std::string name;
  std::string action;  // empty: the table is off
  std::vector<double> cycles = {};
};

// An entry for each destination, by all five fields.
Result<void> set_entries(Bed& bed, router::FlowControl& flows, const std::string& action) {
  std::vector<config::FlowConfig> entries;
  const auto& destinations = bed.destinations().ipv4;
  for (const auto& destination : destinations) {
    const lookup::Ipv4Address address{__builtin_bswap32(destination.address_be)};
    const auto flow = config::parse_flow(fmt::format(
        "from 198.18.0.1 to {} protocol udp sport 0 dport 0 {}", address.to_string(), action));
    if (!flow) return fail(flow.error());
    entries.push_back(*flow);
  }
  size_t which = 0;
  return flows.add(entries, &which);
}

}  // namespace

int measure_flow_packets(const FlowBenchOptions& options) {
  std::vector<std::vector<std::string>> rows = {
      {"flows", "packets", "cycles", "over the floor", "over off", "spread %", "Mpps", "Gb/s"}};
  BedOptions bed_options;
  bed_options.routes = 10'000;
  bed_options.counters = true;
  bed_options.destinations = options.entries[0];
  bed_options.frames[0].cache = cache_by_name("l2");
  auto made = Bed::create(bed_options);
  if (!made) {
    fmt::print(stderr, "{}\n", made.error().message);
    return 1;
  }
  Bed& bed = **made;
  Slices slices(bed, bed_options.burst);
  router::FlowControl& flows = bed.router().flows();
  router::Worker& worker = bed.router().dataplane().worker(0);
  config::FlowsConfig on;
  on.interfaces = {"in0"};
  on.entries = 1u << 20;
  std::array<FlowWay, 4> ways = {
      {{"off", ""},
       {"output", "output out0 mac 02:00:00:01:00:01"},
       {"accept", "accept"},
       {"rewritten", "set_to 100.64.0.1 set_dscp 10 output out0 mac 02:00:00:01:00:01"}}};
  std::vector<double> floor;
  for (unsigned round = 0; round < options.rounds; ++round) {
    floor.push_back(slices.measure(BedWork::kFloor, options.round_ms).cycles);
    for (FlowWay& way : ways) {
      // Off, the table stays where it is, so that its memory is warm when it is on again.
      if (way.action.empty()) {
        bed.router().plane().set_flows(nullptr);
      } else {
        on.miss = on.miss == config::kMissRoute ? config::kMissDrop : config::kMissRoute;
        flows.follow(on);
      }
      bed.router().plane().publish();
      worker.refresh();
      if (!way.action.empty())
        if (auto done = set_entries(bed, flows, way.action); !done) {
          fmt::print(stderr, "{}\n", done.error().message);
          return 1;
        }
      worker.refresh();
      const uint64_t missed = flows.tables() == nullptr ? 0 : flows.tables()->misses();
      way.cycles.push_back(slices.measure(BedWork::kIpv4, options.round_ms).cycles);
      if (flows.tables() != nullptr && flows.tables()->misses() > missed) {
        fmt::print(stderr, "packets without an entry: {}\n", flows.tables()->misses() - missed);
        return 1;
      }
    }
  }
  const double mhz = static_cast<double>(rte_get_tsc_hz()) / 1e6;
  const double off = median(ways[0].cycles);
  for (const FlowWay& way : ways) {
    const double middle = median(way.cycles);
    rows.push_back(
        {fmt::format("{}", bed_options.destinations), way.name, fmt::format("{:.1f}", middle),
         fmt::format("{:.1f}", middle - median(floor)), fmt::format("{:.1f}", middle - off),
         fmt::format("{:.0f}", quartile_spread(way.cycles) * 100),
         fmt::format("{:.1f}", mhz / middle), fmt::format("{:.1f}", mhz / middle * 84 * 8 / 1000)});
  }
  fmt::print("{}", align_columns(rows, 2));
  return bed.all_forwarded() ? 0 : 1;
}

}  // namespace hecto::bench
