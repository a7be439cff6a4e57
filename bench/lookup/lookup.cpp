#include "bench/lookup/lookup.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <new>

#include "bench/lib/machine.hpp"
#include "bench/lookup/contest.hpp"
#include "bench/lookup/plot.hpp"
#include "bench/lookup/report.hpp"
#include "lookup/kernels.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/ports/eal.hpp"

namespace hecto::bench {
namespace {

using router::Eal;

// So many that their lines are beyond a second-level cache: 32,768 packets, two lines each.
constexpr size_t kPackets = 1 << 15;

// The CPUs that the process may use, without the writer's where there is another.
cpu_set_t reader_cpus(unsigned writer_cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  sched_getaffinity(0, sizeof cpus, &cpus);
  if (CPU_COUNT(&cpus) > 1) CPU_CLR(writer_cpu, &cpus);
  return cpus;
}

Result<void> check_names(const LookupOptions& options) {
  for (const auto* names : {&options.engines, &options.without})
    for (const std::string& name : *names) {
      const auto known = [&name](const std::vector<std::string>& all) {
        return std::find(all.begin(), all.end(), name) != all.end();
      };
      if (!known(engine_names<Ipv4>()) && !known(engine_names<Ipv6>()))
        return fail(fmt::format("no engine is named {}; they are {}, {}", name,
                                fmt::join(engine_names<Ipv4>(), ", "),
                                fmt::join(engine_names<Ipv6>(), ", ")));
    }
  return {};
}

Result<void> write_file(const std::string& path, const std::string& text) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::absolute(path).parent_path(), error);
  std::ofstream file(path);
  file << text;
  if (!file.flush()) return fail(fmt::format("{}: cannot be written", path));
  fmt::print("written: {}\n", path);
  return {};
}

// Where there is no gnuplot, the figures stand alone.
Result<void> draw_picture(const std::string& file, const LookupResult& result) {
  const auto drawn = draw(picture_of(result), file);
  if (!drawn && drawn.error().error_number != ENOPKG) return drawn;
  fmt::print("{}\n", drawn ? "written: " + file : drawn.error().message);
  return {};
}

LookupResult describe(const LookupOptions& options, const RouteList& table, bool hugepages) {
  LookupResult result;
  result.machine = machine_name();
  result.table = table.name;
  result.memory = fmt::format("all tables in DPDK's heap, {}",
                              hugepages ? "on hugepages" : "on ordinary pages (no hugepages)");
  result.dpdk = Eal::version();
  result.isa = lookup::to_string(lookup::kernels().isa);
  result.tsc_hz = rte_get_tsc_hz();
  result.next_hops = options.next_hops;
  result.rounds = options.rounds;
  result.batch = options.batch;
  result.destinations = options.destinations;
  result.stream = options.stream;
  result.cpu = options.cpu;
  result.routes4 = table.v4.size();
  result.routes6 = table.v6.size();
  return result;
}

Result<void> measure(const LookupOptions& options) {
  if (auto known = check_names(options); !known) return known;
  auto table = read_route_list(options.table, options.root, options.next_hops);
  if (!table) return tl::unexpected(table.error());
  const cpu_set_t cpus = reader_cpus(options.cpu);
  router::EalOptions eal_options;
  eal_options.control_cpu = options.cpu;
  eal_options.memory_bytes = uint64_t{options.memory_mb} << 20;
  auto eal = Eal::start(eal_options);
  if (!eal) return tl::unexpected(eal.error());
  rte_vect_set_max_simd_bitwidth(RTE_VECT_SIMD_512);  // starting has set it to 256

  LookupResult result = describe(options, *table, (*eal)->hugepages());
  CacheFlush flush(options.flush_bytes == 0 ? CacheFlush::default_bytes() : options.flush_bytes);
  PacketLoop packets(kPackets);
  result.flush_bytes = flush.bytes();
  const Contest contest = {options, *table, cpus, flush, packets};
  for (const unsigned family : options.families) {
    auto done = family == 4 ? run<Ipv4>(contest, result) : run<Ipv6>(contest, result);
    if (!done) return done;
  }
  fmt::print("{}\n", to_text(result));
  if (!options.json.empty())
    if (auto done = write_file(options.json, to_json(result).dump(2) + "\n"); !done) return done;
  if (!options.plot.empty())
    if (auto done = draw_picture(options.plot, result); !done) return done;
  return verdict(result);
}

}  // namespace

void LookupOptions::make_quick() {
  rounds = 3;
  destinations = 1 << 13;
  stream = 1 << 15;
  loads = 1;
  updates = 2000;
  flush_bytes = size_t{4} << 20;
}

int measure_lookups(const LookupOptions& options) try {
  spdlog::set_level(spdlog::level::warn);
  const auto done = measure(options);
  if (!done) fmt::print(stderr, "{}\n", done.error().message);
  return done ? 0 : 1;
} catch (const std::bad_alloc&) {
  fmt::print(stderr, "no memory: raise --memory-mb\n");
  return 1;
}

}  // namespace hecto::bench
