// SAs on their way in and out, and which templates they fit.
#include <fmt/format.h>

#include <algorithm>

#include "base/secret_memory.hpp"
#include "router/ipsec/ipsec.hpp"

namespace hecto::router {
namespace {

// How far an SA that is made anew stays behind the numbers of the one before, which workers may
// still give out meanwhile: more than all of them take in a burst.
constexpr uint64_t kSequenceMargin = 1 << 15;

constexpr auto kRelaxed = std::memory_order_relaxed;

uint64_t departed_key(const SaState& state) {
  return uint64_t{state.id.spi} << 32 | state.reqid;
}

// The same SA in all but what counts while it lives.
bool same(const SaState& a, const SaState& b) {
  return a.source == b.source && a.origin == b.origin && a.mode == b.mode && a.reqid == b.reqid &&
         a.if_id == b.if_id && a.transform == b.transform && a.replay_window == b.replay_window &&
         a.esn == b.esn && a.encapsulation == b.encapsulation && a.lifetime == b.lifetime &&
         a.selector == b.selector && a.copy_dscp == b.copy_dscp &&
         a.copy_dont_fragment == b.copy_dont_fragment && a.ecn == b.ecn && a.tfc_pad == b.tfc_pad;
}

void copy_use(const esp::Sa& from, esp::Sa& to) {
  to.bytes.store(from.bytes.load(kRelaxed), kRelaxed);
  to.packets.store(from.packets.load(kRelaxed), kRelaxed);
  to.first_used_s.store(from.first_used_s.load(kRelaxed), kRelaxed);
  to.last_used_s.store(from.last_used_s.load(kRelaxed), kRelaxed);
}

}  // namespace

std::string to_string(const SaId& id) {
  return fmt::format("{} {:#010x}", id.destination.to_string(), id.spi);
}

Result<bool> Ipsec::add_sa(SaState state) {
  const auto at = sas_.find(state.id);
  if (at != sas_.end() && at->second.state.origin != state.origin) {
    return fail(fmt::format("SA {} is there already, from {}; remove it there, or use another SPI",
                            to_string(state.id),
                            at->second.state.origin == RouteOrigin::kLinux  ? "Linux"
                            : at->second.state.origin == RouteOrigin::kFile ? "the file"
                                                                            : "the API"),
                EEXIST);
  }
  return put(std::move(state));
}

Result<void> Ipsec::remove_sa(const SaId& id, RouteOrigin origin) {
  const auto at = sas_.find(id);
  if (at == sas_.end() || at->second.state.origin != origin)
    return fail(fmt::format("there is no SA {}", to_string(id)), ENOENT);
  erase(at);
  return {};
}

void Ipsec::sa(SaState state) {
  const SaId id = state.id;
  state.origin = RouteOrigin::kLinux;
  const auto at = sas_.find(id);
  if (at != sas_.end() && at->second.state.origin != RouteOrigin::kLinux)
    log(LogLevel::kWarning,
        fmt::format("ipsec: Linux has an SA {} of its own: it takes the other's place",
                    to_string(id)));
  auto put = this->put(std::move(state));
  if (put) return;
  ++statistics_.sas_refused;
  sa_removed(id);  // one that Linux replaced must not live on with its old keys
  if (put.error().error_number == ENOSPC)
    tell_once(told_sas_full_, fmt::format("ipsec: SA {} of Linux is left out: {}; others that do "
                                          "not fit are counted",
                                          to_string(id), put.error().message));
  else
    log(LogLevel::kWarning, fmt::format("ipsec: Linux: {}", put.error().message));
}

void Ipsec::sa_removed(const SaId& id) {
  const auto at = sas_.find(id);
  if (at != sas_.end() && at->second.state.origin == RouteOrigin::kLinux) erase(at);
}

void Ipsec::sas_flushed() {
  erase_sas([](const Entry& entry) { return entry.state.origin == RouteOrigin::kLinux; });
}

Result<bool> Ipsec::put(SaState state) {
  const auto at = sas_.find(state.id);
  const bool there = at != sas_.end();
  const bool goes_on =
      there && *at->second.keys == state.keys && at->second.state.transform == state.transform;
  if (goes_on && same(at->second.state, state)) {
    at->second.generation = generation_;
    return true;
  }
  if (!there && sas_.size() == options_.max_sas)
    return fail(
        fmt::format("there are {} SAs already, as many as ipsec.max_sas allows", sas_.size()),
        ENOSPC);
  if (goes_on)
    go_on(state, at->second);
  else
    learn_of_departed(state);
  std::shared_ptr<const esp::Keys> keys = esp::keep_keys(state.keys);
  if (keys == nullptr)
    return fail(fmt::format("SA {}: no memory for its keys", to_string(state.id)), ENOMEM);
  auto made = make(state);
  if (!made) return tl::unexpected(made.error());
  if (auto inserted = sad_.insert(made->get()); !inserted) {
    forget(**made);
    return tl::unexpected(inserted.error());
  }
  Entry& entry = there ? at->second : sas_[state.id];
  if (there) {
    leave_templates(entry);
    if (goes_on) copy_use(*entry.sa, **made);
    retire(std::move(entry.sa));
  }
  entry.keys = std::move(keys);
  entry.state = std::move(state);
  entry.state.keys.wipe();
  entry.sa = std::move(*made);
  entry.serial = ++serial_;
  if (!goes_on) {
    entry.added_s = entry.sampled_s = options_.now_s();
    entry.sampled_bytes = entry.sampled_packets = entry.bytes_per_s = entry.packets_per_s = 0;
  }
  entry.generation = generation_;
  entry.soft_expired = entry.expired = false;
  enter_templates(entry);
  if (options_.nic != nullptr) options_.nic->add(*entry.sa, entry.keys);
  return there;
}

// Of an SA that has to be made anew with the keys it had.
void Ipsec::go_on(SaState& state, const Entry& from) const {
  state.sequence = std::max(state.sequence, from.sa->sequence.load(kRelaxed) + kSequenceMargin);
  state.replay_sequence = std::max(state.replay_sequence, from.sa->replay.top());
}

void Ipsec::learn_of_departed(SaState& state) const {
  const auto departed = departed_.find(departed_key(state));
  if (departed == departed_.end() || departed->second.transform != state.transform ||
      options_.now_s() - departed->second.at_s > kDeparted_s)
    return;
  state.sequence = std::max(state.sequence, departed->second.sequence);
  state.replay_sequence = std::max(state.replay_sequence, departed->second.replay_sequence);
}

Result<std::unique_ptr<esp::Sa>> Ipsec::make(const SaState& state) {
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

// What was given to an SA that nobody holds any more.
void Ipsec::forget(const esp::Sa& sa) {
  free_numbers_.push_back(sa.number);
  if (sa.device_key != esp::kNoDeviceKey) options_.device_keys->remove(sa.device_key);
  if (options_.nic != nullptr) options_.nic->forget(sa);
}

// Out of the SAD now; out of the policies, and out of the workers' hands, with commit().
void Ipsec::erase(Sas::iterator at) {
  Entry& entry = at->second;
  sad_.remove(entry.state.id);
  if (departed_.size() < 2 * size_t{options_.max_sas}) {
    departed_[departed_key(entry.state)] = {entry.sa->sequence.load(kRelaxed) + kSequenceMargin,
                                            entry.sa->replay.top(), entry.state.transform,
                                            options_.now_s()};
  }
  leave_templates(entry);
  retire(std::move(entry.sa));
  sas_.erase(at);
}

void Ipsec::retire(std::unique_ptr<esp::Sa> sa) {
  if (options_.nic != nullptr) options_.nic->leave(*sa);
  leaving_.sas.push_back(std::move(sa));
}

void Ipsec::offer_to_nics() {
  if (options_.nic == nullptr) return;
  for (auto& [id, entry] : sas_) options_.nic->add(*entry.sa, entry.keys);
}

size_t Ipsec::erase_sas(const std::function<bool(const Entry&)>& which) {
  size_t erased = 0;
  for (auto at = sas_.begin(); at != sas_.end();) {
    const auto next = std::next(at);
    if (which(at->second)) {
      erase(at);
      ++erased;
    }
    at = next;
  }
  return erased;
}

// Calls act(template) for all templates that the SA fits: with its reqid and SPI, or any.
template <typename Act>
void Ipsec::with_templates(const Entry& entry, Act act) {
  const SaState& state = entry.state;
  TemplateKey key{state.source, state.id.destination, state.mode, 0, 0, state.if_id};
  for (const bool by_reqid : {false, true}) {
    if (by_reqid && state.reqid == 0) continue;
    for (const bool by_spi : {false, true}) {
      key.reqid = by_reqid ? state.reqid : 0;
      key.spi = by_spi ? state.id.spi : 0;
      act(key);
    }
  }
}

void Ipsec::enter_templates(Entry& entry) {
  with_templates(entry, [&](const TemplateKey& key) {
    auto& of = *templates_.try_emplace(key).first;
    of.second.sas.push_back(&entry);
    touch(of);
  });
}

void Ipsec::leave_templates(Entry& entry) {
  with_templates(entry, [&](const TemplateKey& key) {
    const auto at = templates_.find(key);
    auto& sas = at->second.sas;
    sas.erase(std::lower_bound(sas.begin(), sas.end(), &entry, [](const Entry* a, const Entry* b) {
      return a->serial < b->serial;
    }));
    touch(*at);
  });
}

void Ipsec::touch_templates(const Entry& entry) {
  with_templates(entry, [&](const TemplateKey& key) { touch(*templates_.find(key)); });
}

}  // namespace hecto::router
