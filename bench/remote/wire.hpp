// What two hecto-bench say to each other over a pipe (ssh): one JSON value a line. The one with the
// ports speaks first:
//
//   ← {"hecto-bench": VERSION, "protocol": 1, "machine": {...}}
//   → {"create": {"spec": ..., "options": ...}}   ← {"ports": [...], "unchecked": [...]}
//   → {"use": [streams]}                          ← {"unchecked": [...]}
//   → {"rate": {"unit", "value"}}                 ← {"pps": 1e7}
//   → {"run": {"pps", "seconds", "settle_seconds"}} ← {"trial": ...}
//   → {"stop": true}                              no answer: the trial that runs ends early
//
// In the place of an answer {"error": "one line"}, of a trial with its counts till then. Who closes
// the pipe ends the other one.
//
// Values of JSON to and from those of traffic/; reading throws nlohmann's exceptions, and
// std::invalid_argument with a line. Pure functions.
#pragma once

#include <nlohmann/json.hpp>

#include "bench/traffic/generator.hpp"

namespace hecto::bench {

inline constexpr int kWireProtocol = 1;
inline constexpr const char* kWireStop = R"({"stop":true})";

// Of next_hop_mac nothing can be said: a spec that has one is refused (std::invalid_argument).
nlohmann::json wire_spec(const TrafficSpec& spec);
TrafficSpec spec_of_wire(const nlohmann::json& wire);
nlohmann::json wire_rate(const TrafficRate& rate);
TrafficRate rate_of_wire(const nlohmann::json& wire);
nlohmann::json wire_streams(const std::vector<StreamSpec>& streams);
std::vector<StreamSpec> streams_of_wire(const nlohmann::json& wire);

// Without `stop` and `start_eal`.
nlohmann::json wire_options(const GeneratorOptions& options);
GeneratorOptions options_of_wire(const nlohmann::json& wire);

nlohmann::json wire_request(const TrialRequest& request);
TrialRequest request_of_wire(const nlohmann::json& wire);
nlohmann::json wire_trial(const TrialResult& trial);
TrialResult trial_of_wire(const nlohmann::json& wire);

nlohmann::json wire_ports(const std::vector<Generator::PortInfo>& ports);
std::vector<Generator::PortInfo> ports_of_wire(const nlohmann::json& wire);

}  // namespace hecto::bench
