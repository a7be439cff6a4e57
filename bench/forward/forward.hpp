// `hecto-bench forward`: what a packet costs from receive queue to transmit queue, over the cost of
// receive and transmit alone, with a full table, in memory, on one core. One process, what is
// measured interleaved, medians. Before that, untimed, every packet that comes out is held against
// what a router is to make of it.
#pragma once

#include <string>
#include <vector>

#include "bench/bed/bed.hpp"

namespace hecto::bench {

struct ForwardOptions {
  BedOptions bed;
  std::string mode = "forward";  // see forward_modes()
  std::string size = "64";
  std::vector<std::string> caches = {"l1", "l2", "l3"};  // where packets lie when they are received
  std::vector<unsigned> bursts = {64};
  unsigned rounds = 15;
  unsigned round_ms = 100;
  unsigned stations = 0;  // of a bridge, on either side; 0: packets are routed
  std::string offload;    // a device: offload_modes.hpp instead of mode
  std::string json;       // file to write, - for standard output; empty: none
};

// What --mode takes: forward (floor, IPv4, IPv6), rx, tx, all.
std::vector<std::string> forward_modes();

int forward(const ForwardOptions& options);

}  // namespace hecto::bench
