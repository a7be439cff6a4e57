// An untimed pass over a bed: each packet that goes in is marked and kept, and what comes out is
// held against what a router is to make of it (expected.hpp): egress port, MAC addresses, TTL,
// checksum, payload.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "bench/bed/bed.hpp"
#include "bench/bed/expected.hpp"
#include "bench/bed/port_tap.hpp"

struct rte_mbuf;

namespace hecto::bench {

class Verifier {
 public:
  explicit Verifier(Bed& bed);

  // So many packets and more of the kind that the bed's first port replays. `poll` returns how many
  // came in; `drain` waits until none is held anywhere. The error names the first that is wrong, or
  // says how many are missing.
  Result<void> run(
      size_t packets, const std::function<unsigned()>& poll,
      const std::function<void()>& drain = [] {});
  uint64_t verified() const { return verified_; }

 private:
  void enter(rte_mbuf* packet);
  void leave(unsigned side, rte_mbuf* packet);
  bool joined(unsigned side, std::span<const uint8_t> fragment);
  void blame(std::string what);

  ExpectedHops hops_;
  std::array<MacAddress, 2> port_macs_;
  const bool out_of_tunnel_, into_tunnel_;
  std::unordered_map<uint32_t, std::vector<uint8_t>> in_flight_;  // by number
  std::array<std::vector<uint8_t>, 2> partial_;                   // of fragments, by side
  std::vector<uint8_t> inner_;  // of one that has gone into a tunnel
  uint32_t next_ = 0;
  uint64_t verified_ = 0, wrong_ = 0;
  std::string first_wrong_;
  PortTap tap_;
};

// Makes of a replayed frame one that no other is like: its number in the place of the UDP ports,
// TTL, identification or flow label by it, and a payload.
void mark_frame(std::span<uint8_t> frame, uint32_t number);
// 0 where the frame is too short to have one.
uint32_t number_of(std::span<const uint8_t> frame);
// Where it goes, as errors name it.
std::string destination_of(std::span<const uint8_t> frame);

}  // namespace hecto::bench
