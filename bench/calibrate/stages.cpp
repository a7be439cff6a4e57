#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/calibrate/parts.hpp"
#include "bench/child.hpp"
#include "bench/self.hpp"
#include "router/dpdk.hpp"

namespace hecto::bench {
namespace {

using config::Constant;
using nlohmann::json;
using router::Result;

enum Stage { kReceive, kClassify, kLookup, kRewrite, kTransmit };

struct FamilyConstants {
  const char* name;
  Constant classify, lookup, rewrite;
};

// What reading the clock at the end of a sampled stage costs each packet of the chunk.
double clock_cycles(unsigned burst) {
  constexpr unsigned kReads = 1000;
  const uint64_t start = rte_rdtsc();
  for (unsigned i = 0; i < kReads; ++i) rte_rdtsc();
  return static_cast<double>(rte_rdtsc() - start) / kReads / burst;
}

void take_stages(const json& forward, Found& found) {
  using enum Constant;
  constexpr FamilyConstants kFamilies[] = {
      {"ipv4", kClassifyIpv4Cycles, kLookupIpv4Cycles, kRewriteIpv4Cycles},
      {"ipv6", kClassifyIpv6Cycles, kLookupIpv6Cycles, kRewriteIpv6Cycles}};
  const double clock = clock_cycles(forward["burst"]);
  double receive = 0, transmit = 0, loop = 0;
  for (const FamilyConstants& family : kFamilies) {
    const json& series = forward[family.name];
    const std::vector<double> stages = series["stages"];
    double sum = 0;
    for (const double stage : stages) sum += stage - clock;
    found.set(family.classify, stages[kClassify] - clock);
    found.set(family.lookup, stages[kLookup] - clock);
    found.set(family.rewrite, stages[kRewrite] - clock);
    receive += (stages[kReceive] - clock) / 2;
    transmit += (stages[kTransmit] - clock) / 2;
    loop += (series["cycles_per_packet"].get<double>() - sum) / 2;
  }
  found.set(kMemoryRxCycles, receive);
  found.set(kMemoryTxCycles, transmit);
  found.set(kLoopCycles, std::max(loop, 0.1));
}

// Of the point with one worker.
Result<double> scale_cycles(const CalibrateOptions& options, const char* placement) {
  auto scale =
      run_self({"scale", "--workers", "1", "--placement", placement, "--table", options.table,
                "--root", options.root, "--rounds", options.quick ? "3" : "9"},
               120);
  if (!scale) return tl::unexpected(scale.error());
  return (*scale)["points"][0]["cycles_per_packet"].get<double>();
}

}  // namespace

Result<void> measure_stages(const CalibrateOptions& options, const config::Topology& topology,
                            Found& found) {
  auto forward = run_self({"forward", "--table", options.table, "--root", options.root, "--rounds",
                           options.quick ? "5" : "31", "--round-ms", options.quick ? "20" : "50"},
                          300);
  if (!forward) return tl::unexpected(forward.error());
  take_stages(*forward, found);
  found.notes.push_back(
      fmt::format("stages: table {}, {} routes, look-up {}, {}; IPv4 spread {:.0f}%",
                  (*forward)["table"].get<std::string>(), (*forward)["routes"].get<uint64_t>(),
                  (*forward)["isa"].get<std::string>(),
                  (*forward)["hugepages"].get<bool>() ? "hugepages" : "no hugepages",
                  (*forward)["ipv4"]["spread"].get<double>() * 100));
  if ((*forward)["ipv4"]["spread"].get<double>() > 0.1)
    found.notes.emplace_back(
        "stages: a noisy machine (spread over 10%): stop other work, or chrt -f 50 before the "
        "command");
  if (topology.sockets.size() < 2) {
    found.notes.emplace_back("stages: one node, so remote_access_cycles stays");
    return {};
  }
  auto right = scale_cycles(options, "right");
  auto wrong = scale_cycles(options, "wrong");
  if (!right) return tl::unexpected(right.error());
  if (!wrong) return tl::unexpected(wrong.error());
  found.set(Constant::kRemoteAccessCycles, *wrong - *right);
  return {};
}

}  // namespace hecto::bench
