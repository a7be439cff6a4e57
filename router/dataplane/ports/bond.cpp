#include "router/dataplane/ports/bond.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <thread>

#include "config/file/words.hpp"
#include "router/dataplane/core/dpdk_bonding.hpp"
#include "router/dataplane/ports/eal.hpp"
#include "router/dataplane/ports/port.hpp"
#include "router/dataplane/ports/port_news.hpp"

namespace hecto::router {
namespace {

using config::BondHash;
using config::BondMode;

constexpr uint64_t kTick_us = 100'000;
constexpr std::chrono::milliseconds kLinkPoll{5};
constexpr int kLinkPolls = 20;

// Whose LACPDUs come by a member's port: net_bonding's callback knows no more than that.
std::array<std::atomic<Bond*>, RTE_MAX_ETHPORTS> g_bonds;

uint8_t driver_mode(BondMode mode) {
  switch (mode) {
    case BondMode::kActiveBackup:
      return BONDING_MODE_ACTIVE_BACKUP;
    case BondMode::kBalanceXor:
      return BONDING_MODE_BALANCE;
    case BondMode::kRoundRobin:
      return BONDING_MODE_ROUND_ROBIN;
    case BondMode::kLacp:
      break;
  }
  return BONDING_MODE_8023AD;
}

uint8_t driver_policy(BondHash hash) {
  if (hash == BondHash::kLayer2) return BALANCE_XMIT_POLICY_LAYER2;
  return hash == BondHash::kLayer23 ? BALANCE_XMIT_POLICY_LAYER23 : BALANCE_XMIT_POLICY_LAYER34;
}

Lacp::Time now_ms() {
  return std::chrono::duration_cast<Lacp::Time>(
      std::chrono::steady_clock::now().time_since_epoch());
}

// Members of one speed have one key, and another one than those of another.
uint16_t key_of_speed(uint32_t mbps) {
  uint16_t key = 1;
  for (; mbps >= 10; mbps /= 10) key = static_cast<uint16_t>(key + 10);
  return static_cast<uint16_t>(key + mbps);
}

}  // namespace

Bond::Bond(const config::PortConfig& config)
    : config_(config), device_("net_bonding_" + config.name) {
  for (const config::BondMember& member : config.bond->members) {
    Member added;
    added.config = member;
    members_.push_back(std::move(added));
  }
}

Bond::~Bond() {
  stopping();
  members_.clear();
}

Result<std::unique_ptr<Bond>> Bond::create(const config::PortConfig& config) {
  std::unique_ptr<Bond> bond(new Bond(config));
  auto done = bond->make();
  if (done) return bond;
  if (bond->made_) {
    for (const Member& member : bond->members_)
      if (member.port) (void)bond_remove(bond->id_, member.port->id());
    rte_eth_bond_free(bond->device_.c_str());
  }
  return tl::unexpected(done.error());
}

Result<void> Bond::make() {
  if (auto done = choose_mac(); !done) return done;
  for (Member& member : members_) {
    if (member.port) continue;
    if (auto done = open_member(member); !done) return done;
  }
  for (const Member& member : members_) config_.mtu = std::min(config_.mtu, member.port->mtu());
  Eal::last_complaint();
  const int socket = std::max(this->socket(), 0);
  const int id = rte_eth_bond_create(device_.c_str(), driver_mode(config_.bond->mode),
                                     static_cast<uint8_t>(socket));
  if (id < 0)
    return fail(fmt::format("port {}: DPDK could not create {}: {}; {}", config_.name, device_,
                            dpdk_error(id), Eal::last_complaint()),
                -id);
  made_ = true;
  id_ = PortId(static_cast<uint16_t>(id));
  if (auto done = settle_modes(); !done) return done;
  for (const Member& member : members_) {
    if (bond_add(id_, member.port->id()) != 0)
      return fail(fmt::format("port {}: net_bonding does not take {}: {}", config_.name,
                              member.config.device, Eal::last_complaint()),
                  EINVAL);
    if (member.config.device == config_.bond->primary)
      (void)rte_eth_bond_primary_set(id_, member.port->id());
  }
  if (lacp_mode())
    lacp_ = std::make_unique<Lacp>(
        Lacp::Options{*config_.mac, config_.bond->lacp_rate == config::LacpRate::kFast},
        members_.size());
  return {};
}

// Kept over all changes of members: the first one's, unless the file names one.
Result<void> Bond::choose_mac() {
  if (config_.mac) return {};
  Member& first = members_.front();
  if (first.config.kind == config::DeviceKind::kKernel) {
    const auto mac = KernelInterface(first.config.device).mac();
    if (!mac)
      return fail(fmt::format("port {}: {}", config_.name, mac.error().message),
                  mac.error().error_number);
    config_.mac = *mac;
    return {};
  }
  if (auto done = open_member(first); !done) return done;
  config_.mac = first.port->mac();
  return {};
}

Result<void> Bond::open_member(Member& member) {
  config::PortConfig config = config_;
  config.bond.reset();
  config.vlans.clear();
  config.addresses.clear();
  config.device = member.config.device;
  config.kind = member.config.kind;
  config.name = fmt::format("{}-{}", config_.name, member.config.device);
  if (opened_ >= members_.size()) config.name += fmt::format("-{}", opened_);
  ++opened_;
  auto port = Port::probe_member(config);
  if (!port) return tl::unexpected(port.error());
  member.port = std::move(*port);
  // net_bonding sees to that for those alone that are there at its start.
  if (const auto& kernel = member.port->kernel())
    (void)KernelInterface(*kernel).set_promiscuous(true);
  member.speed_mbps = speed_of(member);
  return {};
}

Result<void> Bond::settle_modes() {
  const BondMode mode = config_.bond->mode;
  rte_ether_addr address;
  std::memcpy(address.addr_bytes, config_.mac->data(), 6);
  int code = rte_eth_bond_mac_address_set(id_, &address);
  if (code == 0 && (mode == BondMode::kLacp || mode == BondMode::kBalanceXor))
    code = rte_eth_bond_xmit_policy_set(id_, driver_policy(config_.bond->hash));
  if (code == 0 && mode == BondMode::kLacp) {
    rte_eth_bond_8023ad_conf conf{};
    code = rte_eth_bond_8023ad_conf_get(id_, &conf);
    conf.slowrx_cb = on_lacpdu;
    if (code == 0) code = rte_eth_bond_8023ad_setup(id_, &conf);
  }
  if (code == 0) return {};
  return fail(fmt::format("port {}: net_bonding refuses {}: {}", config_.name, bond_text(config_),
                          Eal::last_complaint()),
              -code);
}

int Bond::socket() const {
  return members_.front().port ? members_.front().port->socket() : -1;
}

bool Bond::has_kernel() const {
  return std::ranges::any_of(members_, [](const Member& member) {
    return member.config.kind == config::DeviceKind::kKernel;
  });
}

uint16_t Bond::most_mtu() const {
  uint16_t most = UINT16_MAX;
  for (const Member& member : members_)
    if (member.port) most = std::min(most, member.port->most_mtu());
  return most;
}

std::vector<std::string> Bond::refused() const {
  std::vector<std::string> all;
  for (const Member& member : members_)
    for (const std::string& sentence : member.port->refused())
      all.push_back(fmt::format("{}: {}", member.config.device, sentence));
  return all;
}

bool Bond::all_kernel() const {
  return std::ranges::all_of(members_, [](const Member& member) {
    return member.config.kind == config::DeviceKind::kKernel;
  });
}

bool Bond::gives_plain_mbufs() const {
  return std::ranges::all_of(
      members_, [](const Member& m) { return !m.port || m.port->gives_plain_mbufs(); });
}

std::vector<int> Bond::sockets() const {
  std::vector<int> all;
  for (const Member& member : members_)
    if (member.port)
      for (const int fd : member.port->packet_sockets()) all.push_back(fd);
  return all;
}

// net_bonding gives members the MTU that it was configured with; what is above 1500 AF_PACKET's
// driver refuses.
std::string Bond::started(rte_mempool* pool) {
  pool_ = pool;
  running_ = true;
  std::string refused = settle_mtu();
  if (!lacp_) {
    await_links();
    return refused;
  }
  for (const Member& member : members_)
    if (member.port) hear(member, true);
  rte_eal_alarm_set(kTick_us, on_alarm, this);
  return refused;
}

// The least that a member has is the bond's, where one refuses.
std::string Bond::settle_mtu() {
  const uint16_t wanted = config_.mtu;
  const auto done = set_mtu(wanted);
  if (done) return {};
  for (const Member& member : members_) {
    if (!member.port) continue;
    uint16_t now = wanted;
    if (const auto& kernel = member.port->kernel())
      now = kernel->mtu().value_or(wanted);
    else
      (void)rte_eth_dev_get_mtu(member.port->id(), &now);
    config_.mtu = std::min(config_.mtu, now);
  }
  (void)set_mtu(config_.mtu);
  return fmt::format("MTU {}: {}; using {}", wanted, done.error().message, config_.mtu);
}

// The driver looks at links 10 ms later: the port begins with the link that it has.
void Bond::await_links() {
  for (Member& member : members_) follow_carrier(member);
  const auto has_all = [&] {
    const std::vector<bool> linked = linked_members();
    for (size_t i = 0; i < members_.size(); ++i)
      if (members_[i].linked && carrier(members_[i]) && !linked[i]) return false;
    return true;
  };
  for (int i = 0; i < kLinkPolls && !has_all(); ++i) std::this_thread::sleep_for(kLinkPoll);
  const std::lock_guard lock(mutex_);
  (void)note_activity(linked_members());
}

void Bond::stopping() {
  if (!running_) return;
  running_ = false;
  if (!lacp_) return;
  // Behind it the alarm's thread is not in tick(): it waits for one that is.
  rte_eal_alarm_cancel(on_alarm, this);
  const std::lock_guard lock(mutex_);
  for (std::atomic<Bond*>& bond : g_bonds)
    if (bond.load() == this) bond = nullptr;
}

Result<void> Bond::set_mtu(uint16_t mtu) {
  for (size_t i = 0; i < members_.size(); ++i) {
    if (!members_[i].port) continue;
    const auto done = give_mtu(members_[i], mtu);
    if (done) continue;
    while (i-- > 0)
      if (members_[i].port) (void)give_mtu(members_[i], config_.mtu);
    return done;
  }
  config_.mtu = mtu;
  return {};
}

Result<void> Bond::give_mtu(const Member& member, uint16_t mtu) const {
  if (const auto& kernel = member.port->kernel()) return KernelInterface(*kernel).set_mtu(mtu);
  uint16_t now = 0;
  if (rte_eth_dev_get_mtu(member.port->id(), &now) == 0 && now == mtu) return {};
  const int code = rte_eth_dev_set_mtu(member.port->id(), mtu);
  // Memory drivers carry what their mbufs hold, whatever MTU they report.
  if (code == 0 || member.config.kind != config::DeviceKind::kPci) return {};
  // Not EBUSY: members cannot be stopped one by one.
  return fail(fmt::format("port {}: MTU {}: the driver of {} says {}; restart", config_.name, mtu,
                          member.config.device, dpdk_error(code)),
              EINVAL);
}

void Bond::hear(const Member& member, bool on) {
  g_bonds[member.port->id()] = on ? this : nullptr;
}

// ---- LACP, on DPDK's interrupt thread ----

void Bond::on_alarm(void* bond) {
  static_cast<Bond*>(bond)->tick();
}

void Bond::on_lacpdu(uint16_t member, rte_mbuf* packet) {
  if (Bond* const bond = g_bonds[member].load()) {
    const std::lock_guard lock(bond->mutex_);
    for (size_t i = 0; i < bond->members_.size(); ++i)
      if (bond->members_[i].port && bond->members_[i].port->id() == member)
        bond->lacp_->receive(
            i, {rte_pktmbuf_mtod(packet, const uint8_t*), rte_pktmbuf_data_len(packet)}, now_ms());
  }
  rte_pktmbuf_free(packet);
}

// By the driver, and of those that it does not know by Linux.
std::vector<bool> Bond::linked_members() const {
  uint16_t ids[RTE_MAX_ETHPORTS];
  const int count = bond_active(id_, ids, RTE_MAX_ETHPORTS);
  std::vector<bool> active;
  for (const Member& member : members_)
    active.push_back(member.port && member.linked &&
                     std::find(ids, ids + std::max(count, 0), member.port->id()) !=
                         ids + std::max(count, 0));
  return active;
}

// What net_bonding holds of a member it forgets with its link: told each time.
void Bond::tick() {
  const Lacp::Time now = now_ms();
  bool news = false;
  {
    const std::lock_guard lock(mutex_);
    const std::vector<bool> linked = linked_members();
    for (size_t i = 0; i < members_.size(); ++i) {
      Member& member = members_[i];
      // A NIC's is at hand; Linux is asked by control, with the carrier.
      if (linked[i] && !lacp_->member(i).link && member.config.kind != config::DeviceKind::kKernel)
        note_speed(member, speed_of(member));
      lacp_->set_link(i, linked[i], key_of_speed(member.speed_mbps), now);
    }
    lacp_->tick(now);
    std::vector<bool> active;
    for (size_t i = 0; i < members_.size(); ++i) {
      const LacpParty& actor = lacp_->member(i).actor;
      active.push_back(lacp_->member(i).running);
      if (!linked[i]) continue;
      const uint16_t port = members_[i].port->id();
      rte_eth_bond_8023ad_ext_collect(id_, port, actor.has(kLacpCollecting) ? 1 : 0);
      rte_eth_bond_8023ad_ext_distrib(id_, port, actor.has(kLacpDistributing) ? 1 : 0);
      if (const auto frame = lacp_->to_send(i, now)) send(members_[i], *frame);
    }
    news = note_activity(active);
  }
  if (news) PortNews::of_process().tell();
  rte_eal_alarm_set(kTick_us, on_alarm, this);
}

// A worker takes it along (Worker::send_lacp).
void Bond::send(const Member& member, const LacpFrame& frame) {
  rte_mbuf* const packet = rte_pktmbuf_alloc(pool_);
  if (packet == nullptr) return;
  std::memcpy(rte_pktmbuf_append(packet, frame.size()), frame.data(), frame.size());
  if (rte_eth_bond_8023ad_ext_slowtx(id_, member.port->id(), packet) != 0) rte_pktmbuf_free(packet);
}

bool Bond::note_activity(const std::vector<bool>& active) {
  bool news = false;
  for (size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[i];
    if (member.active == active[i]) continue;
    news = true;
    member.active = active[i];
    if (std::exchange(member.known, true)) {
      ++member.changes;
      member.changed = Clock::now();
    }
  }
  return news;
}

}  // namespace hecto::router
