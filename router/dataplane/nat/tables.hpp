// The rules of NAT as workers read them, and the pools whose sessions they lead to. One immutable
// object a snapshot; pools live on from one to the next as long as they say the same.
//
//   leaving by an interface ─► set_of ─► sets[].inside ─► rule ─┬─► 1:1: the same host bits, outside
//                                                               └─► pool ─► the worker's share
//   to an outside address ───► outside ─► use ─────────────────► the same, inwards
//
// Addresses of ranges are in host order, all others as they lie in packets.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/net.hpp"
#include "base/result.hpp"
#include "config/file/nat.hpp"
#include "router/dataplane/nat/prefix6.hpp"
#include "router/dataplane/nat/share.hpp"

struct rte_ring;

namespace hecto::router {

class Wakeup;

namespace nat {

struct Range {
  uint32_t first = 0, last = 0;  // both included
  uint32_t index = 0;
};

// Disjoint ranges.
class Ranges {
 public:
  Ranges() = default;
  explicit Ranges(std::vector<Range> ranges);
  const Range* find(uint32_t address) const noexcept {
    if (ranges_.empty()) return nullptr;
    const Range* low = ranges_.data();
    for (size_t left = ranges_.size(); left > 1;) {
      const size_t half = left / 2;
      low += low[half].first <= address ? half : 0;
      left -= half;
    }
    return address - low->first <= low->last - low->first ? low : nullptr;
  }

 private:
  std::vector<Range> ranges_;
};

// IPv4 prefix to prefix: host bits stay.
struct OneToOne {
  uint32_t host_mask = 0, inside = 0, outside = 0;
  uint16_t delta = 0;  // outwards; the same for all addresses

  uint32_t to_outside(uint32_t address) const noexcept { return (address & host_mask) | outside; }
  uint32_t to_inside(uint32_t address) const noexcept { return (address & host_mask) | inside; }
};

struct InsideRule {
  bool one_to_one = false;
  uint16_t pool = 0;
  OneToOne map;
};

struct OutsideUse {
  bool one_to_one = false;
  uint16_t pool = 0;
  uint8_t set = 0;     // whose inside it is, as of set_of
  uint32_t place = 0;  // of the range's first address in its pool
  OneToOne map;
};

// Of what leaves by one interface.
struct InsideSet {
  Ranges inside;  // index: of rules
  std::vector<Prefix6> prefixes;
};

// A pool with its sessions.
class Pool {
 public:
  // Where each worker's share lies is its socket's. An error says in words what there was no memory
  // for.
  static Result<std::shared_ptr<Pool>> create(const config::NatPoolConfig& config,
                                              const std::vector<int>& sockets,
                                              lookup::Memory& memory);
  // Whether its sessions can stay under another configuration.
  bool fits(const config::NatPoolConfig& config) const;

  const config::NatPoolConfig& config() const { return config_; }
  const Layout& layout() const { return layout_; }
  Share& share(unsigned worker) const { return *shares_[worker]; }
  unsigned workers() const { return static_cast<unsigned>(shares_.size()); }
  uint64_t bytes() const;
  // "203.0.113.1:1024-1535"
  std::string block_text(uint32_t block) const;

 private:
  Pool(const config::NatPoolConfig& config, const Layout& layout);

  config::NatPoolConfig config_;
  Layout layout_;
  std::vector<uint32_t> outside_;  // by place
  std::vector<SharePointer> shares_;
};

struct PoolUse {
  std::shared_ptr<Pool> pool;
  Limits limits;
};

// Where a worker takes what others hand over.
struct HandoverRing {
  rte_ring* ring = nullptr;
  Wakeup* owner = nullptr;  // where it may wait for us
};

}  // namespace nat

struct NatTables {
  std::vector<nat::InsideRule> rules;
  std::vector<nat::InsideSet> sets;
  std::array<uint8_t, kMaxInterfaces> set_of{};  // by interface: 0, or a set's number and 1
  nat::Ranges outside;                           // index: of uses
  std::vector<nat::OutsideUse> uses;
  std::vector<nat::Prefix6> prefixes;  // of all sets, inwards
  std::vector<nat::PoolUse> pools;
  std::vector<nat::HandoverRing> rings;  // by worker; the data plane's

  bool has_pools() const { return !pools.empty(); }
};

struct NatSetup {
  const config::NatConfig& config;
  std::function<InterfaceId(const std::string& name)> interface;  // kNoInterface: it is not there
  std::vector<int> sockets;                                       // by worker
  const NatTables* before = nullptr;                              // whose pools may stay
  lookup::Memory& memory;
};
// Rules of interfaces that are not there are left out.
Result<std::shared_ptr<NatTables>> make_nat_tables(const NatSetup& setup);

}  // namespace hecto::router
