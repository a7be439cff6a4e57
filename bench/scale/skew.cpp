#include "bench/scale/skew.hpp"

#include <fmt/format.h>

#include <algorithm>
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

constexpr double kMostLost = 0.001;    // of what comes in, where an offer is carried
constexpr double kLessOffered = 0.97;  // than what was not
constexpr unsigned kOffers = 32;       // then the least of them: the figures say what it lost

struct Figures {
  std::vector<double> one, all, times;    // Mpps, Mpps, and the ratio of each round
  std::vector<double> hand_over, taking;  // cycles of a packet at the head, and at who takes it
  uint64_t received = 0, full = 0;        // packets of all rounds with all; and those without room
  double lost() const {
    return received == 0 ? 0 : static_cast<double>(full) / static_cast<double>(received);
  }
};

class SkewedBed {
 public:
  SkewedBed(Bed& bed, const ScaleOptions& options) : bed_(bed), options_(options) {}

  // The head alone, before its queue is spread. Adds to what a packet costs it.
  double one() {
    stop();
    bed_.replay(0).follow(nullptr, 0);
    bed_.replay(0).pace(0);
    bed_.replay(0).set_active(true);
    const Totals before = collect(dataplane());
    const double mpps = rate_now(bed_, options_.round_ms).mpps;
    const SpreadCosts costs =
        spread_costs(collect(dataplane()).workers[head()], before.workers[head()]);
    receive_.push_back(costs.receive);
    rest_.push_back(costs.rest);
    return mpps;
  }
  // What the first queue gets goes over all of them, worth it or not; then the most that they carry.
  Result<void> begin_spread() {
    stop();
    SpreadCosts costs{median(receive_), median(rest_), {}, 0};
    costs.free.assign(bed_.workers(), SpreadControl::kLimit_percent / 100);
    if (!dataplane().spread("in0", 0, costs)) return fail("scale --skew: " + description());
    Figures tried;
    offered_pps_ = all(tried) * 1e6 * options_.skew_percent / 100;
    for (unsigned i = 0; i < kOffers; ++i) {
      Figures figures;
      all(figures);
      if (figures.lost() <= kMostLost) break;
      offered_pps_ *= kLessOffered;
    }
    return {};
  }
  // At that offer.
  double all(Figures& figures) {
    offer(offered_pps_);
    const Totals before = collect(dataplane());
    const double mpps = rate_now(bed_, options_.round_ms).mpps;
    const Totals now = collect(dataplane());
    constexpr auto kFull = static_cast<size_t>(Reason::kSpreadFull);
    figures.received += now.received - before.received;
    figures.full += now.dropped[kFull] - before.dropped[kFull];
    add_costs(figures, now, before);
    return mpps;
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
  // So much to the head's queue, and the others' share to theirs.
  void offer(double pps) {
    stop();
    const double first = options_.skew_percent / 100;
    const double others = static_cast<double>(bed_.workers() - 1);
    bed_.replay(0).pace(pps);
    for (size_t i = 1; i < bed_.workers(); ++i)
      bed_.replay(i).follow(&bed_.replay(0), (1 - first) / first / others);
    for (size_t i = 0; i < bed_.workers(); ++i) bed_.replay(i).set_active(true);
  }
  // What a packet costs beside receiving it, and what behind that it costs anywhere.
  void add_costs(Figures& figures, const Totals& now, const Totals& before) const {
    const double receive = median(receive_), rest = median(rest_);
    double head_cycles = 0, taken_cycles = 0, taken = 0, all = 0;
    for (size_t i = 0; i < bed_.workers(); ++i) {
      const PortId in = bed_.in(i);
      const WorkerTotals& then = before.workers[i];
      const auto busy = static_cast<double>(now.workers[i].busy - then.busy);
      const auto packets = static_cast<double>(now.workers[i].packets - then.packets);
      const auto own = static_cast<double>(now.ports[in].rx_packets - before.ports[in].rx_packets);
      if (i == head()) {
        head_cycles = busy - own * receive;
        all = own;
      } else {
        taken_cycles += busy - own * (receive + rest) - (packets - own) * rest;
        taken += packets - own;
      }
    }
    if (taken == 0) return;
    const double kept = std::max(all - taken, 0.0);
    figures.hand_over.push_back((head_cycles - kept * rest) / all);
    figures.taking.push_back(taken_cycles / taken);
  }

  Bed& bed_;
  const ScaleOptions& options_;
  std::vector<double> receive_, rest_;  // cycles, of each round of one
  double offered_pps_ = 0;              // to the head's queue; 0: as many as it takes
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
  fmt::print("{:>16} {:>9.2f}%\n", "found no room", figures.lost() * 100);
  if (!figures.taking.empty())
    fmt::print("{:>16} {:>10.0f} cycles a packet at the head, {:.0f} at who takes it\n",
               "hand-over", median(figures.hand_over), median(figures.taking));
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
          {"hand_over_cycles", figures.hand_over.empty() ? 0 : median(figures.hand_over)},
          {"take_cycles", figures.taking.empty() ? 0 : median(figures.taking)},
          {"spread_full", figures.lost()}};
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
  auto running = RunningWorkers::start(**bed);
  if (!running) return complain(running.error());
  for (unsigned round = 0; round < options.rounds; ++round) figures.one.push_back(skewed.one());
  auto begun = skewed.begin_spread();
  for (unsigned round = 0; begun && round < options.rounds; ++round) {
    figures.all.push_back(skewed.all(figures));
    figures.times.push_back(figures.all.back() / median(figures.one));
  }
  skewed.stop();
  running->reset();
  if (!begun) return complain(begun.error());
  const Totals totals = collect(dataplane);
  if (options.json != "-") print(options, **bed, figures, skewed.description());
  if (auto done = write_json(options.json, to_json(options, **bed, figures, skewed.description()));
      !done)
    return complain(done.error());
  return accounted(totals) ? 0 : 1;
}

}  // namespace hecto::bench
