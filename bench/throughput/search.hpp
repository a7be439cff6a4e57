// The highest load that a device under test carries with no more loss than a goal allows, by trials
// (RFC 2544 §26.1), searched as MLRsearch does (draft-ietf-bmwg-mlrsearch):
//
//   max rate ──► forwarding rate there: where to begin
//   phase 1..n   trials grow from `initial_trial_s` to `final_trial_s`, the interval between the
//                highest load that passes and the lowest that fails shrinks to `width`
//   final phase  trials at one load are repeated until most of `duration_sum_s` has decided
//   confirmation the same at parts of the result: a load below it that fails bounds it after all
//
// A load carries when at most `exceed_ratio` of its trial time lost more than the goal allows, so
// that one trial that the machine disturbed misleads nobody. Of a load that carries above one that
// does not, the lower one stands (RFC 2544: the device must not lose at any lower rate).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/traffic/trial.hpp"

namespace hecto::bench {

struct Goal {
  std::string name;       // "ndr", "pdr"
  double loss_ratio = 0;  // of the packets offered: 0.005 is 0.5%
};

struct SearchOptions {
  std::vector<Goal> goals = {{"ndr", 0}, {"pdr", 0.005}};
  double max_pps = 1e9;   // of the line; above what the generator does: what it does
  double min_pps = 1000;  // nothing below it is tried
  double width = 0.01;    // of the interval, by its upper end
  double exceed_ratio = 0.5;
  double initial_trial_s = 0.1;
  double final_trial_s = 1.0;
  double duration_sum_s = 3.0;
  unsigned phases = 4;
  double settle_s = 0.05;  // after each trial
  double total_s = 60;     // no trial starts that could end later
  double noisy_spread = 0.1;
  // Seconds since any moment; empty: the machine's clock.
  std::function<double()> now;
};

struct TrialRecord {
  double pps = 0;  // asked for
  double offered_pps = 0;
  double forwarded_pps = 0;
  double loss_ratio = 0;  // lost / offered
  uint64_t wrong = 0;     // of the lost ones: came back, but not as they should
  double seconds = 0;
  bool short_of_load = false;  // the generator did not offer what was asked for
};

enum class Limit : uint8_t {
  kDevice,     // the device loses above the result
  kGenerator,  // it never lost: the generator or the line ends here
  kNothing,    // it loses at every rate that was tried
};

struct GoalResult {
  Goal goal;
  double pps = 0;        // the highest load that carries: the lower bound; 0: none does
  double upper_pps = 0;  // the lowest load above it that does not; 0: none was found
  double spread = 0;     // loads over which trials contradicted one another, by `pps`
  double trial_s = 0;    // length of the trials that the bounds rest on; 0: there are none
  unsigned trials = 0;   // at `pps`, of that length
  Limit limit = Limit::kDevice;
  bool complete = false;   // false: time was up, or the device failed; the bounds are earlier ones
  double refuted_pps = 0;  // later trials failed at this load, no higher than `pps`; 0: none did
};

struct SearchResult {
  std::vector<GoalResult> goals;  // as asked for
  std::vector<TrialRecord> trials;
  double max_pps = 0;            // that the generator offered
  double forwarded_at_max = 0;   // pps, median
  double forwarding_spread = 0;  // (max - min) / median of the trials at the maximum
  double seconds = 0;
  bool interrupted = false;  // by a signal
  std::optional<Error> error;
  bool partial() const;
};

// Carries out the search. An error of `runner`, or its interruption, ends it: what was found until
// then is in the result.
SearchResult search(TrialRunner& runner, const SearchOptions& options);

// Trials after the search, at its result and below: where more than `exceed_ratio` of their time lost
// more than a goal allows, the goal's result is refuted.
struct LaterTrial {
  double pps = 0;  // asked for
  double seconds = 0;
  double loss_ratio = 0;
};
void refute(SearchResult& result, std::span<const LaterTrial> later, double exceed_ratio);

// What the operator should know of a result, one line each: noise and what to do about it, limits,
// what is missing.
std::vector<std::string> notes(const SearchResult& result, const SearchOptions& options);

}  // namespace hecto::bench
