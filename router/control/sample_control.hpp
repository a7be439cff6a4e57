// Samples of packets: who wants them, what workers are told to take, and the way of what they took
// to sFlow's collectors, to IPFIX's and to the table of `hecto top flows`. Control only.
//
// They are taken once for all: as sFlow and IPFIX have them (the file has the same in both) while one of
// them is on; else of all ports, one in so many that
// about kSamplesWanted come a second, as long as somebody asks.
//
// Rings are read each tick of housekeeping, at most kMostSamplesATick of them; what comes faster
// stays until the ring is full, and is counted as lost then.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "router/control/ipfix_export.hpp"
#include "router/control/sflow_export.hpp"
#include "router/control/top_flows.hpp"

namespace hecto::router {

inline constexpr size_t kMostSamplesATick = 2048;
inline constexpr uint64_t kSamplesWanted = 4000;  // a second

class SampleControl {
 public:
  using Clock = SflowExport::Clock;

  SampleControl(ForwardingPlane& plane, const InterfaceTable& interfaces, const Routing& routing,
                const Sampler& sampler);
  SampleControl(const SampleControl&) = delete;
  SampleControl& operator=(const SampleControl&) = delete;
  void attach(const NetworkNamespace& linux_side) {
    sflow_.attach(linux_side);
    ipfix_.attach(linux_side);
  }
  void attach(FlowControl& flows) { ipfix_.attach(flows); }

  // Each tick: follows what runs. The plane's next snapshot has it.
  void tick(const config::Config& running, Clock::time_point now);

  struct PortCounts {
    std::string name;
    uint32_t ifindex = 0;
    uint64_t packets = 0, taken = 0;  // that could have been chosen, and were
  };
  struct Counts {
    uint64_t taken = 0;              // = exported + lost + waiting, while sFlow is on
    uint64_t lost = 0, waiting = 0;  // for want of room; in rings
    uint64_t no_room = 0;            // of `lost`: rings that were full
    std::vector<PortCounts> ports;   // by number
  };
  Counts counts() const;
  const SflowExport& sflow() const { return sflow_; }
  const IpfixExport& ipfix() const { return ipfix_; }
  // Somebody asks for flows() and will again: they are kept for the next ten seconds.
  void want_flows(Clock::time_point now);
  const TopFlows& flows() const { return flows_; }
  const FlowSampling& sampling() const { return sampling_; }
  bool all_ports_sampled() const;
  std::vector<std::string> lines() const;

 private:
  void follow(const config::Config& running);
  void want(const FlowSampling& wanted);
  uint32_t own_rate() const;
  void drain(Clock::time_point now);
  void take(std::span<const std::byte> entry, Clock::time_point now);

  ForwardingPlane& plane_;
  const Sampler& sampler_;
  SflowExport sflow_;
  IpfixExport ipfix_;
  TopFlows flows_;
  std::optional<Clock::time_point> flows_until_;  // none: nobody asks
  std::shared_ptr<FlowTaps> taps_;                // from the first sample on
  FlowSampling sampling_;
  bool sampling_on_ = false;
  uint64_t read_ = 0;       // of the rings
  uint64_t forgotten_ = 0;  // of them: their port had gone, or nobody wanted them any more
  Clock::time_point looked_{};
};

}  // namespace hecto::router
