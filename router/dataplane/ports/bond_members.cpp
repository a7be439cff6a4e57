// Members on their way in and out of a running bond, and what is told of them.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "router/dataplane/core/dpdk_bonding.hpp"
#include "router/dataplane/ports/bond.hpp"
#include "router/dataplane/ports/eal.hpp"
#include "router/dataplane/ports/port.hpp"

namespace hecto::router {
namespace {

using config::BondMode;

constexpr std::chrono::seconds kRetry{1};   // a member that could not be brought in
constexpr std::chrono::seconds kSample{1};  // of its packets
constexpr size_t kSeconds = 10;             // that traffic is compared over
constexpr uint64_t kSome = 20;              // packets in them that no LACPDUs are
constexpr std::chrono::minutes kFlapping{10};
constexpr uint64_t kFlaps = 3;

BondTraffic& operator+=(BondTraffic& sum, const BondTraffic& more) {
  sum.rx_packets += more.rx_packets;
  sum.tx_packets += more.tx_packets;
  sum.rx_bytes += more.rx_bytes;
  sum.tx_bytes += more.tx_bytes;
  sum.lost += more.lost;
  return sum;
}

BondTraffic counted(const Port& port) {
  rte_eth_stats s{};
  if (rte_eth_stats_get(port.id(), &s) != 0) return {};
  return {s.ipackets, s.opackets, s.ibytes, s.obytes,
          s.imissed + s.ierrors + s.oerrors + s.rx_nombuf};
}

}  // namespace

size_t Bond::index_of(const Member& member) const {
  return static_cast<size_t>(&member - members_.data());
}

bool Bond::carrier(const Member& member) const {
  if (member.config.kind == config::DeviceKind::kKernel)
    return KernelInterface(member.config.device).carrier_now();
  rte_eth_link link{};
  return member.port && rte_eth_link_get_nowait(member.port->id(), &link) == 0 &&
         link.link_status == RTE_ETH_LINK_UP;
}

uint32_t Bond::speed_of(const Member& member) const {
  if (member.config.kind == config::DeviceKind::kKernel)
    return KernelInterface(member.config.device).speed_mbps();
  rte_eth_link link{};
  if (!member.port || rte_eth_link_get_nowait(member.port->id(), &link) != 0) return 0;
  const bool known =
      link.link_speed != RTE_ETH_SPEED_NUM_NONE && link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN;
  return known ? link.link_speed : 0;
}

// LACP's key follows it: one that is not known for a while restarts nothing.
void Bond::note_speed(Member& member, uint32_t mbps) {
  if (mbps > 0) member.speed_mbps = mbps;
}

// In the bond: with a link, where the driver does not see to that, and as long as it is there.
bool Bond::wanted(const Member& member) {
  if (member.config.kind == config::DeviceKind::kKernel) return member.linked;
  return !member.port || member.port->present();
}

// A device that was made again is down.
void Bond::follow_carrier(Member& member) {
  if (member.config.kind != config::DeviceKind::kKernel) return;
  KernelInterface kernel(member.config.device);
  member.gone |= !kernel.exists() || (member.port && !member.port->present());
  if (member.gone && kernel.exists()) member.gone = !kernel.set_up().has_value();
  const bool linked = kernel.carrier_now();
  const uint32_t speed_mbps = linked && !member.linked ? kernel.speed_mbps() : 0;
  const std::lock_guard lock(mutex_);
  note_speed(member, speed_mbps);
  member.linked = linked;
  if (!linked) deactivate(member);
}

// At once: the port's link may go with it.
void Bond::deactivate(Member& member) {
  if (lacp_) lacp_->set_link(index_of(member), false, 0, {});
  if (!std::exchange(member.active, false)) return;
  ++member.changes;
  member.changed = Clock::now();
}

bool Bond::follow() {
  if (!running_) return false;
  sample();
  bool moved = false;
  for (Member& member : members_) {
    follow_carrier(member);
    const bool stale = member.port && !member.port->present();
    if ((member.port && !stale) || !wanted(member) || Clock::now() < member.next_try) continue;
    if (auto done = bring_in(member); done) {
      moved = true;
      member.refusal.clear();
      spdlog::info("port {}: {} is in the bond again", config_.name, member.config.device);
    } else {
      member.next_try = Clock::now() + kRetry;
      if (member.refusal != done.error().message)
        spdlog::warn("port {}: {}", config_.name, done.error().message);
      member.refusal = done.error().message;
    }
  }
  for (Member& member : members_) {
    if (!member.port || (wanted(member) && member.port->present())) continue;
    const auto in =
        std::ranges::count_if(members_, [](const Member& m) { return m.port != nullptr; });
    if (in == 1) break;
    take_out(member);
    moved = true;
    spdlog::info("port {}: {} is out of the bond: {}", config_.name, member.config.device,
                 leavers_.back()->present() ? "it has no link" : "it is gone");
  }
  if (!lacp_) {
    const std::lock_guard lock(mutex_);
    moved |= note_activity(linked_members());
  }
  return moved;
}

// One that is there still, of a device that has gone, makes room behind it.
Result<void> Bond::bring_in(Member& member) {
  Member fresh;
  fresh.config = member.config;
  if (auto done = open_member(fresh); !done) return done;
  if (fresh.port->mtu() < config_.mtu)
    return fail(fmt::format("{}: MTU {} is the bond's, and it takes {}: it stays out",
                            member.config.device, config_.mtu, fresh.port->mtu()),
                EINVAL);
  Eal::last_complaint();
  if (bond_add(id_, fresh.port->id()) != 0)
    return fail(fmt::format("{}: net_bonding does not take it back: {}", member.config.device,
                            Eal::last_complaint()),
                EINVAL);
  if (member.config.device == config_.bond->primary)
    (void)rte_eth_bond_primary_set(id_, fresh.port->id());
  // The driver has given it the MTU that the bond was configured with.
  if (auto done = give_mtu(fresh, config_.mtu); !done) {
    (void)bond_remove(id_, fresh.port->id());
    leavers_.push_back(std::move(fresh.port));  // a worker may be within a burst of it
    return done;
  }
  if (member.port) take_out(member);
  const std::lock_guard lock(mutex_);
  member.port = std::move(fresh.port);
  note_speed(member, fresh.speed_mbps);
  if (lacp_) hear(member, true);
  return {};
}

void Bond::take_out(Member& member) {
  std::unique_ptr<Port> port;
  {
    const std::lock_guard lock(mutex_);
    if (lacp_) hear(member, false);
    port = std::move(member.port);
    deactivate(member);
  }
  (void)bond_remove(id_, port->id());
  member.before += counted(*port);
  leavers_.push_back(std::move(port));
}

void Bond::close_leavers() {
  for (const auto& port : leavers_) (void)rte_eth_dev_stop(port->id());
  leavers_.clear();
}

BondTraffic Bond::traffic(const Member& member) const {
  BondTraffic sum = member.before;
  if (member.port) sum += counted(*member.port);
  return sum;
}

void Bond::sample() {
  if (Clock::now() - sampled_ < kSample) return;
  sampled_ = Clock::now();
  for (Member& member : members_) {
    member.seconds.push_back(traffic(member));
    if (member.seconds.size() > kSeconds + 1) member.seconds.pop_front();
    const uint32_t speed_mbps = speed_of(member);
    const std::lock_guard lock(mutex_);
    note_speed(member, speed_mbps);
  }
}

LinkState Bond::link() const {
  const std::lock_guard lock(mutex_);
  LinkState state;
  uint16_t active = 0;
  for (const Member& member : members_) {
    if (!member.active) continue;
    const bool one = config_.bond->mode == BondMode::kActiveBackup;
    ++active;
    if (!one || state.speed_mbps == 0) state.speed_mbps += member.speed_mbps;
  }
  state.up = running_ && active >= config_.bond->min_links;
  return state;
}

PortStatistics Bond::statistics() const {
  PortStatistics sum;
  for (const Member& member : members_) {
    rte_eth_stats s{};
    if (!member.port || rte_eth_stats_get(member.port->id(), &s) != 0) continue;
    sum.missed += s.imissed;
    sum.no_mbuf += s.rx_nombuf;
    sum.rx_errors += s.ierrors;
    sum.tx_errors += s.oerrors;
  }
  return sum;
}

// In the last seconds: it sends and hears nothing, while others do hear.
bool Bond::one_way(const Member& member) const {
  const auto rx = [](const Member& m) {
    return m.seconds.empty() ? 0 : m.seconds.back().rx_packets - m.seconds.front().rx_packets;
  };
  if (member.seconds.size() <= kSeconds || !member.active || rx(member) > 0) return false;
  const uint64_t sent = member.seconds.back().tx_packets - member.seconds.front().tx_packets;
  return sent >= kSome &&
         std::ranges::any_of(members_, [&](const Member& other) { return rx(other) >= kSome; });
}

std::vector<std::string> Bond::troubles(const Member& member,
                                        const BondMemberStatus& status) const {
  std::vector<std::string> out;
  if (!status.present) out.push_back(member.config.device + " is gone");
  if (!member.refusal.empty()) out.push_back(member.refusal);
  if (lacp_)
    if (auto trouble = lacp_->trouble(index_of(member)); !trouble.empty())
      out.push_back(std::move(trouble));
  for (const Member& other : members_)
    if (status.carrier && other.speed_mbps > member.speed_mbps && member.speed_mbps > 0) {
      out.push_back(fmt::format("has {} Mb/s, {} {}", member.speed_mbps, other.config.device,
                                other.speed_mbps));
      break;
    }
  if (status.changes >= kFlaps && Clock::now() - member.changed < kFlapping)
    out.push_back(fmt::format("flaps: in and out {} times, the last {} s ago", status.changes,
                              status.last_change_s));
  if (one_way(member))
    out.push_back(fmt::format("one way: it sends, and has heard nothing for {} s while others did",
                              kSeconds));
  return out;
}

BondStatus Bond::status() const {
  BondStatus status;
  status.name = config_.name;
  status.config = *config_.bond;
  status.mac = *config_.mac;
  status.up = link().up;
  // Linux is asked before LACP's thread is kept waiting.
  for (const Member& member : members_) {
    BondMemberStatus one;
    one.device = member.config.device;
    one.present = member.config.kind == config::DeviceKind::kKernel
                      ? KernelInterface(member.config.device).exists()
                      : member.port && member.port->present();
    one.carrier = carrier(member);
    one.traffic = traffic(member);
    status.members.push_back(std::move(one));
  }
  const std::lock_guard lock(mutex_);
  for (const Member& member : members_) {
    BondMemberStatus& one = status.members[index_of(member)];
    one.active = member.active;
    one.standby = one.active && config_.bond->mode == BondMode::kActiveBackup && member.port &&
                  rte_eth_bond_primary_get(id_) != member.port->id();
    one.speed_mbps = member.speed_mbps;
    if (lacp_) one.lacp = lacp_->member(index_of(member));
    one.changes = member.changes;
    if (member.changes > 0)
      one.last_change_s = static_cast<uint64_t>(
          std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - member.changed).count());
    one.troubles = troubles(member, one);
    status.active += one.active;
  }
  if (config_.bond->mode == BondMode::kRoundRobin && members_.size() > 1)
    status.troubles.emplace_back(
        "round-robin sends the packets of a flow by all members: they arrive out of order");
  if (!status.up && status.active > 0)
    status.troubles.push_back(
        fmt::format("{} of {} members carry packets, min_links wants {}: the "
                    "port has no link",
                    status.active, members_.size(), config_.bond->min_links));
  return status;
}

}  // namespace hecto::router
