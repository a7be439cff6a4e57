#include "config/file/filter_cover.hpp"

#include <algorithm>
#include <bitset>
#include <cstring>
#include <map>
#include <optional>
#include <unordered_map>

#include "config/file/filter_words.hpp"
#include "config/file/prefix_groups.hpp"

namespace hecto::config {
namespace {

using lookup::Family;
using lookup::IpPrefix;

constexpr size_t kMostSteps = 20'000'000;  // probes and comparisons, about a second
constexpr uint32_t kNowhere = UINT32_MAX;

uint64_t mixed(uint64_t seed, uint64_t value) {
  uint64_t x = (seed ^ value) * 0x9e3779b97f4a7c15;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93;
  return x ^ x >> 29;
}

// One end of a rule in one family: `bounds` holds all of its addresses; of a prefix it is that prefix.
struct CoverEnd {
  IpPrefix bounds;  // of length 0: everything
  const PrefixGroup* group = nullptr;
  uint16_t set = 0;  // of `group`
};

// A rule in one family, and of its ports one span each.
struct CoverPart {
  const FilterRuleConfig* rule = nullptr;
  uint32_t place = 0;
  bool ipv6 = false;
  CoverEnd from, to;
  uint8_t protocol = 0;                   // of that family
  std::optional<NumberSpan> icmp_type;    // likewise
  const PortSpan* source = nullptr;       // null: any, or all of the rule's
  const PortSpan* destination = nullptr;  // likewise
};

// --- whether one rule holds for all that a part asks for ---

bool within(const std::optional<NumberSpan>& outer, const std::optional<NumberSpan>& inner) {
  return !outer || (inner && outer->first <= inner->first && inner->last <= outer->last);
}

template <typename T>
bool same_or_any(const std::optional<T>& outer, const std::optional<T>& inner) {
  return !outer || outer == inner;
}

bool within(const std::vector<PortSpan>& outer, const PortSpan* inner) {
  if (outer.empty()) return true;
  return inner != nullptr && std::any_of(outer.begin(), outer.end(), [&](const PortSpan& span) {
           return span.first <= inner->first && inner->last <= span.last;
         });
}

bool vlans_within(const std::vector<PortSpan>& outer, const std::vector<PortSpan>& inner) {
  return outer.empty() || (!inner.empty() && std::ranges::all_of(inner, [&](const PortSpan& span) {
           return within(outer, &span);
         }));
}

bool within(const CoverEnd& outer, const CoverEnd& inner) {
  if (outer.group == nullptr)
    return outer.bounds.length <= inner.bounds.length &&
           outer.bounds.contains(inner.bounds.address);
  if (inner.group != nullptr) return outer.set == inner.set;
  return outer.group->contains(inner.bounds);
}

bool covers(const CoverPart& outer, const CoverPart& inner) {
  const FilterRuleConfig &a = *outer.rule, &b = *inner.rule;
  return (outer.protocol == 0 || outer.protocol == inner.protocol) &&
         within(a.sources, inner.source) && within(a.destinations, inner.destination) &&
         (b.tcp_mask & a.tcp_mask) == a.tcp_mask && (b.tcp_set & a.tcp_mask) == a.tcp_set &&
         within(outer.icmp_type, inner.icmp_type) && within(a.icmp_code, b.icmp_code) &&
         (fragments_of(b) & ~fragments_of(a)) == 0 && same_or_any(a.dscp, b.dscp) &&
         within(a.length, b.length) && (a.iif.empty() || a.iif == b.iif) &&
         vlans_within(a.vlans, b.vlans) && same_or_any(a.mark, b.mark) &&
         within(outer.from, inner.from) && within(outer.to, inner.to);
}

// --- the tuple space ---

// Which prefixes and sets are there, of those that stand at one place.
struct CoverEnds {
  std::bitset<129> lengths;
  std::vector<uint16_t> sets;

  void add(const CoverEnd& end) {
    if (end.group == nullptr)
      lengths.set(end.bounds.length);
    else if (std::find(sets.begin(), sets.end(), end.set) == sets.end())
      sets.push_back(end.set);
  }
};

uint64_t key_of_prefix(uint64_t place, const IpPrefix& prefix) {
  uint64_t halves[2];
  std::memcpy(halves, prefix.address.bytes.data(), sizeof(halves));
  return mixed(mixed(mixed(place, halves[0]), halves[1]), prefix.length + 1u);
}
uint64_t key_of_set(uint64_t place, uint16_t set) {
  return mixed(mixed(place, set), 1000);
}
uint64_t key_of_end(uint64_t place, const CoverEnd& end) {
  return end.group == nullptr ? key_of_prefix(place, end.bounds) : key_of_set(place, end.set);
}

// How a rule asks for ports: not at all, for one, or for others.
enum CoverPorts : unsigned { kNoPorts, kOnePort, kSomePorts };
CoverPorts ports_kind(const std::vector<PortSpan>& spans) {
  if (spans.empty()) return kNoPorts;
  return spans.size() == 1 && spans[0].first == spans[0].last ? kOnePort : kSomePorts;
}

// Which of the fields beside the addresses a rule asks for.
struct CoverShape {
  CoverPorts sources, destinations;
  bool protocol, iif, mark, dscp;

  explicit CoverShape(const CoverPart& part)
      : sources(ports_kind(part.rule->sources)),
        destinations(ports_kind(part.rule->destinations)),
        protocol(part.protocol != 0),
        iif(!part.rule->iif.empty()),
        mark(part.rule->mark.has_value()),
        dscp(part.rule->dscp.has_value()) {}
  bool operator==(const CoverShape&) const = default;

  // Where rules of this shape lie that ask for what the part has; nothing: none can hold for it.
  std::optional<uint64_t> key(uint64_t place, const CoverPart& part) const {
    const FilterRuleConfig& rule = *part.rule;
    if ((protocol && part.protocol == 0) || (iif && rule.iif.empty()) || (mark && !rule.mark) ||
        (dscp && !rule.dscp))
      return std::nullopt;
    const auto port = [](CoverPorts kind, const PortSpan* span) -> std::optional<uint64_t> {
      if (kind == kNoPorts) return 0;
      if (span == nullptr || (kind == kOnePort && span->first != span->last)) return std::nullopt;
      return kind == kOnePort ? 1u + span->first : UINT32_MAX;
    };
    const auto source = port(sources, part.source),
               destination = port(destinations, part.destination);
    if (!source || !destination) return std::nullopt;
    uint64_t key = mixed(mixed(mixed(place, *source), *destination), protocol ? part.protocol : 0);
    key = mixed(key, iif ? std::hash<std::string>{}(rule.iif) : 0);
    key = mixed(key, mark ? 1 + uint64_t{*rule.mark} : 0);
    return mixed(key, dscp ? 1u + *rule.dscp : 0);
  }
};

// Keys are hashes: what two places share by chance is told apart by covers().
class TupleSpace {
 public:
  void add(const CoverPart& part) {
    const uint64_t from = key_of_end(part.ipv6 ? 2 : 1, part.from);
    ends_[part.ipv6 ? 1 : 0].add(part.from);
    CoverEnds& within_from = to_[from];
    within_from.add(part.to);
    const uint64_t to = key_of_end(from, part.to);
    std::vector<CoverShape>& shapes = shapes_[to];
    const CoverShape shape(part);
    if (std::find(shapes.begin(), shapes.end(), shape) == shapes.end()) shapes.push_back(shape);
    CoverPart whole = part;
    whole.source = only(part.rule->sources);
    whole.destination = only(part.rule->destinations);
    const uint64_t key = *shape.key(to, whole);
    const auto [head, fresh] = heads_.emplace(key, kNowhere);
    parts_.push_back({whole, head->second});
    head->second = static_cast<uint32_t>(parts_.size() - 1);
  }

  // The place of a rule that holds for all of the part; kNowhere.
  uint32_t find(const CoverPart& part) {
    uint32_t found = kNowhere;
    each_place(ends_[part.ipv6 ? 1 : 0], part.ipv6 ? 2 : 1, part.from, [&](uint64_t from) {
      const auto within_from = to_.find(from);
      if (within_from == to_.end()) return false;
      return each_place(within_from->second, from, part.to, [&](uint64_t to) {
        const auto shapes = shapes_.find(to);
        if (shapes == shapes_.end()) return false;
        for (const CoverShape& shape : shapes->second) {
          found = find_of(shape, to, part);
          if (found != kNowhere) return true;
        }
        return false;
      });
    });
    return found;
  }

  bool exhausted() const { return steps_ > kMostSteps; }

 private:
  struct Stored {
    CoverPart part;
    uint32_t next;
  };

  static const PortSpan* only(const std::vector<PortSpan>& spans) {
    return spans.empty() ? nullptr : &spans.front();
  }

  // Calls `visit` with each place whose prefix or set holds all of `end`, until it returns true.
  template <typename Visit>
  bool each_place(const CoverEnds& there, uint64_t place, const CoverEnd& end, Visit visit) {
    for (unsigned length = 0; length <= end.bounds.length; ++length) {
      if (!there.lengths.test(length)) continue;
      ++steps_;
      const IpPrefix outer = IpPrefix{end.bounds.address, static_cast<uint8_t>(length)}.network();
      if (visit(key_of_prefix(place, outer))) return true;
    }
    for (const uint16_t set : there.sets) {
      ++steps_;
      const bool same = end.group != nullptr && end.set == set;
      if ((end.group == nullptr || same) && visit(key_of_set(place, set))) return true;
    }
    return false;
  }

  uint32_t find_of(const CoverShape& shape, uint64_t to, const CoverPart& part) {
    ++steps_;
    const auto key = shape.key(to, part);
    if (!key) return kNowhere;
    const auto head = heads_.find(*key);
    if (head == heads_.end()) return kNowhere;
    for (uint32_t at = head->second; at != kNowhere && !exhausted(); at = parts_[at].next) {
      ++steps_;
      if (covers(parts_[at].part, part)) return parts_[at].part.place;
    }
    return kNowhere;
  }

  CoverEnds ends_[2];  // of IPv4 and IPv6: of `from`
  std::unordered_map<uint64_t, CoverEnds> to_;
  std::unordered_map<uint64_t, std::vector<CoverShape>> shapes_;
  std::unordered_map<uint64_t, uint32_t> heads_;
  std::vector<Stored> parts_;
  size_t steps_ = 0;
};

// --- a filter's rules, one after the other ---

class CoverSearch {
 public:
  explicit CoverSearch(const std::vector<PrefixSetConfig>& sets) : sets_(sets) {}

  Coverage run(const FilterConfig& filter) {
    Coverage out;
    for (size_t place = 0; place < filter.rules.size(); ++place) {
      const auto parts = parts_of(filter.rules[place], place);
      if (parts.empty()) continue;  // it holds for nothing, whatever stands before it
      auto by = space_.exhausted() ? std::vector<size_t>() : coverers(parts);
      if (!by.empty()) {
        out.covered.push_back({place, std::move(by)});
        continue;
      }
      for (const CoverPart& part : parts) space_.add(part);
    }
    out.complete = !space_.exhausted();
    return out;
  }

 private:
  // One of each family that it may hold for.
  std::vector<CoverPart> parts_of(const FilterRuleConfig& rule, size_t place) {
    std::vector<CoverPart> parts;
    if (fragments_of(rule) == 0) return parts;
    for (const Family family : {Family::kIpv4, Family::kIpv6}) {
      if (!rule.holds_for(family)) continue;
      CoverPart part;
      part.rule = &rule;
      part.place = static_cast<uint32_t>(place);
      part.ipv6 = family == Family::kIpv6;
      const auto from = end_of(rule.from, family), to = end_of(rule.to, family);
      if (!from || !to) continue;
      part.from = *from;
      part.to = *to;
      constexpr uint8_t kIcmpNumber = 1, kIcmp6Number = 58;
      part.protocol = part.ipv6 && rule.protocol == kIcmpNumber ? kIcmp6Number : rule.protocol;
      part.icmp_type = rule.icmp_type;
      if (part.ipv6 && rule.icmp_both && rule.icmp_type)
        if (const auto type = icmp6_type_of(static_cast<uint8_t>(rule.icmp_type->first)))
          part.icmp_type = NumberSpan{*type, *type};
      parts.push_back(part);
    }
    return parts;
  }

  // Nothing: a set without prefixes of the family.
  std::optional<CoverEnd> end_of(const FilterEnd& end, Family family) {
    if (end.prefix) return CoverEnd{*end.prefix};
    if (end.set.empty()) return CoverEnd{IpPrefix{{family, {}}, 0}};
    const Group* group = group_of(end.set, family);
    if (group == nullptr || group->prefixes.empty()) return std::nullopt;
    return CoverEnd{*group->prefixes.bounds(), &group->prefixes, group->set};
  }

  struct Group {
    PrefixGroup prefixes;
    uint16_t set;
  };

  const Group* group_of(const std::string& name, Family family) {
    const auto key = std::pair(std::string_view(name), family);
    if (const auto known = groups_.find(key); known != groups_.end()) return &known->second;
    for (size_t i = 0; i < sets_.size(); ++i)
      if (sets_[i].name == name)
        return &groups_
                    .emplace(std::pair(std::string_view(sets_[i].name), family),
                             Group{PrefixGroup(sets_[i], family), static_cast<uint16_t>(i)})
                    .first->second;
    return nullptr;
  }

  // Empty: a part of it is left.
  std::vector<size_t> coverers(const std::vector<CoverPart>& parts) {
    std::vector<size_t> by;
    for (CoverPart part : parts) {
      const auto &sources = part.rule->sources, &destinations = part.rule->destinations;
      for (size_t i = 0; i < std::max<size_t>(sources.size(), 1); ++i)
        for (size_t k = 0; k < std::max<size_t>(destinations.size(), 1); ++k) {
          part.source = sources.empty() ? nullptr : &sources[i];
          part.destination = destinations.empty() ? nullptr : &destinations[k];
          const uint32_t found = space_.find(part);
          if (found == kNowhere) return {};
          if (std::find(by.begin(), by.end(), found) == by.end()) by.push_back(found);
        }
    }
    std::sort(by.begin(), by.end());
    return by;
  }

  const std::vector<PrefixSetConfig>& sets_;
  std::map<std::pair<std::string_view, Family>, Group> groups_;
  TupleSpace space_;
};

}  // namespace

unsigned fragments_of(const FilterRuleConfig& rule) noexcept {
  static constexpr unsigned kOf[] = {kWholePackets | kFirstFragments | kLaterFragments,
                                     kWholePackets, kFirstFragments, kLaterFragments,
                                     kFirstFragments | kLaterFragments};
  const unsigned asked = kOf[static_cast<size_t>(rule.fragments)];
  return rule.asks_for_ports() ? asked & ~kLaterFragments : asked;
}

Coverage covered_rules(const FilterConfig& filter, const std::vector<PrefixSetConfig>& sets) {
  return CoverSearch(sets).run(filter);
}

}  // namespace hecto::config
