// LACP of one bond (IEEE 802.1AX-2014, clause 6): the receive, periodic, mux and transmit machines of each
// member, and which of them carry the bond. Frames in, frames out, times given: no clock, no
// sockets, no DPDK. Not thread-safe.
//
// Not here: the marker protocol, which net_bonding answers; standby by port priority; churn.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/net.hpp"

namespace hecto::router {

// Bits of a party's state (figure 6-8).
enum LacpState : uint8_t {
  kLacpActivity = 0x01,
  kLacpShortTimeout = 0x02,
  kLacpAggregation = 0x04,
  kLacpSynchronization = 0x08,
  kLacpCollecting = 0x10,
  kLacpDistributing = 0x20,
  kLacpDefaulted = 0x40,
  kLacpExpired = 0x80,
};

// What one end says of itself, or is known as by the other.
struct LacpParty {
  uint16_t system_priority = 0;
  MacAddress system{};
  uint16_t key = 0;
  uint16_t port_priority = 0;
  uint16_t port = 0;
  uint8_t state = 0;
  bool has(uint8_t bits) const { return (state & bits) == bits; }
};

inline constexpr size_t kLacpFrameBytes = 124;  // Ethernet header and LACPDU
using LacpFrame = std::array<uint8_t, kLacpFrameBytes>;

class Lacp {
 public:
  using Time = std::chrono::milliseconds;  // of any clock that does not go back
  struct Options {
    MacAddress system{};
    bool fast = false;  // the other end is asked for an LACPDU a second
  };
  struct Member {
    LacpParty actor, partner;
    bool link = false;
    bool heard = false;     // an LACPDU since the link came, and not too long ago
    bool running = false;   // collects and distributes
    uint64_t received = 0;  // LACPDUs
    uint64_t damaged = 0;   // cut, or with lengths that none has
    uint64_t own = 0;       // came back to us
    uint64_t sent = 0;
  };

  Lacp(const Options& options, size_t members);
  // `key`: members of one bond that differ in it, by speed, do not run together.
  void set_link(size_t member, bool up, uint16_t key, Time now);
  // A frame of ethertype 0x8809 and subtype 1, as it came.
  void receive(size_t member, std::span<const uint8_t> frame, Time now);
  void tick(Time now);  // every 100 ms or so
  // What the member is to send now, if anything.
  std::optional<LacpFrame> to_send(size_t member, Time now);

  const Member& member(size_t index) const { return ports_[index]; }
  size_t running() const;
  // What keeps a member with a link from carrying packets, for the operator; empty: nothing does.
  std::string trouble(size_t member) const;

 private:
  enum class Receive : uint8_t { kDisabled, kExpired, kDefaulted, kCurrent };
  enum class Mux : uint8_t { kDetached, kWaiting, kAttached, kCollecting, kDistributing };
  struct Port : Member {
    Receive receive = Receive::kDisabled;
    Mux mux = Mux::kDetached;
    bool selected = false, needs_to_send = false;
    bool changed = false;  // who is at the other end: it begins anew
    Time heard_until{}, wait_until{}, last_periodic{};
    std::array<Time, 3> sent_at{};  // the last ones
  };
  // Who may run together: the other end's system and key, and our key.
  using Group = std::tuple<uint16_t, MacAddress, uint16_t, uint16_t>;

  static Group group_of(const Port& port);
  static bool can_aggregate(const Port& port);
  void expire(Port& port, Time now) const;
  static void record_default(Port& port);
  void select();
  void run_mux(Port& port, Time now) const;

  const Options options_;
  std::vector<Port> ports_;
  std::optional<Group> chosen_;
};

}  // namespace hecto::router
