// `hecto-bench forward`: what a packet costs from receive queue to transmit queue, over the cost of
// receive and transmit alone, with a full table, in memory, on one core. One process, the three
// measurements interleaved, medians.
#pragma once

#include <string>

namespace hecto::bench {

struct ForwardOptions {
  std::string table;       // route file; empty: the real one where it is found, else synthetic
  std::string root = ".";  // where ../shared/data is looked for
  unsigned next_hops = 64;
  unsigned destinations = 65536;
  unsigned rounds = 15;
  unsigned round_ms = 100;
  unsigned burst = 64;
  std::string json;  // file to write; empty: none
};

int forward(const ForwardOptions& options);

}  // namespace hecto::bench
