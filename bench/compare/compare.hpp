// `hecto-bench compare`: routers side by side on the same ports, traffic and core. In each round
// each peer is started, measured by a generator in a process of its own, and stopped; who begins
// changes from round to round; medians and spread.
#pragma once

#include <atomic>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/compare/peer.hpp"
#include "bench/lib/statistics.hpp"
#include "bench/traffic/verdict.hpp"

namespace hecto::bench {

struct CompareOptions {
  std::vector<std::string> peers;  // empty: all that are there
  std::string ports = "memif";     // memif, veth
  unsigned family = 4;             // 4, 6
  std::vector<std::string> sizes = {"64", "1518"};
  unsigned routes = 1000;
  unsigned rounds = 5;
  double seconds = 1;  // of one trial
  std::string rate = "max";
  unsigned burst = 64;
  std::optional<unsigned> control_cpu, generator_cpu, worker_cpu;
  std::string json;
};

// One peer at one size.
struct Compared {
  std::string size;
  std::vector<double> mpps, gbps;  // that came back, one of each round that succeeded
  uint64_t sent = 0, lost = 0;     // over all rounds
  WrongCounts wrong;               // of the lost ones, over all rounds
  std::vector<double> held_back;   // part of the packets that a full queue kept back, by rounds
  // Nothing was lost and no queue was full: it might do more than the generator.
  bool generator_was_the_limit() const;
};

struct PeerResult {
  const Peer* peer = nullptr;
  std::vector<std::string> programs;
  std::vector<Compared> sizes;
  std::vector<std::string> failures;
};

struct CompareResult {
  CompareOptions options;
  nlohmann::json machine;
  unsigned control_cpu = 0, generator_cpu = 0, worker_cpu = 0;
  std::vector<PeerResult> peers;
  std::vector<std::string> left_out;  // not installed, or not on these ports: one line each
  std::vector<std::string> missing;   // names of those of them that were asked for
  bool interrupted = false;
  bool partial() const;
};

// Who takes part. An error names a peer that does not exist, or that nobody is there.
Result<CompareResult> choose_peers(const CompareOptions& options);

nlohmann::json to_json(const CompareResult& result);
std::string to_text(const CompareResult& result);

// The generator's file.
std::string traffic_yaml(const CompareOptions& options, const Peer& peer, const PeerBed& bed,
                         const std::string& size);
// Takes over what the generator has counted in one round. An error: nothing came back as it should.
Result<void> add_counts(Compared& compared, const nlohmann::json& counts);

int compare(const CompareOptions& options);

}  // namespace hecto::bench
