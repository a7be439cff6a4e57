#include "router/dataplane/nat/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <random>

namespace hecto::router {
namespace nat {
namespace {

uint32_t first_of(const lookup::IpPrefix& prefix) {
  return prefix.network().address.v4().value;
}
uint32_t last_of(const lookup::IpPrefix& prefix) {
  return first_of(prefix) | static_cast<uint32_t>((uint64_t{1} << (32 - prefix.length)) - 1);
}
Range range_of(const lookup::IpPrefix& prefix, size_t index) {
  return {first_of(prefix), last_of(prefix), static_cast<uint32_t>(index)};
}

OneToOne one_to_one(const config::NatRuleConfig& rule) {
  OneToOne map;
  const uint64_t hosts = (uint64_t{1} << (32 - rule.inside.length)) - 1;
  map.host_mask = __builtin_bswap32(static_cast<uint32_t>(hosts));
  map.inside = __builtin_bswap32(first_of(rule.inside));
  map.outside = __builtin_bswap32(first_of(rule.outside));
  map.delta = delta32(map.inside, map.outside);
  return map;
}

Limits limits_of(const config::NatPoolConfig& pool) {
  Limits limits;
  limits.host = {pool.sessions_per_host, pool.blocks_per_host};
  limits.timeouts = {pool.udp_timeout_s, pool.tcp_established_timeout_s,
                     pool.tcp_transitory_timeout_s, pool.icmp_timeout_s};
  return limits;
}

}  // namespace

Ranges::Ranges(std::vector<Range> ranges) : ranges_(std::move(ranges)) {
  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& a, const Range& b) { return a.first < b.first; });
}

Pool::Pool(const config::NatPoolConfig& config, const Layout& layout)
    : config_(config), layout_(layout) {
  for (const lookup::IpPrefix& prefix : config.addresses)
    for (uint64_t address = first_of(prefix); address <= last_of(prefix); ++address)
      outside_.push_back(__builtin_bswap32(static_cast<uint32_t>(address)));
}

Result<std::shared_ptr<Pool>> Pool::create(const config::NatPoolConfig& config,
                                           const std::vector<int>& sockets,
                                           lookup::Memory& memory) {
  const auto workers = static_cast<uint32_t>(sockets.size());
  std::random_device random;
  Layout layout;
  layout.addresses = static_cast<uint32_t>(config.address_count());
  layout.first_port = config.first_port;
  layout.block_shift = static_cast<uint32_t>(std::countr_zero(config.block_size));
  layout.blocks_per_address = config.blocks_per_address();
  layout.workers = Remainder(workers);
  layout.seed = random();
  std::shared_ptr<Pool> pool(new Pool(config, layout));
  for (uint32_t worker = 0; worker < workers; ++worker) {
    Share::Setup setup;
    setup.layout = layout;
    setup.worker = worker;
    setup.sessions = (config.sessions + workers - 1) / workers;
    setup.by_peer = config.filtering == config::NatFiltering::kAddressDependent;
    for (uint64_t& secret : setup.secret) secret = uint64_t{random()} << 32 | random();
    SharePointer share = Share::create(setup, pool->outside_.data(), memory, sockets[worker]);
    if (!share)
      return fail(fmt::format("nat.pools.{}: no memory for {} sessions; use fewer", config.name,
                              config.sessions));
    pool->shares_.push_back(std::move(share));
  }
  return pool;
}

// What says where a port is, and how much memory there is; limits and timeouts may change.
bool Pool::fits(const config::NatPoolConfig& config) const {
  return config_.addresses == config.addresses && config_.first_port == config.first_port &&
         config_.last_port == config.last_port && config_.block_size == config.block_size &&
         config_.sessions == config.sessions && config_.filtering == config.filtering;
}

uint64_t Pool::bytes() const {
  uint64_t bytes = 0;
  for (const SharePointer& share : shares_) bytes += share->bytes();
  return bytes;
}

std::string Pool::block_text(uint32_t block) const {
  const uint32_t place = block / layout_.blocks_per_address;
  const uint32_t size = 1u << layout_.block_shift;
  const uint32_t port = layout_.first_port + block % layout_.blocks_per_address * size;
  const auto address =
      lookup::IpAddress::from(lookup::Ipv4Address{__builtin_bswap32(outside_[place])});
  return fmt::format("{}:{}-{}", address.to_string(), port, port + size - 1);
}

namespace {

// What is gathered for each interface that rules name.
struct SetToBe {
  InterfaceId interface;
  std::vector<Range> inside;
  std::vector<Prefix6> prefixes;
};

// Gathers tables rule by rule.
class Maker {
 public:
  explicit Maker(const NatSetup& setup) : setup_(setup), tables_(std::make_shared<NatTables>()) {}

  Result<void> add_pool(const config::NatPoolConfig& config) {
    PoolUse use{nullptr, limits_of(config)};
    if (setup_.before != nullptr)
      for (const PoolUse& before : setup_.before->pools)
        if (before.pool->config().name == config.name && before.pool->fits(config) &&
            before.pool->workers() == setup_.sockets.size())
          use.pool = before.pool;
    if (!use.pool) {
      auto made = Pool::create(config, setup_.sockets, setup_.memory);
      if (!made) return tl::unexpected(made.error());
      use.pool = std::move(*made);
    }
    tables_->pools.push_back(std::move(use));
    return {};
  }

  void add_rule(const config::NatRuleConfig& rule) {
    const InterfaceId interface = setup_.interface(rule.out);
    if (interface == kNoInterface) return;
    const size_t set = set_of(interface);
    if (rule.inside.address.family == lookup::Family::kIpv6) {
      const Prefix6 prefix(rule.inside, rule.outside);
      sets_[set].prefixes.push_back(prefix);
      tables_->prefixes.push_back(prefix);
      return;
    }
    InsideRule made;
    made.one_to_one = rule.pool.empty();
    sets_[set].inside.push_back(range_of(rule.inside, tables_->rules.size()));
    if (made.one_to_one) {
      made.map = one_to_one(rule);
      put_outside(rule.outside, {true, 0, number(set), 0, made.map});
    } else {
      made.pool = pool_of(rule.pool);
      put_pool(made.pool, number(set));
    }
    tables_->rules.push_back(made);
  }

  std::shared_ptr<NatTables> finish() {
    for (SetToBe& set : sets_)
      tables_->sets.push_back({Ranges(std::move(set.inside)), std::move(set.prefixes)});
    tables_->outside = Ranges(std::move(outside_));
    return std::move(tables_);
  }

 private:
  static uint8_t number(size_t set) { return static_cast<uint8_t>(set + 1); }
  size_t set_of(InterfaceId interface) {
    uint8_t& known = tables_->set_of[interface];
    if (known == 0) {
      sets_.push_back({interface, {}, {}});
      known = number(sets_.size() - 1);
    }
    return known - 1u;
  }
  uint16_t pool_of(const std::string& name) const {
    uint16_t at = 0;
    while (tables_->pools[at].pool->config().name != name) ++at;
    return at;
  }
  void put_outside(const lookup::IpPrefix& prefix, const OutsideUse& use) {
    outside_.push_back(range_of(prefix, tables_->uses.size()));
    tables_->uses.push_back(use);
  }
  // Once, with the set of the first rule.
  void put_pool(uint16_t pool, uint8_t set) {
    if (std::find(pools_put_.begin(), pools_put_.end(), pool) != pools_put_.end()) return;
    pools_put_.push_back(pool);
    uint32_t place = 0;
    for (const lookup::IpPrefix& prefix : tables_->pools[pool].pool->config().addresses) {
      put_outside(prefix, {false, pool, set, place, {}});
      place += last_of(prefix) - first_of(prefix) + 1;
    }
  }

  const NatSetup& setup_;
  std::shared_ptr<NatTables> tables_;
  std::vector<SetToBe> sets_;
  std::vector<Range> outside_;
  std::vector<uint16_t> pools_put_;
};

}  // namespace
}  // namespace nat

Result<std::shared_ptr<NatTables>> make_nat_tables(const NatSetup& setup) {
  nat::Maker maker(setup);
  for (const config::NatPoolConfig& pool : setup.config.pools)
    if (auto added = maker.add_pool(pool); !added) return tl::unexpected(added.error());
  for (const config::NatRuleConfig& rule : setup.config.rules) maker.add_rule(rule);
  return maker.finish();
}

}  // namespace hecto::router
