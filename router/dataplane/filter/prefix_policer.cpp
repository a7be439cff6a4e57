#include "router/dataplane/filter/prefix_policer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <type_traits>

namespace hecto::router {
namespace {

using config::PrefixSetConfig;
using lookup::IpPrefix;

std::span<const IpPrefix> of_file(const PrefixSetConfig& set) {
  return set.of_file ? std::span<const IpPrefix>(*set.of_file) : std::span<const IpPrefix>();
}

// In order, each once.
template <typename Prefix>
std::vector<Prefix> of_family(const PrefixSetConfig& set) {
  constexpr bool kFour = std::is_same_v<Prefix, lookup::Prefix4>;
  std::vector<Prefix> out;
  for (const std::span<const IpPrefix> list : {std::span(set.prefixes), of_file(set)})
    for (const IpPrefix& each : list) {
      if ((each.address.family == lookup::Family::kIpv4) != kFour) continue;
      if constexpr (kFour)
        out.push_back(each.v4());
      else
        out.push_back(each.v6());
    }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace

// ---- All of a policer ----

Result<std::shared_ptr<PrefixPolicer>> PrefixPolicer::create(const config::PolicerConfig& config,
                                                             uint64_t ticks_per_second,
                                                             unsigned threads) {
  const auto profile = MeterProfile::create(config, ticks_per_second);
  if (!profile) return tl::unexpected(profile.error());
  return std::shared_ptr<PrefixPolicer>(new PrefixPolicer(config, *profile, threads));
}

PolicerStatus PrefixPolicer::status() const {
  FilterCount sums[3];
  for (const Counts& of : counts_)
    for (unsigned i = 0; i < 3; ++i) {
      sums[i].packets += of.packets[i].get();
      sums[i].bytes += of.bytes[i].get();
    }
  return {config_.name, sums[0], sums[1], sums[2]};
}

void PrefixPolicer::begin_with(const PolicerStatus& status) noexcept {
  const FilterCount* const by_colour[] = {&status.green, &status.yellow, &status.red};
  for (unsigned i = 0; i < 3; ++i) {
    counts_[0].packets[i].add(by_colour[i]->packets);
    counts_[0].bytes[i].add(by_colour[i]->bytes);
  }
}

// ---- Prefixes of a set ----

// Both lists are in order: what stands in both keeps its number.
template <typename Fib, typename Prefix>
Result<void> PrefixNumbers::Family<Fib, Prefix>::number(const PrefixSetConfig& set,
                                                        const Family* before,
                                                        PrefixBuckets& buckets) {
  const std::vector<Prefix> wanted = of_family<Prefix>(set);
  std::vector<Numbered> kept;
  std::vector<Prefix> fresh;
  size_t old = 0;
  const size_t had = before == nullptr ? 0 : before->all.size();
  for (const Prefix& prefix : wanted) {
    while (old < had && before->all[old].prefix < prefix) ++old;
    if (old < had && before->all[old].prefix == prefix)
      kept.push_back(before->all[old]);
    else
      fresh.push_back(prefix);
  }
  std::vector<uint32_t> numbers(fresh.size());
  if (auto taken = buckets.take(numbers); !taken) return taken;
  all = std::move(kept);
  buckets.keep(this->numbers());
  for (size_t i = 0; i < fresh.size(); ++i) all.push_back({fresh[i], numbers[i]});
  std::ranges::sort(all, {}, &Numbered::prefix);
  return {};
}

template <typename Fib, typename Prefix>
std::vector<uint32_t> PrefixNumbers::Family<Fib, Prefix>::numbers() const {
  std::vector<uint32_t> out;
  out.reserve(all.size());
  for (const Numbered& each : all) out.push_back(each.value);
  return out;
}

template <typename Fib, typename Prefix>
Result<void> PrefixNumbers::Family<Fib, Prefix>::build(const std::vector<int>& sockets) {
  const auto table_of = [&](const std::vector<Numbered>& groups) -> Result<std::unique_ptr<Fib>> {
    lookup::FibOptions options;
    options.sockets = sockets;
    options.engine = lookup::Engine::kTrie;
    options.max_prefixes = groups.size();
    const auto refused = [&](lookup::Error error) {
      return fail(fmt::format("policers: no table for {} prefixes: {}", groups.size(),
                              lookup::to_string(error)));
    };
    auto fib = Fib::create(options);
    if (!fib) return refused(fib.error());
    std::vector<lookup::Route<decltype(Prefix::address)>> routes;
    routes.reserve(groups.size());
    for (const Numbered& each : groups)
      routes.push_back({each.prefix, lookup::GroupId(static_cast<uint16_t>(each.value))});
    if (auto loaded = (*fib)->load(routes); !loaded) return refused(loaded.error());
    (*fib)->publish();
    return std::move(*fib);
  };
  if (all.empty()) return {};
  std::vector<Numbered> groups = all;
  for (Numbered& each : groups) each.value = each.value % kLow + 1;
  auto lower = table_of(groups);
  if (!lower) return tl::unexpected(lower.error());
  low = std::move(*lower);
  if (std::ranges::all_of(all, [](const Numbered& each) { return each.value < kLow; })) return {};
  for (size_t i = 0; i < all.size(); ++i) groups[i].value = all[i].value / kLow;
  auto higher = table_of(Covering<Prefix>::of(groups));
  if (!higher) return tl::unexpected(higher.error());
  high = std::move(*higher);
  return {};
}

Result<std::shared_ptr<const PrefixNumbers>> PrefixNumbers::build(
    const PrefixSetConfig& set, const std::vector<int>& sockets,
    std::shared_ptr<PrefixBuckets> buckets, std::shared_ptr<const PrefixNumbers> before) {
  if (before) {
    if (before->sockets_ == sockets && before->are_of(set)) return before;
    buckets = before->buckets_;
  }
  const std::shared_ptr<PrefixNumbers> made(new PrefixNumbers(set, sockets, std::move(buckets)));
  if (auto done = made->ipv4_.number(set, before ? &before->ipv4_ : nullptr, *made->buckets_);
      !done)
    return tl::unexpected(done.error());
  if (auto done = made->ipv6_.number(set, before ? &before->ipv6_ : nullptr, *made->buckets_);
      !done)
    return tl::unexpected(done.error());
  if (auto done = made->ipv4_.build(sockets); !done) return tl::unexpected(done.error());
  if (auto done = made->ipv6_.build(sockets); !done) return tl::unexpected(done.error());
  made->pages_ = made->buckets_->pages();
  return made;
}

bool PrefixNumbers::are_of(const PrefixSetConfig& set) const {
  return set_.prefixes == set.prefixes &&
         (set_.of_file == set.of_file || std::ranges::equal(of_file(set_), of_file(set)));
}

PrefixNumbers::~PrefixNumbers() {
  buckets_->give_back(ipv4_.numbers());
  buckets_->give_back(ipv6_.numbers());
}

PrefixNumbers::Tables<lookup::Fib4View> PrefixNumbers::tables4(int socket) const {
  return {ipv4_.low ? ipv4_.low->view(socket) : lookup::Fib4View{},
          ipv4_.high ? ipv4_.high->view(socket) : lookup::Fib4View{}};
}

PrefixNumbers::Tables<lookup::Fib6View> PrefixNumbers::tables6(int socket) const {
  return {ipv6_.low ? ipv6_.low->view(socket) : lookup::Fib6View{},
          ipv6_.high ? ipv6_.high->view(socket) : lookup::Fib6View{}};
}

uint64_t PrefixNumbers::bytes() const {
  uint64_t of_one = 0;
  for (const auto* fib : {ipv4_.low.get(), ipv4_.high.get()})
    if (fib != nullptr) of_one += fib->statistics().bytes;
  for (const auto* fib : {ipv6_.low.get(), ipv6_.high.get()})
    if (fib != nullptr) of_one += fib->statistics().bytes;
  return of_one * sockets_.size();
}

// Pages where no bucket has a red packet are not read.
template <typename Fib, typename Prefix>
void PrefixNumbers::Family<Fib, Prefix>::add_red(const std::vector<PrefixBuckets::Page>& pages,
                                                 const std::string& set, size_t most,
                                                 std::vector<PolicedPrefix>& out) const {
  for (const Numbered& each : all) {
    const PrefixBuckets::Page& page = pages[each.value >> PrefixBuckets::kPageBits];
    if (!page.exceeded->load(std::memory_order_relaxed)) continue;
    const PrefixBucket& bucket = page.buckets[each.value % PrefixBuckets::kPageBuckets];
    const FilterCount red{bucket.red_packets.get(), bucket.red_bytes.get()};
    if (red.packets == 0) continue;
    if (out.size() == most && red.packets <= out.back().red.packets) continue;
    const auto place = std::ranges::find_if(
        out, [&](const PolicedPrefix& other) { return other.red.packets < red.packets; });
    out.insert(place,
               {set, {lookup::IpAddress::from(each.prefix.address), each.prefix.length}, red});
    if (out.size() > most) out.pop_back();
  }
}

std::vector<PolicedPrefix> PrefixNumbers::most_red(size_t most) const {
  std::vector<PolicedPrefix> out;
  ipv4_.add_red(pages_, set_.name, most, out);
  ipv6_.add_red(pages_, set_.name, most, out);
  return out;
}

}  // namespace hecto::router
