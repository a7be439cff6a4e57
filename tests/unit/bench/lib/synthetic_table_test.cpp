// The table that stands in where no real one is at hand.
#include "bench/lib/synthetic_table.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "router/rib/route_file.hpp"
#include "tests/beds/growth.hpp"
#include "tests/unit/router/rib/scale.hpp"

namespace hecto::router::test {

TEST(SyntheticTable, HasTheLengthsOfTheRealOne) {
  std::vector<IpPrefix> table = synthetic_prefixes(1, 0.1);
  size_t ipv4_24 = 0, ipv6_48 = 0;
  for (size_t i = 0; i < table.size(); ++i) {
    ASSERT_EQ(table[i], table[i].network());
    if (i > 0) {
      ASSERT_LT(table[i - 1], table[i]);
    }
    bool ipv4 = table[i].address.family == Family::kIpv4;
    ipv4_24 += ipv4 && table[i].length == 24;
    ipv6_48 += !ipv4 && table[i].length == 48;
  }
  EXPECT_EQ(ipv4_24, 53770u);
  EXPECT_EQ(ipv6_48, 7549u);
  EXPECT_EQ(table, synthetic_prefixes(1, 0.1));
  EXPECT_NE(table, synthetic_prefixes(2, 0.1));
}

TEST(SyntheticTable, FullSizeParsesAsAListInProportion) {
  std::vector<IpPrefix> prefixes = synthetic_prefixes(1, kTableScale);
  if (kTableScale == 1.0) {
    EXPECT_EQ(prefixes.size(), 901899u + 160147u);
  }
  std::string text;
  for (const IpPrefix& prefix : prefixes) text += prefix.to_string() + "\n";
  RouteFileOptions options;
  for (const char* gateway : {"192.0.2.1", "192.0.2.2", "fe80::1", "fe80::2"})
    options.via.emplace_back().gateway = IpAddress::parse(gateway);
  auto file = parse_routes(text, options);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->table.entries.size(), prefixes.size());
  EXPECT_EQ(file->table.next_hop_sets.size(), 4u);
  const std::string tenth = text.substr(0, text.find('\n', text.size() / 10) + 1);
  const auto reading = growth(
      2, [&] { (void)parse_routes(tenth, options); }, [&] { (void)parse_routes(text, options); });
  EXPECT_LT(reading.times(), kInProportionOfTen);
}

TEST(SyntheticTable, FindsTheRealOne) {
  auto folder = std::filesystem::temp_directory_path() / fmt::format("hecto-data-{}", getpid());
  std::filesystem::create_directories(folder / "shared" / "data");
  auto path = folder / "shared" / "data" / "full-table.prefixes.txt.gz";
  const char* before = getenv("HECTO_DATA");
  std::string kept = before == nullptr ? "" : before;
  unsetenv("HECTO_DATA");
  EXPECT_EQ(find_real_table(folder / "project"), std::nullopt);
  fclose(fopen(path.c_str(), "w"));
  std::filesystem::create_directories(folder / "project");
  EXPECT_TRUE(find_real_table(folder / "project").has_value());
  setenv("HECTO_DATA", (folder / "shared" / "data").c_str(), 1);
  EXPECT_EQ(find_real_table("/nonexistent"), path.string());
  if (before == nullptr) unsetenv("HECTO_DATA");
  if (before != nullptr) setenv("HECTO_DATA", kept.c_str(), 1);
  std::filesystem::remove_all(folder);
}

}  // namespace hecto::router::test
