// Linux's policy rules, compiled for workers: in which tables a packet is looked up, in what order,
// or why it is refused.
//
//   source      ─► classes ─► bits ─┐
//   destination ─► classes ─► bits ─┼─ and ─► rules that may hold, in order ─► verdict
//   interface   ─────────────► bits ─┘
//
// A class is the longest prefix that some rule names and that holds the address; its bits are the
// rules that ask for nothing else of that address. So a packet costs two look-ups in small tables
// and the words that have bits in all three, whatever the rules are (Lakshman, Stiliadis, SIGCOMM
// 1998). What cannot be seen here is Linux's to decide: users, routes that are suppressed, and tables
// for which there is no room; marks, too, unless the file's filters give them (`marks`).
//
// The main look-up (local, main and default as one) is made before. A packet that came in by an
// interface whose first rule leads to one table whatever the packet, as in a VRF, is looked up there
// instead (`first`), and asks for the rest only where that has no route.
//
// Immutable, so thread-safe. Source of the order and of what holds: net/core/fib_rules.c,
// net/ipv4/fib_rules.c, net/ipv6/fib6_rules.c.
#pragma once

#include <algorithm>
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
  // uRPF's: Linux asks as if it came in where the packet leaves, which is not known here, within
  // the VRF that the packet came in by.
  bool way_back = false;
  uint16_t source_port = 0, destination_port = 0;
  uint32_t mark = 0;  // that a filter gave it
};

// What of interfaces and tables the rules ask for.
struct RuleSurroundings {
  struct VrfMember {
    InterfaceId interface;
    std::string vrf;
    uint32_t table;  // Linux's number
    bool operator==(const VrfMember&) const = default;
  };
  std::function<InterfaceId(const std::string& name)> interface;
  // Its number in the FIBs, 0 of local, main and default. None: there is no room for it.
  std::function<std::optional<lookup::TableId>(uint32_t linux_table)> table;
  std::vector<VrfMember> vrf_members;
  bool marks = false;  // packets' marks are those of filters, and of no one else
};

// One family's rules. Addresses are as look-ups take them: uint32_t in host order, Ipv6Address.
template <typename Address>
class RuleTable {
 public:
  using Fib = std::conditional_t<sizeof(Address) == 4, lookup::Fib4, lookup::Fib6>;
  using Prefix = std::conditional_t<sizeof(Address) == 4, lookup::Prefix4, lookup::Prefix6>;
  // Rules beyond it are not looked at: all that they may hold for goes to Linux.
  static constexpr size_t kMostRules = 4095;
  // `rules`: of the family, in the kernel's order. Fails for want of memory.
  static Result<std::unique_ptr<const RuleTable>> compile(std::span<const PolicyRule> rules,
                                                          const RuleSurroundings& surroundings);

  // The classes of n sources, and of n destinations.
  void classify_sources(const Address* in, lookup::GroupId* classes, size_t n) const noexcept;
  void classify_destinations(const Address* in, lookup::GroupId* classes, size_t n) const noexcept;
  struct Packet {
    Address source, destination;
    lookup::GroupId source_class, destination_class;
    RuleKey key;
  };
  // What comes next of the way through the rules, beginning at number `from`.
  struct Step {
    // Where `table` is 0. kNone: the main look-up's route holds; kPolicyRule: Linux knows; else why
    // the packet is refused.
    Reason reason = Reason::kNone;
    // Another table than main: its route holds, and where it has none, ask again from `next`.
    lookup::TableId table = 0;
    uint16_t next = 0;
    bool by_mark = false;  // without its mark it might go another way
  };
  // `routed`: the main look-up found a route, of whatever type.
  Step ask(const Packet& packet, bool routed, size_t from = 0) const noexcept;
  // Where all packets of the interface are looked up first; 0: in main, and then ask() says.
  struct First {
    lookup::TableId table = 0;
    uint16_t next = 0;
  };
  First first(InterfaceId interface) const noexcept { return first_[known(interface)]; }
  bool in_vrf(InterfaceId interface) const noexcept {
    return !classes_[interface_class_[known(interface)]].vrf.empty();
  }
  // That of the interface's VRF, whatever the rules; 0: there is none, or no room for it.
  lookup::TableId vrf_table(InterfaceId interface) const noexcept {
    return classes_[interface_class_[known(interface)]].vrf_table;
  }

  bool asks_for_more() const noexcept { return asks_for_more_; }  // than addresses and interface
  bool asks_for_marks() const noexcept { return asks_for_marks_; }
  size_t size() const noexcept { return rules_.size(); }

 private:
  enum class Action : uint8_t {
    kMain,
    kTable,
    kVrf,  // the table of the interface's VRF
    kLinux,
    kGoto,
    kLocal,  // its routes lead to Linux anyhow
    kNext,
    kBlackhole,
    kUnreachable,
    kProhibit
  };
  enum class Holds : uint8_t { kNo, kMaybe, kYes };
  // What the bits do not say.
  struct Rule {
    Action action = Action::kNext;
    bool plain = true;       // its bits are all there is to it
    bool by_device = false;  // it asks for an interface or a VRF by name
    bool unsure = false;     // it asks for what is not seen here
    bool invert = false;
    uint16_t jump = 0;          // kGoto: the rule to go on at
    lookup::TableId table = 0;  // kTable
    uint8_t tos = 0, protocol = 0;
    std::optional<uint8_t> dscp;
    uint32_t mark = 0, mark_mask = 0;  // where marks are seen
    PortRange source_ports, destination_ports;
    // Of inverted ones, which have all bits.
    std::optional<Prefix> from, to;
    std::string device;
  };
  // Of an interface that some rule names or that is in a VRF; the first: any other. The second, and
  // of each VRF one more, are for ways back, of which the interface is not known.
  struct InterfaceClass {
    InterfaceId interface = kNoInterface;
    std::string name, vrf;  // empty: none
    lookup::TableId vrf_table = 0;
  };
  static constexpr size_t kWordBits = 64;
  // For each class a word that says which of its words_ are not 0, and those.
  using Bits = std::vector<uint64_t>;

  RuleTable() = default;
  static size_t known(InterfaceId interface) noexcept {
    return std::min<size_t>(interface, kMaxInterfaceId + 1);
  }
  static Rule compiled(const PolicyRule& rule, bool main_before,
                       const RuleSurroundings& surroundings);
  using PrefixOf = std::optional<IpPrefix> PolicyRule::*;
  Result<std::unique_ptr<Fib>> add_classes(std::span<const PolicyRule> rules, PrefixOf prefix_of,
                                           Bits& bits) const;
  void add_interfaces(std::span<const PolicyRule> rules, const RuleSurroundings& surroundings);
  void add_firsts(std::span<const PolicyRule> rules);
  static constexpr uint16_t kBack = 1;
  static bool names(const std::string& device, const InterfaceClass& of) noexcept {
    return device == of.name || (!of.vrf.empty() && device == of.vrf);
  }
  const InterfaceClass& class_of(const RuleKey& key) const noexcept {
    return classes_[(key.way_back ? back_class_ : interface_class_)[known(key.interface)]];
  }
  void set_bit(Bits& bits, size_t of_class, size_t rule) const noexcept;
  const uint64_t* bits_of(const Bits& bits, size_t of_class) const noexcept {
    return &bits[of_class * (words_ + 1)];
  }
  size_t next(const Packet& packet, size_t from) const noexcept;
  Holds holds(const Rule& rule, const Packet& packet) const noexcept;
  bool hangs_on_mark(const Rule& rule, const Packet& packet, Holds held) const noexcept;
  static bool as_marked(const Rule& rule, uint32_t mark) noexcept {
    return ((rule.mark ^ mark) & rule.mark_mask) == 0;
  }

  std::vector<Rule> rules_;
  size_t words_ = 0;
  bool asks_for_more_ = false, asks_for_marks_ = false;
  std::unique_ptr<Fib> sources_, destinations_;
  Bits source_bits_, destination_bits_, interface_bits_;
  std::vector<InterfaceClass> classes_;
  using ByInterface = std::array<uint16_t, kMaxInterfaceId + 2>;  // the last: none of ours
  ByInterface interface_class_{}, back_class_{};
  std::array<First, kMaxInterfaceId + 2> first_{};
};

extern template class RuleTable<uint32_t>;
extern template class RuleTable<lookup::Ipv6Address>;

// Of both families; null for one where Linux has no rules but its usual ones.
struct RuleTables {
  // An IPsec interface of Linux in a VRF: what comes out of its SAs is as if it had come in by another
  // interface of that VRF. kNoInterface: the router has none there.
  struct InVrf {
    uint32_t if_id;
    InterfaceId member;
    bool operator==(const InVrf&) const = default;
  };
  std::vector<InVrf> ipsec_in_vrfs;

  std::unique_ptr<const RuleTable<uint32_t>> ipv4;
  std::unique_ptr<const RuleTable<lookup::Ipv6Address>> ipv6;

  const RuleTable<uint32_t>* of(uint32_t) const noexcept { return ipv4.get(); }
  const RuleTable<lookup::Ipv6Address>* of(const lookup::Ipv6Address&) const noexcept {
    return ipv6.get();
  }
};

// Whether Linux alone knows what the rule's packets meet: its action, or what it asks for, is not
// the fast path's. `has_room`: for its table. `marks`: as in RuleSurroundings.
bool left_to_linux(const PolicyRule& rule, bool has_room, bool marks = false);
// Whether it can never hold for a packet that is forwarded from an interface of the router's.
bool never_forwards(const PolicyRule& rule);

}  // namespace hecto::router
