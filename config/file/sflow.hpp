// sFlow of the file: which packets are sampled, and who is told of them. Values only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/file/endpoint.hpp"
#include "lookup/prefix.hpp"

namespace hecto::config {

inline constexpr size_t kMostCollectors = 8;
inline constexpr uint16_t kSflowPort = 6343;         // IANA's
inline constexpr uint32_t kMostSampling = 1u << 24;  // packets

// By whose routes collectors are reached: the router's own Linux side, or the namespace that hectod
// was started in.
enum class SflowFrom : uint8_t { kRouter, kHost };

struct SflowConfig {
  std::vector<HttpEndpoint> collectors;    // in the file's order; empty: nothing is sampled
  std::optional<lookup::IpAddress> agent;  // who samples say that they are of; none: chosen
  SflowFrom from = SflowFrom::kRouter;
  uint32_t sampling = 1000;        // one packet in so many
  uint32_t polling_s = 20;         // of counters; 0: none
  uint16_t header_bytes = 128;     // of a sampled packet
  std::vector<std::string> ports;  // whose packets are sampled; empty: all
  bool operator==(const SflowConfig&) const = default;
};

const char* to_string(SflowFrom from) noexcept;

}  // namespace hecto::config
