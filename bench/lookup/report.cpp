#include "bench/lookup/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace hecto::bench {
namespace {

using nlohmann::json;

constexpr std::array kStateNames = {"warm", "stream", "cold", "polluted"};

double mebibytes(uint64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

json row_json(const LookupRow& row) {
  return {{"family", row.family},      {"destinations", row.destinations},
          {"engine", row.engine},      {"state", row.state},
          {"cycles", row.cycles},      {"mlps", row.mlps},
          {"bytes", row.bytes},        {"cycles_q1", row.cycles_q1},
          {"cycles_q3", row.cycles_q3}};
}

// A line for each engine and kind of destinations, a column for each state.
std::string lookup_lines(const LookupResult& result, unsigned family) {
  std::map<std::tuple<std::string, std::string, std::string>, const LookupRow*> rows;
  for (const LookupRow& row : result.rows)
    if (row.family == family) rows[{row.destinations, row.engine, row.state}] = &row;
  std::string text = fmt::format("{:<10}{:<16}{:>20}{:>10}{:>10}{:>10}\n", "", "", "warm (Mlps)",
                                 "stream", "cold", "polluted");
  for (const LookupRow& warm : result.rows) {
    if (warm.family != family || warm.state != kStateNames[0]) continue;
    text += fmt::format("{:<10}{:<16}{:>11.1f} {:>8}", warm.destinations, warm.engine, warm.cycles,
                        fmt::format("({:.0f})", warm.mlps));
    for (size_t i = 1; i < kStateNames.size(); ++i) {
      const auto row = rows.find({warm.destinations, warm.engine, kStateNames[i]});
      text += row == rows.end() ? fmt::format("{:>10}", "-")
                                : fmt::format("{:>10.1f}", row->second->cycles);
    }
    text += '\n';
  }
  return text;
}

std::string load_lines(const LookupResult& result, unsigned family) {
  std::string text =
      fmt::format("{:<26}{:>9}{:>9}{:>6}{:>12}{:>12}{:>12}\n", "load and memory", "seconds",
                  "of CPU", "runs", "MB look-up", "MB in all", "B an entry");
  for (const LoadRow& row : result.loads)
    if (row.family == family)
      text += fmt::format("{:<10}{:<16}{:>9.2f}{:>9.2f}{:>6}{:>12.1f}{:>12.1f}{:>12}\n", "",
                          row.engine, row.seconds, row.cpu_seconds, row.runs, mebibytes(row.bytes),
                          mebibytes(row.total_bytes),
                          row.entry_bytes == 0 ? "" : std::to_string(row.entry_bytes));
  return text;
}

std::string update_lines(const LookupResult& result, unsigned family) {
  std::string text = fmt::format("{:<26}{:>9}{:>12}{:>16}{:>14}\n", "changes", "readers",
                                 "a second", "a CPU second", "readers' Mlps");
  for (const UpdateRow& row : result.updates)
    if (row.family == family)
      text += fmt::format("{:<10}{:<16}{:>9}{:>12.0f}{:>16.0f}{:>14}\n", "", row.engine,
                          row.readers == 0 ? std::string("none")
                                           : fmt::format("{} on {}", row.readers, row.reader_cpus),
                          row.per_second, row.per_cpu_second,
                          row.readers == 0 ? "" : fmt::format("{:.0f}", row.reader_mlps));
  return text;
}

std::string dead_next_hop_lines(const LookupResult& result, unsigned family) {
  std::string text;
  for (const DeadNextHopRow& row : result.dead_next_hop)
    if (row.family == family)
      text += fmt::format(
          "dead next hop: {} routes moved by one record in {:.0f} ns (at most {:.0f} ns), {}; "
          "route by route {:.2f} s\n",
          row.routes, row.change_ns, row.change_ns_most,
          row.all_moved ? "all of them looked up afterwards" : "SOME DID NOT MOVE",
          row.route_by_route_s);
  return text;
}

}  // namespace

json to_json(const LookupResult& result) {
  json out;
  out["machine"] = {{"name", result.machine}, {"cpu", result.cpu},       {"tsc_hz", result.tsc_hz},
                    {"isa", result.isa},      {"memory", result.memory}, {"dpdk", result.dpdk}};
  out["table"] = {{"name", result.table},
                  {"routes4", result.routes4},
                  {"routes6", result.routes6},
                  {"next_hops", result.next_hops}};
  out["method"] = {{"rounds", result.rounds},
                   {"batch", result.batch},
                   {"destinations", result.destinations},
                   {"stream", result.stream},
                   {"flush_bytes", result.flush_bytes}};
  for (const char* section : {"rows", "load", "memory", "updates", "dead_next_hop", "skipped"})
    out[section] = json::array();
  for (const char* state : kStateNames)
    for (const LookupRow& row : result.rows)
      if (row.state == state) out["rows"].push_back(row_json(row));
  for (const LoadRow& row : result.loads) {
    out["load"].push_back({{"family", row.family},
                           {"engine", row.engine},
                           {"seconds", row.seconds},
                           {"cpu_seconds", row.cpu_seconds},
                           {"runs", row.runs}});
    out["memory"].push_back({{"family", row.family},
                             {"engine", row.engine},
                             {"bytes", row.bytes},
                             {"total_bytes", row.total_bytes},
                             {"entry_bytes", row.entry_bytes}});
  }
  for (const UpdateRow& row : result.updates)
    out["updates"].push_back({{"family", row.family},
                              {"engine", row.engine},
                              {"readers", row.readers},
                              {"reader_cpus", row.reader_cpus},
                              {"per_second", row.per_second},
                              {"per_cpu_second", row.per_cpu_second},
                              {"reader_mlps", row.reader_mlps}});
  for (const DeadNextHopRow& row : result.dead_next_hop)
    out["dead_next_hop"].push_back({{"family", row.family},
                                    {"engine", "hecto"},
                                    {"routes", row.routes},
                                    {"change_ns", row.change_ns},
                                    {"change_ns_most", row.change_ns_most},
                                    {"route_by_route_s", row.route_by_route_s},
                                    {"all_moved", row.all_moved}});
  for (const Skipped& skipped : result.skipped)
    out["skipped"].push_back(
        {{"engine", skipped.engine}, {"why", skipped.why}, {"cpu_runs", skipped.cpu_runs}});
  return out;
}

std::string to_text(const LookupResult& result) {
  std::string text = fmt::format(
      "look-up, one core, {} IPv4 and {} IPv6 routes ({}), {} next hops, batches of {}\n"
      "{}, TSC {:.2f} GHz, {}, {}, hecto's kernels {}\n"
      "TSC cycles per look-up: median of {} passes, engines in turn; {} destinations (stream {})\n",
      result.routes4, result.routes6, result.table, result.next_hops, result.batch, result.machine,
      static_cast<double>(result.tsc_hz) / 1e9, result.memory, result.dpdk, result.isa,
      result.rounds, result.destinations, result.stream);
  for (const unsigned family : {4u, 6u}) {
    const bool measured =
        std::any_of(result.loads.begin(), result.loads.end(),
                    [family](const LoadRow& row) { return row.family == family; });
    if (!measured) continue;
    text += fmt::format("\nIPv{}\n{}\n{}\n{}\n{}", family, lookup_lines(result, family),
                        load_lines(result, family), update_lines(result, family),
                        dead_next_hop_lines(result, family));
  }
  if (!result.skipped.empty()) text += '\n';
  for (const Skipped& skipped : result.skipped)
    text += fmt::format("skipped {}: {}\n", skipped.engine, skipped.why);
  return text;
}

Result<void> verdict(const LookupResult& result) {
  for (const Skipped& skipped : result.skipped)
    if (skipped.cpu_runs)
      return fail(
          fmt::format("{} was skipped though this CPU runs it ({}): the comparison is not whole; "
                      "use a DPDK that has it, or say --without {}",
                      skipped.engine, skipped.why, skipped.engine));
  for (const DeadNextHopRow& row : result.dead_next_hop)
    if (!row.all_moved) return fail("dead next hop: not all routes moved");
  return {};
}

}  // namespace hecto::bench
