#include "router/control/ipfix_export.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/bytes.hpp"
#include "base/ether.hpp"
#include "base/frame_tags.hpp"
#include "router/control/top_flows.hpp"

namespace hecto::router {
namespace {

constexpr std::chrono::seconds kLongestMessage{1};
// Who was not there may have begun anew, and knows no template then.
constexpr std::chrono::seconds kTemplatesForLost{5};
// At first nothing may be forwarded yet, and the collector's neighbor not be known.
constexpr std::chrono::seconds kAtFirst{10}, kTemplatesAtFirst{1};
constexpr size_t kMostSamplings = 16;

constexpr uint8_t kTcp = 6, kIpfixIcmp = 1, kIpfixIcmp6 = 58;

uint64_t ms_of(std::chrono::steady_clock::time_point time) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count());
}

// What of a packet its flow is made of, and what it adds to it. False: it is not IP.
bool read_packet(const FlowRecord& record, std::span<const std::byte> header, IpfixFlow& flow,
                 IpfixPacket& packet) {
  const SampledFlow sampled = flow_of(record, header);
  if (!sampled.source_address()) return false;
  const auto* const frame = reinterpret_cast<const uint8_t*>(header.data());
  const FrameTags l2 = read_frame_tags(frame, static_cast<uint32_t>(header.size()));
  const uint8_t* const ip = frame + l2.l2_bytes;
  const size_t bytes = header.size() - l2.l2_bytes;
  flow.ipv6 = sampled.source_address()->family == Family::kIpv6;
  flow.source = sampled.source;
  flow.destination = sampled.destination;
  flow.source_port = sampled.source_port;
  flow.destination_port = sampled.destination_port;
  flow.protocol = sampled.protocol;
  flow.vlan = sampled.tags.count() > 0 ? sampled.tags.first() : uint16_t{0};
  const uint32_t total = flow.ipv6 ? kIpv6Bytes + load16_be(ip + 4) : load16_be(ip + 2);
  const uint32_t room = record.length - std::min(record.length, l2.l2_bytes);
  packet.bytes = total <= room ? total : room;
  packet.traffic_class = flow.ipv6 ? static_cast<uint8_t>(load16_be(ip) >> 4) : ip[1];
  const size_t at = flow.ipv6 ? kIpv6Bytes : (ip[0] & 0xf) * 4u;
  // In a fragment, and behind extension headers, they are not looked for.
  const bool plain = flow.ipv6 ? ip[6] == flow.protocol : (load16_be(ip + 6) & 0x3fff) == 0;
  if (plain && flow.protocol == kTcp && bytes >= at + 14) packet.tcp_flags = ip[at + 13];
  const uint8_t icmp = flow.ipv6 ? kIpfixIcmp6 : kIpfixIcmp;
  if (plain && flow.protocol == icmp && bytes >= at + 2) flow.icmp = load16_be(ip + at);
  return true;
}

}  // namespace

uint8_t forwarding_status(SampleFate fate, Reason reason) {
  constexpr uint8_t kUnknown = 0, kForwarded = 64, kDroppedUnknown = 128, kConsumed = 192;
  if (fate == SampleFate::kUnknown) return kUnknown;
  if (fate == SampleFate::kForwarded) return kForwarded;
  const bool punted = fate == SampleFate::kPunted;
  switch (reason) {
    case Reason::kLocal:
      return punted ? 195 : kDroppedUnknown;  // for the router itself
    case Reason::kGlean:
      return punted ? 194 : 132;  // its neighbor is not known
    case Reason::kFilter:
    case Reason::kFilterRejected:
    case Reason::kFlow:
    case Reason::kPolicyDiscard:
    case Reason::kPolicyMismatch:
      return 129;  // denied by a list
    case Reason::kNoRoute:
    case Reason::kUnreachable:
    case Reason::kProhibit:
    case Reason::kBlackhole:
    case Reason::kTunnelUnreachable:
      return punted ? kConsumed : 131;  // unroutable
    case Reason::kTooBig:
    case Reason::kTunnelTooBig:
    case Reason::kFlowTooLong:
      return punted ? kConsumed : 133;  // too long
    case Reason::kBadChecksum:
      return 134;
    case Reason::kBadTotalLength:
      return 135;
    case Reason::kBadHeaderLength:
      return 136;
    case Reason::kTtlExpired:
      return punted ? kConsumed : 137;
    case Reason::kPoliced:
      return 138;
    case Reason::kUrpf:
      return 140;
    default:
      return punted ? kConsumed : kDroppedUnknown;
  }
}

IpfixExport::IpfixExport(const SflowExport& ports, const InterfaceTable& interfaces)
    : ports_(ports),
      messages_([this](std::span<const std::byte> message) {
        const auto now = Clock::now();
        for (Collector& collector : collectors_) collector.send(message, now);
      }),
      entries_(interfaces, [this](const IpfixRecord& record) { tell(IpfixKind::kEntry, record); }) {
}

bool IpfixExport::configure(const config::IpfixConfig& config, Clock::time_point now) {
  ending_ = false;
  if (config == config_) return false;
  set_clock(now);
  if (cache_ && !config.samples()) {
    ending_ = cache_->end_some(kMostATick);
    if (ending_) return false;
    cache_.reset();
  }
  messages_.send();
  collectors_ =
      collectors_of(config.collectors, std::move(collectors_),
                    config.from == config::SflowFrom::kRouter ? linux_side_ : nullptr, "ipfix");
  const uint64_t active_ms = uint64_t{config.active_s} * 1000,
                 idle_ms = uint64_t{config.idle_s} * 1000;
  if (cache_) {
    cache_->set_times(active_ms, idle_ms);
    cache_->set_room(config.flows);
  } else if (config.samples()) {
    cache_ = std::make_unique<IpfixFlowCache>(
        IpfixFlowCache::Options{config.flows, active_ms, idle_ms},
        [this](const IpfixRecord& record) { tell(IpfixKind::kSampled, record); });
  }
  config_ = config;
  messages_.set_domain(config.domain);
  entries_.set(on() && !samples());
  samplings_ = {samples() ? config.sampling : 1};
  templates_at_ = {};
  since_ = now;
  if (on())
    spdlog::info("ipfix: {}, flows told after {} s, {} collectors",
                 samples() ? fmt::format("one packet in {}", config.sampling) : "the flow table",
                 config.active_s, collectors_.size());
  else
    spdlog::info("ipfix: off");
  return true;
}

uint64_t IpfixExport::ports() const {
  uint64_t bits = 0;
  for (unsigned id = 0; id < kMaxPorts; ++id) {
    const SflowExport::Port* const port = ports_.port(PortId(id));
    if (port != nullptr &&
        (config_.ports.empty() ||
         std::find(config_.ports.begin(), config_.ports.end(), port->name) != config_.ports.end()))
      bits |= uint64_t{1} << id;
  }
  return bits;
}

void IpfixExport::set_clock(Clock::time_point now) {
  const auto unix_ms =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                std::chrono::system_clock::now().time_since_epoch())
                                .count());
  const auto since = ms_of(now);
  unix_ms_ = unix_ms - std::min(unix_ms, since);
  messages_.set_time(static_cast<uint32_t>(unix_ms / 1000));
}

void IpfixExport::tell(IpfixKind kind, IpfixRecord record) {
  if (kind == IpfixKind::kSampled) {
    told_ += record.packets;
    if (record.end == FlowEnd::kNoRoom) ++before_time_;
  }
  record.first_ms += unix_ms_;
  record.last_ms += unix_ms_;
  messages_.add(kind, record);
}

// Before a record says its number.
void IpfixExport::know_sampling(uint32_t sampling) {
  if (std::find(samplings_.begin(), samplings_.end(), sampling) != samplings_.end()) return;
  if (samplings_.size() == kMostSamplings) samplings_.erase(samplings_.begin());
  samplings_.push_back(sampling);
  messages_.add_templates(samplings_);
}

void IpfixExport::add(const FlowRecord& record, std::span<const std::byte> header,
                      Clock::time_point now) {
  if (!cache_ || ending_) return;
  ++read_;
  const SflowExport::Port* const port = ports_.port(record.port);
  IpfixFlow flow;
  IpfixPacket packet;
  if (port == nullptr || !read_packet(record, header, flow, packet)) {
    ++no_flow_;
    return;
  }
  flow.sampling = record.rate;
  flow.ingress = port->ifindex;
  if (record.fate == SampleFate::kForwarded)
    if (const SflowExport::Port* const egress = ports_.port(record.egress))
      flow.egress = egress->ifindex;
  flow.forwarding = forwarding_status(record.fate, record.reason);
  know_sampling(record.rate);
  cache_->add(flow, packet, ms_of(now));
}

bool IpfixExport::misses_somebody(Clock::time_point now) const {
  return std::any_of(collectors_.begin(), collectors_.end(),
                     [&](const Collector& collector) { return !collector.trouble(now).empty(); });
}

// Alone in their message, so that who is new has them at once.
void IpfixExport::send_templates(Clock::time_point now) {
  auto interval = std::chrono::seconds(config_.templates_s);
  if (misses_somebody(now)) interval = std::min(interval, kTemplatesForLost);
  if (now - since_ < kAtFirst) interval = std::min(interval, kTemplatesAtFirst);
  if (templates_at_ != Clock::time_point{} && now - templates_at_ < interval) return;
  templates_at_ = now;
  messages_.send();
  messages_.add_templates(samplings_);
  messages_.send();
}

void IpfixExport::tick(Clock::time_point now) {
  if (!on()) return;
  set_clock(now);
  send_templates(now);
  if (cache_ && !ending_) cache_->expire(ms_of(now), kMostATick);
  entries_.tick(now, std::chrono::seconds(config_.active_s));
  if (messages_.empty() ||
      std::exchange(seen_messages_, messages_.messages()) != messages_.messages())
    begun_ = now;
  else if (now - begun_ >= kLongestMessage)
    messages_.send();
}

IpfixExport::Counts IpfixExport::counts() const {
  Counts counts;
  counts.read = read_;
  counts.told = told_;
  counts.no_flow = no_flow_;
  counts.records = messages_.records();
  counts.before_time = before_time_;
  counts.lost = entries_.lost();
  if (!cache_) return counts;
  counts.under_way = cache_->packets();
  counts.flows = cache_->size();
  counts.room = cache_->room();
  counts.memory_bytes = cache_->bytes();
  return counts;
}

std::vector<std::string> IpfixExport::lines() const {
  return lines_of(collectors_, Clock::now());
}

}  // namespace hecto::router
