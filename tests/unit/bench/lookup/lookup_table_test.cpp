#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "bench/lookup/check.hpp"
#include "bench/lookup/table.hpp"
#include "router/rib/route_file.hpp"

namespace hecto::bench {
namespace {

template <typename Family>
std::vector<Route<Family>> routes_of(std::initializer_list<const char*> prefixes) {
  std::vector<Route<Family>> routes;
  for (const char* text : prefixes)
    routes.push_back(
        {*Family::Prefix::parse(text), static_cast<lookup::GroupId>(routes.size() + 1)});
  return routes;
}

TEST(ReadTable, TakesEachPrefixOnceWithTheGroupOfItsText) {
  const auto file =
      std::filesystem::temp_directory_path() / ("hecto-lookup-table-" + std::to_string(getpid()));
  std::ofstream(file) << "203.0.113.0/24\n2001:db8::/32\n10.0.0.0/8\n203.0.113.0/24\n";
  auto table = read_table(file, ".", 64);
  std::filesystem::remove(file);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->name, file.filename());
  ASSERT_EQ(table->v4.size(), 2u);
  ASSERT_EQ(table->v6.size(), 1u);
  EXPECT_EQ(table->v4[0].prefix.to_string(), "10.0.0.0/8");
  EXPECT_EQ(table->v4[1].group, 1 + router::fnv1a32("203.0.113.0/24") % 64);
  EXPECT_EQ(table->v6[0].group, 1 + router::fnv1a32("2001:db8::/32") % 64);
}

TEST(ReadTable, NamesTheFileThatIsNotThere) {
  const auto table = read_table("/nonexistent/table.txt", ".", 64);
  ASSERT_FALSE(table);
  EXPECT_NE(table.error().message.find("/nonexistent/table.txt"), std::string::npos);
}

TEST(Reference, FindsTheLongestPrefixAround) {
  const auto routes =
      routes_of<Ipv4>({"10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24", "10.1.2.3/32", "10.2.0.0/16"});
  const Reference<Ipv4> reference(routes);
  const auto find = [&](const char* address) {
    return reference.find(lookup::Ipv4Address::parse(address)->value);
  };
  EXPECT_EQ(find("10.1.2.3"), 4);
  EXPECT_EQ(find("10.1.2.4"), 3);
  EXPECT_EQ(find("10.1.255.255"), 2);
  EXPECT_EQ(find("10.2.0.0"), 5);
  EXPECT_EQ(find("10.3.0.0"), 1);
  EXPECT_EQ(find("11.0.0.0"), lookup::kNoRoute);
  EXPECT_EQ(find("9.255.255.255"), lookup::kNoRoute);
}

TEST(ExtensionNodes, CountsTheHeadsThatLongerPrefixesHave) {
  EXPECT_EQ(extension_nodes(
                routes_of<Ipv4>({"10.0.0.0/24", "10.0.1.0/25", "10.0.1.128/26", "10.0.2.0/32"})),
            2u);
  // 2001:db::/24 with one behind it for each of the two /32, and none for the /32 itself.
  EXPECT_EQ(extension_nodes(routes_of<Ipv6>(
                {"2001:db8::/32", "2001:db8:100::/40", "2001:db8:ff00::/40", "2001:db9::/33"})),
            3u);
}

TEST(ReservedNodes, AreCountedFromTheRouteAround) {
  // One step to the /32; one from it to each /40, though the two share a node.
  EXPECT_EQ(
      reserved_nodes(routes_of<Ipv6>({"2001:db8::/32", "2001:db8:100::/40", "2001:db8:ff00::/40"})),
      3u);
}

// Answers with the last byte of the address.
class LastByte final : public Engine<Ipv4> {
 public:
  bool add(const Prefix&, lookup::GroupId) override { return true; }
  bool remove(const Prefix&) override { return true; }
  void lookup(const uint32_t* destinations, unsigned n) noexcept override {
    groups_.assign(destinations, destinations + n);
  }
  lookup::GroupId group(unsigned i) const noexcept override { return groups_[i] & 0xff; }
  uint64_t bytes() const override { return 0; }

 private:
  std::vector<uint32_t> groups_;
};

TEST(FirstWrong, NamesTheDestinationAndBothGroups) {
  LastByte engine;
  const std::vector<uint32_t> destinations = {0x0a000001, 0x0a000002, 0x0a000003};
  const std::vector<lookup::GroupId> right = {1, 2, 3}, other = {1, 2, 4};
  EXPECT_EQ(first_wrong<Ipv4>(engine, destinations, right, 2), std::nullopt);
  EXPECT_EQ(first_wrong<Ipv4>(engine, destinations, other, 2), "10.0.0.3 has group 3, not 4");
}

}  // namespace
}  // namespace hecto::bench
