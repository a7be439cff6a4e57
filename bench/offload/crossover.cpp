#include "bench/offload/crossover.hpp"

#include <algorithm>

namespace hecto::bench {

double cores_saved(double cpu_ns, double worker_ns, double device_items_per_s, double demand) {
  return std::min(demand, device_items_per_s) * (cpu_ns - worker_ns) * 1e-9;
}

Crossover crossover_of(std::span<const OffloadRow> rows) {
  Crossover all{.kind = rows[0].kind, .packet_bytes = rows[0].packet_bytes};
  double cpu_rate = 0;
  for (const OffloadRow& row : rows) cpu_rate = std::max(cpu_rate, row.cpu_items_per_s);
  all.cpu_ns = 1e9 / cpu_rate;
  double best = 0;
  for (const OffloadRow& row : rows) {
    const double saved = all.cpu_ns - row.worker_ns;
    if (saved <= 0)
      all.batch = 0;
    else if (all.batch == 0)
      all.batch = row.batch;
    if (all.best_batch != 0 && saved <= best) continue;
    best = saved;
    all.best_batch = row.batch;
    all.worker_ns = row.worker_ns;
    all.cores_beaten = row.items_per_s / cpu_rate;
    all.cores_saved = cores_saved(all.cpu_ns, row.worker_ns, row.items_per_s);
  }
  return all;
}

}  // namespace hecto::bench
