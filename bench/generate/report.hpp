// A trial in text and JSON. Pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bench/traffic/generator.hpp"

namespace hecto::bench {

// A row for each stream: counts, then latency and jitter in microseconds.
std::string trial_table(const TrialResult& result);

// Counts and quantiles; `latency_ns` and `jitter_ns` only where some were recorded.
nlohmann::json to_json(const TrialResult& result);
nlohmann::json to_json(const StreamResult& stream);
nlohmann::json to_json(const Histogram& histogram);

// Why less was sent than asked for, when it was more than a hundredth less; else nothing.
std::string shortfall(const TrialResult& result, double asked_pps);

}  // namespace hecto::bench
