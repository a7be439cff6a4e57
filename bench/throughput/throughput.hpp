// RFC 2544 / RFC 8219 throughput of a router: hectod in a process of its own over memif, or
// whatever is connected to two ports.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/throughput/results.hpp"

namespace hecto::bench {

struct ThroughputOptions {
  std::string dut = "hectod";      // hectod, in-memory (the same), none
  std::vector<std::string> ports;  // of `none`: from, to
  std::string mac;                 // of `none`: what the generator sends to
  std::string traffic;             // of `none`: a traffic file in the place of the two above
  std::string expect;              // of `none`: router (also when empty), wire
  std::vector<std::string> sizes = {"64", "128", "256", "512", "1024", "1518", "imix"};
  std::vector<unsigned> families = {4, 6};

  RouterOptions router;  // CPUs empty or zero: dealt out from those that we may use
  unsigned workers = 1;
  std::string table, root = ".";
  uint64_t routes = 0;  // of each family; 0: all
  std::vector<unsigned> generator_cpus;
  std::string generator;  // BOX or USER@BOX, of `none`: its ports are those; empty: this one
  std::string generator_program = "hecto-bench";  // there
  std::optional<unsigned> control_cpu;
  std::string destinations = "in-table";
  unsigned destination_count = 65536;
  unsigned flows = 256;

  SearchOptions search;
  double latency_s = 2;  // a trial; 0: no latency
  bool loss_curve = false, back_to_back = false, blackout = false;
  double blackout_s = 5, blackout_part = 0.25;
  std::string load;     // a fixed rate in the place of a search
  std::string load_of;  // a rate that is 100% of `load`; empty: the line
  double load_s = 5;
  double soak_s = 0, interval_s = 10;

  std::string json;
  void make_quick();
};

// What contradicts itself; one line for the user.
std::optional<std::string> check(const ThroughputOptions& options);

// 0 done, 1 failed or partial, 2 wrong usage.
int measure_throughput(const ThroughputOptions& options);

}  // namespace hecto::bench
