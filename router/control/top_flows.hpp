// The flows that samples tell of, by second: what `hecto top flows` shows. Bounded: of each second at
// most kMostFlows, of what came first; the rest is counted together. Control only.
//
// A number made of n samples is off by 196 / sqrt(n) per cent at most, in 95 of 100 cases
// (sflow.org, "Packet Sampling Basics"), whatever N is.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/net.hpp"
#include "lookup/prefix.hpp"
#include "router/dataplane/observe/flow_samples.hpp"

namespace hecto::router {

inline constexpr unsigned kMostFlowSeconds = 30;
inline constexpr size_t kMostFlows = 2048;  // of a second

struct SampledFlow {
  std::array<uint8_t, 16> source{}, destination{};  // IPv4 in the first four bytes
  uint16_t ether_type = 0;                          // host order
  uint16_t source_port = 0, destination_port = 0;   // 0: it has none, or they were not seen
  uint8_t protocol = 0;                             // of IP
  SampleFate fate = SampleFate::kUnknown;
  PortId port = 0, egress = 0;
  Reason reason = Reason::kNone;
  VlanTags tags;  // that it came in with
  bool operator==(const SampledFlow&) const = default;

  std::optional<lookup::IpAddress> source_address() const;  // none: it is not of IP
  std::optional<lookup::IpAddress> destination_address() const;
};
SampledFlow flow_of(const FlowRecord& record, std::span<const std::byte> header);

struct FlowSum {
  uint64_t samples = 0, packets = 0, bytes = 0;  // the last two made of them, by N
  void add(const FlowSum& other) {
    samples += other.samples;
    packets += other.packets;
    bytes += other.bytes;
  }
  double error_percent() const;  // 100 and more: nothing is known but that it is there
};

class TopFlows {
 public:
  using Clock = std::chrono::steady_clock;
  struct Row {
    SampledFlow flow;
    FlowSum sum;
  };
  struct Answer {
    unsigned seconds = 0;    // whole ones; 0: none has passed yet
    std::vector<Row> flows;  // the largest first
    FlowSum all;
    size_t known = 0;  // flows that were told apart
  };

  void clear();
  void add(const FlowRecord& record, std::span<const std::byte> header, Clock::time_point now);
  // Of the last `seconds` whole ones, by bytes or by packets.
  Answer top(unsigned seconds, bool by_packets, size_t limit, Clock::time_point now) const;

 private:
  struct Hash {
    size_t operator()(const SampledFlow& flow) const noexcept;
  };
  using Flows = std::unordered_map<SampledFlow, FlowSum, Hash>;
  struct Second {
    int64_t number = -1;
    Flows flows;
    FlowSum all;
  };
  std::array<Second, kMostFlowSeconds + 1> seconds_;
  int64_t first_ = -1;  // second that was begun
};

}  // namespace hecto::router
