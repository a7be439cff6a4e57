// Every kind of work on one device: measured, told as one table, written as JSON. What hecto-bench
// offload and the program of device.sh share; needs neither DPDK nor CUDA nor libraries.
#pragma once

#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "bench/offload/measure.hpp"

namespace hecto::bench {

struct OffloadOptions {
  std::string device;              // host or cuda:N; empty: cuda:0 if it opens, else host
  std::vector<std::string> kinds;  // beginnings of their names, as in ipv4,seal; empty: all
  size_t items = 1 << 22;          // of a look-up's pool
  size_t payload_mb = 0;           // of ESP's pool; 0: 192, on the host device 4
  OffloadMeasure measure{.batches = {1, 4, 16, 64, 256, 1024, 4096, 16384, 65536}};
  EnergySources energy = {};
  void make_quick();
};
inline constexpr double kQuickScale = 0.02;  // of the synthetic table, with --quick

struct OffloadResult {
  std::string device, description, table;
  size_t routes4 = 0, routes6 = 0;
  unsigned in_flight = 0, rounds = 0;
  double tsc_ghz = 0;  // 0: this CPU has none
  std::vector<OffloadRow> rows;
  std::string no_gpu_energy, no_cpu_energy;  // why there is none; empty: there is
  std::vector<EnergyRow> energy;             // a kind of work each, where one of both is told
  std::vector<Crossover> crossovers;  // of look-ups: ESP's code on the CPU here is no router's
};

// Prints what it does to stderr. An error is one line.
tl::expected<OffloadResult, std::string> measure_offload(const OffloadOptions& options,
                                                         const OffloadTable& table);

// A kind of work and how its pool is made.
struct WorkKind {
  const char* name;
  gpu_offload::JobKind kind;
  gpu_offload::crypto::EspTransform transform;
  uint16_t length;
  Destinations destinations = Destinations::kInTable;
  tl::expected<Workload, std::string> make(const OffloadOptions& options,
                                           const OffloadTable& table) const;
};
// Those that begin so; an error names what none does.
tl::expected<std::vector<WorkKind>, std::string> chosen_kinds(
    const std::vector<std::string>& beginnings);

}  // namespace hecto::bench
