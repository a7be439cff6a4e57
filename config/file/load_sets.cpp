#include "config/file/load_sets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>

#include "config/file/addresses.hpp"
#include "config/file/filter_words.hpp"
#include "config/file/keys.hpp"
#include "config/file/load_filter_rules.hpp"
#include "config/file/prefix_file.hpp"

namespace hecto::config {
namespace {

void read_set_prefixes(const Value& value, PrefixSetConfig& set) {
  for (const Value& item :
       value.items("a list of prefixes, as [10.0.0.0/8]", set_keys["prefixes"].range.high))
    if (const auto prefix = read_selector(item)) set.prefixes.push_back(*prefix);
}

void read_set_file(const Value& value, PrefixSetConfig& set, const Loading& loading) {
  namespace fs = std::filesystem;
  const auto name = value.text("a file name");
  if (!name) return;
  std::error_code error;
  const fs::path folder = fs::absolute(fs::path(loading.config.file), error).parent_path();
  std::string path = (folder / *name).lexically_normal().string();
  const std::string why_not = loading.limits.file ? loading.limits.file(path) : std::string();
  if (!why_not.empty()) return value.refuse(why_not);
  auto prefixes = read_prefix_file(path, kMostSetPrefixes);
  if (!prefixes) return value.complain(prefixes.error());
  set.file = std::move(path);
  set.of_file = std::make_shared<const std::vector<IpPrefix>>(std::move(*prefixes));
}

void read_set(const Value& value, PrefixSetConfig& set, const Loading& loading) {
  if (value.kind() != NodeKind::kMap) return read_set_prefixes(value, set);
  Fields fields(value, set_keys.names, "a list of prefixes, or a map as {file: blocked.txt}");
  read_keys(fields, set_keys, set,
            {{"prefixes", [&](const Value& v) { read_set_prefixes(v, set); }},
             {"file", [&](const Value& v) { read_set_file(v, set, loading); }}});
  if (fields.get("prefixes") == nullptr && fields.get("file") == nullptr &&
      !value.report().tells(value.path()))
    value.complain("has no prefixes; add prefixes: [10.0.0.0/8] or file: blocked.txt");
  if (set.size() > kMostSetPrefixes)
    value.complain(fmt::format("{} prefixes with those of the file; use at most {}", set.size(),
                               kMostSetPrefixes));
}

// RFC 2697, 2698 or 4115: each has keys of its own.
void check_meter(const Fields& fields, const PolicerConfig& policer) {
  const Value *excess = fields.get("excess_burst"), *rate = fields.get("excess_rate");
  const Value *peak = fields.get("peak_rate"), *peak_burst = fields.get("peak_burst");
  if (const Value* other = excess != nullptr ? excess : rate;
      other != nullptr && (peak != nullptr || peak_burst != nullptr))
    return other->complain(
        "beside peak_rate (RFC 2698), which has no excess (RFC 2697, RFC 4115); take one of both "
        "out");
  if (peak != nullptr && peak_burst == nullptr)
    return peak->complain("goes with peak_burst; add it, as peak_burst: 64kB");
  if (peak == nullptr && peak_burst != nullptr)
    return peak_burst->complain("goes with peak_rate; add it, as peak_rate: 10Mbps");
  if (rate != nullptr && excess == nullptr)
    return rate->complain("goes with excess_burst; add it, as excess_burst: 64kB");
  if (peak != nullptr && policer.peak_bps != 0 && policer.peak_bps < policer.rate_bps)
    return peak->refuse(
        fmt::format("is less than rate; use {} or more", bit_rate_words(policer.rate_bps)));
  const Value* yellow = fields.get("yellow");
  if (yellow != nullptr && excess == nullptr && peak == nullptr)
    yellow->complain(
        "nothing is yellow without excess_burst or peak_rate; add one, or take yellow out");
}

void read_yellow(const Value& value, PolicerConfig& policer) {
  if (value.is_word("drop"))
    policer.drops_yellow = true;
  else
    policer.yellow_dscp = read_dscp(value, "drop, ");
}

}  // namespace

bool is_filter_name(std::string_view name) {
  return !name.empty() && name.size() <= kMostFilterName && name != "any" &&
         std::isalpha(static_cast<unsigned char>(name[0])) != 0 &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return c < 0x80 && (std::isalnum(c) != 0 || c == '_' || c == '-');
         });
}

std::string filter_name_words(std::string_view of) {
  return fmt::format("not a {}'s name; use at most {} letters, digits, - and _, a letter first", of,
                     kMostFilterName);
}

std::optional<uint8_t> read_dscp(const Value& value, std::string_view or_else) {
  if (const auto dscp = dscp_by_name(value.word())) return dscp;
  const auto number = parse_decimal(value.word());
  if (number && *number <= 63) return static_cast<uint8_t>(*number);
  value.refuse(fmt::format("is no DSCP; use {}0 to 63, or ef, af11 to af43, cs0 to cs7", or_else));
  return std::nullopt;
}

void load_sets(const Value& value, Loading& loading) {
  for (const Value::Entry& entry :
       value.entries("sets by name, as {bogons: [10.0.0.0/8]}", file_keys["sets"].range.high)) {
    if (!is_filter_name(entry.key)) {
      entry.value.complain(filter_name_words("set"));
      continue;
    }
    PrefixSetConfig& set = loading.config.filters.sets.emplace_back();
    set.name = entry.key;
    read_set(entry.value, set, loading);
  }
}

void load_policers(const Value& value, Loading& loading) {
  const FilterNames names(loading.config, loading.static_mode);
  std::map<std::string, std::string> held;  // by way and interface, its policer
  for (const Value::Entry& entry :
       value.entries("policers by name, as {pings: {rate: 1Mbps, burst: 64kB}}",
                     file_keys["policers"].range.high)) {
    if (!is_filter_name(entry.key)) {
      entry.value.complain(filter_name_words("policer"));
      continue;
    }
    Fields fields(entry.value, policer_keys.names, "a map, as {rate: 1Mbps, burst: 64kB}");
    PolicerConfig& policer = loading.config.filters.policers.emplace_back();
    policer.name = entry.key;
    const auto read_interfaces = [&](const Value& v, std::vector<std::string>& list,
                                     std::string_view way) {
      for (const Value& item : v.items("a list of interfaces, as [wan0]", kMostInterfaces))
        if (auto name = read_filter_interface(item, names)) {
          const auto [had, fresh] = held.emplace(fmt::format("{} {}", way, *name), policer.name);
          if (fresh)
            list.push_back(std::move(*name));
          else
            item.complain(
                fmt::format("policer {} holds what goes {} by {} already; an interface "
                            "has one for each way",
                            had->second, way, *name));
        }
    };
    read_keys(fields, policer_keys, policer,
              {{"yellow", [&](const Value& v) { read_yellow(v, policer); }},
               {"in", [&](const Value& v) { read_interfaces(v, policer.in, "in"); }},
               {"out", [&](const Value& v) { read_interfaces(v, policer.out, "out"); }}});
    check_meter(fields, policer);
    if (const Value* each = fields.get("each");
        each != nullptr && policer.each != PoliceEach::kNone)
      for (const char* way : {"in", "out"})
        if (const Value* interfaces = fields.get(way))
          interfaces->complain(
              "stands beside each, which is of rules and their sets; use a policer of its own");
  }
}

}  // namespace hecto::config
