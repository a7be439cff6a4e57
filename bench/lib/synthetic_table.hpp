// A table for where no real one is at hand: as many prefixes of each length as a tier-1 full table
// had in February 2023 (901,899 IPv4, 160,147 IPv6), in the address space that is in use.
//
// As in real tables about half of the IPv4 prefixes lie inside shorter ones, and IPv6 prefixes
// stand in clusters in the registries' blocks. The same seed gives the same table
// everywhere. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "router/rib/route_file.hpp"

namespace hecto::router {

// Ascending, IPv4 first, no repetition. `scale` multiplies the count of every length (at least one
// stays).
std::vector<IpPrefix> synthetic_prefixes(uint64_t seed = 1, double scale = 1.0);

// Next hops for prefixes by `options.via`, as parse_routes would give them.
RouteFile with_next_hops(std::span<const IpPrefix> prefixes, const RouteFileOptions& options);

// full-table.prefixes.txt.gz in $HECTO_DATA, or else in ../shared/data from `root`.
std::optional<std::string> find_real_table(const std::string& root);

}  // namespace hecto::router
