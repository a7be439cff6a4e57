#include "bench/throughput/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "bench/lib/statistics.hpp"

namespace hecto::bench {
namespace {

// A generator that offers less than this part of a load was too slow, not the device.
constexpr double kOfferedEnough = 0.99;
constexpr unsigned kShortfalls = 5;  // trials at one load that a disturbed generator is given
constexpr unsigned kLowered = 3;     // maxima that it may turn out not to hold
constexpr double kConfirmed[] = {0.5, 0.9};  // parts of a result that must carry, too

double machine_clock() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

enum class Class : uint8_t { kUndecided, kCarries, kFails };

struct Phase {
  double trial_s;
  double sum_s;  // of trials that decide
  double width;
};

std::vector<Phase> phases_of(const SearchOptions& options) {
  std::vector<Phase> phases;
  const unsigned last = std::max(options.phases, 1u) - 1;
  for (unsigned i = 0; i < last; ++i) {
    const double part = static_cast<double>(i) / last;
    const double trial_s =
        options.initial_trial_s * std::pow(options.final_trial_s / options.initial_trial_s, part);
    phases.push_back({trial_s, trial_s, options.width * std::exp2(last - i)});
  }
  phases.push_back({options.final_trial_s, options.duration_sum_s, options.width});
  return phases;
}

class Search {
 public:
  Search(TrialRunner& runner, const SearchOptions& options)
      : runner_(runner),
        options_(options),
        now_(options.now ? options.now : machine_clock),
        started_(now_()) {}
  SearchResult run();

 private:
  struct Bounds {
    double lower = 0, upper = 0;  // 0: none
  };
  bool trial(double pps, double seconds);
  bool at_maximum(double seconds);
  bool find_maximum();
  bool search_goal(GoalResult& goal, const Phase& phase);
  bool confirm(GoalResult& goal, const Phase& phase);
  bool measure(double pps, const Goal& goal, const Phase& phase);
  double next_load(const Bounds& bounds, const GoalResult& hint, const Phase& phase,
                   unsigned steps) const;
  bool finished(const Bounds& bounds, const Phase& phase) const;
  bool at_limit(double pps) const { return pps >= max_pps_ * kOfferedEnough; }
  Class classify(double pps, const Goal& goal, const Phase& phase) const;
  Bounds bounds(const Goal& goal, const Phase& phase) const;
  double contradictions(const Goal& goal, double pps) const;
  void summarize();

  TrialRunner& runner_;
  const SearchOptions& options_;
  std::function<double()> now_;
  double started_;
  double max_pps_ = 0;
  std::map<double, std::vector<TrialRecord>> loads_;
  std::map<double, unsigned> shortfalls_;
  unsigned lowered_ = 0;
  std::vector<double> forwarded_;  // at the maximum
  SearchResult result_;
};

// False: the search is over.
bool Search::trial(double pps, double seconds) {
  if (now_() - started_ + seconds + options_.settle_s > options_.total_s) return false;
  const auto got = runner_.run({pps, seconds, options_.settle_s});
  if (!got) {
    result_.error = got.error();
    return false;
  }
  if (got->interrupted) {
    result_.interrupted = true;
    return false;
  }
  TrialRecord record;
  record.pps = pps;
  record.seconds = seconds;
  const double took = got->seconds > 0 ? got->seconds : seconds;
  const auto offered = static_cast<double>(got->offered());
  record.offered_pps = offered / took;
  record.forwarded_pps = static_cast<double>(got->received) / took;
  record.loss_ratio =
      offered > 0 ? std::max(0.0, 1 - static_cast<double>(got->received) / offered) : 0;
  record.wrong = got->wrong.total();
  record.short_of_load = record.offered_pps < pps * kOfferedEnough;
  result_.trials.push_back(record);
  loads_[pps].push_back(record);
  // Too slow again and again: what it offered at best is what it has to give.
  if (record.short_of_load && max_pps_ > 0 && ++shortfalls_[pps] == kShortfalls) {
    double most = 0;
    for (const TrialRecord& each : loads_[pps])
      if (each.short_of_load) most = std::max(most, each.offered_pps);
    // One that falls behind whatever it is asked for measures itself and not the device.
    if (++lowered_ > kLowered) {
      result_.error = Error{fmt::format(
          "the generator falls further and further behind ({:.2f} Mpps of {:.2f} at last): other "
          "work takes its CPU; stop that, or give it a CPU of its own and chrt -f 50",
          most / 1e6, pps / 1e6)};
      return false;
    }
    max_pps_ = std::max(std::floor(most), options_.min_pps);
  }
  return true;
}

// The forwarding rate of an overloaded device is also what tells how quiet the machine is.
bool Search::at_maximum(double seconds) {
  if (!trial(max_pps_ > 0 ? max_pps_ : options_.max_pps, seconds)) return false;
  forwarded_.push_back(result_.trials.back().forwarded_pps);
  return true;
}

bool Search::find_maximum() {
  std::vector<double> offered;
  for (unsigned i = 0; i < 3; ++i) {
    if (!at_maximum(options_.initial_trial_s)) return false;
    offered.push_back(result_.trials.back().offered_pps);
  }
  const double most = std::floor(median(offered));
  max_pps_ = most >= options_.max_pps * kOfferedEnough ? options_.max_pps
                                                       : std::max(most, options_.min_pps);
  loads_.clear();  // of a load that is not offered
  return true;
}

Class Search::classify(double pps, const Goal& goal, const Phase& phase) const {
  const auto found = loads_.find(pps);
  if (found == loads_.end()) return Class::kUndecided;
  double good = 0, bad = 0;
  for (const TrialRecord& record : found->second) {
    if (record.seconds < phase.trial_s * 0.999) continue;
    if (record.loss_ratio > goal.loss_ratio)
      bad += record.seconds;
    else if (!record.short_of_load)
      good += record.seconds;
  }
  const double missing = std::max(0.0, phase.sum_s - good - bad);
  const double allowed = std::max(phase.sum_s, good + bad) * options_.exceed_ratio;
  if (bad > allowed) return Class::kFails;
  return bad + missing <= allowed ? Class::kCarries : Class::kUndecided;
}

Search::Bounds Search::bounds(const Goal& goal, const Phase& phase) const {
  Bounds found;
  for (const auto& [pps, records] : loads_) {
    const Class is = classify(pps, goal, phase);
    if (is == Class::kCarries) found.lower = pps;
    if (is != Class::kFails) continue;
    found.upper = pps;
    break;
  }
  return found;
}

bool Search::finished(const Bounds& bounds, const Phase& phase) const {
  if (at_limit(bounds.lower) && bounds.upper <= 0) return true;  // nothing higher can be offered
  if (bounds.lower >= max_pps_) return true;
  if (bounds.upper > 0 && bounds.upper <= options_.min_pps) return true;
  return bounds.lower > 0 && bounds.upper > 0 &&
         bounds.upper - bounds.lower <= bounds.upper * phase.width;
}

double Search::next_load(const Bounds& bounds, const GoalResult& hint, const Phase& phase,
                         unsigned steps) const {
  double next = 0;
  const double step = phase.width * std::exp2(std::min(steps, 20u));
  if (bounds.lower > 0 && bounds.upper > 0) {
    next = std::sqrt(bounds.lower * bounds.upper);
  } else if (bounds.lower > 0) {
    next = hint.upper_pps > bounds.lower ? hint.upper_pps : bounds.lower * (1 + step);
  } else if (bounds.upper > 0) {
    // What came through there is the best guess of what it carries.
    const double through = loads_.at(bounds.upper).back().forwarded_pps;
    next = hint.pps > 0 && hint.pps < bounds.upper
               ? hint.pps
               : std::min(through, bounds.upper * (1 - std::min(step, 0.5)));
  } else {
    next = hint.pps > 0 ? hint.pps : result_.forwarded_at_max;
    if (at_limit(next)) next = max_pps_;
  }
  return std::round(std::clamp(next, options_.min_pps, max_pps_));
}

bool Search::measure(double pps, const Goal& goal, const Phase& phase) {
  while (pps <= max_pps_ && classify(pps, goal, phase) == Class::kUndecided)
    if (!trial(pps, phase.trial_s)) return false;
  return true;
}

bool Search::search_goal(GoalResult& goal, const Phase& phase) {
  Bounds found = bounds(goal.goal, phase);
  for (unsigned steps = 0; !finished(found, phase); ++steps) {
    const double next = next_load(found, goal, phase, steps);
    // Whole packets a second leave nothing between the bounds.
    if (classify(next, goal.goal, phase) != Class::kUndecided) break;
    if (!measure(next, goal.goal, phase)) return false;
    found = bounds(goal.goal, phase);
  }
  goal.pps = found.lower;
  goal.upper_pps = found.upper;
  goal.trial_s = phase.trial_s;
  const bool found_failing = found.upper > 0 && found.upper <= max_pps_;
  goal.limit = found.lower <= 0 ? Limit::kNothing
               : found_failing  ? Limit::kDevice
                                : Limit::kGenerator;
  return true;
}

// Loads well below the result, which no phase had a reason to try: one that fails begins the search
// again under it.
bool Search::confirm(GoalResult& goal, const Phase& phase) {
  for (bool stands = false; !stands;) {
    stands = true;
    for (const double part : kConfirmed) {
      const double pps = std::round(goal.pps * part);
      if (pps < options_.min_pps) continue;
      if (!measure(pps, goal.goal, phase)) {
        goal.pps = bounds(goal.goal, phase).lower;  // what it can still say
        return false;
      }
      if (classify(pps, goal.goal, phase) != Class::kFails) continue;
      if (!search_goal(goal, phase)) {
        goal.pps = bounds(goal.goal, phase).lower;
        return false;
      }
      stands = false;
      break;
    }
  }
  return true;
}

// From the lowest load at which a long trial failed to the highest at which one passed.
double Search::contradictions(const Goal& goal, double pps) const {
  double fails = 0, passes = 0;
  for (const auto& [load, records] : loads_)
    for (const TrialRecord& record : records) {
      if (record.seconds < options_.final_trial_s * 0.999) continue;
      if (record.loss_ratio > goal.loss_ratio)
        fails = fails > 0 ? fails : load;
      else
        passes = load;
    }
  return pps > 0 && fails > 0 && passes > fails ? (passes - fails) / pps : 0;
}

void Search::summarize() {
  for (GoalResult& goal : result_.goals) {
    goal.spread = contradictions(goal.goal, goal.pps);
    for (const TrialRecord& record : loads_[goal.pps])
      goal.trials += goal.trial_s > 0 && record.seconds >= goal.trial_s * 0.999 ? 1 : 0;
  }
  if (!forwarded_.empty()) {
    result_.forwarded_at_max = median(forwarded_);
    result_.forwarding_spread = spread(forwarded_);
  }
  result_.max_pps = max_pps_;
  result_.seconds = now_() - started_;
}

SearchResult Search::run() {
  for (const Goal& goal : options_.goals) result_.goals.push_back({.goal = goal});
  bool going = find_maximum();
  if (going) result_.forwarded_at_max = median(forwarded_);
  const auto phases = phases_of(options_);
  for (const Phase& phase : phases) {
    for (GoalResult& goal : result_.goals) {
      going = going && search_goal(goal, phase);
      goal.complete = going && &phase == &phases.back();
    }
    going = going && at_maximum(options_.initial_trial_s);
  }
  for (GoalResult& goal : result_.goals) {
    going = going && confirm(goal, phases.back());
    goal.complete = goal.complete && going;
  }
  summarize();
  return std::move(result_);
}

}  // namespace

bool SearchResult::partial() const {
  return std::any_of(goals.begin(), goals.end(), [](const auto& goal) { return !goal.complete; });
}

void refute(SearchResult& result, std::span<const LaterTrial> later, double exceed_ratio) {
  for (GoalResult& goal : result.goals) {
    double seconds = 0, failed_s = 0, lowest = 0;
    for (const LaterTrial& trial : later) {
      if (trial.pps > goal.pps) continue;
      seconds += trial.seconds;
      if (trial.loss_ratio <= goal.goal.loss_ratio) continue;
      failed_s += trial.seconds;
      lowest = lowest > 0 ? std::min(lowest, trial.pps) : trial.pps;
    }
    if (failed_s <= seconds * exceed_ratio) continue;
    goal.refuted_pps = lowest;
    goal.complete = false;
  }
}

SearchResult search(TrialRunner& runner, const SearchOptions& options) {
  return Search(runner, options).run();
}

std::vector<std::string> notes(const SearchResult& result, const SearchOptions& options) {
  std::vector<std::string> lines;
  if (result.error) lines.push_back("ended early: " + result.error->message);
  if (result.interrupted) lines.push_back("ended early: interrupted");
  const auto shortfalls = std::count_if(
      result.trials.begin(), result.trials.end(),
      [&](const TrialRecord& trial) { return trial.short_of_load && trial.pps < result.max_pps; });
  if (shortfalls * 4 > static_cast<std::ptrdiff_t>(result.trials.size()))
    lines.push_back(
        fmt::format("the generator fell short of the load in {} of {} trials: give it "
                    "a CPU of its own",
                    shortfalls, result.trials.size()));
  const bool time_was_up = result.partial() && !result.error && !result.interrupted;
  double worst = result.forwarding_spread;
  for (const GoalResult& goal : result.goals) {
    worst = std::max(worst, goal.spread);
    if (time_was_up && !goal.complete)
      lines.push_back(
          fmt::format("{}: {:.0f} s were too short for an interval of {:.1f}%; give "
                      "--search-seconds more",
                      goal.goal.name, options.total_s, options.width * 100));
    if (goal.refuted_pps > 0)
      lines.push_back(
          fmt::format("{}: no result: {:.3f} Mpps carried in the search, and {:.3f} Mpps failed "
                      "afterwards; the "
                      "machine or the device is not steady",
                      goal.goal.name, goal.pps / 1e6, goal.refuted_pps / 1e6));
    if (goal.limit == Limit::kGenerator)
      lines.push_back(fmt::format(
          "{}: the generator is the limit: the device carries the {:.3f} Mpps that it or the line "
          "offers; give it CPUs of its own (--generator-cpus), or a faster line",
          goal.goal.name, result.max_pps / 1e6));
    if (goal.limit == Limit::kNothing && goal.complete)
      lines.push_back(fmt::format("{}: the device loses packets at every rate down to {:.0f} pps",
                                  goal.goal.name, options.min_pps));
  }
  if (worst > options.noisy_spread)
    lines.push_back(fmt::format(
        "noisy machine (spread {:.0f}% over {:.0f}%): end other work, give the worker and the "
        "generator cores of their own (isolcpus, no hyper-thread beside them), or repeat and take "
        "the median",
        worst * 100, options.noisy_spread * 100));
  return lines;
}

}  // namespace hecto::bench
