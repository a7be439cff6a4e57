#include "router/ipsec/sa_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "router/ipsec/key_hash.hpp"

namespace hecto::router {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
// Without ESN the last number is 2^32 - 1: time enough to rekey at 10 Mpps.
constexpr uint64_t kSoftSequence = 0xc0000000;

// The same SA in all but what counts while it lives.
bool same(const SaState& a, const SaState& b) {
  return a.source == b.source && a.origin == b.origin && a.mode == b.mode && a.reqid == b.reqid &&
         a.if_id == b.if_id && a.transform == b.transform && a.replay_window == b.replay_window &&
         a.esn == b.esn && a.encapsulation == b.encapsulation && a.lifetime == b.lifetime &&
         a.selector == b.selector && a.copy_dscp == b.copy_dscp &&
         a.copy_dont_fragment == b.copy_dont_fragment && a.ecn == b.ecn && a.tfc_pad == b.tfc_pad;
}

// Of an SA that has to be made anew with the keys it had.
void continue_numbers(const esp::Sa& from, SaState& state) {
  state.sequence =
      std::max(state.sequence, from.sequence.load(kRelaxed) + SaHistory::kSequenceMargin);
  state.replay_sequence = std::max(state.replay_sequence, from.replay.top());
}

void copy_use(const esp::Sa& from, esp::Sa& to) {
  to.bytes.store(from.bytes.load(kRelaxed), kRelaxed);
  to.packets.store(from.packets.load(kRelaxed), kRelaxed);
  to.first_used_s.store(from.first_used_s.load(kRelaxed), kRelaxed);
  to.last_used_s.store(from.last_used_s.load(kRelaxed), kRelaxed);
}

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

void sample_rates(SaEntry& entry, const SaUsage& usage, uint32_t now_s) {
  if (now_s <= entry.sampled_s) return;
  const uint32_t passed_s = now_s - entry.sampled_s;
  entry.bytes_per_s = (usage.bytes - entry.sampled_bytes) / passed_s;
  entry.packets_per_s = (usage.packets - entry.sampled_packets) / passed_s;
  entry.sampled_s = now_s;
  entry.sampled_bytes = usage.bytes;
  entry.sampled_packets = usage.packets;
}

// Of the limit that is nearest, without those of time.
double used_share(const SaEntry& entry, const SaUsage& usage) {
  const SaLifetime& lifetime = entry.state.lifetime;
  const auto share = [](uint64_t used, uint64_t limit) {
    return static_cast<double>(used) / static_cast<double>(limit);
  };
  const uint64_t sequence = entry.state.esn ? 0 : std::max(usage.sequence, usage.replay_top);
  return std::max({share(usage.bytes, lifetime.hard_bytes),
                   share(usage.packets, lifetime.hard_packets), share(sequence, UINT32_MAX)});
}

// The limit that is over, if any. Times of 0 are no limit.
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

// Hard before soft, each once. How long an SA of Linux's was there is Linux's own business.
std::optional<Expiry> check_lifetime(SaEntry& entry, const SaUsage& usage, uint32_t now_s) {
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

}  // namespace

size_t SaTable::Hash::operator()(const SaId& id) const {
  return mix(mix(0, id.destination), id.spi);
}

SaTable::SaTable(const IpsecOptions& options, Templates& templates)
    : options_(options),
      templates_(templates),
      sad_(options.max_sas, *options.readers),
      peers_(options.max_sas),
      history_(2 * size_t{options.max_sas}) {}

const SaEntry* SaTable::find(const SaId& id) const {
  const auto at = entries_.find(id);
  return at == entries_.end() ? nullptr : &at->second;
}

void SaTable::continue_left(SaState& state, uint64_t print) const {
  for (const SaNumbers& numbers : left_) {
    if (numbers.id != state.id || numbers.fingerprint != print) continue;
    state.sequence = std::max(state.sequence, numbers.sequence);
    state.replay_sequence = std::max(state.replay_sequence, numbers.replay_sequence);
  }
}

// For an SA with these keys that comes back, in this process or the next.
void SaTable::remember(const SaEntry& entry) {
  if (entry.state.origin == RouteOrigin::kLinux) return;
  const SaUsage usage = usage_of(*entry.sa);
  const SaId& id = entry.state.id;
  std::erase_if(left_, [&](const SaNumbers& one) {
    return one.id == id && one.fingerprint == entry.fingerprint;
  });
  if (left_.size() >= kMostLeft) left_.erase(left_.begin());
  left_.push_back(
      {id, entry.fingerprint, usage.sequence + SaHistory::kSequenceMargin, usage.replay_top});
}

std::vector<SaNumbers> SaTable::numbers() const {
  std::vector<SaNumbers> all;
  for (const auto& [id, entry] : entries_) {
    if (entry.state.origin == RouteOrigin::kLinux) continue;
    const SaUsage usage = usage_of(*entry.sa);
    all.push_back({id, entry.fingerprint, usage.sequence, usage.replay_top});
  }
  for (const SaNumbers& left : left_) {
    const auto at = entries_.find(left.id);
    if (at == entries_.end() || at->second.fingerprint != left.fingerprint) all.push_back(left);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.id < b.id; });
  return all;
}

Result<bool> SaTable::put(SaState state) {
  const auto at = entries_.find(state.id);
  const bool there = at != entries_.end();
  const bool same_keys =
      there && *at->second.keys == state.keys && at->second.state.transform == state.transform;
  if (same_keys && same(at->second.state, state)) {
    at->second.generation = generation_;
    return true;
  }
  if (!there && entries_.size() == options_.max_sas)
    return fail(
        fmt::format("there are {} SAs already, as many as ipsec.max_sas allows", entries_.size()),
        ENOSPC);
  if (same_keys)
    continue_numbers(*at->second.sa, state);
  else
    history_.resume(state, options_.now_s());
  const bool ours = state.origin != RouteOrigin::kLinux;
  const uint64_t print = ours ? fingerprint(state.transform, state.keys) : 0;
  if (ours && !same_keys) continue_left(state, print);
  std::shared_ptr<const esp::Keys> keys = esp::keep_keys(state.keys);
  if (keys == nullptr)
    return fail(fmt::format("SA {}: no memory for its keys", to_string(state.id)), ENOMEM);
  auto made = make(state);
  if (!made) return tl::unexpected(made.error());
  if (auto inserted = sad_.insert(made->get()); !inserted) {
    release(**made);
    return tl::unexpected(inserted.error());
  }
  SaEntry& entry = there ? at->second : entries_[state.id];
  if (there) {
    count(entry, usage_of(*entry.sa));
    templates_.remove(entry);
    peers_.remove(entry.state.source);
    if (same_keys)
      copy_use(*entry.sa, **made);
    else
      remember(entry);
    retire(std::move(entry.sa));
  }
  entry.keys = std::move(keys);
  entry.fingerprint = print;
  entry.state = std::move(state);
  entry.state.keys.wipe();
  peers_.add(entry.state.source);
  entry.sa = std::move(*made);
  entry.serial = ++serial_;
  if (!same_keys) {
    entry.added_s = entry.sampled_s = options_.now_s();
    entry.counted_bytes = entry.counted_packets = 0;
    entry.sampled_bytes = entry.sampled_packets = entry.bytes_per_s = entry.packets_per_s = 0;
  }
  entry.generation = generation_;
  entry.soft_expired = entry.expired = false;
  templates_.add(entry);
  if (options_.nic != nullptr) options_.nic->add(*entry.sa, entry.keys);
  return there;
}

Result<std::unique_ptr<esp::Sa>> SaTable::make(const SaState& state) {
  auto made = esp::Sa::create(state, options_.crypto);
  if (!made) return made;
  if (free_numbers_.empty()) {
    (*made)->number = next_number_++;
  } else {
    (*made)->number = free_numbers_.back();
    free_numbers_.pop_back();
  }
  if (options_.device_keys != nullptr)
    (*made)->device_key = options_.device_keys->add(state.transform, state.keys);
  return made;
}

void SaTable::release(const esp::Sa& sa) {
  free_numbers_.push_back(sa.number);
  if (sa.device_key != esp::kNoDeviceKey) options_.device_keys->remove(sa.device_key);
  if (options_.nic != nullptr) options_.nic->forget(sa);
}

void SaTable::retire(std::unique_ptr<esp::Sa> sa) {
  if (options_.nic != nullptr) options_.nic->leave(*sa);
  removed_.push_back(std::move(sa));
}

void SaTable::remove(const SaId& id) {
  if (const auto at = entries_.find(id); at != entries_.end()) remove(at);
}

void SaTable::remove(Map::iterator at) {
  SaEntry& entry = at->second;
  count(entry, usage_of(*entry.sa));
  sad_.remove(entry.state.id);
  peers_.remove(entry.state.source);
  history_.record(entry.state, *entry.sa, options_.now_s());
  remember(entry);
  templates_.remove(entry);
  retire(std::move(entry.sa));
  entries_.erase(at);
}

size_t SaTable::remove_if(const std::function<bool(const SaEntry&)>& which) {
  const size_t before = entries_.size();
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto next = std::next(at);
    if (which(at->second)) remove(at);
    at = next;
  }
  return before - entries_.size();
}

void SaTable::flush(RouteOrigin origin) {
  remove_if([origin](const SaEntry& entry) { return entry.state.origin == origin; });
}

size_t SaTable::end_resync() {
  return remove_if([this](const SaEntry& entry) {
    return entry.state.origin == RouteOrigin::kLinux && entry.generation != generation_;
  });
}

// What workers did since it was counted last.
void SaTable::count(SaEntry& entry, const SaUsage& usage) {
  totals_.bytes += usage.bytes - std::exchange(entry.counted_bytes, usage.bytes);
  totals_.packets += usage.packets - std::exchange(entry.counted_packets, usage.packets);
}

std::vector<Expiry> SaTable::expire(uint32_t now_s) {
  std::vector<Expiry> expiries;
  totals_.soft_expired = totals_.expired = 0;
  totals_.most_used = 0;
  for (auto& [id, entry] : entries_) {
    const SaUsage usage = usage_of(*entry.sa);
    count(entry, usage);
    sample_rates(entry, usage, now_s);
    auto expiry = check_lifetime(entry, usage, now_s);
    if (!entry.expired) totals_.most_used = std::max(totals_.most_used, used_share(entry, usage));
    totals_.expired += entry.expired;
    totals_.soft_expired += entry.soft_expired && !entry.expired;
    if (!expiry) continue;
    expiries.push_back(*expiry);
    templates_.changed(entry);
  }
  for (const Expiry& expiry : expiries) {
    if (!expiry.hard || expiry.origin == RouteOrigin::kLinux) continue;
    options_.log(LogLevel::kWarning, fmt::format("ipsec: SA {} is over ({}) and dropped",
                                                 to_string(expiry.id), to_string(expiry.cause)));
    remove(expiry.id);
  }
  history_.drop_old(now_s);
  return expiries;
}

void SaTable::offer_to_nics() {
  if (options_.nic == nullptr) return;
  for (auto& [id, entry] : entries_) options_.nic->add(*entry.sa, entry.keys);
}

std::optional<SaUsage> SaTable::usage(const SaId& id, bool with_bitmap) const {
  const SaEntry* entry = find(id);
  if (entry == nullptr) return std::nullopt;
  const esp::Sa& sa = *entry->sa;
  SaUsage usage = usage_of(sa);
  if (!with_bitmap) return usage;
  const uint32_t window = sa.replay.window();
  usage.replay_bitmap.resize((window + 31) / 32);
  for (uint32_t i = 0; i < window && i < usage.replay_top; ++i)
    if (sa.replay.check(usage.replay_top - i) == esp::ReplayWindow::Verdict::kSeen)
      usage.replay_bitmap[i / 32] |= 1u << i % 32;
  return usage;
}

SaView SaTable::view(const SaEntry& entry) const {
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

std::vector<SaView> SaTable::views(
    const std::unordered_map<const esp::Sa*, uint32_t>& policies) const {
  std::vector<SaView> views;
  views.reserve(entries_.size());
  for (const auto& [id, entry] : entries_) {
    views.push_back(view(entry));
    const auto protects = policies.find(entry.sa.get());
    if (protects != policies.end()) views.back().policies = protects->second;
  }
  std::sort(views.begin(), views.end(),
            [](const SaView& a, const SaView& b) { return a.id < b.id; });
  return views;
}

void SaTable::each_key(const std::function<void(const SaState&, const esp::Keys&)>& call) const {
  std::map<SaId, const SaEntry*> sorted;
  for (const auto& [id, entry] : entries_) sorted.emplace(id, &entry);
  for (const auto& [id, entry] : sorted) call(entry->state, *entry->keys);
}

}  // namespace hecto::router
