// A policer with `each`: the longest prefix of a rule's set that a packet's source or destination is in
// has a bucket of its own.
//
//   address ─► PrefixNumbers, of a set ─► number ─► PrefixBuckets ─► meter
//                                                   PrefixPolicer: the counts of all of it, by thread
//
// PrefixPolicer and PrefixBuckets go on over compilations; PrefixNumbers is immutable.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "config/file/filters.hpp"
#include "lookup/fib.hpp"
#include "router/dataplane/filter/covering.hpp"
#include "router/dataplane/filter/filter_tables.hpp"
#include "router/dataplane/filter/meter.hpp"
#include "router/dataplane/filter/prefix_buckets.hpp"

namespace hecto::router {

class PrefixPolicer {
 public:
  static Result<std::shared_ptr<PrefixPolicer>> create(const config::PolicerConfig& config,
                                                       uint64_t ticks_per_second, unsigned threads);

  const config::PolicerConfig& config() const noexcept { return config_; }
  const MeterProfile& profile() const noexcept { return profile_; }
  unsigned threads() const noexcept { return static_cast<unsigned>(counts_.size()); }
  // `thread`: below threads(); each has its own.
  void count(unsigned thread, const ColourTally& tally) noexcept {
    for (unsigned i = 0; i < 3; ++i) {
      if (tally.packets[i] == 0) continue;
      counts_[thread].packets[i].add(tally.packets[i]);
      counts_[thread].bytes[i].add(tally.bytes[i]);
    }
  }
  PolicerStatus status() const;  // from any thread
  // Of one that nobody counts at yet.
  void begin_with(const PolicerStatus& status) noexcept;

 private:
  struct alignas(64) Counts {
    Counter packets[3], bytes[3];
  };
  PrefixPolicer(const config::PolicerConfig& config, const MeterProfile& profile, unsigned threads)
      : config_(config), profile_(profile), counts_(threads) {}

  const config::PolicerConfig config_;
  const MeterProfile profile_;
  std::vector<Counts> counts_;
};

class PrefixNumbers {
 public:
  // `before`: of the same set and what says the same of the policer, or null. What prefixes both have
  // keeps its bucket. `buckets`: where `before` has none.
  static Result<std::shared_ptr<const PrefixNumbers>> build(
      const config::PrefixSetConfig& set, const std::vector<int>& sockets,
      std::shared_ptr<PrefixBuckets> buckets, std::shared_ptr<const PrefixNumbers> before);
  ~PrefixNumbers();
  PrefixNumbers(const PrefixNumbers&) = delete;
  PrefixNumbers& operator=(const PrefixNumbers&) = delete;

  const std::string& set() const { return set_.name; }
  bool are_of(const config::PrefixSetConfig& set) const;  // with the same prefixes
  const std::shared_ptr<PrefixBuckets>& buckets() const { return buckets_; }
  size_t size() const { return ipv4_.all.size() + ipv6_.all.size(); }  // prefixes
  uint64_t bytes() const;                                              // tables, all sockets
  // Those with most red packets, the most first.
  std::vector<PolicedPrefix> most_red(size_t most) const;

  // ---- For workers ----
  // Of 15 bits two: 1 + number % kLow, and number / kLow, which is not there while numbers are low, and
  // says nothing where the first says 0.
  static constexpr uint32_t kLow = uint16_t{lookup::kMaxGroupId};
  template <typename View>
  struct Tables {
    View low, high;
  };
  Tables<lookup::Fib4View> tables4(int socket) const;
  Tables<lookup::Fib6View> tables6(int socket) const;
  const std::vector<PrefixBuckets::Page>& pages() const { return pages_; }

 private:
  template <typename Fib, typename Prefix>
  struct Family {
    using Numbered = Valued<Prefix>;
    std::vector<Numbered> all;  // in order
    std::unique_ptr<Fib> low, high;

    Result<void> number(const config::PrefixSetConfig& set, const Family* before,
                        PrefixBuckets& buckets);
    Result<void> build(const std::vector<int>& sockets);
    void add_red(const std::vector<PrefixBuckets::Page>& pages, const std::string& set, size_t most,
                 std::vector<PolicedPrefix>& out) const;
    std::vector<uint32_t> numbers() const;
  };

  PrefixNumbers(const config::PrefixSetConfig& set, std::vector<int> sockets,
                std::shared_ptr<PrefixBuckets> buckets)
      : set_(set), sockets_(std::move(sockets)), buckets_(std::move(buckets)) {}

  const config::PrefixSetConfig set_;
  const std::vector<int> sockets_;
  const std::shared_ptr<PrefixBuckets> buckets_;
  Family<lookup::Fib4, lookup::Prefix4> ipv4_;
  Family<lookup::Fib6, lookup::Prefix6> ipv6_;
  std::vector<PrefixBuckets::Page> pages_;
};

// As the workers of a socket read them.
struct PolicedView {
  PrefixPolicer* policer = nullptr;
  PrefixNumbers::Tables<lookup::Fib4View> ipv4;
  PrefixNumbers::Tables<lookup::Fib6View> ipv6;
  const PrefixBuckets::Page* pages = nullptr;
};

}  // namespace hecto::router
