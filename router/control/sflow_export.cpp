#include "router/control/sflow_export.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/ether.hpp"
#include "base/frame_tags.hpp"
#include "router/control/forwarding_plane.hpp"
#include "router/control/interface_table.hpp"
#include "router/dataplane/sampler.hpp"
#include "router/rib/routing.hpp"

namespace hecto::router {
namespace {

constexpr uint32_t kChosenSubAgent = 1;          // of what filters' rules choose
constexpr std::chrono::seconds kLongestHeld{1};  // sFlow version 5, "sampling": no longer than that

// Why a packet was discarded, in the numbers of the specification: 0 to 255 are codes of ICMP's
// "destination unreachable" (RFC 1812 §5.2.7.1), above are sFlow's own.
constexpr uint32_t kUnknownReason = 256, kTtlExceeded = 257, kAcl = 258, kNoBuffer = 259;
constexpr uint32_t kTrafficShaping = 261, kTooBigForNext = 262;
constexpr uint32_t kNetUnreachable = 0, kHostUnreachable = 1, kProhibited = 13;

uint32_t discard_code(Reason reason) {
  switch (reason) {
    case Reason::kTtlExpired:
      return kTtlExceeded;
    case Reason::kTooBig:
    case Reason::kTunnelTooBig:
    case Reason::kBridgeTooLong:
      return kTooBigForNext;
    case Reason::kNoRoute:
    case Reason::kTunnelUnreachable:
    case Reason::kFilterNoTable:
    case Reason::kFilterLed:
      return kNetUnreachable;
    case Reason::kUnreachable:
    case Reason::kGlean:
    case Reason::kFilterUnresolved:
      return kHostUnreachable;
    case Reason::kProhibit:
      return kProhibited;
    case Reason::kFilter:
    case Reason::kFilterRejected:
    case Reason::kFilterNotReady:
    case Reason::kUrpf:
    case Reason::kPolicyDiscard:
    case Reason::kPolicyMismatch:
      return kAcl;
    case Reason::kPoliced:
      return kTrafficShaping;
    case Reason::kTransmitFull:
    case Reason::kSpreadFull:
    case Reason::kPuntQueueFull:
    case Reason::kTapFull:
    case Reason::kFragmentMbuf:
      return kNoBuffer;
    default:
      return kUnknownReason;
  }
}

bool is_of_a_link(const IpAddress& address) {
  return address.family == Family::kIpv6 && address.bytes[0] == 0xfe &&
         (address.bytes[1] & 0xc0) == 0x80;
}

struct Ends {
  IpAddress source, destination;
  VlanTags tags;
};
std::optional<Ends> ends_of(std::span<const std::byte> header) {
  const auto* frame = reinterpret_cast<const uint8_t*>(header.data());
  if (header.size() < kEthernetBytes) return std::nullopt;
  const FrameTags l2 = read_frame_tags(frame, static_cast<uint32_t>(header.size()));
  const uint8_t* const ip = frame + l2.l2_bytes;
  const size_t bytes = header.size() - std::min<size_t>(header.size(), l2.l2_bytes);
  if (l2.ether_type == kEtherIpv4 && bytes >= kIpv4Bytes)
    return Ends{IpAddress::from(lookup::Ipv4Address{load32_be(ip + 12)}),
                IpAddress::from(lookup::Ipv4Address{load32_be(ip + 16)}), l2.tags};
  if (l2.ether_type != kEtherIpv6 || bytes < kIpv6Bytes) return std::nullopt;
  lookup::Ipv6Address source, destination;
  std::memcpy(source.bytes.data(), ip + 8, 16);
  std::memcpy(destination.bytes.data(), ip + 24, 16);
  return Ends{IpAddress::from(source), IpAddress::from(destination), l2.tags};
}

uint32_t sum_of(const FlowTaps& taps, const FlowRecord& record, Counter FlowTap::Counts::*counter) {
  uint64_t sum = 0;
  for (size_t i = 0; i < taps.size(); ++i)
    sum += (taps.counts(i, record.port, record.chosen)->*counter).get();
  return static_cast<uint32_t>(sum);
}

}  // namespace

SflowExport::SflowExport(const Sources& sources)
    : sources_(sources),
      datagrams_([this](std::span<const std::byte> datagram) { send(datagram); }),
      chosen_([this](std::span<const std::byte> datagram) { send(datagram); }, Clock::now(),
              kChosenSubAgent) {}

void SflowExport::send(std::span<const std::byte> datagram) {
  const auto now = Clock::now();
  for (Collector& collector : collectors_) collector.send(datagram, now);
}

bool SflowExport::configure(const config::SflowConfig& config) {
  if (config == config_) return false;
  flush(Clock::now() + kLongestHeld);
  collectors_ =
      collectors_of(config.collectors, std::move(collectors_),
                    config.from == config::SflowFrom::kRouter ? linux_side_ : nullptr, "sflow");
  config_ = config;
  agent_.reset();
  counted_ = {};
  look_at_ports();
  if (on())
    spdlog::info("sflow: one packet in {}, counters {}, {} collectors", config_.sampling,
                 config_.polling_s == 0 ? "never" : fmt::format("each {} s", config_.polling_s),
                 collectors_.size());
  else
    spdlog::info("sflow: off");
  return true;
}

void SflowExport::look_at_ports() {
  std::array<std::optional<Port>, kMaxPorts> before = std::exchange(ports_, {});
  for (const PortStatus& status : sources_.plane.ports()) {
    if (!status.present) continue;
    Port port;
    if (before[status.id] && before[status.id]->name == status.name()) port = *before[status.id];
    port.name = status.name();
    const Interface* const interface = sources_.interfaces.find(status.id, VlanTags{});
    port.ifindex = interface == nullptr      ? status.id + 1u
                   : interface->ifindex != 0 ? static_cast<uint32_t>(interface->ifindex)
                                             : interface->id.value() + 1u;
    port.exported = config_.ports.empty() || std::find(config_.ports.begin(), config_.ports.end(),
                                                       port.name) != config_.ports.end();
    ports_[status.id] = std::move(port);
  }
  tables_.clear();
  ways_.clear();
  if (agent_ || !on()) return;
  agent_ = config_.agent ? config_.agent : choose_agent();
  for (SflowDatagrams* datagrams : {&datagrams_, &chosen_})
    datagrams->set_agent(agent_.value_or(IpAddress{}));
}

// IPv4 first: the older collectors know no other.
std::optional<IpAddress> SflowExport::choose_agent() const {
  std::optional<IpAddress> found;
  for (const auto& [id, interface] : sources_.interfaces.all())
    for (const IpPrefix& address : sources_.routing.interfaces().addresses(interface)) {
      if (address.address.family == Family::kIpv4) return address.address;
      if (!found && !is_of_a_link(address.address)) found = address.address;
    }
  return found;
}

uint64_t SflowExport::ports() const {
  uint64_t bits = 0;
  for (unsigned id = 0; id < kMaxPorts; ++id)
    if (ports_[id] && ports_[id]->exported) bits |= uint64_t{1} << id;
  return bits;
}

const SflowExport::Port* SflowExport::port(PortId id) const {
  return id < kMaxPorts && ports_[id] ? &*ports_[id] : nullptr;
}

// ---- Samples of packets ----

SflowOutput SflowExport::output_of(const FlowRecord& record) const {
  switch (record.fate) {
    case SampleFate::kForwarded:
      return {SflowOutput::kInterface, port(record.egress) ? port(record.egress)->ifindex : 0};
    case SampleFate::kPunted:
      return {SflowOutput::kInterface, kNoSflowInterface};
    case SampleFate::kDropped:
      return {SflowOutput::kDiscarded, discard_code(record.reason)};
    case SampleFate::kUnknown:
      break;
  }
  return {SflowOutput::kInterface, 0};
}

// As VRFs have it; what other rules say is not asked.
uint32_t SflowExport::table_of(PortId port, const VlanTags& tags) {
  const uint64_t key = uint64_t{port} << 32 | uint64_t{tags.service} << 31 |
                       uint64_t{tags.outer_vlan} << 12 | tags.vlan;
  const auto [entry, fresh] = tables_.emplace(key, kTableMain);
  if (!fresh) return entry->second;
  const Interface* const interface = sources_.interfaces.find(port, tags);
  if (interface == nullptr) return kTableMain;
  const uint32_t table = sources_.routing.interfaces().vrf_of(*interface).table;
  return entry->second = table == 0 ? kTableMain : table;
}

const std::vector<SflowExport::Way>& SflowExport::ways_of(lookup::GroupId group) {
  const auto [entry, fresh] = ways_.try_emplace(group);
  if (!fresh) return entry->second;
  if (const auto view = sources_.routing.next_hop(group))
    for (const GroupMemberView& member : view->members)
      if (lookup::leaves_by_port(member.record.kind))
        entry->second.push_back({PortId(member.record.port), member.next_hop.gateway});
  return entry->second;
}

// The route that the packet took, as far as the port that it left by says that it is still that one.
std::optional<SflowRouter> SflowExport::router_of(const FlowRecord& record,
                                                  std::span<const std::byte> header) {
  if (record.fate != SampleFate::kForwarded) return std::nullopt;
  const auto ends = ends_of(header);
  if (!ends) return std::nullopt;
  const uint32_t table = table_of(record.port, ends->tags);
  const auto forth = sources_.routing.match(ends->destination, table);
  if (!forth) return std::nullopt;
  const std::vector<Way>& ways = ways_of(forth->group);
  const auto taken = std::find_if(ways.begin(), ways.end(),
                                  [&](const Way& way) { return way.port == record.egress; });
  if (taken == ways.end() && !forth->on_link) return std::nullopt;
  const auto back = sources_.routing.match(ends->source, table);
  IpAddress next_hop{ends->destination.family};
  if (!forth->on_link && taken->gateway) next_hop = *taken->gateway;
  return SflowRouter{next_hop, back ? back->length : 0u, forth->length};
}

bool SflowExport::add(const FlowRecord& record, std::span<const std::byte> header,
                      const FlowTaps& taps, Clock::time_point now) {
  if (port(record.port) == nullptr) return false;
  Port& port = *ports_[record.port];
  SflowPacket packet;
  packet.source = port.ifindex;
  packet.sequence = record.chosen ? ++port.chosen : ++port.samples;
  packet.rate = record.rate;
  packet.pool = sum_of(taps, record, &FlowTap::Counts::pool);
  packet.drops = sum_of(taps, record, &FlowTap::Counts::lost);
  packet.output = output_of(record);
  packet.length = record.length;
  packet.header = header.first(std::min<size_t>(header.size(), config_.header_bytes));
  packet.router = router_of(record, header);
  (record.chosen ? chosen_ : datagrams_).add(packet, now);
  ++exported_;
  return true;
}

void SflowExport::flush(Clock::time_point now) {
  datagrams_.flush(now, kLongestHeld);
  chosen_.flush(now, kLongestHeld);
}

// ---- Counters ----

// Ports take turns within an interval, so that no two datagrams are due at once.
void SflowExport::send_counters(Clock::time_point now) {
  if (!on() || config_.polling_s == 0) return;
  const std::chrono::seconds interval(config_.polling_s);
  const auto before = std::exchange(counted_, now);
  if (before == Clock::time_point{}) return;
  for (unsigned id = 0; id < kMaxPorts; ++id) {
    if (!ports_[id] || !ports_[id]->exported) continue;
    const auto turn = Clock::duration(interval) * id / kMaxPorts;
    if ((now - turn).time_since_epoch() / interval != (before - turn).time_since_epoch() / interval)
      send_counters(PortId(id), *ports_[id]);
  }
}

void SflowExport::send_counters(PortId id, Port& port) {
  const auto status = sources_.plane.port(port.name);
  if (!status) return;
  const PortStatistics statistics = sources_.plane.statistics(port.name);
  const TrafficTotals traffic = sources_.sampler.port(sources_.sampler.now(), id);
  SflowCounters counters;
  counters.source = port.ifindex;
  counters.sequence = ++port.counters;
  counters.name = port.name;
  counters.speed_bps = uint64_t{status->link.speed_mbps} * 1'000'000;
  counters.up = status->up();
  counters.promiscuous = status->config.promiscuous;
  counters.in_bytes = traffic.rx_bytes;
  counters.out_bytes = traffic.tx_bytes;
  counters.in_packets = static_cast<uint32_t>(traffic.rx_packets);
  counters.out_packets = static_cast<uint32_t>(traffic.tx_packets);
  counters.in_discards = static_cast<uint32_t>(statistics.missed + statistics.no_mbuf);
  counters.in_errors = static_cast<uint32_t>(statistics.rx_errors);
  counters.out_errors = static_cast<uint32_t>(statistics.tx_errors);
  datagrams_.add(counters, Clock::now());
}

std::vector<std::string> SflowExport::lines() const {
  return lines_of(collectors_, Clock::now());
}

}  // namespace hecto::router
