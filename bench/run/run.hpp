// Carries out an experiment: each point is a process of its own, the points take turns, and what is
// there stands in the result folder after each of them.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "bench/lib/statistics.hpp"
#include "bench/run/experiment.hpp"

namespace hecto::bench {

inline constexpr double kNoisy = 0.1;  // a spread above it is named

struct RunOptions {
  std::string executable = "/proc/self/exe";  // hecto-bench
  std::filesystem::path out;                  // the result folder; made, and must be new or empty
  bool quick = false;
  const std::atomic<bool>* stop = nullptr;            // once true no further point begins
  std::function<void(const std::string&)> tell = {};  // progress, one line each
};

// One process.
struct Attempt {
  nlohmann::json result;           // what it wrote; null when it failed
  std::string error;               // empty when it did not
  std::vector<std::string> lines;  // the last that it said, if it failed
  double seconds = 0;
};

struct Point {
  std::vector<std::string> values;  // as Experiment::vary
  std::vector<std::string> words;   // of its command line
  std::vector<Attempt> attempts;
  // For each figure; nothing where no attempt gave a number.
  std::vector<std::optional<Summary>> figures;
};

struct Outcome {
  Experiment experiment;
  bool quick = false;
  unsigned repeat = 0;
  nlohmann::json machine;
  std::string started;  // ISO 8601, UTC
  double seconds = 0;
  bool complete = false;  // every point was tried as often as was asked for
  std::vector<Point> points;

  bool partial() const;  // not complete, or a point failed
  double noise() const;  // the largest spread
};

// An error only when nothing can be measured: the folder cannot be written.
Result<Outcome> run_experiment(const Experiment& experiment, const RunOptions& options);

nlohmann::json to_json(const Outcome& outcome);
// What one has to know of it, one line each: failed points, what is missing, noise.
std::vector<std::string> notes(const Outcome& outcome);

}  // namespace hecto::bench
