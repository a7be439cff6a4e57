#include "router/control/ipfix_entries.hpp"

#include "router/control/flow_control.hpp"
#include "router/control/interface_table.hpp"

namespace hecto::router {
namespace {

using lookup::Family;

constexpr unsigned kTimeAskedEvery = 64;
constexpr uint8_t kStatusForwarded = 64, kStatusDenied = 129;  // forwardingStatus
constexpr FlowId kFirstEntry{Family::kIpv4, 1};

void set_end(const std::optional<lookup::IpPrefix>& prefix, std::array<uint8_t, 16>& address,
             uint8_t& length) {
  if (!prefix) return;
  address = prefix->address.bytes;
  length = prefix->length;
}

}  // namespace

void IpfixEntries::attach(FlowControl& flows) {
  flows_ = &flows;
  flows.watch([this](const FlowTables& tables, const FlowId& id) { gone(tables, id); });
}

IpfixEntries::Told& IpfixEntries::told(const FlowId& id) {
  std::vector<Told>& all = id.family == Family::kIpv4 ? told4_ : told6_;
  if (id.index >= all.size()) all.resize(std::max<size_t>(id.index + 1, all.size() * 2));
  return all[id.index];
}

uint32_t IpfixEntries::ifindex_of(const std::string& name) const {
  if (name.empty()) return 0;
  const Interface* const interface = interfaces_.find(name);
  if (interface == nullptr) return 0;
  return interface->ifindex != 0 ? static_cast<uint32_t>(interface->ifindex)
                                 : interface->id.value() + 1u;
}

void IpfixEntries::tell(const FlowTables& tables, const FlowId& id, FlowEnd end) {
  Told& before = told(id);
  const FlowCount count = tables.count(id);
  if (count.packets == before.packets) return;
  const FlowTables::Status status = tables.status(id);
  const config::FlowConfig flow = flows_->describe(status);
  IpfixRecord record;
  record.flow.ipv6 = id.family == Family::kIpv6;
  set_end(flow.match.from, record.flow.source, record.source_length);
  set_end(flow.match.to, record.flow.destination, record.destination_length);
  record.flow.source_port = flow.match.sport.value_or(0);
  record.flow.destination_port = flow.match.dport.value_or(0);
  record.flow.protocol = flow.match.protocol;
  record.flow.ingress = ifindex_of(flow.match.interface);
  record.flow.egress = ifindex_of(flow.actions.output);
  const bool drops = flow.actions.verdict == FlowVerdict::kDrop;
  record.flow.forwarding = drops ? kStatusDenied : kStatusForwarded;
  record.packets = count.packets - before.packets;
  record.bytes = count.bytes - before.bytes;
  record.last_ms = now_ms_ - std::min(now_ms_, uint64_t{status.unused_s} * 1000);
  const uint64_t added_ms = now_ms_ - std::min(now_ms_, uint64_t{status.age_s} * 1000);
  record.first_ms = std::min(before.at_ms == 0 ? added_ms : before.at_ms, record.last_ms);
  record.end = end;
  record.entry = uint64_t{record.flow.ipv6} << 32 | id.index;
  before = {count.packets, count.bytes, now_ms_};
  out_(record);
}

// Its place may be another entry's next.
void IpfixEntries::gone(const FlowTables& tables, const FlowId& id) {
  if (&tables != tables_ || flows_->generation() != generation_) return;
  if (on_ && gone_ < kMostGone) {
    ++gone_;
    tell(tables, id, FlowEnd::kEnd);
  } else if (on_ && tables.count(id).packets != told(id).packets) {
    ++lost_;
  }
  told(id) = {};
}

void IpfixEntries::tick(Clock::time_point now, std::chrono::seconds interval) {
  now_ms_ = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count());
  gone_ = 0;
  if (flows_ == nullptr || !on_) return;
  const FlowTables* const tables = flows_->tables();
  if (tables != tables_ || flows_->generation() != generation_) {
    tables_ = tables;
    generation_ = flows_->generation();
    told4_ = {};
    told6_ = {};
    looking_ = false;
  }
  if (tables_ == nullptr) return;
  if (!looking_) {
    if (begun_ == Clock::time_point{}) begun_ = now;
    if (now - begun_ < interval) return;
    begun_ = now;
    looking_ = true;
    cursor_ = kFirstEntry;
  }
  const auto end = Clock::now() + kMostLooking;
  for (unsigned looked = 1;; ++looked) {
    const auto id = tables_->next(cursor_);
    if (!id) {
      looking_ = false;
      return;
    }
    tell(*tables_, *id, FlowEnd::kActive);
    cursor_ = {id->family, id->index + 1};
    if (looked % kTimeAskedEvery == 0 && Clock::now() >= end) return;
  }
}

}  // namespace hecto::router
