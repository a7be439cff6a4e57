// What `hecto-bench throughput` found, and how it is told: as text for a person, as JSON for all
// else.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/throughput/blackout.hpp"
#include "bench/throughput/procedures.hpp"
#include "bench/throughput/router_process.hpp"
#include "bench/throughput/search.hpp"

namespace hecto::bench {

// One family, one size of frames.
struct SizeResult {
  unsigned family = 4;
  std::string size;        // "64", "imix"
  double frame_bytes = 0;  // mean, with FCS
  std::optional<SearchResult> search;
  std::vector<LoadedResult> loaded;  // latency at parts of the throughput, or at --load
  std::vector<LossRow> loss_curve;
  std::optional<BackToBack> back_to_back;
  std::vector<Blackout> blackouts;
  std::optional<SoakResult> soak;
  std::optional<RouterCounters> counters;  // since the size before
  WrongCounts wrong;                       // of all trials
  std::vector<std::string> notes;
  std::optional<std::string> error;  // that ended it
  bool partial = false;
};

struct ThroughputResult {
  nlohmann::json machine;            // machine_facts()
  std::string generator;             // the box that it is on; empty: this one
  nlohmann::json generator_machine;  // likewise its facts
  std::string started;
  std::string device;          // the device under test, in words
  std::string device_version;  // of hectod
  std::string table;           // its name; empty where the device is not ours
  uint64_t routes4 = 0, routes6 = 0;
  double table_seconds = 0;
  unsigned workers = 0, burst = 0;
  std::string idle;
  std::vector<unsigned> generator_cpus, worker_cpus;
  unsigned control_cpu = 0;
  std::vector<SizeResult> sizes;
  std::vector<std::string> not_checked;  // of the packets that came back, and why
  std::optional<std::string> error;      // that ended the whole run
  bool partial = false;
};

nlohmann::json to_json(const ThroughputResult& result);
std::string header_text(const ThroughputResult& result);
std::string to_text(const SizeResult& size);

}  // namespace hecto::bench
