// What a worker does between packets.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace hecto {

enum class IdleMode : uint8_t {
  kSleep,      // sleeps, the longer the longer nothing comes
  kPoll,       // spins
  kInterrupt,  // waits until its ports say that something came
  kAdaptive,   // all of these, by how empty its queues are
};

constexpr std::string_view to_string(IdleMode mode) noexcept {
  constexpr std::array<std::string_view, 4> kWords = {"sleep", "poll", "interrupt", "adaptive"};
  return kWords[static_cast<size_t>(mode)];
}

}  // namespace hecto
