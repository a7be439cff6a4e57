// A rule in the words of a key: of each list one must hold, so it becomes as many entries of a tree as
// their lengths multiply to.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/net.hpp"
#include "config/file/filters.hpp"
#include "router/dataplane/filter/fingerprint.hpp"
#include "router/dataplane/filter/prefix_classes.hpp"

namespace hecto::router {

// What the names that rules use stand for.
struct FilterNames {
  std::shared_ptr<const PrefixClasses> sets;
  std::map<std::string, std::vector<Span16>> classes;          // by set
  std::map<std::string, std::vector<InterfaceId>> interfaces;  // a VRF's are several
  std::vector<std::pair<InterfaceId, uint16_t>> vlans;         // by interface its tag
};

struct MaskedByte {
  uint8_t value = 0, mask = 0;
};

struct RuleWords {
  std::string never;               // why it can hold for no packet of the family; empty: it may
  bool by_family = false;          // as it is one of the other family's, which is no fault
  std::vector<uint8_t> protocols;  // empty, here and below: any
  std::vector<Span16> from_classes, to_classes, sources, destinations;
  std::vector<InterfaceId> interfaces;
  const lookup::IpPrefix* from = nullptr;  // null: any
  const lookup::IpPrefix* to = nullptr;
  MaskedByte tcp, state, dscp;
  Span16 length;
  std::optional<uint32_t> mark;

  uint32_t needs() const;    // KeyNeed
  uint64_t entries() const;  // 0 where it can never hold
  void add_to(Fingerprint& print) const;
};

// The rule outlives them.
RuleWords words_of(const config::FilterRuleConfig& rule, lookup::Family family,
                   const FilterNames& names);

}  // namespace hecto::router
