#include "bench/lib/command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/lib/json_file.hpp"
#include "bench/lib/machine.hpp"
#include "bench/lib/route_list.hpp"
#include "bench/lib/synthetic_table.hpp"
#include "bench/offload/offload.hpp"
#include "bench/offload/report.hpp"

namespace hecto::bench {
namespace {

struct Command {
  OffloadOptions options;
  std::string table, root = ".", json;
  unsigned next_hops = 64;
  bool quick = false;
};

Result<OffloadTable> table_of(const Command& command) {
  OffloadTable table;
  if (command.quick && command.table.empty()) {
    table.name = "synthetic, small";
    for (const lookup::IpPrefix& prefix : router::synthetic_prefixes(1, kQuickScale))
      table.add(prefix, command.next_hops);
    return table;
  }
  auto read = read_route_list(command.table, command.root, command.next_hops);
  if (!read) return tl::unexpected(read.error());
  table.name = read->name;
  for (const auto& route : read->v4) table.v4.push_back({route.prefix, route.group});
  for (const auto& route : read->v6) table.v6.push_back({route.prefix, route.group});
  if (table.v4.empty() || table.v6.empty())
    return fail(command.table + ": has to have IPv4 and IPv6 routes");
  return table;
}

int run(const Command& command) {
  auto table = table_of(command);
  if (!table) return complain(table.error());
  auto result = measure_offload(command.options, *table);
  if (!result) return complain({result.error()});
  if (command.json != "-") fmt::print("{}", offload_text(*result));
  auto json = nlohmann::json::parse(offload_json(*result));
  json["machine"] = machine_facts();
  auto written = write_json(command.json, json);
  return written ? 0 : complain(written.error());
}

}  // namespace

void add_offload(CLI::App& app, Work& work) {
  CLI::App* on = app.add_subcommand(
      "offload", "look-ups and ESP on a device: rates, round trips, from when on it pays");
  const auto command = std::make_shared<Command>();
  OffloadOptions& options = command->options;
  // Before the others, which may then say otherwise.
  on->add_flag_callback(
      "--quick", [command] { command->quick = true, command->options.make_quick(); },
      "few rounds, small pools, a small table: a look at everything");
  on->add_option("--device", options.device,
                 "host or cuda:N; default: cuda:0 if it opens, else host");
  on->add_option("--kinds", options.kinds, "only those that begin so, as in ipv4,seal-gcm")
      ->delimiter(',');
  on->add_option("--batches", options.measure.batches, "items of a batch, ascending")
      ->delimiter(',')
      ->check(CLI::Range(1u, 65536u));
  on->add_option("--rounds", options.measure.rounds, "of each batch size, in turn")
      ->check(CLI::Range(1u, 1000u))
      ->capture_default_str();
  on->add_option("--in-flight", options.measure.in_flight, "batches at once")
      ->check(CLI::Range(1u, 64u))
      ->capture_default_str();
  on->add_option("--table", command->table,
                 "route file; default: the real table, or a synthetic one");
  on->add_option("--root", command->root, "where ../shared/data is looked for");
  on->add_option("--json", command->json, "also write the figures here");
  on->callback([&work, command] { work = [command] { return run(*command); }; });
}

}  // namespace hecto::bench
