// Each key's declaration against what stands beside it: members, reading, printing, differences.
#include "config/file/keys.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "config/file/diff.hpp"
#include "config/file/load.hpp"

namespace hecto::config {
namespace {

// --- a struct's members are counted, so that one without a key is seen ---

struct AnyValue {
  template <typename T>
  requires(!OptionalOf<T>::kIs) operator T() const;
};

template <typename S, typename... Values>
constexpr size_t member_count() {
  if constexpr (requires { S{Values{}..., AnyValue{}}; })
    return member_count<S, Values..., AnyValue>();
  else
    return sizeof...(Values);
}

template <typename S>
void expect_keys_for_members(const Section<S>& section, const char* name, size_t without_key) {
  EXPECT_EQ(member_count<S>(), section.keys.size() + without_key)
      << name << " has a member without a key, or its table in config/file/keys.cpp a key without "
      << "a member. Declare the key there (config/README.md, \"Adding a key\"), or count the "
      << "member here as one that no key sets.";
}

TEST(Keys, EveryMemberHasOne) {
  // file, digest, memory_line; `idle` sets two, `punt` three, `api` seven; three set `filters`
  expect_keys_for_members(file_keys, "Config", 10);
  expect_keys_for_members(vrf_keys, "VrfConfig", 1);    // name
  expect_keys_for_members(port_keys, "PortConfig", 3);  // name, kind; `vrf` sets two
  // id, outer; `vrf` sets two, `vlans` none
  expect_keys_for_members(vlan_keys, "VlanConfig", 2);
  expect_keys_for_members(linux_keys, "LinuxConfig", 4);  // enabled; `mirror` sets four
  expect_keys_for_members(route_keys, "RouteConfig", 0);
  expect_keys_for_members(next_hop_keys, "NextHopConfig", 0);
  expect_keys_for_members(neighbor_keys, "NeighborConfig", 0);
  expect_keys_for_members(rule_keys, "RuleConfig", 0);
  expect_keys_for_members(set_keys, "PrefixSetConfig", 2);    // name; `file` sets two
  expect_keys_for_members(policer_keys, "PolicerConfig", 2);  // name; `yellow` sets two
  expect_keys_for_members(filter_keys, "FilterConfig", 1);    // name
  // `tcp_flags` sets two, and so does `icmp_type`
  expect_keys_for_members(filter_rule_keys, "FilterRuleConfig", 2);
  expect_keys_for_members(flow_keys, "FlowsConfig", 0);
  expect_keys_for_members(table_keys, "TablesConfig", 0);
  expect_keys_for_members(offload_keys, "OffloadConfig", 0);
  expect_keys_for_members(nat_keys, "NatConfig", 0);
  expect_keys_for_members(nat_pool_keys, "NatPoolConfig", 2);  // name; `ports` sets two
  expect_keys_for_members(nat_rule_keys, "NatRuleConfig", 0);
  expect_keys_for_members(ipsec_keys, "IpsecConfig", 0);
  expect_keys_for_members(sa_keys, "IpsecSaConfig", 0);
  expect_keys_for_members(encapsulation_keys, "UdpEncapsulation", 0);
  expect_keys_for_members(lifetime_keys, "IpsecLifetime", 0);
  expect_keys_for_members(policy_keys, "IpsecPolicyConfig", 0);
  expect_keys_for_members(template_keys, "IpsecTemplateConfig", 0);
  expect_keys_for_members(sflow_keys, "SflowConfig", 0);
  expect_keys_for_members(ipfix_keys, "IpfixConfig", 0);
}

// --- every declared key is read ---

// What a map needs beside the key in question for that to be looked at.
std::vector<std::string> companions(std::string_view map) {
  if (map == "ports.*") return {"device: eth1"};
  if (map == "routes.*") return {"to: 10.0.0.0/8"};
  if (map == "ipsec.sas.*") return {"cipher: aes-128-cbc", "integrity: hmac-sha1"};
  if (map == "ipsec.policies.*") return {"source: 10.1.0.0/16", "protocol: tcp"};
  return {};
}

// A file in which the key at `path` has `value`.
std::string file_with(const std::string& path, const std::string& value) {
  std::vector<std::string> names;
  std::istringstream stream(path);
  for (std::string name; std::getline(stream, name, '.');) names.push_back(name);
  std::string text = value;
  for (size_t depth = names.size(); depth-- > 0;) {
    std::string map;
    for (size_t i = 0; i < depth; ++i) map += (i == 0 ? "" : ".") + names[i];
    if (names[depth] == "*") {
      const std::string& of = names[depth - 1];
      text = of == "ports"      ? "{p: " + text + "}"
             : of == "vrfs"     ? "{r: " + text + "}"
             : of == "sets"     ? "{s: " + text + "}"
             : of == "policers" ? "{l: " + text + "}"
             : of == "filters"  ? "{f: " + text + "}"
             : of == "pools"    ? "{m: " + text + "}"
             : of == "vlans"    ? "{7: " + text + "}"
                                : "[" + text + "]";
      continue;
    }
    text = names[depth] + ": " + text;
    for (const std::string& other : companions(map))
      if (!other.starts_with(names[depth] + ":")) text += ", " + other;
    text = "{" + text + "}";
  }
  return text;
}

TEST(Keys, EveryOneIsRead) {
  for (const KeyText& key : all_keys()) {
    const auto config = parse(file_with(key.path, "[[]]"), "t.yaml");  // right for no key
    ASSERT_FALSE(config) << key.path;
    std::string at = key.path;  // as refusals have it
    for (const auto& [star, place] :
         {std::pair("vlans.*", "vlans.7"), std::pair("ports.*", "ports.p"),
          std::pair("vrfs.*", "vrfs.r"), std::pair("sets.*", "sets.s"),
          std::pair("policers.*", "policers.l"), std::pair("filters.*", "filters.f"),
          std::pair("pools.*", "pools.m"), std::pair(".*", "[0]")})
      for (size_t found; (found = at.find(star)) != std::string::npos;)
        at.replace(found, std::string_view(star).size(), place);
    const bool told =
        std::any_of(config.error().begin(), config.error().end(), [&](const std::string& line) {
          return line.find(": " + at) != std::string::npos &&
                 line.find("unknown key") == std::string::npos;
        });
    EXPECT_TRUE(told) << key.path << " is declared in config/file/keys.cpp, but nothing reads it: "
                      << "use a row that has a member, or read it where its section is read.\n"
                      << config.error()[0];
  }
}

TEST(Keys, OneThatIsReadButNotDeclaredSaysWhatToDo) {
  const auto read = [](const Value& root) { Fields(root, file_keys.names, "a map").get("colour"); };
  try {
    (void)read_yaml("{}", "t.yaml", "", read);
    FAIL();
  } catch (const std::logic_error& error) {
    EXPECT_NE(std::string(error.what()).find("key colour is read, but its table has workers, "),
              std::string::npos);
    EXPECT_NE(std::string(error.what()).find("Adding a key"), std::string::npos);
  }
  EXPECT_THROW(file_keys["colour"], std::logic_error);
}

// --- what follows from a row with a member ---

// Values one of which is right for a key and not its default.
template <typename S>
std::vector<std::string> samples(const Key<S>& key) {
  std::vector<std::string> out = {std::to_string(key.range.low),
                                  std::to_string(key.range.high),
                                  "true",
                                  "false",
                                  "02:00:00:00:00:01",
                                  "/sample"};
  std::istringstream words(key.legal == nullptr ? "" : key.legal(key.range));
  for (std::string word; words >> word;) out.push_back(word.substr(0, word.find(',')));
  return out;
}

// Reads a value as the only one of its section; false when it is refused.
template <typename S>
bool read_sample(const Section<S>& section, const Key<S>& key, const std::string& value,
                 S& values) {
  return read_yaml(fmt::format("{}: {}", key.name, value), "t.yaml", "",
                   [&](const Value& root) {
                     const Fields fields(root, section.names, "a map");
                     key.read(key, *fields.get(key.name), values);
                   })
      .has_value();
}

// Calls `check` with each key that has a member, and values in which it has not its default.
template <typename S, typename Check>
void for_each_changed(const Section<S>& section, Check check) {
  for (const Key<S>& key : section.keys) {
    if (key.read == nullptr) continue;
    bool found = false;
    for (const std::string& sample : samples(key)) {
      S values{};
      if (!read_sample(section, key, sample, values) || key.text(values) == key.text(S{})) continue;
      check(key, values);
      found = true;
    }
    EXPECT_TRUE(found) << section.path << "." << key.name << ": add a right value to samples()";
  }
}

template <typename S>
void expect_written_as_read(const Section<S>& section) {
  for_each_changed(section, [&](const Key<S>& key, const S& values) {
    const auto text = written(key, values);
    ASSERT_TRUE(text) << key.name;
    S again{};
    EXPECT_TRUE(read_sample(section, key, *text, again)) << key.name << ": " << *text;
    EXPECT_EQ(key.text(again), key.text(values));
  });
}

TEST(Keys, WhatIsWrittenIsReadAgain) {
  expect_written_as_read(file_keys);
  expect_written_as_read(port_keys);
  expect_written_as_read(vlan_keys);
  expect_written_as_read(inner_vlan_keys);
  expect_written_as_read(linux_keys);
  expect_written_as_read(route_keys);
  expect_written_as_read(next_hop_keys);
  expect_written_as_read(vrf_keys);
  expect_written_as_read(rule_keys);
  expect_written_as_read(policer_keys);
  expect_written_as_read(filter_keys);
  expect_written_as_read(filter_rule_keys);
  expect_written_as_read(table_keys);
  expect_written_as_read(offload_keys);
  expect_written_as_read(ipsec_keys);
  expect_written_as_read(sa_keys);
  expect_written_as_read(encapsulation_keys);
  expect_written_as_read(lifetime_keys);
  expect_written_as_read(policy_keys);
  expect_written_as_read(template_keys);
  expect_written_as_read(sflow_keys);
  expect_written_as_read(ipfix_keys);
  expect_written_as_read(api_keys);
  expect_written_as_read(log_keys);
}

// `in` puts a section's values into a configuration.
template <typename S, typename In>
void expect_told(const Section<S>& section, In in) {
  for_each_changed(section, [&](const Key<S>& key, const S& values) {
    Config running, wanted;
    in(running, S{});
    in(wanted, values);
    const auto difference = diff(running, wanted);
    EXPECT_EQ(difference.has_value(), key.change == Change::kReload)
        << key.name << ": diff() does not do as its declaration says";
    const std::string line = difference ? fmt::format("{}", fmt::join(difference->lines, "\n"))
                                        : fmt::format("{}", fmt::join(difference.error(), "\n"));
    EXPECT_NE(line.find(key.name), std::string::npos) << key.name << ": " << line;
    EXPECT_NE(line.find(shown(key, values)), std::string::npos) << key.name << ": " << line;
  });
}

TEST(Keys, EveryChangeIsTold) {
  expect_told(file_keys, [](Config& c, const Config& v) { c = v; });
  expect_told(api_keys, [](Config& c, const Config& v) { c = v; });
  expect_told(log_keys, [](Config& c, const Config& v) { c = v; });
  expect_told(port_keys, [](Config& c, const PortConfig& v) { c.ports = {v}; });
  expect_told(vlan_keys,
              [](Config& c, const VlanConfig& v) { c.ports.emplace_back().vlans = {v}; });
  expect_told(linux_keys, [](Config& c, const LinuxConfig& v) { c.linux_side = v; });
  expect_told(table_keys, [](Config& c, const TablesConfig& v) { c.tables = v; });
  expect_told(offload_keys, [](Config& c, const OffloadConfig& v) { c.offload = v; });
  expect_told(sflow_keys, [](Config& c, const SflowConfig& v) { c.sflow = v; });
  expect_told(ipfix_keys, [](Config& c, const IpfixConfig& v) { c.ipfix = v; });
  expect_told(ipsec_keys, [](Config& c, const IpsecConfig& v) { c.ipsec = v; });
}

TEST(Keys, StandBehindTheirMap) {
  const auto keys = all_keys();
  const auto place = [&](std::string_view path) {
    return std::find_if(keys.begin(), keys.end(), [&](auto& key) { return key.path == path; }) -
           keys.begin();
  };
  EXPECT_EQ(keys.front().path, "workers");
  EXPECT_EQ(place("ports.*.device"), place("ports") + 1);
  EXPECT_EQ(place("routes.*.via.*.gateway"), place("routes.*.via") + 1);
  EXPECT_EQ(place("routes.*.type"), place("routes.*.via.*.weight") + 1);
  EXPECT_EQ(keys.back().path, "watchdog.stuck_worker");
}

TEST(Keys, FindsTheKeysOfAMap) {
  const auto names = [](const auto& section) {
    return std::vector<std::string_view>(section.names.begin(), section.names.end());
  };
  EXPECT_EQ(names(linux_keys), (std::vector<std::string_view>{"namespace", "mirror"}));
  EXPECT_EQ(names(vlan_keys), (std::vector<std::string_view>{"protocol", "vrf", "addresses", "mtu",
                                                             "urpf", "mss_clamp", "vlans"}));
  EXPECT_EQ(names(inner_vlan_keys),
            (std::vector<std::string_view>{"vrf", "addresses", "mtu", "urpf", "mss_clamp"}));
}

}  // namespace
}  // namespace hecto::config
