// Linux's policy rules, compiled for workers: what a packet meets that the main look-up has found
// a route for, or none.
//
//   source      ─► classes ─► bits ─┐
//   destination ─► classes ─► bits ─┼─ and ─► rules that may hold, in order ─► verdict
//   interface   ─────────────► bits ─┘
//
// A class is the longest prefix that some rule names and that holds the address; its bits are the
// rules that ask for nothing else of that address. So a packet costs two look-ups in small tables
// and the words that have bits in all three, whatever the rules are (Lakshman, Stiliadis, SIGCOMM
// 1998). What cannot be seen here is Linux's to decide: tables other than local, main and default,
// marks, users, TOS, routes that are suppressed.
//
// Immutable, so thread-safe. Source of the order and of what holds: net/core/fib_rules.c,
// net/ipv4/fib_rules.c, net/ipv6/fib6_rules.c.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/net.hpp"
#include "base/reason.hpp"
#include "base/result.hpp"
#include "lookup/fib.hpp"
#include "router/rib/interfaces.hpp"
#include "router/rib/rule.hpp"

namespace hecto::router {

// What rules ask of a packet, beside its addresses.
struct RuleKey {
  InterfaceId interface = kNoInterface;  // that it came in by; none: by none of the router's
  uint8_t tos = 0;                       // or traffic class
  uint8_t protocol = 0;
  bool protocol_seen = false;  // false: behind headers that are not read here
  bool ports_seen = false;
  uint16_t source_port = 0, destination_port = 0;
};

// One family's rules. Addresses are as look-ups take them: uint32_t in host order, Ipv6Address.
template <typename Address>
class RuleTable {
 public:
  using Fib = std::conditional_t<sizeof(Address) == 4, lookup::Fib4, lookup::Fib6>;
  using Prefix = std::conditional_t<sizeof(Address) == 4, lookup::Prefix4, lookup::Prefix6>;
  // Rules beyond it are not looked at: all that they may hold for goes to Linux.
  static constexpr size_t kMostRules = 4095;
  using InterfaceByName = std::function<InterfaceId(const std::string& name)>;

  // `rules`: of the family, in the kernel's order. Fails for want of memory.
  static Result<std::unique_ptr<const RuleTable>> compile(std::span<const PolicyRule> rules,
                                                          const InterfaceByName& interface);

  // The classes of n sources, and of n destinations.
  void classify_sources(const Address* in, lookup::GroupId* classes, size_t n) const noexcept;
  void classify_destinations(const Address* in, lookup::GroupId* classes, size_t n) const noexcept;
  struct Packet {
    Address source, destination;
    lookup::GroupId source_class, destination_class;
    RuleKey key;
  };
  // `routed`: the main look-up found a route, of whatever type. kNone: that route holds;
  // kPolicyRule: Linux knows; else why it is refused.
  Reason verdict(const Packet& packet, bool routed) const noexcept;

  bool asks_for_more() const noexcept { return asks_for_more_; }  // than addresses and interface
  size_t size() const noexcept { return rules_.size(); }

 private:
  enum class Action : uint8_t { kMain, kLinux, kGoto, kNext, kBlackhole, kUnreachable, kProhibit };
  enum class Holds : uint8_t { kNo, kMaybe, kYes };
  // What the bits do not say.
  struct Rule {
    Action action = Action::kNext;
    bool plain = true;    // its bits are all there is to it
    bool unsure = false;  // it asks for what is not seen here
    bool invert = false;
    uint16_t jump = 0;  // kGoto: the rule to go on at
    uint8_t tos = 0, protocol = 0;
    PortRange source_ports, destination_ports;
    // Of inverted ones, which have all bits.
    std::optional<Prefix> from, to;
    std::optional<InterfaceId> interface;
  };
  static constexpr size_t kWordBits = 64;
  // For each class a word that says which of its words_ are not 0, and those.
  using Bits = std::vector<uint64_t>;

  RuleTable() = default;
  static Action action_of(const PolicyRule& rule, bool main_before);
  static Rule compiled(const PolicyRule& rule, Action action, const InterfaceByName& interface);
  using PrefixOf = std::optional<IpPrefix> PolicyRule::*;
  Result<std::unique_ptr<Fib>> add_classes(std::span<const PolicyRule> rules, PrefixOf prefix_of,
                                           Bits& bits) const;
  void add_interfaces(std::span<const PolicyRule> rules, const InterfaceByName& interface);
  void set_bit(Bits& bits, size_t of_class, size_t rule) const noexcept;
  const uint64_t* bits_of(const Bits& bits, size_t of_class) const noexcept {
    return &bits[of_class * (words_ + 1)];
  }
  size_t next(const Packet& packet, size_t from) const noexcept;
  Holds holds(const Rule& rule, const Packet& packet) const noexcept;

  std::vector<Rule> rules_;
  size_t words_ = 0;
  bool asks_for_more_ = false;
  std::unique_ptr<Fib> sources_, destinations_;
  Bits source_bits_, destination_bits_, interface_bits_;
  std::array<uint16_t, kMaxInterfaceId + 2> interface_class_{};  // the last: none of ours
};

extern template class RuleTable<uint32_t>;
extern template class RuleTable<lookup::Ipv6Address>;

// Of both families; null for one where Linux has no rules but its usual ones.
struct RuleTables {
  std::unique_ptr<const RuleTable<uint32_t>> ipv4;
  std::unique_ptr<const RuleTable<lookup::Ipv6Address>> ipv6;

  const RuleTable<uint32_t>* of(uint32_t) const noexcept { return ipv4.get(); }
  const RuleTable<lookup::Ipv6Address>* of(const lookup::Ipv6Address&) const noexcept {
    return ipv6.get();
  }
};

// Whether Linux alone knows what the rule's packets meet: its action, or what it asks for, is not
// the fast path's.
bool left_to_linux(const PolicyRule& rule);
// Whether it can never hold for a packet that is forwarded from an interface of the router's.
bool never_forwards(const PolicyRule& rule);

}  // namespace hecto::router
