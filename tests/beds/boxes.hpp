// Boxes to place workers on, and what came of it in a form that compares well.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "config/file/load.hpp"
#include "config/placement/placement.hpp"

namespace hecto::config {

inline Topology box(const std::string& name) {
  auto topology = read_topology(HECTO_SOURCE_ROOT "/tests/unit/config/box/data/" + name);
  EXPECT_TRUE(topology) << topology.error();
  Topology t = topology ? *topology : Topology{};
  t.source = "the box";
  return t;
}

// One socket, `cores` cores of `threads` threads numbered as Linux does: first threads first.
inline Topology plain_box(unsigned cores, unsigned threads = 1) {
  Topology t;
  t.source = "the box";
  t.sockets = {0};
  for (unsigned c = 0; c < cores; ++c) {
    Core core{c, {}, 0, true};
    for (unsigned s = 1; s < threads; ++s) core.siblings.push_back(c + s * cores);
    t.cores.push_back(core);
  }
  return t;
}

// Everywhere; it must be there.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  EXPECT_NE(text.find(from), std::string::npos) << from;
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

inline Config read(const std::string& yaml) {
  auto config = parse(yaml, "t.yaml");
  EXPECT_TRUE(config) << (config ? "" : config.error()[0]);
  return config ? *config : Config{};
}

inline Placement placed(const Config& config, const Topology& topology,
                        const std::vector<PortCapability>& capabilities = {}) {
  auto placement = place(config, topology, capabilities);
  EXPECT_TRUE(placement) << (placement ? "" : placement.error());
  return placement ? *placement : Placement{};
}

inline std::vector<unsigned> cpus(const Placement& p) {
  std::vector<unsigned> out;
  for (const WorkerPlacement& w : p.workers) out.push_back(w.cpu);
  return out;
}

// "2:wan0.0+lan0.0 3:wan0.1": worker cpus and what they poll.
inline std::string queues(const Placement& p) {
  std::string out;
  for (const WorkerPlacement& w : p.workers) {
    out += fmt::format("{}{}:", out.empty() ? "" : " ", w.cpu);
    for (size_t i = 0; i < w.queues.size(); ++i)
      out += fmt::format("{}{}.{}", i ? "+" : "", w.queues[i].port, w.queues[i].queue);
  }
  return out;
}

inline bool warns(const Placement& p, const std::string& text) {
  return std::any_of(p.warnings.begin(), p.warnings.end(),
                     [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

inline const std::string kTwoSoftware = "ports: {a: {device: veth0}, b: {device: veth1}}\n";
inline const std::string kTwoNics =
    "ports: {wan0: {device: \"0000:17:00.0\"}, lan0: {device: \"0000:98:00.0\"}}\n";

}  // namespace hecto::config
