#include "router/dataplane/filter/prefix_classes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <unordered_map>

namespace hecto::router {
namespace {

using config::PrefixSetConfig;
using lookup::GroupId;
using lookup::IpPrefix;

template <typename Prefix>
struct InSets {
  Prefix prefix;
  uint32_t bits;  // of the sets that it, or a prefix around it, is in
};

bool says_the_same(const PrefixSetConfig& a, const PrefixSetConfig& b) {
  const auto rest = [](const PrefixSetConfig& of) {
    return of.of_file ? std::span<const IpPrefix>(*of.of_file) : std::span<const IpPrefix>();
  };
  return a.name == b.name && a.prefixes == b.prefixes &&
         (a.of_file == b.of_file || std::ranges::equal(rest(a), rest(b)));
}

template <typename Prefix>
Prefix of_family(const IpPrefix& prefix) {
  if constexpr (sizeof(Prefix::address) == 4)
    return prefix.v4();
  else
    return prefix.v6();
}

template <typename Prefix>
std::vector<InSets<Prefix>> gather(const std::vector<PrefixSetConfig>& sets) {
  constexpr auto kFamily =
      sizeof(Prefix::address) == 4 ? lookup::Family::kIpv4 : lookup::Family::kIpv6;
  std::vector<InSets<Prefix>> all;
  uint32_t bit = 1;
  for (const PrefixSetConfig& set : sets) {
    const auto add = [&](const std::vector<IpPrefix>& prefixes) {
      for (const IpPrefix& prefix : prefixes)
        if (prefix.address.family == kFamily) all.push_back({of_family<Prefix>(prefix), bit});
    };
    add(set.prefixes);
    if (set.of_file) add(*set.of_file);
    bit <<= 1;
  }
  return all;
}

// In order a prefix stands before those that it holds. One that says what the one around it says goes.
template <typename Prefix>
void inherit(std::vector<InSets<Prefix>>& all) {
  std::ranges::sort(all, {}, &InSets<Prefix>::prefix);
  std::vector<InSets<Prefix>> around;
  size_t kept = 0;
  for (size_t i = 0; i < all.size();) {
    InSets<Prefix> one = all[i];
    for (++i; i < all.size() && all[i].prefix == one.prefix; ++i) one.bits |= all[i].bits;
    while (!around.empty() && !around.back().prefix.contains(one.prefix)) around.pop_back();
    const uint32_t outer = around.empty() ? 0 : around.back().bits;
    one.bits |= outer;
    if (one.bits == outer) continue;
    around.push_back(one);
    all[kept++] = one;
  }
  all.resize(kept);
}

uint32_t gray_order(uint32_t bits) {
  for (unsigned shift = 1; shift < 32; shift *= 2) bits ^= bits >> shift;
  return bits;
}

template <typename Fib, typename Prefix>
Result<std::unique_ptr<Fib>> table_of(const std::vector<InSets<Prefix>>& prefixes,
                                      const std::unordered_map<uint32_t, GroupId>& classes,
                                      const std::vector<int>& sockets) {
  if (prefixes.empty()) return std::unique_ptr<Fib>();
  const auto refused = [&](lookup::Error error) {
    return fail(fmt::format("filters: sets: no table for {} prefixes: {}", prefixes.size(),
                            lookup::to_string(error)));
  };
  lookup::FibOptions options;
  options.sockets = sockets;
  options.engine = lookup::Engine::kTrie;
  options.max_prefixes = prefixes.size();
  auto fib = Fib::create(options);
  if (!fib) return refused(fib.error());
  std::vector<lookup::Route<decltype(Prefix::address)>> routes;
  routes.reserve(prefixes.size());
  for (const InSets<Prefix>& each : prefixes)
    routes.push_back({each.prefix, classes.at(each.bits)});
  if (auto loaded = (*fib)->load(routes); !loaded) return refused(loaded.error());
  (*fib)->publish();
  return std::move(*fib);
}

}  // namespace

struct PrefixClasses::Classified {
  std::vector<InSets<lookup::Prefix4>> ipv4;
  std::vector<InSets<lookup::Prefix6>> ipv6;
};

// Class 0: in none.
Result<void> PrefixClasses::number(const Classified& prefixes, const PrefixClasses* before) {
  std::vector<uint32_t> wanted;
  for (size_t i = 0; i < sets_.size(); ++i) wanted.push_back(uint32_t{1} << i);
  for (const auto& each : prefixes.ipv4) wanted.push_back(each.bits);
  for (const auto& each : prefixes.ipv6) wanted.push_back(each.bits);
  std::ranges::sort(wanted, {}, gray_order);
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  const bool same_sets =
      before != nullptr &&
      std::ranges::equal(sets_, before->sets_, {}, &PrefixSetConfig::name, &PrefixSetConfig::name);
  if (same_sets) {
    bits_ = before->bits_;
    std::vector<uint32_t> known = bits_;
    std::ranges::sort(known);
    for (const uint32_t bits : wanted)
      if (!std::ranges::binary_search(known, bits)) bits_.push_back(bits);
    if (bits_.size() <= size_t{lookup::kMaxGroupId} + 1) return {};
  }
  bits_ = {0};
  bits_.insert(bits_.end(), wanted.begin(), wanted.end());
  if (bits_.size() > size_t{lookup::kMaxGroupId} + 1)
    return fail(fmt::format("filters: sets: their prefixes overlap in {} ways, {} at most",
                            wanted.size(), uint16_t{lookup::kMaxGroupId}));
  return {};
}

Result<std::shared_ptr<const PrefixClasses>> PrefixClasses::build(
    std::vector<PrefixSetConfig> sets, const std::vector<int>& sockets,
    std::shared_ptr<const PrefixClasses> before) {
  if (before && before->sockets_ == sockets &&
      std::ranges::equal(sets, before->sets_, says_the_same))
    return before;
  if (sets.size() > config::kMostPrefixSets)
    return fail(fmt::format("filters: {} sets are named, {} at most", sets.size(),
                            config::kMostPrefixSets));
  auto made = std::make_shared<PrefixClasses>();
  made->sets_ = std::move(sets);
  made->sockets_ = sockets;
  Classified all{gather<lookup::Prefix4>(made->sets_), gather<lookup::Prefix6>(made->sets_)};
  for (const auto& each : all.ipv4) made->in4_ |= each.bits;
  for (const auto& each : all.ipv6) made->in6_ |= each.bits;
  inherit(all.ipv4);
  inherit(all.ipv6);
  if (auto numbered = made->number(all, before.get()); !numbered)
    return tl::unexpected(numbered.error());
  std::unordered_map<uint32_t, GroupId> classes;
  for (size_t i = 0; i < made->bits_.size(); ++i)
    classes.emplace(made->bits_[i], GroupId(static_cast<uint16_t>(i)));
  auto ipv4 = table_of<lookup::Fib4>(all.ipv4, classes, sockets);
  if (!ipv4) return tl::unexpected(ipv4.error());
  auto ipv6 = table_of<lookup::Fib6>(all.ipv6, classes, sockets);
  if (!ipv6) return tl::unexpected(ipv6.error());
  made->ipv4_ = std::move(*ipv4);
  made->ipv6_ = std::move(*ipv6);
  return made;
}

std::vector<Span16> PrefixClasses::ranges(const std::string& set) const {
  std::vector<Span16> out;
  const auto found = std::ranges::find(sets_, set, &PrefixSetConfig::name);
  if (found == sets_.end()) return out;
  const uint32_t bit = uint32_t{1} << (found - sets_.begin());
  for (size_t i = 0; i < bits_.size(); ++i) {
    if ((bits_[i] & bit) == 0) continue;
    const auto number = static_cast<uint16_t>(i);
    if (!out.empty() && out.back().last + 1 == number)
      out.back().last = number;
    else
      out.push_back({number, number});
  }
  return out;
}

bool PrefixClasses::holds(const std::string& set, lookup::Family family) const {
  const auto found = std::ranges::find(sets_, set, &PrefixSetConfig::name);
  if (found == sets_.end()) return false;
  return ((family == lookup::Family::kIpv4 ? in4_ : in6_) >> (found - sets_.begin()) & 1) != 0;
}

uint64_t PrefixClasses::bytes() const {
  const uint64_t of_one =
      (ipv4_ ? ipv4_->statistics().bytes : 0) + (ipv6_ ? ipv6_->statistics().bytes : 0);
  return of_one * sockets_.size();
}

}  // namespace hecto::router
