// Destinations to look up, of three kinds: random addresses, addresses inside the table's prefixes,
// and those with the prefixes as unequal in use as they are in real traffic.
//
// The same seed gives the same destinations. Pure functions; `prefixes` must not be empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "lookup/prefix.hpp"

namespace hecto::bench {

enum class Destinations : uint8_t {
  kUniform,  // any address: flattering, most miss early in IPv6
  kInTable,  // random prefix, random host inside it
  kZipf,     // the same with prefixes by Zipf's law, s = 1.0, ranks in random order
};
std::string_view to_string(Destinations kind) noexcept;

// Rank k of n, counted from 0, comes with a probability proportional to 1 / (k + 1)^s.
class ZipfDistribution {
 public:
  explicit ZipfDistribution(size_t n, double s = 1.0);
  size_t operator()(std::mt19937_64& random) const;

 private:
  std::vector<double> cumulative_;
};

// Host order.
std::vector<uint32_t> make_destinations(Destinations kind,
                                        std::span<const lookup::Prefix4> prefixes, size_t count,
                                        uint64_t seed);
// Wire bytes.
std::vector<lookup::Ipv6Address> make_destinations(Destinations kind,
                                                   std::span<const lookup::Prefix6> prefixes,
                                                   size_t count, uint64_t seed);

}  // namespace hecto::bench
