// What the look-up benchmark found, as it stands in its JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hecto::bench {

// A look-up in one state of the caches. Cycles are those of the TSC, each per destination.
struct LookupRow {
  unsigned family;
  std::string destinations;  // uniform, in-table, zipf
  std::string engine;
  std::string state;  // warm, stream, cold, polluted
  double cycles;      // median of the passes
  double cycles_q1;   // and its quartiles
  double cycles_q3;
  double mlps;     // million look-ups a second
  uint64_t bytes;  // Engine::bytes
};

struct LoadRow {
  unsigned family;
  std::string engine;
  double seconds;        // all routes up to publish(), median
  double cpu_seconds;    // the same in this thread's own time: others may have had the core
  unsigned runs;         // fewer than asked for where one takes long
  uint64_t bytes;        // Engine::bytes
  uint64_t total_bytes;  // with the routes and whatever else the engine allocated
  unsigned entry_bytes;  // Engine::entry_bytes
};

// One change is one call: an add, a removal or a replacement.
struct UpdateRow {
  unsigned family;
  std::string engine;
  unsigned readers;  // threads that look up meanwhile
  unsigned reader_cpus;
  double per_second;
  double per_cpu_second;  // of the writer's own time
  double reader_mlps;     // all readers together
};

struct DeadNextHopRow {
  unsigned family;
  uint64_t routes;          // all behind one group
  double change_ns;         // NextHopTable::set, median
  double change_ns_most;    // the slowest
  double route_by_route_s;  // the same without the indirection: each route replaced
  bool all_moved;           // every prefix looked up and resolved after each change
};

struct Skipped {
  std::string engine;
  std::string why;
  bool cpu_runs;  // and yet it is skipped: a contest that flatters
};

struct LookupResult {
  std::string machine, table, memory, dpdk, isa;
  uint64_t tsc_hz = 0;
  uint64_t flush_bytes = 0;  // what is read between cold passes
  unsigned next_hops = 0, rounds = 0, batch = 0, destinations = 0, stream = 0, cpu = 0;
  uint64_t routes4 = 0, routes6 = 0;
  std::vector<LookupRow> rows;
  std::vector<LoadRow> loads;
  std::vector<UpdateRow> updates;
  std::vector<DeadNextHopRow> dead_next_hop;
  std::vector<Skipped> skipped;
};

}  // namespace hecto::bench
