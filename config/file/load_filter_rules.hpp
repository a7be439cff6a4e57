// Reads one rule of a filter.
#pragma once

#include <map>
#include <set>
#include <string>

#include "config/file/loading.hpp"

namespace hecto::config {

// What rules and filters may name. Of a file that is read; made once for all of its rules.
struct FilterNames {
  explicit FilterNames(const Config& config, bool is_static);

  using Names = std::set<std::string, std::less<>>;
  Names interfaces, ports, vrfs, policers;
  std::map<std::string, PoliceEach, std::less<>> each;  // by policer, of those that have it
  // By name, which families it has: bit 0 IPv4, bit 1 IPv6; all of an empty one.
  std::map<std::string, unsigned, std::less<>> sets;
  bool is_static;  // no Linux side, which may make interfaces and VRFs
};

FilterRuleConfig read_filter_rule(const Value& value, const FilterNames& names, Loading& loading);

// The name of an interface or a VRF, which with a Linux side need not be there; nothing: refused.
std::optional<std::string> read_filter_interface(const Value& value, const FilterNames& names);
std::optional<std::string> read_filter_vrf(const Value& value, const FilterNames& names);

}  // namespace hecto::config
