#include "bench/bed/accepting_filters.hpp"

#include <random>

namespace hecto::bench {

using config::FilterRuleConfig;
using lookup::IpAddress;
using lookup::IpPrefix;

namespace {

constexpr uint8_t kFilteredTcp = 6, kFilteredUdp = 17;

}  // namespace

Result<std::shared_ptr<const router::FilterTables>> accepting_filters(
    const AcceptingFilters& options, const ReplayDestinations& destinations,
    const router::FilterSurroundings& around) {
  std::mt19937 random(20261126);
  config::FiltersConfig all;
  config::FilterConfig filter;
  filter.name = "bed";
  filter.vrfs = {"bed"};
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  for (unsigned i = 0; i < options.rules; ++i)
    for (const bool six : {false, true}) {
      FilterRuleConfig rule;
      if (i % 2 == 0) {
        rule.protocol = kFilteredUdp;
        IpPrefix to;
        if (six)
          to = {IpAddress::from(destinations.ipv6[below(uint32_t(destinations.ipv6.size()))]),
                static_cast<uint8_t>(40 + below(25))};
        else
          to = {IpAddress::from(lookup::Ipv4Address{__builtin_bswap32(
                    destinations.ipv4[below(uint32_t(destinations.ipv4.size()))].address_be)}),
                static_cast<uint8_t>(20 + below(13))};
        rule.to.prefix = to.network();
      } else {
        rule.protocol = kFilteredTcp;
        const auto port = static_cast<uint16_t>(1 + below(60'000));
        rule.destinations = {{port, static_cast<uint16_t>(port + (i % 8 == 1 ? 1000 : 0))}};
        lookup::Ipv6Address from{};
        from.bytes = {0x20,
                      0x01,
                      0x0d,
                      0xb8,
                      static_cast<uint8_t>(below(256)),
                      static_cast<uint8_t>(below(256))};
        rule.from.prefix =
            six ? IpPrefix{IpAddress::from(from), static_cast<uint8_t>(40 + below(9))}.network()
                : IpPrefix{IpAddress::from(lookup::Ipv4Address{10u << 24 | below(1 << 24)}),
                           static_cast<uint8_t>(16 + below(17))}
                      .network();
      }
      filter.rules.push_back(rule);
    }
  if (options.policed_prefixes > 0) {
    config::PrefixSetConfig set{"destinations", {}, {}, {}};
    for (unsigned i = 0; i < options.policed_prefixes; ++i) {
      const auto to = lookup::Ipv4Address{
          __builtin_bswap32(destinations.ipv4[i % destinations.ipv4.size()].address_be)};
      set.prefixes.push_back({IpAddress::from(to), 32});
      set.prefixes.push_back(
          {IpAddress::from(destinations.ipv6[i % destinations.ipv6.size()]), 128});
    }
    all.sets = {set};
    config::PolicerConfig policer;
    policer.name = "each";
    policer.rate_bps = config::kMostPolicerRate_bps;
    policer.burst_bytes = 1'000'000'000;
    policer.each = config::PoliceEach::kDestination;
    all.policers = {policer};
    FilterRuleConfig rule;
    rule.police = "each";
    rule.to.set = set.name;
    filter.rules.push_back(rule);
  } else if (options.policed) {
    config::PolicerConfig policer;
    policer.name = "all";
    policer.rate_bps = 10'000'000'000'000;
    policer.burst_bytes = 1'000'000'000;
    all.policers = {policer};
    FilterRuleConfig rule;
    rule.police = "all";
    filter.rules.push_back(rule);
  }
  all.filters = {filter};
  return router::FilterTables::compile(all, around);
}

}  // namespace hecto::bench
