// Samples of packets and of counters, to datagrams of sFlow version 5 (sflow.org/sflow_version_5.txt).
//
// Expanded encodings alone. Values of counters that are not known are all ones, as the specification
// has it. Not thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "lookup/prefix.hpp"
#include "router/sflow/xdr.hpp"

namespace hecto::router {

inline constexpr size_t kMostDatagram_bytes = 1400;
inline constexpr uint32_t kNoSflowInterface = 0x3fffffff;  // in the router itself
inline constexpr uint32_t kUnknownCounter = 0xffffffff;

// Where a sampled packet went.
struct SflowOutput {
  enum Format : uint32_t { kInterface = 0, kDiscarded = 1 };
  Format format = kInterface;
  uint32_t value = 0;  // an ifIndex, 0: not known; or why it was discarded
};

struct SflowRouter {                                   // extended_router
  lookup::IpAddress next_hop;                          // zero: the destination is on the link
  uint32_t source_length = 0, destination_length = 0;  // of prefixes
};

struct SflowPacket {
  uint32_t source = 0;    // ifIndex of the port that it was sampled at
  uint32_t sequence = 0;  // of that port's samples
  uint32_t rate = 0, pool = 0, drops = 0;
  SflowOutput output;
  uint32_t length = 0;  // of the frame, without its checksum
  std::span<const std::byte> header;
  std::optional<SflowRouter> router;
};

struct SflowCounters {
  uint32_t source = 0, sequence = 0;
  std::string name;  // of the port
  uint64_t speed_bps = 0;
  bool admin_up = true, up = false, promiscuous = false;
  uint64_t in_bytes = 0, out_bytes = 0;
  uint32_t in_packets = 0, out_packets = 0;
  uint32_t in_discards = 0, in_errors = 0, out_errors = 0;
};

class SflowDatagrams {
 public:
  using Clock = std::chrono::steady_clock;
  using Send = std::function<void(std::span<const std::byte>)>;
  explicit SflowDatagrams(Send send, Clock::time_point started = Clock::now(),
                          uint32_t sub_agent = 0)
      : send_(std::move(send)), started_(started), sub_agent_(sub_agent) {}

  void set_agent(const lookup::IpAddress& agent);  // sends what is there by the old one
  // Sends what is there where it does not fit behind it.
  void add(const SflowPacket& packet, Clock::time_point now);
  void add(const SflowCounters& counters, Clock::time_point now);
  // Sends what is older than that.
  void flush(Clock::time_point now, Clock::duration longest);
  uint32_t sequence() const { return sequence_; }  // datagrams

 private:
  void put(Clock::time_point now);
  void send(Clock::time_point now);

  const Send send_;
  const Clock::time_point started_;
  const uint32_t sub_agent_;  // whose sequences are its own
  lookup::IpAddress agent_;
  XdrWriter sample_, datagram_;
  size_t count_at_ = 0, uptime_at_ = 0;
  uint32_t samples_ = 0;  // in the datagram
  uint32_t sequence_ = 0;
  Clock::time_point begun_;
};

}  // namespace hecto::router
