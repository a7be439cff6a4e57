// What the record of a route means to those who choose between tables.
#pragma once

#include "base/reason.hpp"
#include "lookup/nexthop.hpp"
#include "router/dataplane/core/table_views.hpp"

namespace hecto::router {

// By table local it is Linux's, whatever the rules. What leaves by a device that only Linux has is a
// route as others are.
inline bool is_for_linux(const lookup::NextHopRecord& record) noexcept {
  const auto reason = static_cast<Reason>(record.reason);
  return record.own != 0 || (record.kind == lookup::RecordKind::kPunt &&
                             (reason == Reason::kMulticast || reason == Reason::kBroadcast));
}

inline bool is_routed(const lookup::NextHopRecord& record) noexcept {
  const bool refuses =
      record.kind == lookup::RecordKind::kPunt || record.kind == lookup::RecordKind::kDrop;
  return !refuses || static_cast<Reason>(record.reason) != Reason::kNoRoute;
}

inline const lookup::Fib4View& main_fib(const TableViews& tables, uint32_t) noexcept {
  return tables.fib4;
}
inline const lookup::Fib6View& main_fib(const TableViews& tables,
                                        const lookup::Ipv6Address&) noexcept {
  return tables.fib6;
}

}  // namespace hecto::router
