// What collectors of IPFIX are told: flows that sampled packets add up to, or entries of the flow table
// by what they have counted. docs/ipfix.md. Control only.
//
//   SampleControl ─► add() ─► IpfixFlowCache ──┐
//   FlowTables ─► IpfixEntries ────────────────┴─► IpfixMessages ─► Collectors
//
// Ports and their ifIndexes are those that sFlow has. Nothing here waits for a collector.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/file/config.hpp"
#include "router/control/ipfix_entries.hpp"
#include "router/control/sflow_export.hpp"
#include "router/ipfix/flow_cache.hpp"
#include "router/ipfix/message.hpp"

namespace hecto::router {

class IpfixExport {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kMostATick = 4096;  // flows that are over

  struct Counts {
    // Of sampled packets that were read: told, in flows under way, or of no flow.
    uint64_t read = 0, told = 0, under_way = 0, no_flow = 0;
    uint64_t records = 0;      // told
    uint64_t before_time = 0;  // of them, for want of room
    uint64_t lost = 0;         // of entries that went, too many at once
    uint32_t flows = 0, room = 0;
    uint64_t memory_bytes = 0;
  };

  IpfixExport(const SflowExport& ports, const InterfaceTable& interfaces);
  void attach(const NetworkNamespace& linux_side) { linux_side_ = &linux_side; }
  void attach(FlowControl& flows) { entries_.attach(flows); }

  // Each tick. True: it is another one. Collectors that stay keep their counts; flows under way are told
  // before what they were for ends, kMostATick a tick, and till then all but new samples is as before.
  bool configure(const config::IpfixConfig& config, Clock::time_point now);
  bool on() const { return !config_.collectors.empty(); }
  bool samples() const { return config_.samples(); }
  const config::IpfixConfig& config() const { return config_; }

  uint64_t ports() const;  // whose packets are wanted, a bit each
  void add(const FlowRecord& record, std::span<const std::byte> header, Clock::time_point now);
  void tick(Clock::time_point now);

  Counts counts() const;
  uint64_t messages() const { return messages_.messages(); }
  const std::vector<Collector>& collectors() const { return collectors_; }
  std::vector<std::string> lines() const;  // what is wrong

 private:
  void set_clock(Clock::time_point now);
  void know_sampling(uint32_t sampling);
  void send_templates(Clock::time_point now);
  bool misses_somebody(Clock::time_point now) const;
  void tell(IpfixKind kind, IpfixRecord record);

  const SflowExport& ports_;
  const NetworkNamespace* linux_side_ = nullptr;
  config::IpfixConfig config_;
  std::vector<Collector> collectors_;
  IpfixMessages messages_;
  std::unique_ptr<IpfixFlowCache> cache_;  // while samples are told
  bool ending_ = false;                    // another configuration waits for its flows to be told
  IpfixEntries entries_;
  std::vector<uint32_t> samplings_;  // that collectors have to know of
  Clock::time_point since_{}, templates_at_{}, begun_{};
  uint64_t seen_messages_ = 0;
  uint64_t read_ = 0, told_ = 0, no_flow_ = 0, before_time_ = 0;
  uint64_t unix_ms_ = 0;  // of the clock's beginning
};

// forwardingStatus (RFC 7270 §4.12) of a packet that was sampled.
uint8_t forwarding_status(SampleFate fate, Reason reason);

}  // namespace hecto::router
