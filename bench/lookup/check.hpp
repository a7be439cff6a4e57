// Holds an engine's answers against those that are right.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "bench/lookup/engine.hpp"

namespace hecto::bench {

// The first destination whose group is not the one in `right`, in words; nothing where all agree.
template <typename Family>
std::optional<std::string> first_wrong(Engine<Family>& engine,
                                       std::span<const typename Family::Destination> destinations,
                                       std::span<const lookup::GroupId> right, unsigned batch) {
  for (size_t i = 0; i < destinations.size(); i += batch) {
    const auto n = static_cast<unsigned>(std::min<size_t>(batch, destinations.size() - i));
    engine.lookup(&destinations[i], n);
    for (unsigned k = 0; k < n; ++k)
      if (engine.group(k) != right[i + k])
        return fmt::format("{} has group {}, not {}",
                           Family::address(destinations[i + k]).to_string(), engine.group(k),
                           right[i + k]);
  }
  return std::nullopt;
}

}  // namespace hecto::bench
