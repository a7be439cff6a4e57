// What the tables of keys have in common, and how one becomes a Section. For keys*.cpp alone.
#pragma once

#include <fmt/ranges.h>

#include <array>
#include <iterator>
#include <string_view>

#include "config/file/keys.hpp"

namespace hecto::config::tables {

inline constexpr auto kReload = Change::kReload;
inline constexpr auto kRestart = Change::kRestart;
inline constexpr std::string_view kKeysBelow = "a map with the keys below";
inline constexpr uint64_t kMost32 = UINT32_MAX;

template <const auto& kTable>
constexpr auto names_of() {
  std::array<std::string_view, std::size(kTable)> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kTable[i].name;
  return names;
}
template <const auto& kTable>
inline constexpr auto kNames = names_of<kTable>();

template <typename S, size_t N>
constexpr Section<S> section_of(std::string_view path, const Key<S> (&table)[N],
                                const std::array<std::string_view, N>& names) {
  return {path, table, names};
}
template <const auto& kTable>
constexpr auto section(std::string_view path) {
  return section_of(path, kTable, kNames<kTable>);
}

}  // namespace hecto::config::tables
