// Lifetimes, and copies of Ipsec's state for those who ask.
#include <fmt/format.h>

#include <algorithm>

#include "router/ipsec/ipsec.hpp"

namespace hecto::router {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
// Without ESN the last number is 2^32 - 1: time enough to rekey at 10 Mpps.
constexpr uint64_t kSoftSequence = 0xc0000000;

SaUsage usage_of(const esp::Sa& sa) {
  SaUsage usage;
  usage.bytes = sa.bytes.load(kRelaxed);
  usage.packets = sa.packets.load(kRelaxed);
  usage.first_used_s = sa.first_used_s.load(kRelaxed);
  usage.last_used_s = sa.last_used_s.load(kRelaxed);
  usage.sequence = sa.sequence.load(kRelaxed);
  usage.replay_top = sa.replay.top();
  return usage;
}

// The limit in `lifetime` that is over, if any. Times of 0 are no limit.
std::optional<Expiry::Cause> over(const SaUsage& usage, uint64_t bytes, uint64_t packets,
                                  uint64_t add_s, uint64_t use_s, uint32_t added_s,
                                  uint32_t now_s) {
  if (usage.bytes >= bytes) return Expiry::Cause::kBytes;
  if (usage.packets >= packets) return Expiry::Cause::kPackets;
  if (add_s != 0 && now_s - added_s >= add_s) return Expiry::Cause::kAddTime;
  if (use_s != 0 && usage.first_used_s != 0 && now_s - usage.first_used_s >= use_s)
    return Expiry::Cause::kUseTime;
  return std::nullopt;
}

}  // namespace

const char* to_string(Expiry::Cause cause) {
  static constexpr const char* kWords[] = {"bytes", "packets", "time since it was added",
                                           "time since it was used", "sequence numbers"};
  return kWords[static_cast<size_t>(cause)];
}

void Ipsec::sample(Entry& entry, const SaUsage& usage, uint32_t now_s) {
  if (now_s <= entry.sampled_s) return;
  const uint32_t passed_s = now_s - entry.sampled_s;
  entry.bytes_per_s = (usage.bytes - entry.sampled_bytes) / passed_s;
  entry.packets_per_s = (usage.packets - entry.sampled_packets) / passed_s;
  entry.sampled_s = now_s;
  entry.sampled_bytes = usage.bytes;
  entry.sampled_packets = usage.packets;
}

std::optional<Expiry> Ipsec::check(Entry& entry, const SaUsage& usage, uint32_t now_s) {
  const SaLifetime& lifetime = entry.state.lifetime;
  const bool linux = entry.state.origin == RouteOrigin::kLinux;
  if (!entry.expired) {
    auto cause = over(usage, lifetime.hard_bytes, lifetime.hard_packets,
                      linux ? 0 : lifetime.hard_add_s, lifetime.hard_use_s, entry.added_s, now_s);
    if (!cause && entry.sa->expired.load(kRelaxed)) cause = Expiry::Cause::kSequence;
    if (cause) {
      entry.expired = entry.soft_expired = true;
      entry.sa->expired.store(true, kRelaxed);
      return Expiry{entry.state.id, entry.state.origin, true, *cause};
    }
  }
  if (!entry.soft_expired) {
    auto cause = over(usage, lifetime.soft_bytes, lifetime.soft_packets,
                      linux ? 0 : lifetime.soft_add_s, lifetime.soft_use_s, entry.added_s, now_s);
    if (!cause && !entry.state.esn && std::max(usage.sequence, usage.replay_top) >= kSoftSequence)
      cause = Expiry::Cause::kSequence;
    if (cause) {
      entry.soft_expired = true;
      return Expiry{entry.state.id, entry.state.origin, false, *cause};
    }
  }
  return std::nullopt;
}

std::vector<Expiry> Ipsec::due(uint32_t now_s) {
  std::vector<Expiry> expiries;
  for (auto& [id, entry] : sas_) {
    const SaUsage usage = usage_of(*entry.sa);
    sample(entry, usage, now_s);
    auto expiry = check(entry, usage, now_s);
    if (!expiry) continue;
    expiries.push_back(*expiry);
    touch_templates(entry);
  }
  for (const Expiry& expiry : expiries) {
    if (!expiry.hard || expiry.origin == RouteOrigin::kLinux) continue;
    log(LogLevel::kWarning, fmt::format("ipsec: SA {} is over ({}) and dropped",
                                        to_string(expiry.id), to_string(expiry.cause)));
    erase(sas_.find(expiry.id));
  }
  std::erase_if(departed_,
                [now_s](const auto& gone) { return now_s - gone.second.at_s > kDeparted_s; });
  return expiries;
}

std::optional<SaUsage> Ipsec::usage(const SaId& id, bool with_bitmap) const {
  const auto at = sas_.find(id);
  if (at == sas_.end()) return std::nullopt;
  const esp::Sa& sa = *at->second.sa;
  SaUsage usage = usage_of(sa);
  if (!with_bitmap) return usage;
  const uint32_t window = sa.replay.window();
  usage.replay_bitmap.resize((window + 31) / 32);
  for (uint32_t i = 0; i < window && i < usage.replay_top; ++i)
    if (sa.replay.check(usage.replay_top - i) == esp::ReplayWindow::Verdict::kSeen)
      usage.replay_bitmap[i / 32] |= 1u << i % 32;
  return usage;
}

SaView Ipsec::view(const Entry& entry) const {
  const SaState& state = entry.state;
  SaView view;
  view.id = state.id;
  view.source = state.source;
  view.origin = state.origin;
  view.mode = state.mode;
  view.reqid = state.reqid;
  view.if_id = state.if_id;
  view.number = entry.sa->number;
  view.transform = state.transform;
  view.replay_window = state.replay_window;
  view.esn = state.esn;
  view.encapsulation = state.encapsulation;
  view.lifetime = state.lifetime;
  view.age_s = options_.now_s() - entry.added_s;
  view.soft_expired = entry.soft_expired;
  view.expired = entry.expired;
  view.path_mtu = entry.sa->path_mtu(options_.now_s());
  view.usage = usage_of(*entry.sa);
  if (options_.nic != nullptr) view.nic = options_.nic->use(*entry.sa);
  for (size_t i = 0; i < view.drops.size(); ++i) view.drops[i] = entry.sa->drops[i].load(kRelaxed);
  if (view.usage.first_used_s != 0) view.used_s = options_.now_s() - view.usage.first_used_s;
  view.bytes_per_s = entry.bytes_per_s;
  view.packets_per_s = entry.packets_per_s;
  return view;
}

std::vector<SaView> Ipsec::sas() const {
  std::vector<SaView> views;
  views.reserve(sas_.size());
  std::unordered_map<const esp::Sa*, uint32_t> policies;
  for (const auto& [key, entry] : policies_)
    if (const esp::Sa* sa = entry.live->sa.load(kRelaxed)) ++policies[sa];
  for (const auto& [id, entry] : sas_) {
    views.push_back(view(entry));
    const auto protects = policies.find(entry.sa.get());
    if (protects != policies.end()) views.back().policies = protects->second;
  }
  std::sort(views.begin(), views.end(),
            [](const SaView& a, const SaView& b) { return a.id < b.id; });
  return views;
}

void Ipsec::each_key(const std::function<void(const SaState&, const esp::Keys&)>& call) const {
  std::map<SaId, const Entry*> sorted;
  for (const auto& [id, entry] : sas_) sorted.emplace(id, &entry);
  for (const auto& [id, entry] : sorted) call(entry->state, *entry->keys);
}

std::optional<SaView> Ipsec::find(const SaId& id) const {
  const auto at = sas_.find(id);
  if (at == sas_.end()) return std::nullopt;
  return view(at->second);
}

std::vector<PolicyView> Ipsec::policies() const {
  std::vector<PolicyView> views;
  views.reserve(policies_.size());
  for (const Direction& direction : directions_) {
    for (const auto& [rank, entry] : direction.order) {
      PolicyView view{entry->policy, entry->live->packets.load(kRelaxed), std::nullopt};
      // Of this thread's own making: nothing that it points at is destroyed meanwhile.
      if (const esp::Sa* sa = entry->live->sa.load(kRelaxed)) view.sa = sa->id;
      views.push_back(std::move(view));
    }
  }
  return views;
}

IpsecStatistics Ipsec::statistics() const {
  IpsecStatistics statistics = statistics_;
  statistics.sas = static_cast<uint32_t>(sas_.size());
  statistics.policies = static_cast<uint32_t>(policies_.size());
  statistics.policies_without_sa = without_sa_;
  statistics.max_sas = options_.max_sas;
  statistics.max_policies = options_.max_policies;
  return statistics;
}

}  // namespace hecto::router
