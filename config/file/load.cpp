#include "config/file/load.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/punt_class.hpp"
#include "base/reason.hpp"
#include "base/text.hpp"
#include "config/file/addresses.hpp"
#include "config/file/interface_checks.hpp"
#include "config/file/keys.hpp"
#include "config/file/load_api.hpp"
#include "config/file/load_filters.hpp"
#include "config/file/load_flows.hpp"
#include "config/file/load_ipfix.hpp"
#include "config/file/load_ipsec.hpp"
#include "config/file/load_nat.hpp"
#include "config/file/load_offload.hpp"
#include "config/file/load_ports.hpp"
#include "config/file/load_routes.hpp"
#include "config/file/load_rules.hpp"
#include "config/file/load_sets.hpp"
#include "config/file/load_sflow.hpp"

namespace hecto::config {
namespace {

struct Cores {
  unsigned first = 0, last = 0;
};
// "7", or "2-5".
std::optional<Cores> cores_of(std::string_view text, uint64_t last_core) {
  const size_t dash = text.find('-');
  const auto first = parse_decimal(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_decimal(text.substr(dash + 1));
  if (!first || !last || *last > last_core || *first > *last) return std::nullopt;
  return Cores{static_cast<unsigned>(*first), static_cast<unsigned>(*last)};
}

void load_workers(const Value& value, Loading& loading) {
  if (value.is_word("auto")) return;
  const auto& [first_core, last_core, right] = file_keys["workers"].range;
  std::set<unsigned> used;
  for (const Value::Entry& entry : value.entries(right, 256)) {
    auto socket = parse_decimal(entry.key);
    if (!socket || *socket > 255) {
      entry.value.complain("not a socket; use 0 to 255, as in {0: [2-9]}");
      continue;
    }
    std::vector<unsigned>& cpus = loading.config.workers[static_cast<int>(*socket)];
    for (const Value& item : entry.value.items("a list of cores, as [2-5, 8]", last_core + 1)) {
      const auto cores = cores_of(item.word(), last_core);
      if (!cores) {
        item.refuse(
            fmt::format("is not a core; use {} to {}, or a range as 2-9", first_core, last_core));
        continue;
      }
      for (unsigned cpu = cores->first; cpu <= cores->last; ++cpu) {
        if (used.insert(cpu).second)
          cpus.push_back(cpu);
        else
          item.complain(fmt::format("core {} is named twice; name it once", cpu));
      }
    }
    std::sort(cpus.begin(), cpus.end());
    if (cpus.empty()) {
      loading.config.workers.erase(static_cast<int>(*socket));
      if (loading.report.empty())
        entry.value.complain("no core; name at least one, or leave the socket out");
    }
  }
}

bool works(const Config& config, unsigned cpu) {
  return config.workers.empty() ||
         std::any_of(config.workers.begin(), config.workers.end(), [&](const auto& socket) {
           return std::binary_search(socket.second.begin(), socket.second.end(), cpu);
         });
}

// One word for all, or a map by core. Behind `workers`.
void load_idle(const Value& value, Loading& loading) {
  Config& config = loading.config;
  if (value.kind() == NodeKind::kScalar) {
    if (const auto mode = read_word<IdleMode>(value)) config.idle = *mode;
    return;
  }
  const auto& [first_core, last_core, right] = file_keys["idle"].range;
  for (const Value::Entry& entry : value.entries(right, last_core + 2)) {
    const auto cores = cores_of(entry.key, last_core);
    if (!cores && entry.key != "others") {
      entry.value.complain(fmt::format("not a core; use {} to {}, a range as 2-9, or others",
                                       first_core, last_core));
      continue;
    }
    const auto mode = read_word<IdleMode>(entry.value);
    if (!mode) continue;
    if (!cores) {
      config.idle = *mode;
      continue;
    }
    for (unsigned cpu = cores->first; cpu <= cores->last; ++cpu) {
      if (!works(config, cpu))
        entry.value.complain(fmt::format("core {} is not among the workers", cpu));
      else if (!config.idle_by_core.emplace(cpu, *mode).second)
        entry.value.complain(fmt::format("core {} is named twice; name it once", cpu));
    }
  }
}

void read_namespace(const Value& value, LinuxConfig& linux_side) {
  const auto most = linux_keys["namespace"].range.high;
  auto text = value.text("a name, as hecto");
  if (text && (text->size() > most || *text == "." || *text == ".." ||
               text->find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                       "0123456789-_.") != std::string::npos))
    value.refuse(
        fmt::format("is not a namespace's name; use at most {} letters, digits and - _ .", most));
  else if (text)
    linux_side.name_space = *text;
}

void read_mirror(const Value& value, LinuxConfig& linux_side) {
  static constexpr std::string_view kParts[] = {"addresses", "routes", "neighbors", "ipsec"};
  bool* parts[] = {&linux_side.mirror_addresses, &linux_side.mirror_routes,
                   &linux_side.mirror_neighbors, &linux_side.mirror_ipsec};
  for (bool* part : parts) *part = false;
  for (const Value& item :
       value.items("a list of addresses, routes, neighbors, ipsec", std::size(kParts)))
    if (auto part = item.one_of(kParts)) *parts[*part] = true;
}

bool is_off(const Value& linux_side) {
  return linux_side.is_word("off") || linux_side.is_word("false");
}

void load_linux(const Value& value, Loading& loading) {
  LinuxConfig& linux_side = loading.config.linux_side;
  if (value.kind() == NodeKind::kScalar) {
    if (is_off(value))
      linux_side.enabled = false;
    else if (!value.is_word("on") && !value.is_word("true"))
      value.refuse("is not known; use off, or a map as {namespace: hecto}");
    return;
  }
  Fields fields(value, linux_keys.names, "off, or a map as {namespace: hecto}");
  read_keys(fields, linux_keys, linux_side,
            {{"namespace", [&](const Value& name) { read_namespace(name, linux_side); }},
             {"mirror", [&](const Value& parts) { read_mirror(parts, linux_side); }}});
}

// Names of the reasons for which packets go to Linux.
std::vector<std::string_view> punt_reasons() {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < kReasonCount; ++i)
    if (const ReasonInfo& reason = info(static_cast<Reason>(i)); reason.punt)
      names.push_back(reason.name);
  return names;
}

std::vector<std::string_view> punt_classes() {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < kPuntClassCount; ++i)
    names.push_back(info(static_cast<PuntClass>(i)).name);
  return names;
}

// A rate for the reason or class `entry` names; else it is refused.
void read_punt_rate(const Value::Entry& entry, std::string_view kind, const Range& range,
                    const std::vector<std::string_view>& known,
                    std::map<std::string, uint32_t>& rates) {
  if (std::find(known.begin(), known.end(), entry.key) == known.end()) {
    std::string_view near = nearest(entry.key, known);
    entry.value.complain(near.empty()
                             ? fmt::format("no such {}; use {}", kind, fmt::join(known, ", "))
                             : fmt::format("no such {}; did you mean {}?", kind, near));
    return;
  }
  if (auto pps = entry.value.rate(range.low, range.high))
    rates[entry.key] = static_cast<uint32_t>(*pps);
}

void load_punt_classes(const Value& value, Config& config) {
  const auto classes = punt_classes();
  for (const Value::Entry& entry : value.entries("rates by class, as {sessions: 10kpps}", 64))
    read_punt_rate(entry, "class", punt_keys["classes"].range, classes, config.punt_class_pps);
}

void load_punt_peers(const Value& value, Config& config) {
  for (const Value& item :
       value.items("a list of addresses, as [192.0.2.1]", punt_keys["peers"].range.high))
    if (auto address = read_host(item, "192.0.2.1")) config.punt_peers.push_back(*address);
}

// Reasons, and beside them the keys of `punt`.
void load_punt(const Value& value, Loading& loading) {
  const auto reasons = punt_reasons();
  for (const Value::Entry& entry : value.entries("rates by reason, as {arp: 2kpps}", 64)) {
    if (entry.key == "classes")
      load_punt_classes(entry.value, loading.config);
    else if (entry.key == "peers")
      load_punt_peers(entry.value, loading.config);
    else
      read_punt_rate(entry, "reason", file_keys["punt"].range, reasons, loading.config.punt_pps);
  }
}

void load_tables(const Value& value, Loading& loading) {
  if (value.is_word("auto")) return;
  Fields fields(value, table_keys.names, "a map, as {groups: 16384}");
  TablesConfig& tables = loading.config.tables;
  auto read_memory = [&](const Value& memory) {  // behind ipv4_engine
    table_keys["memory"].read(table_keys["memory"], memory, tables);
    if (tables.memory_bytes && *tables.memory_bytes < kDirectFib_bytes &&
        tables.ipv4_engine != Ipv4Engine::kCompact)
      memory.refuse("is too little for ipv4_engine: direct; use at least 48MiB, or compact");
  };
  read_keys(fields, table_keys, tables, {{"memory", read_memory}});
}

void load_log(const Value& value, Loading& loading) {
  Fields fields(value, log_keys.names, "a map, as {level: info}");
  read_keys(fields, log_keys, loading.config);
}

void load_watchdog(const Value& value, Loading& loading) {
  Fields fields(value, watchdog_keys.names, "a map, as {stuck_worker: report}");
  read_keys(fields, watchdog_keys, loading.config);
}

void load_memory(const Value& value, Loading& loading) {
  loading.config.memory_line = {value.line()};
  file_keys["memory"].read(file_keys["memory"], value, loading.config);
}

void load_all(const Value& root, Loading& loading) {
  Fields fields(root, file_keys.names, "KEY: VALUE lines");
  const Value* linux_side = fields.get("linux");
  loading.static_mode = linux_side != nullptr && is_off(*linux_side);
  auto section = [&](std::string_view name, void (*load)(const Value&, Loading&)) {
    return ByHand{name, [load, &loading](const Value& value) { load(value, loading); }};
  };
  read_keys(fields, file_keys, loading.config,
            {section("workers", load_workers),
             section("idle", load_idle),
             section("ports", load_ports),
             section("vrfs", load_vrfs),
             section("rules", load_rules),
             section("sets", load_sets),
             section("policers", load_policers),
             section("filters", load_filters),
             section("linux", load_linux),
             section("routes", load_routes),
             section("route_files", load_route_files),
             section("neighbors", load_neighbors),
             section("punt", load_punt),
             section("flows", load_flows),
             section("tables", load_tables),
             section("offload", load_offload),
             section("ipsec", load_ipsec),
             section("sflow", load_sflow),
             section("ipfix", load_ipfix),
             section("nat", load_nat),
             section("memory", load_memory),
             section("api", load_api),
             section("log", load_log),
             section("watchdog", load_watchdog)});
}

FileDigest digest(std::string_view text) {
  return {std::hash<std::string_view>{}(text)};
}

}  // namespace

tl::expected<Config, Problems> parse(std::string_view yaml, const std::string& file_name,
                                     const LoadLimits& limits) {
  Config config;
  auto read = read_yaml(yaml, file_name, "begin with a port, as ports: {wan0: {device: eth1}}",
                        [&](const Value& file) {
                          Loading loading{{}, file.report(), {}, {}, limits};
                          loading.config.file = file_name;
                          loading.config.digest = digest(yaml);
                          load_all(file, loading);
                          check_addresses(loading);
                          check_interface_uses(loading);
                          check_tables(loading);
                          config = std::move(loading.config);
                        });
  if (!read) return tl::unexpected(read.error());
  return config;
}

tl::expected<Config, Problems> load(const std::string& file, const LoadLimits& limits) {
  if (limits.file)
    if (auto why_not = limits.file(file); !why_not.empty())
      return tl::unexpected(Problems{file + ": " + why_not});
  auto text = read_file(file);
  if (!text) return tl::unexpected(text.error());
  auto config = parse(*text, file, limits);
  explicit_bzero(text->data(), text->size());  // keys may stand in it
  return config;
}

std::optional<FileDigest> digest_of(const std::string& file) {
  auto text = read_file(file);
  if (!text) return std::nullopt;
  const FileDigest found = digest(*text);
  explicit_bzero(text->data(), text->size());
  return found;
}

}  // namespace hecto::config
