#include "bench/scale/scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "bench/bed/worker_rate.hpp"
#include "bench/lib/json_file.hpp"
#include "bench/lib/machine.hpp"
#include "bench/lib/statistics.hpp"
#include "bench/scale/skew.hpp"
#include "lookup/kernels.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/ports/eal.hpp"

namespace hecto::bench {
namespace {

using namespace router;
using nlohmann::json;

// So many workers, over their rounds.
struct Series {
  unsigned workers = 0;
  size_t sockets = 0;
  std::vector<double> mpps;
  std::vector<double> cycles;  // TSC a packet, of the workers' busy time

  double rate() const { return median(mpps); }
};

std::vector<Series> make_series(const std::vector<unsigned>& steps, const WorkerCores& cores) {
  std::vector<Series> out;
  for (const unsigned workers : steps) {
    std::set<int> sockets;
    for (unsigned i = 0; i < workers; ++i) sockets.insert(cores[i].first);
    out.push_back({workers, sockets.size(), {}, {}});
  }
  return out;
}

// Of N workers: their rate by N times the rate of the fewest that were measured, one of them.
double efficiency(const Series& series, const Series& first) {
  const double alone = first.rate() / first.workers;
  return alone > 0 ? series.rate() / (alone * series.workers) : 0;
}

void print(const ScaleOptions& options, Bed& bed, const std::vector<Series>& all) {
  fmt::print("scaling, {}, {}-byte packets, {} routes ({}), {} placement\n", options.family,
             options.size, bed.routes(), bed.table_name(), options.placement);
  fmt::print("{}, {}, look-up {}\n\n", machine_name(),
             rte_eal_has_hugepages() != 0 ? "hugepages" : "no hugepages",
             lookup::to_string(lookup::kernels().isa));
  fmt::print("{:>8} {:>8} {:>10} {:>14} {:>16} {:>11} {:>8}\n", "workers", "sockets", "Mpps",
             "Mpps/worker", "cycles/packet", "efficiency", "spread");
  for (const Series& series : all)
    fmt::print("{:>8} {:>8} {:>10.1f} {:>14.1f} {:>16.1f} {:>10.0f}% {:>7.0f}%\n", series.workers,
               series.sockets, series.rate(), series.rate() / series.workers, median(series.cycles),
               efficiency(series, all.front()) * 100, quartile_spread(series.mpps) * 100);
}

json to_json(const ScaleOptions& options, Bed& bed, const std::vector<Series>& all) {
  json points = json::array();
  for (const Series& series : all)
    points.push_back({{"workers", series.workers},
                      {"sockets", series.sockets},
                      {"mpps", series.rate()},
                      {"mpps_per_worker", series.rate() / series.workers},
                      {"gbps", series.rate() * mean_bytes(options.bed.frames[0].sizes) * 8 / 1e3},
                      {"cycles_per_packet", median(series.cycles)},
                      {"efficiency", efficiency(series, all.front())},
                      {"spread", quartile_spread(series.mpps)}});
  return {{"machine", machine_name()},
          {"table", bed.table_name()},
          {"routes", bed.routes()},
          {"family", options.family},
          {"size", options.size},
          {"placement", options.placement},
          {"isa", lookup::to_string(lookup::kernels().isa)},
          {"hugepages", rte_eal_has_hugepages() != 0},
          {"dpdk", Eal::version()},
          {"points", points}};
}

// What to measure, or why it cannot be.
Result<std::vector<unsigned>> steps_of(const ScaleOptions& options,
                                       const config::Topology& topology, const WorkerCores& cores) {
  if (options.placement == "wrong" && topology.sockets.size() < 2)
    return fail("--placement wrong: this machine has one NUMA node, nothing can lie wrong");
  const auto most = static_cast<unsigned>(cores.size());
  std::vector<unsigned> steps = options.workers.empty() ? scale_steps(most) : options.workers;
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  if (steps.front() == 0 || steps.back() > most)
    return fail(fmt::format("--workers {}: use 1 to {}, as many as there are cores",
                            steps.front() == 0 ? 0 : steps.back(), most));
  return steps;
}

}  // namespace

std::vector<unsigned> scale_steps(unsigned most) {
  std::vector<unsigned> steps;
  for (unsigned workers = 1; workers < most; workers *= 2) steps.push_back(workers);
  steps.push_back(most);
  return steps;
}

int scale(const ScaleOptions& wanted) {
  ScaleOptions options = wanted;
  auto sizes = frame_sizes(options.size);
  if (!sizes) return complain(sizes.error());
  options.bed.frames[0].sizes = *sizes;
  options.bed.frames[0].cache = cache_by_name(options.cache);
  auto topology = config::read_topology();
  if (!topology) return complain({"topology: " + topology.error()});
  const WorkerCores cores = worker_cores(*topology);
  auto steps = steps_of(options, *topology, cores);
  if (!steps) return complain(steps.error());
  if (options.skew_percent > 0) {
    if (steps->back() < 2) return complain({"--skew: use --workers 2 or more"});
    return scale_skewed(options, {cores.begin(), cores.begin() + steps->back()});
  }
  options.bed.workers.assign(cores.begin(), cores.begin() + steps->back());
  options.bed.wrong_sockets = options.placement == "wrong";
  auto bed = Bed::create(options.bed);
  if (!bed) return complain(bed.error());
  for (size_t i = 0; i < (*bed)->workers(); ++i) {
    (*bed)->replay(i).select(options.family == "ipv4" ? Traffic::kIpv4 : Traffic::kIpv6);
    (*bed)->replay(i).settle();
  }
  std::vector<Series> all = make_series(*steps, cores);
  auto running = RunningWorkers::start(**bed);
  if (!running) return complain(running.error());
  for (unsigned round = 0; round < options.rounds; ++round)
    for (Series& series : all) {
      const WorkersRate rate = rate_of_workers(**bed, series.workers, options.round_ms);
      series.mpps.push_back(rate.mpps);
      series.cycles.push_back(rate.cycles);
    }
  running->reset();
  if (options.json != "-") print(options, **bed, all);
  if (auto done = write_json(options.json, to_json(options, **bed, all)); !done)
    return complain(done.error());
  return (*bed)->all_forwarded() ? 0 : 1;
}

}  // namespace hecto::bench
