// The whole look-up benchmark on a small table. One EAL a process: one run.
#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "bench/lib/child.hpp"
#include "bench/lib/synthetic_table.hpp"
#include "bench/lookup/lookup.hpp"
#include "tests/unit/bench/lib/folder.hpp"

namespace hecto::bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

LookupOptions quick_options(const Folder& folder) {
  std::ofstream table(folder / "table.txt");
  for (const auto& prefix : router::synthetic_prefixes(1, 0.002))
    table << prefix.to_string() << "\n";
  LookupOptions options;
  options.make_quick();
  options.table = folder / "table.txt";
  options.json = folder / "lookup.json";
  options.plot = folder / "lookup.svg";
  options.memory_mb = 1024;
  options.cpu = static_cast<unsigned>(sched_getcpu());
  return options;
}

TEST(LookupBenchmark, MeasuresEveryEngineInEveryState) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "DPDK is not built for ThreadSanitizer";
#endif
  const Folder folder;
  ASSERT_EQ(measure_lookups(quick_options(folder)), 0);
  json found;
  std::ifstream(folder / "lookup.json") >> found;
  std::set<std::string> skipped;
  for (const json& entry : found["skipped"]) skipped.insert(entry["engine"].get<std::string>());
  std::set<std::tuple<unsigned, std::string, std::string, std::string>> rows;
  for (const json& row : found["rows"]) {
    rows.emplace(row["family"].get<unsigned>(), row["engine"].get<std::string>(),
                 row["destinations"].get<std::string>(), row["state"].get<std::string>());
    EXPECT_GT(row["bytes"], 1 << 19) << row;
    // A difference of two measurements may be anything where others use the core.
    EXPECT_TRUE(row["state"] == "polluted" || row["mlps"] > 0) << row;
  }
  const std::pair<unsigned, std::vector<std::string>> engines[] = {
      {4, {"hecto", "rte_fib", "rte_fib_avx512", "rte_lpm"}},
      {6, {"hecto", "rte_fib6", "rte_fib6_avx512", "rte_lpm6"}}};
  for (const auto& [family, names] : engines)
    for (const std::string& engine : names)
      for (const char* destinations : {"uniform", "in-table", "zipf"})
        for (const char* state : {"warm", "stream", "cold", "polluted"})
          EXPECT_EQ(rows.contains({family, engine, destinations, state}), !skipped.contains(engine))
              << engine << " " << destinations << " " << state;
  // Only what the CPU lacks is left out.
  for (const std::string& engine : skipped) EXPECT_TRUE(engine.ends_with("_avx512")) << engine;
#ifdef __x86_64__
  EXPECT_TRUE(skipped.empty() || !__builtin_cpu_supports("avx512f")) << found["skipped"];
#endif
  for (const json& row : found["memory"]) {
    const auto engine = row["engine"].get<std::string>();
    const unsigned bytes = engine == "hecto" ? 0 : engine.starts_with("rte_fib") ? 2 : 4;
    EXPECT_EQ(row["entry_bytes"], bytes) << row;
  }
  EXPECT_EQ(found["updates"].size(), 6u);  // ours alone and with readers, rte_fib; two families
  for (const json& row : found["updates"]) EXPECT_GT(row["per_second"], 0) << row;
  ASSERT_EQ(found["dead_next_hop"].size(), 2u);
  EXPECT_TRUE(found["dead_next_hop"][0]["all_moved"]);
  EXPECT_EQ(fs::exists(folder / "lookup.svg"), find_program("gnuplot").has_value());
}

TEST(LookupBenchmark, RefusesAnEngineThatDoesNotExist) {
  LookupOptions options;
  options.engines = {"rte_trie"};
  testing::internal::CaptureStderr();
  EXPECT_EQ(measure_lookups(options), 1);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("rte_trie"), std::string::npos);
}

}  // namespace
}  // namespace hecto::bench
