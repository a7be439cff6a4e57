// What both families' FIBs check before a change reaches a table.
#pragma once

#include "lookup/fib.hpp"

namespace hecto::lookup {

template <typename Address>
tl::expected<void, Error> check_change(const FibOptions& options, const Prefix<Address>& prefix,
                                       GroupId group, TableId table) {
  if (prefix.length > Prefix<Address>::kMaxLength ||
      Prefix<Address>::make(prefix.address, prefix.length) != prefix) {
    return tl::unexpected(Error::kBadPrefix);
  }
  if (group > kMaxGroupId) return tl::unexpected(Error::kUnknownGroup);
  if (table >= options.tables) return tl::unexpected(Error::kUnknownTable);
  return {};
}

}  // namespace hecto::lookup
