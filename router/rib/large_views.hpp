// Further tables that are large, a second time in FIBs of their own, where their look-ups are as quick as
// main's (IPv4: DIR-24-8; IPv6: a root for 2000::/3): what one socket's workers see of them. Written
// by control while they read; a table that is there stays, unless it found no room for a route.
#pragma once

#include <array>
#include <atomic>

#include "lookup/fib.hpp"

namespace hecto::router {

template <typename View>
struct LargeTableViews {
  static constexpr size_t kMost = 4;
  std::array<std::atomic<lookup::TableId>, kMost> tables{};  // by their number; 0: none
  std::array<View, kMost> views{};

  // Null: there is none of this table.
  const View* find(lookup::TableId table) const noexcept {
    for (size_t i = 0; i < kMost; ++i)
      if (tables[i].load(std::memory_order_acquire) == table) return &views[i];
    return nullptr;
  }
};

struct LargeViews {
  LargeTableViews<lookup::Fib4View> ipv4;
  LargeTableViews<lookup::Fib6View> ipv6;

  auto& of(lookup::Ipv4Address) noexcept { return ipv4; }
  auto& of(const lookup::Ipv6Address&) noexcept { return ipv6; }
};

}  // namespace hecto::router
