#include "bench/scale/skew.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/lib/json_file.hpp"
#include "bench/lib/machine.hpp"
#include "bench/lib/statistics.hpp"
#include "router/control/spread_control.hpp"
#include "router/dataplane/sampler.hpp"

namespace hecto::bench {
namespace {

using namespace router;
using nlohmann::json;

constexpr std::chrono::milliseconds kPause{1};  // in which workers see that replays have stopped

struct Figures {
  std::vector<double> one, all, times;  // Mpps, Mpps, and the ratio of each round
  double lost = 0;                      // share of what came in that found rings full
};

class SkewedBed {
 public:
  SkewedBed(Bed& bed, const ScaleOptions& options) : bed_(bed), options_(options) {}

  // Of its first worker alone; then what the first queue gets goes over all of them.
  Result<void> begin_spread() {
    only(0);
    const auto totals = [&] { return collect(dataplane()).workers[head()]; };
    const WorkerTotals before = totals();
    rate_now(bed_, options_.round_ms);
    if (!dataplane().spread("in0", 0, spread_costs(totals(), before)))
      return fail("scale --skew: " + description());
    return {};
  }
  double one() {
    only(1);
    return rate_now(bed_, options_.round_ms).mpps;
  }
  double all() {
    stop();
    const double first = options_.skew_percent / 100;
    const double others = static_cast<double>(bed_.workers() - 1);
    for (size_t i = 0; i < bed_.workers(); ++i) {
      if (i > 0) bed_.replay(i).follow(&bed_.replay(0), (1 - first) / first / others);
      bed_.replay(i).set_active(true);
    }
    return rate_now(bed_, options_.round_ms).mpps;
  }
  void stop() {
    for (size_t i = 0; i < bed_.workers(); ++i) bed_.replay(i).set_active(false);
    std::this_thread::sleep_for(kPause);
  }
  std::string description() const {
    return "in0:0 " +
           dataplane().spread_of("in0").describe(0, [](unsigned worker) { return worker; });
  }

 private:
  Dataplane& dataplane() const { return bed_.router().dataplane(); }
  unsigned head() const { return dataplane().spread_of("in0").head(0); }
  void only(size_t worker) {
    stop();
    bed_.replay(worker).follow(nullptr, 0);
    bed_.replay(worker).set_active(true);
  }

  Bed& bed_;
  const ScaleOptions& options_;
};

void print(const ScaleOptions& options, Bed& bed, const Figures& figures,
           const std::string& description) {
  fmt::print("{} % in one queue, {}, {}-byte packets, {} workers, {} routes ({})\n{}\n{}\n\n",
             options.skew_percent, options.family, options.size, bed.workers(), bed.routes(),
             bed.table_name(), machine_name(), description);
  fmt::print("{:>16} {:>10} {:>8}\n", "", "Mpps", "spread");
  for (const auto& [name, mpps] : {std::pair("one worker", &figures.one), {"all", &figures.all}})
    fmt::print("{:>16} {:>10.1f} {:>7.0f}%\n", name, median(*mpps), quartile_spread(*mpps) * 100);
  fmt::print("{:>16} {:>10.2f} {:>7.0f}%\n", "times", median(figures.times),
             quartile_spread(figures.times) * 100);
  fmt::print("{:>16} {:>9.1f}%\n", "found no room", figures.lost * 100);
}

json to_json(const ScaleOptions& options, Bed& bed, const Figures& figures,
             const std::string& description) {
  return {{"machine", machine_name()},
          {"table", bed.table_name()},
          {"routes", bed.routes()},
          {"family", options.family},
          {"size", options.size},
          {"skew_percent", options.skew_percent},
          {"workers", bed.workers()},
          {"spread", description},
          {"one_mpps", median(figures.one)},
          {"all_mpps", median(figures.all)},
          {"times", median(figures.times)},
          {"times_spread", quartile_spread(figures.times)},
          {"spread_full", figures.lost}};
}

// Nothing is lost but what found a ring full.
bool accounted(const Totals& totals) {
  const uint64_t full = totals.dropped[static_cast<size_t>(Reason::kSpreadFull)];
  if (totals.dropped_total() == full && totals.punted_total() == 0) return true;
  fmt::print(stderr, "dropped {} packets that no ring refused\n", totals.dropped_total() - full);
  return false;
}

}  // namespace

int scale_skewed(const ScaleOptions& wanted, const WorkerCores& cores) {
  ScaleOptions options = wanted;
  options.bed.workers = cores;
  options.bed.spread = true;
  auto bed = Bed::create(options.bed);
  if (!bed) return complain(bed.error());
  Dataplane& dataplane = (*bed)->router().dataplane();
  for (size_t i = 0; i < (*bed)->workers(); ++i) {
    (*bed)->replay(i).select(options.family == "ipv4" ? Traffic::kIpv4 : Traffic::kIpv6);
    (*bed)->replay(i).settle();
  }
  SkewedBed skewed(**bed, options);
  Figures figures;
  dataplane.start();
  auto begun = skewed.begin_spread();
  for (unsigned round = 0; begun && round < options.rounds; ++round) {
    figures.one.push_back(skewed.one());
    figures.all.push_back(skewed.all());
    figures.times.push_back(figures.all.back() / figures.one.back());
  }
  skewed.stop();
  dataplane.stop();
  if (!begun) return complain(begun.error());
  const Totals totals = collect(dataplane);
  figures.lost = static_cast<double>(totals.dropped[static_cast<size_t>(Reason::kSpreadFull)]) /
                 static_cast<double>(totals.received);
  if (options.json != "-") print(options, **bed, figures, skewed.description());
  if (auto done = write_json(options.json, to_json(options, **bed, figures, skewed.description()));
      !done)
    return complain(done.error());
  return accounted(totals) ? 0 : 1;
}

}  // namespace hecto::bench
