#include "bench/lib/destinations.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hecto::bench {
namespace {

uint32_t random_host(const lookup::Prefix4& prefix, std::mt19937_64& random) {
  const uint32_t host = prefix.length == 32 ? 0 : ~0u >> prefix.length;
  return prefix.address.value | (static_cast<uint32_t>(random()) & host);
}

lookup::Ipv6Address random_host(const lookup::Prefix6& prefix, std::mt19937_64& random) {
  lookup::Ipv6Address address = prefix.address;
  for (unsigned byte = 0; byte < 16; ++byte) {
    const unsigned fixed =
        prefix.length > byte * 8 ? std::min<unsigned>(prefix.length - byte * 8, 8) : 0;
    address.bytes[byte] |= static_cast<uint8_t>(random()) & static_cast<uint8_t>(0xff >> fixed);
  }
  return address;
}

template <typename Destination, typename Prefix>
std::vector<Destination> make(Destinations kind, std::span<const Prefix> prefixes, size_t count,
                              uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Destination> destinations(count);
  if (kind == Destinations::kZipf) {
    std::vector<uint32_t> order(prefixes.size());
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), random);
    const ZipfDistribution rank(prefixes.size());
    for (Destination& destination : destinations)
      destination = random_host(prefixes[order[rank(random)]], random);
    return destinations;
  }
  for (Destination& destination : destinations)
    destination = random_host(
        kind == Destinations::kUniform ? Prefix{} : prefixes[random() % prefixes.size()], random);
  return destinations;
}

}  // namespace

std::string_view to_string(Destinations kind) noexcept {
  switch (kind) {
    case Destinations::kUniform:
      return "uniform";
    case Destinations::kInTable:
      return "in-table";
    case Destinations::kZipf:
      return "zipf";
  }
  return "unknown";
}

ZipfDistribution::ZipfDistribution(size_t n, double s) : cumulative_(n) {
  double sum = 0;
  for (size_t rank = 0; rank < n; ++rank)
    cumulative_[rank] = sum += std::pow(static_cast<double>(rank + 1), -s);
}

size_t ZipfDistribution::operator()(std::mt19937_64& random) const {
  const double point = std::uniform_real_distribution(0.0, cumulative_.back())(random);
  const auto rank = std::upper_bound(cumulative_.begin(), cumulative_.end(), point);
  // Rounding may give the end of the range itself.
  return std::min(static_cast<size_t>(rank - cumulative_.begin()), cumulative_.size() - 1);
}

std::vector<uint32_t> make_destinations(Destinations kind,
                                        std::span<const lookup::Prefix4> prefixes, size_t count,
                                        uint64_t seed) {
  return make<uint32_t>(kind, prefixes, count, seed);
}

std::vector<lookup::Ipv6Address> make_destinations(Destinations kind,
                                                   std::span<const lookup::Prefix6> prefixes,
                                                   size_t count, uint64_t seed) {
  return make<lookup::Ipv6Address>(kind, prefixes, count, seed);
}

}  // namespace hecto::bench
