#include "router/control/nat_control.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "config/file/nat.hpp"
#include "router/control/forwarding_plane.hpp"
#include "router/control/interface_table.hpp"
#include "router/dataplane/nat/tables.hpp"

namespace hecto::router {
namespace {

constexpr unsigned kMostLines = 1000;  // of blocks, a tick

InterfaceId id_of(const InterfaceTable& interfaces, const std::string& name) {
  const Interface* const found = interfaces.find(name);
  return found == nullptr ? kNoInterface : found->id;
}

std::string host_text(uint32_t as_it_lies) {
  return lookup::IpAddress::from(lookup::Ipv4Address{__builtin_bswap32(as_it_lies)}).to_string();
}

}  // namespace

Result<void> follow_nat(const config::NatConfig& nat, const InterfaceTable& interfaces,
                        ForwardingPlane& plane) {
  return plane.set_nat(nat, [&](const std::string& name) { return id_of(interfaces, name); });
}

std::vector<std::string> nat_losses(const config::NatConfig& nat, const ForwardingPlane& plane) {
  std::vector<std::string> lines;
  const auto running = plane.nat();
  if (!running) return lines;
  for (const nat::PoolUse& use : running->pools) {
    const std::string& name = use.pool->config().name;
    const bool stays = std::any_of(nat.pools.begin(), nat.pools.end(), [&](const auto& pool) {
      return pool.name == name && use.pool->fits(pool);
    });
    uint64_t sessions = 0;
    for (unsigned worker = 0; worker < use.pool->workers(); ++worker)
      sessions += use.pool->share(worker).sessions();
    if (!stays && sessions > 0)
      lines.push_back(
          fmt::format("nat: pool {} is another now: its {} sessions are lost", name, sessions));
  }
  return lines;
}

bool NatControl::tick(const config::NatConfig& nat, const InterfaceTable& interfaces,
                      ForwardingPlane& plane) {
  log_blocks(plane);
  sample(plane);
  std::vector<uint16_t> ids;
  absent_.clear();
  for (const config::NatRuleConfig& rule : nat.rules) {
    ids.push_back(id_of(interfaces, rule.out));
    if (ids.back() == kNoInterface) absent_.push_back(rule.out);
  }
  if (ids == ids_) return false;
  ids_ = std::move(ids);
  const auto done = follow_nat(nat, interfaces, plane);
  trouble_ = done ? std::string() : done.error().message;
  return done.has_value();
}

void NatControl::log_blocks(const ForwardingPlane& plane) {
  const auto tables = plane.nat();
  if (!tables) return;
  unsigned lines = 0;
  uint64_t lost = 0;
  for (const nat::PoolUse& use : tables->pools)
    for (unsigned worker = 0; worker < use.pool->workers(); ++worker) {
      nat::BlockEvents& events = use.pool->share(worker).blocks().events();
      while (lines < kMostLines) {
        const auto event = events.take();
        if (!event) break;
        ++lines;
        spdlog::info("nat: block {} {} {}", use.pool->block_text(event->block),
                     event->given ? "to" : "back from", host_text(event->host));
      }
      lost += events.lost();
    }
  if (lost > lost_)
    spdlog::warn("nat: {} blocks changed hands faster than the log takes lines: not told",
                 lost - lost_);
  lost_ = std::max(lost, lost_);
}

void NatControl::sample(const ForwardingPlane& plane) {
  const auto tables = plane.nat();
  if (!tables) return;
  const auto now = std::chrono::steady_clock::now();
  for (const nat::PoolUse& use : tables->pools) {
    Opened& before = opened_[use.pool->config().name];
    const std::chrono::duration<double> since = now - before.time;
    if (since.count() < 1) continue;
    uint64_t opened = 0;
    for (unsigned worker = 0; worker < use.pool->workers(); ++worker)
      opened += use.pool->share(worker).opened();
    // One that is another now begins anew.
    const uint64_t fresh = opened >= before.sessions ? opened - before.sessions : opened;
    before = {now, opened, static_cast<double>(fresh) / since.count()};
  }
}

double NatControl::opened_per_s(const std::string& pool) const {
  const auto found = opened_.find(pool);
  return found == opened_.end() ? 0 : found->second.per_s;
}

std::vector<std::string> NatControl::lines() const {
  std::vector<std::string> lines;
  if (!trouble_.empty()) lines.push_back(trouble_);
  for (const std::string& name : absent_)
    lines.push_back(fmt::format("nat: {} is not there, and its rules wait for it", name));
  return lines;
}

}  // namespace hecto::router
