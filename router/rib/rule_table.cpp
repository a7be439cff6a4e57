#include "router/rib/rule_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "router/rib/candidate.hpp"

namespace hecto::router {

namespace {

// What Linux compares of it: in IPv4 at least these bits, in IPv6 and in newer kernels (6.13) all of
// the DSCP. Where only the first are alike, Linux knows.
constexpr uint8_t kLeastTos = 0x1c;  // IPTOS_RT_MASK
constexpr uint8_t kDscp = 0xfc;

bool asks_what_is_not_seen(const PolicyRule& rule, bool marks) {
  const bool not_in_a_vrf = rule.l3mdev && rule.invert;
  return (rule.fwmask != 0 && !marks) || rule.other_selectors || not_in_a_vrf;
}

// It holds for every packet.
bool unconditional(const PolicyRule& rule) {
  PolicyRule bare;
  bare.family = rule.family;
  bare.priority = rule.priority;
  bare.action = rule.action;
  bare.table = rule.table;
  bare.target = rule.target;
  bare.protocol = rule.protocol;
  return rule == bare;
}

bool contains(const lookup::Prefix4& prefix, uint32_t address) {
  return prefix.contains(lookup::Ipv4Address{address});
}
bool contains(const lookup::Prefix6& prefix, const lookup::Ipv6Address& address) {
  return prefix.contains(address);
}

template <typename Prefix>
Prefix as(const IpPrefix& prefix) {
  if constexpr (std::is_same_v<Prefix, lookup::Prefix4>)
    return prefix.v4();
  else
    return prefix.v6();
}

}  // namespace

bool left_to_linux(const PolicyRule& rule, bool has_room, bool marks) {
  if (asks_what_is_not_seen(rule, marks)) return true;
  if (rule.action != RuleAction::kTable) return false;
  return !has_room || (rule.table != kTableLocal && rule.suppress_prefix_length);
}

bool never_forwards(const PolicyRule& rule) {
  return !rule.invert && (!rule.oif.empty() || rule.iif == "lo");
}

// Routes of main and default are found by one look-up, in this order: the one of default alone is
// not known. Routes of local end in Linux, whatever the rules.
template <typename Address>
auto RuleTable<Address>::compiled(const PolicyRule& rule, bool main_before,
                                  const RuleSurroundings& surroundings) -> Rule {
  Rule out;
  switch (rule.action) {
    case RuleAction::kTable: {
      const auto table = surroundings.table(rule.table);
      const bool usual = is_usual_table(rule.table);
      if (rule.table == kTableLocal)
        out.action = Action::kLocal;
      else if (rule.suppress_prefix_length)
        out.action = Action::kLinux;
      else if (rule.l3mdev)
        out.action = Action::kVrf;
      else if (rule.table == kTableMain || (rule.table == kTableDefault && main_before))
        out.action = Action::kMain;
      else
        out.action = usual || !table ? Action::kLinux : Action::kTable;
      if (out.action == Action::kTable) out.table = *table;
      break;
    }
    case RuleAction::kGoto:
      out.action = Action::kGoto;
      break;
    case RuleAction::kNop:
      out.action = Action::kNext;
      break;
    case RuleAction::kBlackhole:
      out.action = Action::kBlackhole;
      break;
    case RuleAction::kUnreachable:
      out.action = Action::kUnreachable;
      break;
    case RuleAction::kProhibit:
      out.action = Action::kProhibit;
      break;
  }
  out.unsure = asks_what_is_not_seen(rule, surroundings.marks);
  if (surroundings.marks) {
    out.mark = rule.fwmark;
    out.mark_mask = rule.fwmask;
  }
  out.by_device = !rule.iif.empty();
  out.invert = rule.invert;
  out.tos = rule.tos;
  out.dscp = rule.dscp;
  out.protocol = rule.ip_protocol;
  out.source_ports = rule.source_ports;
  out.destination_ports = rule.destination_ports;
  out.plain = !out.unsure && !out.invert && out.tos == 0 && !out.dscp && out.protocol == 0 &&
              out.mark_mask == 0 && out.source_ports.any() && out.destination_ports.any();
  if (!rule.invert) return out;
  if (rule.from) out.from = as<Prefix>(*rule.from);
  if (rule.to) out.to = as<Prefix>(*rule.to);
  out.device = rule.iif;
  return out;
}

template <typename Address>
auto RuleTable<Address>::compile(std::span<const PolicyRule> rules,
                                 const RuleSurroundings& surroundings)
    -> Result<std::unique_ptr<const RuleTable>> {
  std::unique_ptr<RuleTable> table(new RuleTable);
  std::vector<PolicyRule> kept;
  std::map<uint32_t, size_t> at;  // by priority: the first rule kept of it, or behind it
  const auto is_vrf = [&](const std::string& device) {
    return std::any_of(surroundings.vrf_members.begin(), surroundings.vrf_members.end(),
                       [&](const auto& member) { return member.vrf == device; });
  };
  bool main_before = false;
  for (const PolicyRule& rule : rules) {
    at.emplace(rule.priority, kept.size());
    if (kept.size() == kMostRules) break;
    const bool elsewhere =
        !rule.iif.empty() && !is_vrf(rule.iif) && surroundings.interface(rule.iif) == kNoInterface;
    const bool no_packet = !rule.oif.empty() || elsewhere;
    if (no_packet && !rule.invert) continue;
    PolicyRule of_all = rule;
    if (no_packet) {  // so its contrary holds for every packet
      of_all = PolicyRule{};
      of_all.action = rule.action;
      of_all.table = rule.table;
      of_all.target = rule.target;
      of_all.l3mdev = rule.l3mdev;
      of_all.suppress_prefix_length = rule.suppress_prefix_length;
    }
    table->rules_.push_back(compiled(of_all, main_before, surroundings));
    main_before |= unconditional(of_all) && of_all.table == kTableMain;
    kept.push_back(of_all);
  }
  static_assert(kMostRules + 1 <= kWordBits * kWordBits, "their words fit the word about them");
  if (kept.size() == kMostRules) {
    kept.push_back({});
    table->rules_.emplace_back().action = Action::kLinux;
  }
  for (size_t i = 0; i < kept.size(); ++i) {
    Rule& rule = table->rules_[i];
    if (rule.action != Action::kGoto) continue;
    const auto target = at.find(kept[i].target);
    const bool behind_all =
        kept.size() > kMostRules && kept[i].target > kept[kMostRules - 1].priority;
    if (behind_all)
      rule.action = Action::kLinux;
    else if (target == at.end() || target->second <= i)  // Linux lets none go back
      rule.action = Action::kNext;
    else
      rule.jump = static_cast<uint16_t>(target->second);
  }
  for (const Rule& rule : table->rules_) {
    table->asks_for_more_ |= !rule.plain;
    table->asks_for_marks_ |= rule.mark_mask != 0;
  }
  table->words_ = (kept.size() + kWordBits - 1) / kWordBits;
  auto sources = table->add_classes(kept, &PolicyRule::from, table->source_bits_);
  auto destinations = table->add_classes(kept, &PolicyRule::to, table->destination_bits_);
  if (!sources) return tl::unexpected(sources.error());
  if (!destinations) return tl::unexpected(destinations.error());
  table->sources_ = std::move(*sources);
  table->destinations_ = std::move(*destinations);
  table->add_interfaces(kept, surroundings);
  table->add_firsts(kept);
  return std::unique_ptr<const RuleTable>(std::move(table));
}

template <typename Address>
auto RuleTable<Address>::add_classes(std::span<const PolicyRule> rules, PrefixOf prefix_of,
                                     Bits& bits) const -> Result<std::unique_ptr<Fib>> {
  std::vector<Prefix> classes{Prefix{}};  // the first: what no rule names
  for (const PolicyRule& rule : rules)
    if (!rule.invert && rule.*prefix_of) classes.push_back(as<Prefix>(*(rule.*prefix_of)));
  std::sort(classes.begin() + 1, classes.end());
  classes.erase(std::unique(classes.begin() + 1, classes.end()), classes.end());
  auto fib = Fib::create({.engine = lookup::Engine::kTrie});
  if (!fib) return fail(fmt::format("policy rules: {}", lookup::to_string(fib.error())));
  bits.assign(classes.size() * (words_ + 1), 0);
  for (size_t c = 0; c < classes.size(); ++c) {
    for (size_t r = 0; r < rules.size(); ++r) {
      const std::optional<IpPrefix>& prefix = rules[r].*prefix_of;
      const bool asks = prefix && !rules[r].invert;
      if (!asks || (c > 0 && as<Prefix>(*prefix).contains(classes[c]))) set_bit(bits, c, r);
    }
    if (c == 0) continue;
    if (auto done = (*fib)->add(classes[c], static_cast<lookup::GroupId>(c)); !done)
      return fail(fmt::format("policy rules: {}", lookup::to_string(done.error())));
  }
  (*fib)->publish();
  return std::move(*fib);
}

template <typename Address>
void RuleTable<Address>::add_interfaces(std::span<const PolicyRule> rules,
                                        const RuleSurroundings& surroundings) {
  classes_.assign(kBack + 1, {});
  back_class_.fill(kBack);
  const auto add = [this](InterfaceClass fresh) {
    classes_.push_back(std::move(fresh));
    return static_cast<uint16_t>(classes_.size() - 1);
  };
  std::map<std::string, uint16_t> back;  // by VRF
  for (const auto& member : surroundings.vrf_members) {
    const auto table = surroundings.table(member.table);
    const InterfaceClass nobody{kNoInterface, {}, member.vrf, table.value_or(0)};
    if (!back.contains(member.vrf)) back[member.vrf] = add(nobody);
    back_class_[member.interface] = back[member.vrf];
    InterfaceClass own = nobody;
    own.interface = member.interface;
    interface_class_[member.interface] = add(own);
  }
  for (const PolicyRule& rule : rules) {
    const InterfaceId id = rule.iif.empty() ? kNoInterface : surroundings.interface(rule.iif);
    if (id == kNoInterface) continue;
    if (interface_class_[id] == 0) interface_class_[id] = add({id, {}, {}, 0});
    // vrf_ip6_rcv(): to IPv6's rules a packet came in by the VRF alone.
    InterfaceClass& named = classes_[interface_class_[id]];
    if (sizeof(Address) == 4 || named.vrf.empty()) named.name = rule.iif;
  }
  interface_bits_.assign(classes_.size() * (words_ + 1), 0);
  for (size_t c = 0; c < classes_.size(); ++c) {
    for (size_t r = 0; r < rules.size(); ++r) {
      const PolicyRule& rule = rules[r];
      const bool in_vrf = !rule.l3mdev || !classes_[c].vrf.empty();
      const bool back = c != 0 && classes_[c].interface == kNoInterface;
      const bool by_it = rule.iif.empty() || back || names(rule.iif, classes_[c]);
      if (rule.invert || (in_vrf && by_it)) set_bit(interface_bits_, c, r);
    }
  }
}

// Whatever the packet, the first rule that holds is one that leads to a table; local must not stand
// before it, as its routes would hold.
template <typename Address>
void RuleTable<Address>::add_firsts(std::span<const PolicyRule> rules) {
  for (size_t interface = 0; interface < interface_class_.size(); ++interface) {
    const uint16_t of = interface_class_[interface];
    const uint64_t* const bits = bits_of(interface_bits_, of);
    for (size_t r = 0; r < rules_.size(); ++r) {
      const Rule& rule = rules_[r];
      const bool may_hold = (bits[1 + r / kWordBits] >> r % kWordBits & 1) != 0;
      if (!may_hold || rule.action == Action::kNext) continue;
      const lookup::TableId table =
          rule.action == Action::kVrf ? classes_[of].vrf_table : rule.table;
      const bool always = rule.plain && !rules[r].from && !rules[r].to;
      const bool leads = rule.action == Action::kVrf || rule.action == Action::kTable;
      if (always && leads && table != 0) first_[interface] = {table, static_cast<uint16_t>(r + 1)};
      break;
    }
  }
}

template <typename Address>
void RuleTable<Address>::classify_sources(const Address* in, lookup::GroupId* classes,
                                          size_t n) const noexcept {
  lookup_batch(sources_->view(0), in, classes, n);
}

template <typename Address>
void RuleTable<Address>::classify_destinations(const Address* in, lookup::GroupId* classes,
                                               size_t n) const noexcept {
  lookup_batch(destinations_->view(0), in, classes, n);
}

template <typename Address>
void RuleTable<Address>::set_bit(Bits& bits, size_t of_class, size_t rule) const noexcept {
  uint64_t* const words = &bits[of_class * (words_ + 1)];
  words[0] |= uint64_t{1} << rule / kWordBits;
  words[1 + rule / kWordBits] |= uint64_t{1} << rule % kWordBits;
}

// The first rule, not before `from`, whose bits are set for the packet; size(): none.
template <typename Address>
size_t RuleTable<Address>::next(const Packet& packet, size_t from) const noexcept {
  if (from >= rules_.size()) return rules_.size();
  const ByInterface& of_interface = packet.key.way_back ? back_class_ : interface_class_;
  const uint64_t* const a = bits_of(source_bits_, packet.source_class);
  const uint64_t* const b = bits_of(destination_bits_, packet.destination_class);
  const uint64_t* const c = bits_of(interface_bits_, of_interface[known(packet.key.interface)]);
  const size_t first = from / kWordBits;
  const auto lowest = [](uint64_t bits) { return static_cast<size_t>(std::countr_zero(bits)); };
  uint64_t left = a[0] & b[0] & c[0] & ~uint64_t{0} << first;
  for (; left != 0; left &= left - 1) {
    const size_t word = lowest(left);
    uint64_t hits = a[1 + word] & b[1 + word] & c[1 + word];
    if (word == first) hits &= ~uint64_t{0} << from % kWordBits;
    if (hits != 0) return word * kWordBits + lowest(hits);
  }
  return rules_.size();
}

template <typename Address>
auto RuleTable<Address>::holds(const Rule& rule, const Packet& packet) const noexcept -> Holds {
  if (rule.plain) return Holds::kYes;
  const RuleKey& key = packet.key;
  const Holds no = rule.invert ? Holds::kYes : Holds::kNo;
  if (rule.from && !contains(*rule.from, packet.source)) return no;
  if (rule.to && !contains(*rule.to, packet.destination)) return no;
  // On a way back it is not known; ask() sees to that.
  const bool by_device = !key.way_back && names(rule.device, class_of(key));
  if (!rule.device.empty() && !by_device) return no;
  if (!as_marked(rule, key.mark)) return no;
  if (rule.dscp && *rule.dscp != key.tos >> 2) return no;
  if (rule.tos != 0 && (rule.tos & kLeastTos) != (key.tos & kLeastTos)) return no;
  if (rule.protocol != 0 && key.protocol_seen && rule.protocol != key.protocol) return no;
  const bool ports = !rule.source_ports.any() || !rule.destination_ports.any();
  if (ports && key.ports_seen) {
    if (!rule.source_ports.any() && !rule.source_ports.contains(key.source_port)) return no;
    if (!rule.destination_ports.any() && !rule.destination_ports.contains(key.destination_port))
      return no;
  }
  const bool other_tos = rule.tos != 0 && rule.tos != (key.tos & kDscp);
  const bool unsure = rule.unsure || other_tos || (rule.protocol != 0 && !key.protocol_seen) ||
                      (ports && !key.ports_seen);
  if (unsure) return Holds::kMaybe;
  return rule.invert ? Holds::kNo : Holds::kYes;
}

// Whether it would hold otherwise without a mark: not where something else decides.
template <typename Address>
bool RuleTable<Address>::hangs_on_mark(const Rule& rule, const Packet& packet,
                                       Holds held) const noexcept {
  if (as_marked(rule, packet.key.mark) == as_marked(rule, 0)) return false;
  Packet unmarked = packet;
  unmarked.key.mark = 0;
  return holds(rule, unmarked) != held;
}

template <typename Address>
auto RuleTable<Address>::ask(const Packet& packet, bool routed, size_t from) const noexcept
    -> Step {
  bool by_mark = false;
  const auto refused = [&by_mark](Reason reason) { return Step{reason, 0, 0, by_mark}; };
  for (size_t i = next(packet, from); i < rules_.size(); i = next(packet, i + 1)) {
    const Rule& rule = rules_[i];
    if (rule.action == Action::kNext || rule.action == Action::kLocal) continue;
    const Holds held = holds(rule, packet);
    by_mark = by_mark || hangs_on_mark(rule, packet, held);
    if (held == Holds::kNo) continue;
    const bool unknown_device = rule.by_device && packet.key.way_back;
    if (held == Holds::kMaybe || unknown_device) return refused(Reason::kPolicyRule);
    const auto behind = static_cast<uint16_t>(i + 1);
    switch (rule.action) {
      case Action::kMain:
        if (routed) return refused(Reason::kNone);
        break;
      case Action::kTable:
        return {Reason::kNone, rule.table, behind, by_mark};
      case Action::kVrf:
        if (const auto table = class_of(packet.key).vrf_table; table != 0)
          return {Reason::kNone, table, behind, by_mark};
        return refused(Reason::kPolicyRule);
      case Action::kGoto:
        i = rule.jump - size_t{1};
        break;
      case Action::kBlackhole:
        return refused(Reason::kBlackhole);
      case Action::kUnreachable:
        return refused(Reason::kUnreachable);
      case Action::kProhibit:
        return refused(Reason::kProhibit);
      case Action::kLinux:
      case Action::kLocal:
      case Action::kNext:
        return refused(Reason::kPolicyRule);
    }
  }
  return refused(Reason::kNoRoute);
}

template class RuleTable<uint32_t>;
template class RuleTable<lookup::Ipv6Address>;

}  // namespace hecto::router
