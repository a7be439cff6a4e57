// Sets of prefixes as the comparison of rules needs them: the widest ones of a family. Values only.
#pragma once

#include <optional>
#include <vector>

#include "config/file/filters.hpp"

namespace hecto::config {

class PrefixGroup {
 public:
  PrefixGroup() = default;
  PrefixGroup(const PrefixSetConfig& set, lookup::Family family);

  bool empty() const { return widest_.empty(); }
  bool contains(const lookup::IpPrefix& prefix) const;  // of that family; by one of the set's own
  // The longest prefix that holds all of them; nothing: there are none.
  const std::optional<lookup::IpPrefix>& bounds() const { return bounds_; }

 private:
  std::vector<lookup::IpPrefix> widest_;  // sorted; none holds another
  std::optional<lookup::IpPrefix> bounds_;
};

}  // namespace hecto::config
