#include "bench/throughput/measure_size.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <thread>

#include "bench/lib/cpu_wait.hpp"

namespace hecto::bench {
namespace {

constexpr double kBackToBack_s = 2;  // the longest burst (RFC 2544 §26.4: at least 2 s)
constexpr unsigned kRepetitions = 5;

// Sums what came back wrong over all trials of a size.
class WrongCounter : public TrialRunner {
 public:
  WrongCounter(TrialRunner& runner, WrongCounts& into) : runner_(runner), into_(into) {}
  Result<TrialResult> run(const TrialRequest& request) override {
    auto result = runner_.run(request);
    if (result) into_.add(result->wrong);
    return result;
  }

 private:
  TrialRunner& runner_;
  WrongCounts& into_;
};

// Fills `into` until an error or a signal ends it.
class SizeMeasurement {
 public:
  SizeMeasurement(TrialRunner& runner, RouterProcess* router, const ThroughputOptions& options,
                  SizeResult& into)
      : runner_(runner), router_(router), options_(options), size_(into) {}

  double search_throughput() {
    size_.search = search(runner_, options_.search);
    const SearchResult& found = *size_.search;
    if (found.error) stop(found.error->message);
    if (found.interrupted) stop("interrupted");
    size_.partial = found.partial();
    // At the throughput: the first goal's where there is one.
    for (const GoalResult& goal : found.goals)
      if (goal.pps > 0) return goal.pps;
    return 0;
  }
  // What was measured at the throughput and below it must agree with it.
  void hold_against_later_trials() {
    std::vector<LaterTrial> later;
    for (const LoadedResult& row : size_.loaded)
      if (row.offered > 0 && !row.interrupted)
        later.push_back({row.pps, row.seconds,
                         static_cast<double>(row.lost) / static_cast<double>(row.offered)});
    refute(*size_.search, later, options_.search.exceed_ratio);
    size_.partial |= size_.search->partial();
    const auto lines = notes(*size_.search, options_.search);
    size_.notes.insert(size_.notes.begin(), lines.begin(), lines.end());
  }
  void loaded(double pps, double part, double seconds) {
    if (stopped() || pps <= 0) return;
    const auto read = [this] { return router_ ? router_->load() : std::nullopt; };
    auto row = measure_loaded(runner_, std::floor(pps * part), seconds, read);
    if (!row) return stop(row.error().message);
    row->part = part;
    if (row->interrupted) stop("interrupted");
    size_.loaded.push_back(*row);
  }
  void at_rest(double seconds) {
    if (router_ == nullptr) return;
    LoadedResult row;
    row.seconds = seconds;
    router_->load();
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    row.device = router_->load();
    size_.loaded.push_back(row);
  }
  void loss() {
    if (stopped()) return;
    auto done =
        loss_curve(runner_, size_.search->max_pps, options_.search.final_trial_s, size_.loss_curve);
    if (!done) stop(done.error().message);
  }
  void bursts() {
    if (stopped()) return;
    BackToBack found;
    auto done = back_to_back(runner_, size_.search->max_pps, kBackToBack_s, kRepetitions, found);
    if (!done) stop(done.error().message);
    if (found.repetitions > 0) size_.back_to_back = found;
  }
  void blackouts(double pps, const std::vector<lookup::IpPrefix>& table, unsigned control_cpu) {
    if (router_ == nullptr || pps <= 0) return;
    const auto family = size_.family == 4 ? lookup::Family::kIpv4 : lookup::Family::kIpv6;
    std::string list;
    for (const lookup::IpPrefix& prefix : churned(table))
      list += fmt::format("{} via {}\n", prefix.to_string(), next_hop(family, 1));
    blackout("routes", pps, control_cpu, [&]() -> Result<uint64_t> {
      const auto come = router_->change_routes("POST", list);
      if (!come) return come;
      const auto gone = router_->change_routes("DELETE", list);
      if (!gone) return gone;
      return *come + *gone;
    });
    RouterChanges changes;
    blackout("reload", pps, control_cpu, [&] {
      changes.other_burst = !changes.other_burst;
      return reload(changes);
    });
    blackout("port", pps, control_cpu, [&] {
      changes.spare_port = !changes.spare_port;
      return reload(changes);
    });
    if (!stopped()) reload({});
  }
  void soak_at(double pps) {
    FILE* out = options_.json == "-" ? stderr : stdout;
    size_.soak = soak(runner_, pps, options_.soak_s, options_.interval_s, [out](const auto& each) {
      fmt::print(out,
                 "  {:>8.0f} s  lost {} of {}; in all {} of {}; us: p50 {:.1f}, p99.99 {:.1f}, max "
                 "{:.1f}\n",
                 each.at_s, each.lost, each.offered, each.all_lost, each.all_offered,
                 static_cast<double>(each.latency_ns.p50) / 1e3,
                 static_cast<double>(each.latency_ns.p99_99) / 1e3,
                 static_cast<double>(each.latency_ns.max) / 1e3);
      std::fflush(out);
    });
    if (size_.soak->error) stop(size_.soak->error->message);
  }
  bool stopped() const { return size_.error.has_value(); }

 private:
  void stop(const std::string& why) {
    size_.partial = true;
    size_.error = why;
  }
  Result<uint64_t> reload(const RouterChanges& changes) {
    if (auto done = router_->reload(changes); !done) return tl::unexpected(done.error());
    return uint64_t{1};
  }
  void blackout(const char* what, double pps, unsigned cpu, const MakeChanges& make_changes) {
    if (stopped()) return;
    auto row =
        measure_blackout(runner_, std::floor(pps), options_.blackout_s, what, cpu, make_changes);
    if (!row) return stop(row.error().message);
    if (row->interrupted) stop("interrupted");
    if (row->changes == 0)
      size_.notes.push_back(
          fmt::format("blackout {}: no change was done within {:.0f} s; give "
                      "--blackout-seconds more",
                      what, options_.blackout_s));
    size_.blackouts.push_back(*row);
  }

  TrialRunner& runner_;
  RouterProcess* router_;
  const ThroughputOptions& options_;
  SizeResult& size_;
};

std::optional<RouterCounters> since(const std::optional<RouterCounters>& before,
                                    std::optional<RouterCounters> after) {
  if (!before || !after) return std::nullopt;
  after->received -= before->received;
  after->transmitted -= before->transmitted;
  for (auto& [reason, packets] : after->drops)
    if (const auto was = before->drops.find(reason); was != before->drops.end())
      packets -= was->second;
  return after;
}

}  // namespace

void measure_size(TrialRunner& trials, RouterProcess* router, const ThroughputOptions& options,
                  double load_pps, const std::vector<lookup::IpPrefix>& table, unsigned control_cpu,
                  SizeResult& size) {
  WatchedRunner watched(trials, router);
  WrongCounter runner(watched, size.wrong);
  SizeMeasurement measurement(runner, router, options, size);
  const auto before = router ? router->counters() : std::nullopt;
  CpuWait wait(router ? std::vector<pid_t>{getpid(), router->pid()} : std::vector<pid_t>{getpid()});
  if (options.load.empty()) {
    const double throughput = measurement.search_throughput();
    for (const double part : {1.0, 0.9, 0.5, 0.1})
      if (options.latency_s > 0) measurement.loaded(throughput, part, options.latency_s);
    measurement.hold_against_later_trials();
    if (options.loss_curve) measurement.loss();
    if (options.back_to_back) measurement.bursts();
    if (options.blackout && !measurement.stopped())
      measurement.blackouts(throughput * options.blackout_part, table, control_cpu);
  } else if (options.soak_s > 0) {
    measurement.soak_at(load_pps);
  } else {
    if (load_pps > 0)
      measurement.loaded(load_pps, 1, options.load_s);
    else
      measurement.at_rest(options.load_s);
    if (router && !router->no_watts().empty())
      size.notes.push_back("no watts: " + router->no_watts());
    if (options.blackout && !measurement.stopped())
      measurement.blackouts(load_pps, table, control_cpu);
  }
  const auto wrong = size.wrong.lines();
  size.notes.insert(size.notes.end(), wrong.begin(), wrong.end());
  const auto waited = wait.lines();
  size.notes.insert(size.notes.end(), waited.begin(), waited.end());
  if (router) size.counters = since(before, router->counters());
}

}  // namespace hecto::bench
