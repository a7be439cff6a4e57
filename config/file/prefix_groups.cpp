#include "config/file/prefix_groups.hpp"

#include <algorithm>
#include <bit>

namespace hecto::config {
namespace {

using lookup::IpPrefix;

bool holds(const IpPrefix& outer, const IpPrefix& inner) {
  return outer.length <= inner.length && outer.contains(inner.address);
}

// How many bits at the front two addresses of a family have in common.
uint8_t common_bits(const lookup::IpAddress& a, const lookup::IpAddress& b) {
  unsigned bits = 0;
  for (unsigned i = 0; i < a.size(); ++i) {
    const auto differ = static_cast<uint8_t>(a.bytes[i] ^ b.bytes[i]);
    bits += static_cast<unsigned>(std::countl_zero(differ));
    if (differ != 0) break;
  }
  return static_cast<uint8_t>(bits);
}

}  // namespace

PrefixGroup::PrefixGroup(const PrefixSetConfig& set, lookup::Family family) {
  std::vector<IpPrefix> all;
  for (const auto* prefixes : {&set.prefixes, set.of_file.get()})
    if (prefixes != nullptr)
      std::copy_if(prefixes->begin(), prefixes->end(), std::back_inserter(all),
                   [&](const IpPrefix& each) { return each.address.family == family; });
  if (!std::is_sorted(all.begin(), all.end())) std::sort(all.begin(), all.end());
  for (const IpPrefix& each : all)  // what holds others comes before them
    if (widest_.empty() || !holds(widest_.back(), each)) widest_.push_back(each);
  if (widest_.empty()) return;
  const IpPrefix &first = widest_.front(), &last = widest_.back();
  const uint8_t common = common_bits(first.address, last.address);
  bounds_ = IpPrefix{first.address, std::min({first.length, last.length, common})}.network();
}

bool PrefixGroup::contains(const IpPrefix& prefix) const {
  const auto behind = std::upper_bound(widest_.begin(), widest_.end(), prefix);
  return behind != widest_.begin() && holds(*std::prev(behind), prefix);
}

}  // namespace hecto::config
