#include "bench/lib/route_list.hpp"

#include <algorithm>
#include <filesystem>

#include "bench/lib/synthetic_table.hpp"
#include "router/rib/route_file.hpp"

namespace hecto::bench {
namespace {

using lookup::GroupId;

// Each family has to have a next hop for the parser to keep its prefixes; which one is no matter.
router::RouteFileOptions parse_options() {
  router::RouteFileOptions options;
  for (const char* gateway : {"100.64.0.1", "2001:db8::1"})
    options.via.push_back({.gateway = lookup::IpAddress::parse(gateway)});
  return options;
}

template <typename Family>
void sort_out(std::vector<Route<Family>>& routes) {
  const auto by_prefix = [](const auto& a, const auto& b) { return a.prefix < b.prefix; };
  const auto same = [](const auto& a, const auto& b) { return a.prefix == b.prefix; };
  std::sort(routes.begin(), routes.end(), by_prefix);
  routes.erase(std::unique(routes.begin(), routes.end(), same), routes.end());
}

void add(RouteList& list, const lookup::IpPrefix& prefix, unsigned next_hops) {
  const auto group =
      static_cast<GroupId>(1 + router::fnv1a32(prefix.to_string()) % uint32_t{next_hops});
  if (prefix.address.family == lookup::Family::kIpv4)
    list.v4.push_back({prefix.v4(), group});
  else
    list.v6.push_back({prefix.v6(), group});
}

}  // namespace

Result<RouteList> read_route_list(const std::string& path, const std::string& root,
                                  unsigned next_hops) {
  RouteList list;
  const std::string file =
      path.empty() ? router::find_real_table(root).value_or(std::string{}) : path;
  if (file.empty()) {
    list.name = "synthetic";
    for (const lookup::IpPrefix& prefix : router::synthetic_prefixes())
      add(list, prefix, next_hops);
  } else {
    list.name = std::filesystem::path(file).filename();
    auto read = router::read_routes(file, parse_options());
    if (!read) return tl::unexpected(read.error());
    for (const auto& entry : read->table.entries) add(list, entry.prefix, next_hops);
  }
  sort_out(list.v4);
  sort_out(list.v6);
  return list;
}

}  // namespace hecto::bench
