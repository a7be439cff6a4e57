// Bonds, their members, and what is wrong with who is at their other end.
#include <cmath>
#include <nlohmann/json.hpp>

#include "config/file/load_bond.hpp"
#include "config/file/words.hpp"
#include "router/api/show/show.hpp"
#include "router/control/forwarding_plane.hpp"
#include "router/control/reorder_watch.hpp"

namespace hecto::router {
namespace {

using nlohmann::json;

json party(const LacpParty& party) {
  return {{"system", to_string(party.system)},
          {"system_priority", party.system_priority},
          {"key", party.key},
          {"port", party.port},
          {"synchronization", party.has(kLacpSynchronization)},
          {"collecting", party.has(kLacpCollecting)},
          {"distributing", party.has(kLacpDistributing)},
          {"rate", party.has(kLacpShortTimeout) ? "fast" : "slow"}};
}

json lacp(const Lacp::Member& member) {
  return {
      {"actor", party(member.actor)}, {"partner", member.heard ? party(member.partner) : json()},
      {"received", member.received},  {"sent", member.sent},
      {"damaged", member.damaged},    {"own", member.own}};
}

const char* state_of(const BondMemberStatus& member) {
  if (!member.present) return "gone";
  if (!member.carrier) return "no link";
  if (!member.active) return "waits";
  return member.standby ? "standby" : "active";
}

json show_member(const BondMemberStatus& member, bool with_lacp) {
  const BondTraffic& traffic = member.traffic;
  return {{"device", member.device},
          {"state", state_of(member)},
          {"speed_mbps", member.speed_mbps == 0 ? json() : json(member.speed_mbps)},
          {"lacp", with_lacp ? lacp(member.lacp) : json()},
          {"rx", {{"packets", traffic.rx_packets}, {"bytes", traffic.rx_bytes}}},
          {"tx", {{"packets", traffic.tx_packets}, {"bytes", traffic.tx_bytes}}},
          {"lost", traffic.lost},
          {"changes", member.changes},
          {"last_change_s", member.changes == 0 ? json() : json(member.last_change_s)},
          {"trouble", member.troubles}};
}

json show_order(const Reorder& order) {
  const double percent = std::round(order.percent() * 100) / 100;
  return {{"segments", order.segments},
          {"reordered", order.reordered},
          {"percent", order.segments == 0 ? json() : json(percent)}};
}

}  // namespace

json show_bonds(const ForwardingPlane& plane, const ReorderWatch& order) {
  json list = json::array();
  for (const BondStatus& bond : plane.bonds()) {
    const config::BondConfig& config = bond.config;
    const auto only = [&](const char* key, const char* words) {
      return config::belongs(key, config.mode) ? json(words) : json();
    };
    json members = json::array();
    for (const BondMemberStatus& member : bond.members)
      members.push_back(show_member(member, config.mode == config::BondMode::kLacp));
    const Reorder reorder = order.of(bond.name);
    std::vector<std::string> troubles = bond.troubles;
    if (!reorder.trouble.empty()) troubles.push_back(reorder.trouble);
    list.push_back({{"name", bond.name},
                    {"mode", to_string(config.mode)},
                    {"hash", only("hash", to_string(config.hash))},
                    {"lacp_rate", only("lacp_rate", to_string(config.lacp_rate))},
                    {"mac", to_string(bond.mac)},
                    {"up", bond.up},
                    {"active", bond.active},
                    {"min_links", config.min_links},
                    {"members", std::move(members)},
                    {"reorder", show_order(reorder)},
                    {"trouble", std::move(troubles)}});
  }
  return {{"bonds", std::move(list)}};
}

}  // namespace hecto::router
