#include "bench/lib/route_list.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "router/rib/route_file.hpp"

namespace hecto::bench {
namespace {

TEST(ReadRouteList, TakesEachPrefixOnceWithTheGroupOfItsText) {
  const auto file =
      std::filesystem::temp_directory_path() / ("hecto-lookup-table-" + std::to_string(getpid()));
  std::ofstream(file) << "203.0.113.0/24\n2001:db8::/32\n10.0.0.0/8\n203.0.113.0/24\n";
  auto table = read_route_list(file, ".", 64);
  std::filesystem::remove(file);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->name, file.filename());
  ASSERT_EQ(table->v4.size(), 2u);
  ASSERT_EQ(table->v6.size(), 1u);
  EXPECT_EQ(table->v4[0].prefix.to_string(), "10.0.0.0/8");
  EXPECT_EQ(table->v4[1].group, 1 + router::fnv1a32("203.0.113.0/24") % 64);
  EXPECT_EQ(table->v6[0].group, 1 + router::fnv1a32("2001:db8::/32") % 64);
}

TEST(ReadRouteList, NamesTheFileThatIsNotThere) {
  const auto table = read_route_list("/nonexistent/table.txt", ".", 64);
  ASSERT_FALSE(table);
  EXPECT_NE(table.error().message.find("/nonexistent/table.txt"), std::string::npos);
}

}  // namespace
}  // namespace hecto::bench
