// The events of a trace session as the story of each packet.
#include "router/dataplane/observe/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/ether.hpp"
#include "base/frame_tags.hpp"
#include "router/api/packet_text.hpp"
#include "router/api/show/names.hpp"
#include "router/api/show/show.hpp"
#include "router/control/forwarding_plane.hpp"
#include "router/rib/routing.hpp"

namespace hecto::router {
namespace {

using nlohmann::json;

PacketText summarize(const TraceEvent& e) {
  return text_of_frame({e.bytes.data(), e.captured}, e.length);
}

std::string hop_text(const Routing& routing, lookup::GroupId group) {
  const auto view = routing.next_hop(group);
  if (!view) return group == lookup::kNoRoute ? "no route" : fmt::format("next hop {}", group);
  std::string text = fmt::format("next hop {}", group);
  if (view->members.size() > 1) return text + fmt::format(", one of {} ways", view->members.size());
  if (view->record.kind == lookup::RecordKind::kPunt ||
      view->record.kind == lookup::RecordKind::kDrop)
    return text + fmt::format(": {}", info(static_cast<Reason>(view->record.reason)).name);
  if (view->members.empty()) return text;
  const NextHopView& hop = view->members.front().next_hop;
  return text + fmt::format(", via {} on {}", hop.gateway ? hop.gateway->to_string() : "the link",
                            hop.interface_name);
}

std::optional<IpAddress> destination_of(const TraceEvent& e) {
  if (e.captured < kEthernetBytes) return std::nullopt;
  const auto [at, ether_type, tags] = read_frame_tags(e.bytes.data(), e.captured);
  if (ether_type == kEtherIpv4 && e.captured >= at + kIpv4Bytes)
    return IpAddress::from(lookup::Ipv4Address{load32_be(&e.bytes[at + 16])});
  if (ether_type != kEtherIpv6 || e.captured < at + kIpv6Bytes) return std::nullopt;
  lookup::Ipv6Address destination;
  std::memcpy(destination.bytes.data(), &e.bytes[at + 24], 16);
  return IpAddress::from(destination);
}

// The FIB gives a group and no prefix: the RIB tells it, unless its best route is another by now.
std::string prefix_text(const Routing& routing, const TraceEvent& e) {
  const auto destination = destination_of(e);
  if (!destination) return {};
  const Explanation now = routing.explain(*destination);
  if (!now.match || !now.group || now.group->group != e.group) return {};
  return now.match->to_string() + ", ";
}

const char* traced_verdict(Reason reason) {
  return reason == Reason::kNone             ? "accept"
         : reason == Reason::kFilterRejected ? "reject"
         : reason == Reason::kPoliced        ? "accept, and over its rate"
                                             : "drop";
}

// Who judged it: a filter, and its rule; an empty one: none held.
std::pair<std::string, std::string> judges_of(const TraceEvent& e) {
  const std::string_view names(reinterpret_cast<const char*>(e.bytes.data()), e.captured);
  const size_t end = names.find('\0');
  if (end == std::string_view::npos) return {std::string(names), {}};
  return {std::string(names.substr(0, end)), std::string(names.substr(end + 1))};
}

std::string judge_text(const TraceEvent& e) {
  const auto [filter, rule] = judges_of(e);
  return fmt::format("filter {}, {}", filter, rule.empty() ? "otherwise" : "rule " + rule);
}

std::string filter_text(const TraceEvent& e) {
  return fmt::format("{}: {}: {}", to_string(e.place), judge_text(e), traced_verdict(e.reason));
}

std::string step_text(const TraceNames& names, const TraceEvent& e) {
  switch (e.kind) {
    case TraceKind::kReceived:
      return fmt::format("{} queue {}, worker {}, {} bytes", port_text(names.plane, e.port),
                         e.queue, e.worker, e.length);
    case TraceKind::kClassified:
      return fmt::format("interface {}", interface_text(names.interfaces, e.interface));
    case TraceKind::kFiltered:
      return filter_text(e);
    case TraceKind::kLookedUp:
      return prefix_text(names.routing, e) + hop_text(names.routing, e.group);
    case TraceKind::kDecapsulated:
    case TraceKind::kEncapsulated:
      return fmt::format("SPI {:#x}: {}", e.spi.value(), summarize(e).text);
    case TraceKind::kRewritten: {
      MacAddress mac;
      std::copy_n(e.bytes.begin(), 6, mac.begin());
      const PacketText summary = summarize(e);
      return fmt::format("to {} on {}{}", to_string(mac), port_text(names.plane, e.port),
                         summary.ttl < 0 ? "" : fmt::format(", TTL {}", summary.ttl));
    }
    case TraceKind::kTransmitted:
      return port_text(names.plane, e.port);
    case TraceKind::kPunted:
      return fmt::format("{}: {}", info(e.reason).name, info(e.reason).description);
    case TraceKind::kDelivered:
      return fmt::format("Linux took it from TAP {}",
                         interface_text(names.interfaces, e.interface));
    case TraceKind::kDropped:
      return fmt::format("dropped, {}: {}", info(e.reason).name, info(e.reason).description);
  }
  return {};
}

json packet_json(const TraceNames& names, uint32_t number,
                 const std::vector<const TraceEvent*>& events) {
  json steps = json::array();
  std::string packet, outcome, verdict, judge;  // who has refused it
  json reason;
  for (const TraceEvent* e : events) {
    steps.push_back(
        {{"stage", to_string(e->stage)}, {"text", step_text(names, *e)}, {"cycles", nullptr}});
    if (e->kind == TraceKind::kFiltered) {
      const auto [filter, rule] = judges_of(*e);
      steps.back()["filter"] = filter;
      steps.back()["rule"] = rule.empty() ? json() : json(rule);
      if (e->reason != Reason::kNone) judge = judge_text(*e);
      continue;
    }
    if (packet.empty()) packet = summarize(*e).text;  // received, or come out of a tunnel
    if (e->kind == TraceKind::kTransmitted) {
      outcome = "transmit";
      verdict = (judge.empty() ? "" : "rejected by " + judge + ", its sender is told: ") +
                "transmitted on " + port_text(names.plane, e->port);
    }
    if (e->kind == TraceKind::kPunted || e->kind == TraceKind::kDelivered) {
      outcome = "punt";
      reason = info(e->reason).name;
      verdict = fmt::format("punted to Linux: {}", info(e->reason).name);
    }
    if (e->kind == TraceKind::kDropped) {
      outcome = "drop";
      reason = info(e->reason).name;
      verdict = judge.empty() ? fmt::format("dropped: {}", info(e->reason).name)
                              : fmt::format("dropped by {}", judge);
    }
  }
  return {{"number", number}, {"packet", packet},   {"outcome", outcome},
          {"reason", reason}, {"verdict", verdict}, {"steps", steps}};
}

}  // namespace

json show_trace(const TraceNames& names, const TraceSession& session, uint32_t after) {
  const std::vector<TraceEvent> events = session.events();
  std::map<uint32_t, std::vector<const TraceEvent*>> packets;
  for (const TraceEvent& e : events) packets[e.number].push_back(&e);
  json traces = json::array();
  unsigned finished = 0;
  for (auto& [number, list] : packets) {
    std::stable_sort(list.begin(), list.end(),
                     [](const TraceEvent* a, const TraceEvent* b) { return a->tsc < b->tsc; });
    const TraceKind last = list.back()->kind;
    const bool whole = last == TraceKind::kTransmitted || last == TraceKind::kDropped ||
                       last == TraceKind::kDelivered;
    finished += whole;
    // One that is still under way is told when its end is known.
    if (number > after && whole) traces.push_back(packet_json(names, number, list));
  }
  return {{"count", session.packets()},
          {"seen", finished},
          {"done", finished >= session.packets()},
          {"traces", traces}};
}

}  // namespace hecto::router
