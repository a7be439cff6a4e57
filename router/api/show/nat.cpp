// NAT: its rules, and what of each pool is used.
#include "config/file/nat.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "router/api/show/show.hpp"
#include "router/control/forwarding_plane.hpp"
#include "router/control/nat_control.hpp"
#include "router/dataplane/nat/tables.hpp"

namespace hecto::router {
namespace {

using nlohmann::json;

constexpr Reason kNatReasons[] = {Reason::kNatNoSession, Reason::kNatNoPort,   Reason::kNatLimit,
                                  Reason::kNatFull,      Reason::kNatFragment, Reason::kNatUnknown};

json show_nat_pool(const nat::Pool& pool, const NatControl& control) {
  const config::NatPoolConfig& config = pool.config();
  json addresses = json::array();
  for (const lookup::IpPrefix& prefix : config.addresses) addresses.push_back(prefix.to_string());
  uint64_t used = 0, blocks = 0, hosts = 0, sessions = 0, opened = 0;
  json workers = json::array(), refused = json::object();
  for (const Reason reason : kNatReasons) refused[std::string(info(reason).name)] = uint64_t{0};
  for (unsigned worker = 0; worker < pool.workers(); ++worker) {
    const nat::Share& share = pool.share(worker);
    used += share.blocks().used_blocks();
    blocks += share.blocks().blocks();
    hosts += share.blocks().hosts();
    sessions += share.sessions();
    opened += share.opened();
    workers.push_back({{"worker", worker},
                       {"sessions", share.sessions()},
                       {"blocks_used", share.blocks().used_blocks()}});
    for (const Reason reason : kNatReasons) {
      json& sum = refused[std::string(info(reason).name)];
      sum = sum.get<uint64_t>() + share.refused(reason).get();
    }
  }
  return {{"name", config.name},
          {"addresses", std::move(addresses)},
          {"first_port", config.first_port},
          {"last_port", config.last_port},
          {"block_size", config.block_size},
          {"filtering", to_string(config.filtering)},
          {"blocks", {{"used", used}, {"all", blocks}}},
          {"hosts", hosts},
          {"sessions",
           {{"now", sessions},
            {"most", config.sessions},
            {"opened", opened},
            {"opened_per_s", std::round(control.opened_per_s(config.name))}}},
          {"memory_bytes", pool.bytes()},
          {"refused", std::move(refused)},
          {"workers", std::move(workers)}};
}

}  // namespace

json show_nat(const ForwardingPlane& plane, const config::NatConfig& nat, const NatControl& control,
              const InterfaceTable& interfaces) {
  json rules = json::array(), pools = json::array();
  for (const config::NatRuleConfig& rule : nat.rules) {
    const bool one_to_one = rule.pool.empty();
    rules.push_back({{"inside", rule.inside.to_string()},
                     {"outside", one_to_one ? json(rule.outside.to_string()) : json()},
                     {"pool", one_to_one ? json() : json(rule.pool)},
                     {"out", rule.out},
                     {"active", interfaces.find(rule.out) != nullptr}});
  }
  if (const auto tables = plane.nat())
    for (const nat::PoolUse& use : tables->pools)
      pools.push_back(show_nat_pool(*use.pool, control));
  return {{"rules", std::move(rules)}, {"pools", std::move(pools)}};
}

}  // namespace hecto::router
