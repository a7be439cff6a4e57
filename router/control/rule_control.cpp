#include "router/control/rule_control.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "router/control/file_rules.hpp"
#include "router/control/forwarding_plane.hpp"
#include "router/rib/routing.hpp"
#include "router/rib/rule_text.hpp"

namespace hecto::router {
namespace {

InterfaceId interface_of(const Routing& routing, const std::string& name) {
  for (const auto& [id, state] : routing.interfaces().all())
    if (state.name == name) return id;
  return kNoInterface;
}

}  // namespace

std::vector<RuleSurroundings::VrfMember> RuleControl::vrf_members() const {
  std::vector<RuleSurroundings::VrfMember> members;
  for (const auto& [id, state] : routing_.interfaces().all())
    if (Vrf vrf = routing_.interfaces().vrf_of(state); vrf.table != 0)
      members.push_back({id, std::move(vrf.name), vrf.table});
  return members;
}

std::vector<RuleTables::InVrf> RuleControl::ipsec_in_vrfs() const {
  std::vector<RuleTables::InVrf> found;
  for (const IpsecInVrf& ipsec : routing_.interfaces().ipsec_in_vrfs()) {
    const auto member = std::find_if(members_.begin(), members_.end(), [&](const auto& each) {
      const InterfaceState* const state = routing_.interfaces().find(each.interface);
      return each.table == ipsec.vrf_table && (state == nullptr || !state->vrf_device);
    });
    found.push_back({ipsec.if_id, member == members_.end() ? kNoInterface : member->interface});
  }
  return found;
}

bool RuleControl::same_interfaces() const {
  return members_ == vrf_members() && ipsec_ == ipsec_in_vrfs() &&
         std::all_of(named_.begin(), named_.end(), [this](const auto& named) {
           return interface_of(routing_, named.first) == named.second;
         });
}

Result<void> RuleControl::follow(const config::Config& config) {
  const std::vector<PolicyRule> wanted =
      rules_of_file(config, !config.vrfs.empty() || !vrf_members().empty());
  if (wanted != routing_.rules().rules()) routing_.set_rules(wanted);
  if (any_ || !wanted.empty()) tick();
  return trouble_.empty() ? Result<void>{} : fail(trouble_);
}

void RuleControl::tick(bool marks) {
  if (std::exchange(marks_, marks) != marks) {
    version_.reset();
    const auto& rules = routing_.rules().rules();
    if (std::ranges::any_of(rules, [](const PolicyRule& rule) { return rule.fwmask != 0; }))
      spdlog::info(
          marks ? "policy rules: fwmark is what filters give (set_mark); what Linux would "
                  "mark is not seen any more"
                : "policy rules: no filter gives marks: what fwmark may hold for is Linux's");
  }
  tick();
}

void RuleControl::tick() {
  const uint64_t version = routing_.rules().version();
  const uint64_t interfaces = routing_.interfaces().version();
  std::vector<uint32_t> without_room = routing_.tables_without_room();
  if (without_room_ != without_room) version_.reset();
  if (version_ == version && interfaces_version_ == interfaces) return;
  if (version_ == version && same_interfaces()) {
    interfaces_version_ = interfaces;
    return;
  }
  if (!compile()) return;  // the next turn tries again
  interfaces_version_ = interfaces;
  without_room_ = std::move(without_room);
  version_ = version;
  const std::vector<std::string> now = lines();
  const std::string line = now.empty() ? std::string() : now.back();
  if (line != told_) {
    if (line.empty())
      spdlog::info("policy rules: Linux forwards nothing for their sake any more");
    else
      spdlog::warn(line);
  }
  told_ = line;
}

bool RuleControl::compile() {
  const PolicyRules& rules = routing_.rules();
  named_.clear();
  members_ = vrf_members();
  ipsec_ = ipsec_in_vrfs();
  RuleSurroundings surroundings;
  surroundings.interface = [this](const std::string& name) {
    return named_.try_emplace(name, interface_of(routing_, name)).first->second;
  };
  surroundings.table = [this](uint32_t table) { return routing_.fib_table(table); };
  surroundings.vrf_members = members_;
  surroundings.marks = marks_;
  const auto of_family = [&rules](Family family) {
    const auto begins = std::find_if(rules.rules().begin(), rules.rules().end(),
                                     [&](const PolicyRule& rule) { return rule.family == family; });
    const auto ends = std::find_if(begins, rules.rules().end(),
                                   [&](const PolicyRule& rule) { return rule.family != family; });
    return std::span<const PolicyRule>(begins, ends);
  };
  auto tables = std::make_shared<RuleTables>();
  tables->ipsec_in_vrfs = ipsec_;
  trouble_.clear();
  const auto add = [&](Family family, auto& table) {
    using Table = std::remove_const_t<typename std::decay_t<decltype(table)>::element_type>;
    if (rules.usual(family)) return;
    auto made = Table::compile(of_family(family), surroundings);
    if (made)
      table = std::move(*made);
    else
      trouble_ = made.error().message;
  };
  add(Family::kIpv4, tables->ipv4);
  add(Family::kIpv6, tables->ipv6);
  if (!trouble_.empty()) {
    trouble_ += "; packets go by the rules of before";
    return false;
  }
  any_ = tables->ipv4 || tables->ipv6;
  if (any_)
    plane_.set_rules(std::move(tables));
  else
    plane_.set_rules(nullptr);
  return true;
}

std::vector<std::string> RuleControl::lines() const {
  std::vector<std::string> all;
  if (!trouble_.empty()) all.push_back(trouble_);
  if (any_ && plane_.uses_ipsec())
    all.push_back(
        "policy rules: the outer packets of tunnels do not ask them: they go by main, or by their "
        "VRF's table");
  size_t left = 0;
  const PolicyRule* first = nullptr;
  for (const PolicyRule& rule : routing_.rules().rules()) {
    const bool for_linux = left_to_linux(rule, routing_.has_room_for(rule), marks_);
    if (!for_linux || never_forwards(rule)) continue;
    if (left++ == 0) first = &rule;
  }
  if (first == nullptr) return all;
  all.push_back(
      fmt::format("policy rules: Linux forwards, slower, what {} for ({}: {}{}); see hecto show "
                  "rules and drops",
                  left == 1 ? "one of them holds" : fmt::format("{} of them hold", left),
                  first->priority, to_string(*first), left == 1 ? "" : ", ..."));
  return all;
}

}  // namespace hecto::router
