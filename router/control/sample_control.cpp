#include "router/control/sample_control.hpp"

#include <algorithm>
#include <cstring>

#include "router/control/forwarding_plane.hpp"
#include "router/dataplane/sampler.hpp"

namespace hecto::router {
namespace {

constexpr std::chrono::seconds kFlowsKept{10};  // behind the last question
constexpr uint16_t kFlowHeader_bytes = 128;     // with tags and extension headers

}  // namespace

SampleControl::SampleControl(ForwardingPlane& plane, const InterfaceTable& interfaces,
                             const Routing& routing, const Sampler& sampler)
    : plane_(plane),
      sampler_(sampler),
      sflow_({plane, interfaces, routing, sampler}),
      ipfix_(sflow_, interfaces) {}

void SampleControl::tick(const config::Config& running, Clock::time_point now) {
  bool changed = sflow_.configure(running.sflow);
  if (ipfix_.configure(running.ipfix, now)) {
    looked_ = {};
    changed = true;
  }
  if (flows_until_ && now >= *flows_until_) {
    flows_until_.reset();
    flows_.clear();
    changed = true;
  }
  if ((sflow_.on() || ipfix_.samples() || flows_until_) &&
      now - looked_ >= std::chrono::seconds(1)) {
    looked_ = now;
    sflow_.look_at_ports();
    sflow_.send_counters(now);
    changed = true;
  }
  if (changed) follow(running);
  if (taps_) drain(now);
  sflow_.flush(now);
  ipfix_.tick(now);
}

void SampleControl::want_flows(Clock::time_point now) {
  if (!flows_until_) looked_ = {};
  flows_until_ = now + kFlowsKept;
}

void SampleControl::follow(const config::Config& running) {
  FlowSampling wanted;
  if (sflow_.on())
    wanted = {running.sflow.sampling, running.sflow.header_bytes, sflow_.ports()};
  else if (ipfix_.samples())
    wanted = {running.ipfix.sampling, kFlowHeader_bytes, ipfix_.ports()};
  else if (flows_until_)
    wanted = {own_rate(), kFlowHeader_bytes, sflow_.ports()};
  if (ipfix_.samples()) wanted.header_bytes = std::max(wanted.header_bytes, kFlowHeader_bytes);
  want(wanted);
}

// In steps of four, and not back and forth at the edge of one.
uint32_t SampleControl::own_rate() const {
  const Totals &now = sampler_.now(), &before = sampler_.before();
  const uint64_t pps = sampler_.rate(now.received, before.received);
  if (sampling_on_ && pps / sampling_.rate < 2 * kSamplesWanted &&
      (sampling_.rate == 1 || pps / sampling_.rate > kSamplesWanted / 8))
    return sampling_.rate;
  uint32_t rate = 1;
  while (pps / rate > kSamplesWanted) rate *= 4;
  return rate;
}

void SampleControl::want(const FlowSampling& wanted) {
  const bool on = wanted.ports != 0;
  if (on == sampling_on_ && (!on || wanted == sampling_)) return;
  sampling_on_ = on;
  sampling_ = wanted;
  if (on && !taps_) taps_ = std::make_shared<FlowTaps>(plane_.workers().size());
  plane_.set_sampling(on ? std::make_shared<const FlowSamplingUse>(FlowSamplingUse{wanted, taps_})
                         : nullptr);
}

// One of each ring in turn: a thread that has many does not keep others' from being read.
void SampleControl::drain(Clock::time_point now) {
  size_t left = kMostSamplesATick;
  for (bool more = true; more && left > 0;) {
    more = false;
    for (size_t thread = 0; thread < taps_->size() && left > 0; ++thread) {
      CaptureRing& ring = (*taps_)[thread].ring;
      const std::span<const std::byte> entry = ring.front();
      if (entry.empty()) continue;
      take(entry, now);
      ring.pop();
      --left;
      more = true;
    }
  }
}

void SampleControl::take(std::span<const std::byte> entry, Clock::time_point now) {
  FlowRecord record;
  std::memcpy(&record, entry.data(), sizeof record);
  const auto header = entry.subspan(sizeof record, record.captured);
  ++read_;
  if (flows_until_) flows_.add(record, header, now);
  if (ipfix_.samples()) ipfix_.add(record, header, now);
  if (!sflow_.on() || !sflow_.add(record, header, *taps_, now)) ++forgotten_;
}

SampleControl::Counts SampleControl::counts() const {
  Counts counts;
  for (unsigned id = 0; id < kMaxPorts; ++id) {
    uint64_t packets = 0, taken = 0;
    for (size_t thread = 0; taps_ && thread < taps_->size(); ++thread) {
      const FlowTap::Counts& of = *taps_->counts(thread, PortId(id));
      // What is lost is counted behind what is taken: read the other way round.
      counts.lost += of.lost.get();
      taken += of.taken.get();
      packets += of.pool.get();
    }
    counts.taken += taken;
    if (const SflowExport::Port* port = sflow_.port(PortId(id)); port != nullptr && port->exported)
      counts.ports.push_back({port->name, port->ifindex, packets, taken});
  }
  counts.waiting = counts.taken - counts.lost - read_;
  counts.no_room = counts.lost;
  counts.lost += forgotten_;
  return counts;
}

bool SampleControl::all_ports_sampled() const {
  if (sflow_.on()) return sflow_.config().ports.empty();
  return !ipfix_.samples() || ipfix_.config().ports.empty();
}

std::vector<std::string> SampleControl::lines() const {
  std::vector<std::string> lines = sflow_.lines();
  for (std::string& line : ipfix_.lines()) lines.push_back(std::move(line));
  return lines;
}

}  // namespace hecto::router
