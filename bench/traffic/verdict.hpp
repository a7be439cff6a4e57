// What has become of a packet that came back: what a router makes of it, or which way it is wrong.
// A wrong one is not received: it counts as lost. Pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace hecto::bench {

enum class Verdict : uint8_t {
  kRight,
  kMisrouted,       // by another port than it should
  kReflected,       // by the port that sent it
  kUnchanged,       // TTL or hop limit as it was sent
  kHopLimit,        // counted down by another number
  kDestinationMac,  // for somebody else
  kVlan,            // in another VLAN, or none
  kTruncated,       // shorter than it was sent
  kPadded,          // longer
  kChecksum,        // of the IPv4 header
  kCorrupted,       // addresses, ports or payload are not those that were sent
};
inline constexpr size_t kVerdicts = 11;

// As it stands in JSON: "hop_limit".
const char* to_string(Verdict verdict);

// Packets by verdict, those that are right left out.
struct WrongCounts {
  std::array<uint64_t, kVerdicts> by_verdict{};

  uint64_t& operator[](Verdict verdict) { return by_verdict[static_cast<size_t>(verdict)]; }
  uint64_t operator[](Verdict verdict) const { return by_verdict[static_cast<size_t>(verdict)]; }
  uint64_t total() const;
  void add(const WrongCounts& other);
  // "1204 unchanged, 3 padded"; empty when there are none.
  std::string text() const;
  // One for each kind: how many, what it means, what to do about it.
  std::vector<std::string> lines() const;
};
nlohmann::json to_json(const WrongCounts& wrong);         // by name, those that there are
WrongCounts wrong_counts(const nlohmann::json& by_name);  // read again

}  // namespace hecto::bench
