// One family's benchmark: loads the engines, checks what they answer, lets them take turns, then
// changes the tables.
#pragma once

#include <sched.h>

#include "bench/lib/reference.hpp"
#include "bench/lib/route_list.hpp"
#include "bench/lookup/lookup.hpp"
#include "bench/lookup/passes.hpp"
#include "bench/lookup/result.hpp"

namespace hecto::bench {

struct Contest {
  const LookupOptions& options;
  const RouteList& table;
  cpu_set_t reader_cpus;
  CacheFlush& flush;
  PacketLoop& packets;
};

// Appends to `result`. An error where engines disagree, one refuses the table, or there is none.
template <typename Family>
Result<void> run(const Contest& contest, LookupResult& result);

}  // namespace hecto::bench
