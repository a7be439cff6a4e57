// `hecto-bench ipsec`: what ESP costs on the whole way of a packet, from receive queue to transmit
// queue, against raw ipsec-mb on the same buffers, in memory, on one core; and how that grows with
// workers on their own cores that share the SAs. One process, what is compared takes turns,
// medians. Then SAs and policies per second, and rekeys under load.
#pragma once

#include <string>
#include <vector>

#include "bench/bed/bed.hpp"
#include "bench/ipsec/report.hpp"

namespace hecto::bench {

struct IpsecBenchOptions {
  BedOptions bed;
  std::vector<std::string> algorithms;  // empty: all of ipsec_algorithms()
  std::vector<std::string> sizes = {"64", "imix", "1400", "9000"};  // of the packet inside
  std::vector<unsigned> tunnels = {1, 1000, 10000};
  unsigned shapes = 1;                   // of the policies' selectors
  std::vector<unsigned> workers;         // how many; empty: one, and as many as there are cores
  PacketCache cache = PacketCache::kL2;  // where packets lie when they are received
  unsigned rounds = 7;
  unsigned round_ms = 20;
  bool peers = true;    // other programs, where they are installed
  bool control = true;  // the installation of SAs and the rekeys as well
  std::string json;     // file to write, - for standard output; empty: none
};

int ipsec(const IpsecBenchOptions& options);

}  // namespace hecto::bench
