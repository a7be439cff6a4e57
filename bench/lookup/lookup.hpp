// `hecto-bench lookup`: our look-up tables against those of DPDK, in one process, on one core, pass
// by pass in turn, medians. What every engine answers is checked in the same run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace hecto::bench {

struct LookupOptions {
  std::string table;       // route file; empty: the real one where it is found, else synthetic
  std::string root = ".";  // where ../shared/data is looked for
  unsigned next_hops = 64;
  std::vector<unsigned> families = {4, 6};
  std::vector<std::string> engines;  // empty: all
  std::vector<std::string> without;
  unsigned rounds = 21;
  unsigned batch = 256;
  unsigned destinations = 1 << 16;  // replayed: their part of the table stays in a cache
  unsigned stream = 1 << 20;        // so many that the table's breadth is read
  unsigned loads = 3;
  unsigned updates = 100'000;
  unsigned readers = 2;
  unsigned memory_mb = 2048;  // of DPDK's heap, which all tables come from
  size_t flush_bytes = 0;     // read between cold passes; 0: three times the last-level cache
  unsigned cpu = 0;
  std::string json;  // files to write; empty: none
  std::string plot;
  // A look at everything, for figures that mean little: few rounds, small buffers.
  void make_quick();
};

// The process's exit code: 1 where engines disagree or something could not be set up.
int measure_lookups(const LookupOptions& options);

}  // namespace hecto::bench
