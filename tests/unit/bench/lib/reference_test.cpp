#include "bench/lib/reference.hpp"

#include <gtest/gtest.h>

#include "bench/lookup/check.hpp"

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
  lookup::GroupId group(unsigned i) const noexcept override {
    return lookup::GroupId(groups_[i] & 0xff);
  }
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
