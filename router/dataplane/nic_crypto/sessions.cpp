#include "router/dataplane/nic_crypto/sessions.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "router/dataplane/core/dpdk_security.hpp"
#include "router/dataplane/nic_crypto/capability.hpp"

namespace hecto::router {

NicSessions::~NicSessions() {
  while (!nics_.empty()) {
    const PortId port = nics_.begin()->first;
    withdraw(port);
    drop_port(port);
  }
}

Result<void> NicSessions::add_port(const Port& port) {
  auto security = NicSecurity::open(port.context, port.name);
  if (!security) return tl::unexpected(security.error());
  Nic& nic = nics_[port.id];
  nic.port = port;
  nic.security = std::move(*security);
  for (auto& [sa, entry] : entries_) entry->tried &= ~(uint64_t{1} << port.id);
  return {};
}

bool NicSessions::useful(const esp::Sa& sa) const {
  return std::ranges::any_of(nics_, [&](const auto& entry) {
    const Nic& nic = entry.second;
    const auto* offers = nic.security->capabilities();
    return (nic.port.opens && fitting(offers, sa, true) != nullptr) ||
           (nic.port.seals && fitting(offers, sa, false) != nullptr);
  });
}

void NicSessions::add(esp::Sa& sa, const std::shared_ptr<const esp::Keys>& keys) {
  auto found = entries_.find(&sa);
  if (found == entries_.end()) {
    if (!useful(sa)) return;
    found = entries_.emplace(&sa, std::make_unique<Entry>()).first;
    Entry& entry = *found->second;
    entry.sa = &sa;
    entry.keys = keys;
    sa.nic.store(&entry.live, std::memory_order_release);
  }
  equip(*found->second);
}

// Who has neither end yet is asked about again.
void NicSessions::equip(Entry& entry) {
  const auto untried = [&](const auto& nic) { return (entry.tried >> nic.first & 1) == 0; };
  if (entry.left || std::ranges::none_of(nics_, untried)) return;
  const bool inbound = options_.own(entry.sa->id.destination);
  if (!inbound && !options_.own(entry.sa->source)) return;
  for (auto& [id, nic] : nics_) equip(entry, nic, inbound);
}

void NicSessions::equip(Entry& entry, Nic& nic, bool inbound) {
  const esp::Sa& sa = *entry.sa;
  const uint64_t bit = uint64_t{1} << nic.port.id;
  const Slot slot{inbound, sa.id.spi};
  if (nic.going || (entry.tried & bit) != 0 || nic.occupied.contains(slot)) return;
  entry.tried |= bit;
  const rte_security_capability* offer = fitting(nic.security->capabilities(), sa, inbound);
  if (offer == nullptr || !(inbound ? nic.port.opens : nic.port.seals)) return;
  auto made = nic.security->create(sa, *entry.keys, inbound);
  Result<void> done = made ? Result<void>() : tl::unexpected(made.error());
  if (made) {
    auto session = std::make_unique<Session>();
    const bool metadata = (offer->ol_flags & RTE_SECURITY_TX_OLOAD_NEED_MDATA) != 0;
    session->live = {nic.security->context(), *made, metadata};
    session->nic = &nic;
    session->slot = slot;
    nic.occupied[slot] = kSession;
    ++nic.sessions;
    done = publish(entry, *session);
    if (done)
      entry.sessions.push_back(std::move(session));
    else
      end(*session, 0);
  }
  if (done) return;
  if (nic.refused++ == 0)
    options_.log(LogLevel::kWarning,
                 fmt::format("ipsec: port {}: its NIC refused SA {}: {}; it goes by CPU, as others "
                             "that are refused, which are counted",
                             nic.port.name, to_string(sa.id), done.error().message));
}

// Inbound: workers know before the first packet can have been opened.
Result<void> NicSessions::publish(Entry& entry, Session& session) {
  const PortId port = session.nic->port.id;
  if (!session.slot.inbound) {
    entry.live.seals[port].store(&session.live, std::memory_order_release);
    return {};
  }
  const uint64_t bit = uint64_t{1} << port;
  entry.live.opens.fetch_or(bit, std::memory_order_release);
  auto rule = session.nic->port.rules.create(port, *entry.sa, session.live.session);
  if (!rule) {
    entry.live.opens.fetch_and(~bit, std::memory_order_release);
    return tl::unexpected(rule.error());
  }
  session.rule = *rule;
  return {};
}

// Its SPI stays occupied for `occupied_s`.
void NicSessions::end(Session& session, uint32_t occupied_s) {
  Nic& nic = *session.nic;
  if (session.rule != nullptr) nic.port.rules.destroy(nic.port.id, session.rule);
  if (auto done = nic.security->destroy(session.live.session); !done)
    options_.log(LogLevel::kWarning,
                 fmt::format("ipsec: port {}: its NIC keeps the session of SPI {}: {}",
                             nic.port.name, to_string(session.slot.spi), done.error().message));
  --nic.sessions;
  if (occupied_s == 0)
    nic.occupied.erase(session.slot);
  else
    nic.occupied[session.slot] = options_.now_s() + occupied_s;
}

template <typename Which>
void NicSessions::end_all(Sessions& sessions, uint32_t occupied_s, Which which) {
  std::erase_if(sessions, [&](const std::unique_ptr<Session>& session) {
    if (!which(*session)) return false;
    end(*session, occupied_s);
    return true;
  });
}

void NicSessions::leave(esp::Sa& sa) {
  const auto found = entries_.find(&sa);
  if (found == entries_.end()) return;
  Entry& entry = *found->second;
  entry.left = true;
  end_all(entry.sessions, kDrain_s, [](const Session& session) { return session.slot.inbound; });
  entry.live.opens.store(0, std::memory_order_release);
}

void NicSessions::forget(const esp::Sa& sa) {
  auto entry = entries_.extract(&sa);
  if (entry.empty()) return;
  entry.mapped()->sa = nullptr;
  if (!entry.mapped()->sessions.empty()) draining_.push_back(std::move(entry.mapped()));
}

NicUse NicSessions::use(const esp::Sa& sa) const {
  NicUse use;
  const auto found = entries_.find(&sa);
  if (found == entries_.end()) return use;
  for (const auto& session : found->second->sessions)
    if (!session->nic->going) use.ports.push_back(session->nic->port.name);
  use.packets = found->second->live.packets.load(std::memory_order_relaxed);
  return use;
}

void NicSessions::withdraw(PortId port) {
  const auto found = nics_.find(port);
  if (found == nics_.end()) return;
  Nic& nic = found->second;
  nic.going = true;
  for (auto& [sa, entry] : entries_) {
    entry->live.seals[port].store(nullptr, std::memory_order_release);
    end_all(entry->sessions, kDrain_s,
            [&](const Session& session) { return session.nic == &nic && session.slot.inbound; });
    entry->live.opens.fetch_and(~(uint64_t{1} << port), std::memory_order_release);
  }
}

void NicSessions::drop_port(PortId port) {
  const auto found = nics_.find(port);
  if (found == nics_.end()) return;
  const auto mine = [&](const Session& session) { return session.nic == &found->second; };
  for (auto& [sa, entry] : entries_) end_all(entry->sessions, 0, mine);
  for (auto& entry : draining_) end_all(entry->sessions, 0, mine);
  std::erase_if(draining_, [](const auto& entry) { return entry->sessions.empty(); });
  nics_.erase(found);
}

void NicSessions::tick() {
  const uint32_t now_s = options_.now_s();
  for (auto& [id, nic] : nics_)
    std::erase_if(nic.occupied, [&](const auto& slot) {
      return slot.second != kSession && slot.second <= now_s;
    });
  for (auto& entry : draining_)
    end_all(entry->sessions, 0, [](Session& session) {
      session.link_up_s = session.nic->port.link_up() ? session.link_up_s + 1 : 0;
      return session.link_up_s > kDrain_s;
    });
  std::erase_if(draining_, [](const auto& entry) { return entry->sessions.empty(); });
  for (auto& [sa, entry] : entries_) equip(*entry);
}

bool NicSessions::busy() const {
  return std::ranges::any_of(nics_, [](const auto& nic) { return !nic.second.occupied.empty(); });
}

std::vector<NicPortView> NicSessions::ports() const {
  std::vector<NicPortView> views;
  for (const auto& [id, nic] : nics_) views.push_back({nic.port.name, nic.sessions, nic.refused});
  return views;
}

}  // namespace hecto::router
