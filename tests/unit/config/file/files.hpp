// Files as text, and what loading them gives.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "config/file/load.hpp"

namespace hecto::config {

inline constexpr const char* kPort = "ports: {wan0: {device: eth1, addresses: [192.0.2.1/24]}}\n";

inline Config good(const std::string& yaml) {
  auto config = parse(yaml, "t.yaml");
  if (config) return *config;
  for (const std::string& line : config.error()) ADD_FAILURE() << line;
  return {};
}

inline Problems bad(const std::string& yaml) {
  auto config = parse(yaml, "t.yaml");
  if (config) {
    ADD_FAILURE() << "accepted:\n" << yaml;
    return {""};
  }
  return config.error();
}

// The one problem of a file that has no other.
inline std::string only(const std::string& yaml) {
  Problems problems = bad(yaml);
  EXPECT_EQ(problems.size(), 1u) << yaml;
  for (size_t i = 1; i < problems.size(); ++i) ADD_FAILURE() << problems[i];
  return problems[0];
}

}  // namespace hecto::config
