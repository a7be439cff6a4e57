#include "router/dataplane/ports/lacp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "base/bytes.hpp"

namespace hecto::router {
namespace {

using namespace std::chrono_literals;

// Table 6.4.4 of the standard.
constexpr Lacp::Time kFastPeriodic = 1s, kSlowPeriodic = 30s;
constexpr Lacp::Time kShortTimeout = 3s, kLongTimeout = 90s;
constexpr Lacp::Time kAggregateWait = 2s;

constexpr uint16_t kPriority = 0xffff, kPortPriority = 0xff;
constexpr MacAddress kSlowProtocols{0x01, 0x80, 0xc2, 0x00, 0x00, 0x02};
constexpr size_t kActorAt = 16, kPartnerAt = 36, kCollectorAt = 56;  // TLVs, from the frame's start
constexpr uint8_t kPartyBytes = 20, kCollectorBytes = 16;

void put_party(uint8_t* to, uint8_t type, const LacpParty& party) {
  to[0] = type;
  to[1] = kPartyBytes;
  store16_be(to + 2, party.system_priority);
  std::memcpy(to + 4, party.system.data(), 6);
  store16_be(to + 10, party.key);
  store16_be(to + 12, party.port_priority);
  store16_be(to + 14, party.port);
  to[16] = party.state;
}

LacpParty get_party(const uint8_t* from) {
  LacpParty party;
  party.system_priority = load16_be(from + 2);
  std::memcpy(party.system.data(), from + 4, 6);
  party.key = load16_be(from + 10);
  party.port_priority = load16_be(from + 12);
  party.port = load16_be(from + 14);
  party.state = from[16];
  return party;
}

bool same_port(const LacpParty& a, const LacpParty& b) {
  return a.system_priority == b.system_priority && a.system == b.system && a.key == b.key &&
         a.port_priority == b.port_priority && a.port == b.port;
}

bool same_bits(const LacpParty& a, const LacpParty& b, uint8_t bits) {
  return ((a.state ^ b.state) & bits) == 0;
}

}  // namespace

Lacp::Lacp(const Options& options, size_t members) : options_(options), ports_(members) {
  for (size_t i = 0; i < members; ++i) {
    Port& port = ports_[i];
    port.actor = {kPriority,
                  options.system,
                  0,
                  kPortPriority,
                  static_cast<uint16_t>(i + 1),
                  static_cast<uint8_t>(kLacpActivity | kLacpAggregation | kLacpDefaulted |
                                       (options.fast ? kLacpShortTimeout : 0))};
  }
}

// A partner that was not heard yet is sent to each second, so that one that is passive answers soon.
void Lacp::record_default(Port& port) {
  port.partner = {};
  port.partner.state = kLacpShortTimeout;
  port.actor.state |= kLacpDefaulted;
  port.heard = false;
}

void Lacp::expire(Port& port, Time now) const {
  port.receive = Receive::kExpired;
  port.partner.state &= static_cast<uint8_t>(~kLacpSynchronization);
  port.partner.state |= kLacpShortTimeout;
  port.actor.state |= kLacpExpired;
  port.heard_until = now + kShortTimeout;
}

void Lacp::set_link(size_t member, bool up, uint16_t key, Time now) {
  Port& port = ports_[member];
  if (port.link == up && port.actor.key == key) return;
  port.link = up;
  port.actor.key = key;
  port.needs_to_send = true;
  record_default(port);
  if (up) {
    expire(port, now);
  } else {
    port.receive = Receive::kDisabled;
    port.actor.state &= static_cast<uint8_t>(~kLacpExpired);
    port.selected = false;
    run_mux(port, now);
  }
}

// "The Receive machine shall not validate the Version Number, TLV_type, or Reserved fields", 6.4.12;
// lengths it may.
void Lacp::receive(size_t member, std::span<const uint8_t> frame, Time now) {
  Port& port = ports_[member];
  if (frame.size() < kLacpFrameBytes || frame[kActorAt + 1] != kPartyBytes ||
      frame[kPartnerAt + 1] != kPartyBytes) {
    ++port.damaged;
    return;
  }
  const LacpParty actor = get_party(frame.data() + kActorAt);
  const LacpParty partner = get_party(frame.data() + kPartnerAt);
  if (actor.system == options_.system) {
    ++port.own;
    return;
  }
  ++port.received;
  if (!port.link) return;
  constexpr uint8_t kTold =
      kLacpActivity | kLacpShortTimeout | kLacpSynchronization | kLacpAggregation;
  // update_Selected
  if (!same_port(actor, port.partner) || !same_bits(actor, port.partner, kLacpAggregation))
    port.changed = true;
  // update_NTT
  const bool knows_us = same_port(partner, port.actor);
  if (!knows_us || !same_bits(partner, port.actor, kTold)) port.needs_to_send = true;
  // recordPDU
  const bool matched = (knows_us && same_bits(partner, port.actor, kLacpAggregation)) ||
                       !actor.has(kLacpAggregation);
  port.partner = actor;
  if (!matched) port.partner.state &= static_cast<uint8_t>(~kLacpSynchronization);
  port.actor.state &= static_cast<uint8_t>(~(kLacpDefaulted | kLacpExpired));
  port.receive = Receive::kCurrent;
  port.heard = true;
  port.heard_until = now + (options_.fast ? kShortTimeout : kLongTimeout);
}

Lacp::Group Lacp::group_of(const Port& port) {
  return {port.partner.system_priority, port.partner.system, port.partner.key, port.actor.key};
}

bool Lacp::can_aggregate(const Port& port) {
  return port.link && port.heard && port.partner.has(kLacpAggregation);
}

// The group stays while a member of it runs, so that one that hears something else does not move
// all. While none does, any better one takes its place: who leads astray may have been heard first.
void Lacp::select() {
  // Members whose other end takes them in, and all.
  std::map<Group, std::pair<size_t, size_t>> groups;
  bool runs = false;
  for (const Port& port : ports_) {
    if (!can_aggregate(port)) continue;
    auto& [in_sync, members] = groups[group_of(port)];
    in_sync += port.partner.has(kLacpSynchronization);
    ++members;
    runs |= port.running && group_of(port) == chosen_;
  }
  if (!runs) {
    if (chosen_ && !groups.contains(*chosen_)) chosen_.reset();
    for (const Port& port : ports_) {
      if (!can_aggregate(port)) continue;
      if (!chosen_ || groups[group_of(port)] > groups[*chosen_]) chosen_ = group_of(port);
    }
  }
  for (Port& port : ports_) port.selected = can_aggregate(port) && group_of(port) == chosen_;
}

// Independent control (figure 6-21): nothing is sent to an end that does not collect, as one that hears
// no LACPDUs any more.
void Lacp::run_mux(Port& port, Time now) const {
  constexpr uint8_t kRuns = kLacpCollecting | kLacpDistributing;
  const uint8_t before = port.actor.state;
  if (!port.selected || std::exchange(port.changed, false)) {
    port.mux = Mux::kDetached;
  } else if (port.mux == Mux::kDetached) {
    port.mux = Mux::kWaiting;
    port.wait_until = now + kAggregateWait;
  } else if (port.mux == Mux::kWaiting) {
    if (now >= port.wait_until) port.mux = Mux::kAttached;
  } else {
    port.mux = !port.partner.has(kLacpSynchronization) ? Mux::kAttached
               : port.partner.has(kLacpCollecting)     ? Mux::kDistributing
                                                       : Mux::kCollecting;
  }
  port.actor.state &= static_cast<uint8_t>(~(kRuns | kLacpSynchronization));
  if (port.mux >= Mux::kAttached) port.actor.state |= kLacpSynchronization;
  if (port.mux >= Mux::kCollecting) port.actor.state |= kLacpCollecting;
  if (port.mux == Mux::kDistributing) port.actor.state |= kLacpDistributing;
  port.running = port.mux == Mux::kDistributing;
  port.needs_to_send |= port.actor.state != before;
}

void Lacp::tick(Time now) {
  for (Port& port : ports_) {
    if (now < port.heard_until) continue;
    if (port.receive == Receive::kCurrent) {
      expire(port, now);
    } else if (port.receive == Receive::kExpired) {
      port.receive = Receive::kDefaulted;
      record_default(port);
      port.actor.state &= static_cast<uint8_t>(~kLacpExpired);
    }
  }
  select();
  for (Port& port : ports_) {
    run_mux(port, now);
    const Time period = port.partner.has(kLacpShortTimeout) ? kFastPeriodic : kSlowPeriodic;
    if (now - port.last_periodic < period) continue;
    port.last_periodic = now;
    port.needs_to_send = true;
  }
}

// No more than three in a second (6.4.16).
std::optional<LacpFrame> Lacp::to_send(size_t member, Time now) {
  Port& port = ports_[member];
  const bool too_many = port.sent >= 3 && now - port.sent_at[port.sent % 3] < kFastPeriodic;
  if (!port.link || !port.needs_to_send || too_many) return std::nullopt;
  port.needs_to_send = false;
  port.sent_at[port.sent++ % 3] = now;
  LacpFrame frame{};
  std::memcpy(frame.data(), kSlowProtocols.data(), 6);
  std::memcpy(frame.data() + 6, options_.system.data(), 6);
  store16_be(frame.data() + 12, 0x8809);
  frame[14] = 1;  // subtype
  frame[15] = 1;  // version
  put_party(frame.data() + kActorAt, 1, port.actor);
  put_party(frame.data() + kPartnerAt, 2, port.partner);
  frame[kCollectorAt] = 3;
  frame[kCollectorAt + 1] = kCollectorBytes;
  return frame;
}

size_t Lacp::running() const {
  return static_cast<size_t>(std::ranges::count_if(ports_, &Port::running));
}

std::string Lacp::trouble(size_t member) const {
  const Port& port = ports_[member];
  if (!port.link || port.running) return {};
  if (!port.heard) {
    if (port.own > 0) return "hears its own LACPDUs: the wire comes back to this router";
    if (port.damaged > 0) return fmt::format("no LACP heard, but {} damaged LACPDUs", port.damaged);
    return "no LACP heard: is its other end a member of a bond with LACP?";
  }
  if (!port.partner.has(kLacpAggregation)) return "the other end takes it for a single link";
  if (chosen_ && group_of(port) != *chosen_) {
    const auto& [priority, system, key, own_key] = *chosen_;
    if (port.partner.system != system)
      return fmt::format("leads to system {}, the others to {}", to_string(port.partner.system),
                         to_string(system));
    if (port.partner.key != key)
      return fmt::format("the other end has it in another bond: key {}, the others {}",
                         port.partner.key, key);
    return port.actor.key != own_key ? "has another speed than the others"
                                     : "the other end gives it another priority than the others";
  }
  if (port.mux >= Mux::kAttached) return "the other end does not take it in";
  return {};
}

}  // namespace hecto::router
