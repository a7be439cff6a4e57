#include "config/file/load.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string.h>

#include <algorithm>
#include <set>

#include "config/file/load_sections.hpp"
#include "config/file/schema.hpp"

namespace hecto::config {
namespace {

constexpr uint64_t kMinMemory = 64ull << 20;
constexpr uint64_t kMaxMemory = 1ull << 40;
constexpr uint64_t kMinTables = 16ull << 20;  // an empty IPv6 table takes 0.7 MB
constexpr uint64_t kMaxTables = 4ull << 30;
constexpr size_t kMaxSocketPath = 107;  // sun_path less its final 0

void load_idle(const Value& value, Loading& loading) {
  static constexpr Enumerator kModes[] = {{"sleep", static_cast<int>(IdleMode::kSleep)},
                                          {"poll", static_cast<int>(IdleMode::kPoll)}};
  if (auto mode = value.one_of(kModes)) loading.config.idle = static_cast<IdleMode>(*mode);
}

void load_api(const Value& value, Loading& loading) {
  Fields fields(value, "api", "a map, as {socket: /run/hecto/hecto.sock}");
  const Value* socket = fields.get("socket");
  if (socket == nullptr) return;
  auto path = socket->text("an absolute path");
  if (!path) return;
  if (!path->starts_with('/'))
    socket->refuse("is not an absolute path; start it with /");
  else if (path->size() > kMaxSocketPath)
    socket->refuse(fmt::format("has {} bytes; a UNIX socket's path has at most {}", path->size(),
                               kMaxSocketPath));
  else
    loading.config.api_socket = *path;
}

void load_log(const Value& value, Loading& loading) {
  static constexpr Enumerator kLevels[] = {
      {"trace", 0}, {"debug", 1}, {"info", 2}, {"warn", 3}, {"error", 4}};
  Fields fields(value, "log", "a map, as {level: info}");
  const Value* level = fields.get("level");
  if (level == nullptr) return;
  if (auto number = level->one_of(kLevels)) loading.config.log_level = kLevels[*number].name;
}

void load_memory(const Value& value, Loading& loading) {
  loading.config.memory_line = {value.line()};
  if (value.is_word("auto")) return;
  if (auto bytes = value.size(kMinMemory, kMaxMemory)) loading.config.memory_bytes = bytes;
}

void load_all(const Value& root, Loading& loading) {
  Config& config = loading.config;
  Fields fields(root, "", "KEY: VALUE lines");
  auto section = [&](std::string_view key, void (*load)(const Value&, Loading&)) {
    if (const Value* value = fields.get(key)) load(*value, loading);
  };
  section("workers", load_workers);
  read_integer_or_auto(fields.get("control_core"), 0, 4095, config.control_core);
  section("idle", load_idle);
  read_integer(fields.get("idle_sleep_us"), 1, 10000, config.idle_sleep_us);
  read_integer(fields.get("burst"), 4, 256, config.burst);
  if (const Value* ports = fields.need("ports", "at least one, as ports: {wan0: {device: eth1}}"))
    load_ports(*ports, loading);
  section("linux", load_linux);
  section("routes", load_routes);
  section("route_files", load_route_files);
  section("neighbors", load_neighbors);
  section("punt", load_punt);
  read_integer(fields.get("spare_mbufs"), 0, 16777216, config.spare_mbufs);
  section("tables", load_tables);
  section("offload", load_offload);
  section("ipsec", load_ipsec);
  section("memory", load_memory);
  section("api", load_api);
  section("log", load_log);
}

}  // namespace

void load_workers(const Value& value, Loading& loading) {
  if (value.is_word("auto")) return;
  constexpr std::string_view kRight = "auto, or cores by socket, as {0: [2-9], 1: [18-25]}";
  constexpr uint64_t kMaxCpu = 4095;
  std::set<unsigned> used;
  for (const Value::Entry& entry : value.entries(kRight, 256)) {
    auto socket = parse_decimal(entry.key);
    if (!socket || *socket > 255) {
      entry.value.complain("not a socket; use 0 to 255, as in {0: [2-9]}");
      continue;
    }
    std::vector<unsigned>& cpus = loading.config.workers[static_cast<int>(*socket)];
    for (const Value& item : entry.value.items("a list of cores, as [2-5, 8]", kMaxCpu + 1)) {
      std::string_view text = item.word();
      size_t dash = text.find('-');
      auto first = parse_decimal(text.substr(0, dash));
      auto last = dash == std::string_view::npos ? first : parse_decimal(text.substr(dash + 1));
      if (!first || !last || *last > kMaxCpu || *first > *last) {
        item.refuse("is not a core; use 0 to 4095, or a range as 2-9");
        continue;
      }
      for (auto cpu = static_cast<unsigned>(*first); cpu <= *last; ++cpu) {
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

void load_linux(const Value& value, Loading& loading) {
  LinuxConfig& linux_side = loading.config.linux_side;
  if (value.kind() == NodeKind::kScalar) {
    if (value.is_word("off") || value.is_word("false"))
      linux_side.enabled = false;
    else if (!value.is_word("on") && !value.is_word("true"))
      value.refuse("is not known; use off, or a map as {namespace: hecto}");
    return;
  }
  Fields fields(value, "linux", "off, or a map as {namespace: hecto}");
  if (const Value* name = fields.get("namespace")) {
    auto text = name->text("a name, as hecto");
    if (text && (text->size() > 64 || *text == "." || *text == ".." ||
                 text->find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                         "0123456789-_.") != std::string::npos))
      name->refuse("is not a namespace's name; use at most 64 letters, digits and - _ .");
    else if (text)
      linux_side.name_space = *text;
  }
  const Value* mirror = fields.get("mirror");
  if (mirror == nullptr) return;
  static constexpr Enumerator kParts[] = {
      {"addresses", 0}, {"routes", 1}, {"neighbors", 2}, {"ipsec", 3}};
  bool* parts[] = {&linux_side.mirror_addresses, &linux_side.mirror_routes,
                   &linux_side.mirror_neighbors, &linux_side.mirror_ipsec};
  for (bool* part : parts) *part = false;
  for (const Value& item : mirror->items("a list of addresses, routes, neighbors, ipsec", 4))
    if (auto part = item.one_of(kParts)) *parts[*part] = true;
}

void load_punt(const Value& value, Loading& loading) {
  constexpr uint64_t kMaxPps = 10'000'000;
  for (const Value::Entry& entry : value.entries("rates by reason, as {arp: 2kpps}", 64)) {
    auto reasons = loading.punt_reasons;
    if (std::find(reasons.begin(), reasons.end(), entry.key) == reasons.end()) {
      std::string_view near = nearest(entry.key, reasons);
      entry.value.complain(near.empty()
                               ? fmt::format("no such reason; use {}", fmt::join(reasons, ", "))
                               : fmt::format("no such reason; did you mean {}?", near));
      continue;
    }
    if (auto pps = entry.value.rate(0, kMaxPps))
      loading.config.punt_pps[entry.key] = static_cast<uint32_t>(*pps);
  }
}

void load_tables(const Value& value, Loading& loading) {
  if (value.is_word("auto")) return;
  Fields fields(value, "tables", "a map, as {groups: 16384}");
  TablesConfig& tables = loading.config.tables;
  static constexpr Enumerator kEngines[] = {{"auto", static_cast<int>(Ipv4Engine::kAuto)},
                                            {"direct", static_cast<int>(Ipv4Engine::kDirect)},
                                            {"compact", static_cast<int>(Ipv4Engine::kCompact)}};
  if (const Value* engine = fields.get("ipv4_engine"))
    if (auto word = engine->one_of(kEngines)) tables.ipv4_engine = static_cast<Ipv4Engine>(*word);
  const Value* memory = fields.get("memory");
  if (memory != nullptr && !memory->is_word("auto")) {
    tables.memory_bytes = memory->size(kMinTables, kMaxTables);
    if (tables.memory_bytes && *tables.memory_bytes < kDirectFib_bytes &&
        tables.ipv4_engine != Ipv4Engine::kCompact)
      memory->refuse("is too little for ipv4_engine: direct; use at least 48MiB, or compact");
  }
  read_integer(fields.get("groups"), 16, 32768, tables.groups);
}

tl::expected<Config, Problems> parse(std::string_view yaml, const std::string& file_name,
                                     std::span<const std::string_view> punt_reasons) {
  Config config;
  auto read = read_yaml(yaml, file_name, "begin with a port, as ports: {wan0: {device: eth1}}",
                        [&](const Value& file) {
                          Loading loading{{}, file.report(), punt_reasons, {}, {}};
                          loading.config.file = file_name;
                          load_all(file, loading);
                          check_addresses(loading);
                          check_interface_uses(loading);
                          config = std::move(loading.config);
                        });
  if (!read) return tl::unexpected(read.error());
  return config;
}

tl::expected<Config, Problems> load(const std::string& file) {
  auto text = read_file(file);
  if (!text) return tl::unexpected(text.error());
  auto config = parse(*text, file);
  explicit_bzero(text->data(), text->size());  // keys may stand in it
  return config;
}

}  // namespace hecto::config
