// NAT of what comes in, and what both ways share.
#include "router/dataplane/stages/nat.hpp"

#include <algorithm>

#include "router/dataplane/core/wakeup.hpp"
#include "router/dataplane/nat/icmp_error.hpp"
#include "router/dataplane/stages/vrf_tables.hpp"

namespace hecto::router {
namespace {

using nat::End;
using nat::Kind;

// What is asked of a share's fragments.
constexpr uint8_t kWhoseFragment = 1, kInwardFragment = 2;

uint32_t fragment_home(const nat::Layout& layout, const uint8_t* ip) noexcept {
  const uint32_t mixed =
      load32_native(ip + 12) ^ load32_native(ip + 16) * 31u ^ load16_native(ip + 4) * 0x10001u;
  return layout.worker_of_host(mixed);
}

template <typename Address>
void keep(Lane<Address>& lane, unsigned kept, unsigned at) noexcept {
  if (kept == at) return;
  lane.packets[kept] = lane.packets[at];
  lane.destinations[kept] = lane.destinations[at];
  lane.groups[kept] = lane.groups[at];
  lane.ingress[kept] = lane.ingress[at];
}

}  // namespace

void NatStage::use(const Snapshot& snapshot, const TableViews& tables, unsigned worker) noexcept {
  snapshot_ = &snapshot;
  tables_ = snapshot.nat.get();
  views_ = &tables;
  worker_ = worker;
  hz_ = std::max<uint64_t>(rte_get_tsc_hz(), 1);
  has_shares_ = false;
  if (tables_ == nullptr) return;
  for (size_t i = 0; i < tables_->pools.size(); ++i) {
    const nat::Pool& pool = *tables_->pools[i].pool;
    has_shares_ = worker < pool.workers();  // the slow path has none
    shares_[i] = has_shares_ ? &pool.share(worker) : nullptr;
  }
}

// All places of a share within ten seconds.
void NatStage::tick(uint64_t tsc) noexcept {
  constexpr uint64_t kTicks = 1000, kRound = 10 * kTicks, kMostPlaces = 8192;
  const uint64_t since = tsc - ticked_;
  if (since < hz_ / kTicks) return;
  ticked_ = tsc;
  now_s_ = static_cast<uint32_t>(tsc / hz_);
  if (!has_shares_) return;
  const uint64_t ticks = std::min(since / (hz_ / kTicks), kRound);
  for (size_t i = 0; i < tables_->pools.size(); ++i) {
    const auto keeps = [&](uint32_t inside) {
      const uint32_t address = __builtin_bswap32(inside);
      for (const nat::InsideSet& set : tables_->sets)
        if (const nat::Range* range = set.inside.find(address))
          if (const nat::InsideRule& rule = tables_->rules[range->index];
              !rule.one_to_one && rule.pool == i)
            return true;
      return false;
    };
    const uint64_t places = shares_[i]->capacity() * ticks / kRound + 1;
    shares_[i]->expire(static_cast<uint32_t>(std::min(places, kMostPlaces)),
                       tables_->pools[i].limits.timeouts, now_s_, keeps);
  }
}

// ---- Lanes ----

void NatStage::begin(unsigned count) noexcept {
  any_gone_ = false;
  job_count_ = pending_count_ = 0;
  std::fill(reasons_, reasons_ + count, Reason::kNone);
}

template <typename Address>
void NatStage::finish(Lane<Address>& lane, Chunk& chunk) noexcept {
  if (pending_count_ > 0) send_handed(chunk);
  if (!any_gone_) [[likely]]
    return;
  unsigned kept = 0;
  for (unsigned i = 0; i < lane.count; ++i) {
    if (reasons_[i] == Reason::kNone)
      keep(lane, kept++, i);
    else if (reasons_[i] != kGone)
      chunk.refuse(lane.packets[i], reasons_[i], lane.ingress[i].interface());
  }
  lane.count = kept;
}
template void NatStage::finish(Lane4& lane, Chunk& chunk) noexcept;
template void NatStage::finish(Lane6& lane, Chunk& chunk) noexcept;

void NatStage::hand(const Where4& packet, unsigned worker, NatStep step) noexcept {
  // Nothing goes round: who got it as his own does not send it on, but for a hairpin's second half.
  const bool again = handed_ && step != NatStep::kHairpin &&
                     !(step == NatStep::kOwned && steps_[packet.at] == NatStep::kFragment);
  if (again || worker >= tables_->rings.size()) {
    refuse(packet.at, Reason::kNatHandover);
    return;
  }
  refuse(packet.at, kGone);
  pending_[pending_count_++] = {
      {packet.lane.packets[packet.at], packet.lane.ingress[packet.at], step}, worker};
}

// All of one worker at once; in order.
void NatStage::send_handed(Chunk& chunk) noexcept {
  NatHanded burst[kChunkSize];
  while (pending_count_ > 0) {
    const unsigned worker = pending_[0].worker;
    unsigned count = 0, rest = 0;
    for (unsigned i = 0; i < pending_count_; ++i)
      if (pending_[i].worker == worker)
        burst[count++] = pending_[i].handed;
      else
        pending_[rest++] = pending_[i];
    pending_count_ = rest;
    const nat::HandoverRing& to = tables_->rings[worker];
    const unsigned taken =
        rte_ring_mp_enqueue_burst_elem(to.ring, burst, sizeof(NatHanded), count, nullptr);
    for (unsigned i = taken; i < count; ++i)
      chunk.refuse(burst[i].packet, Reason::kNatHandover, burst[i].ingress.interface());
    if (to.owner != nullptr) to.owner->ring();
  }
}

// ---- Inwards ----

bool NatStage::is_inside(uint8_t set, const uint8_t* ip) const noexcept {
  return tables_->sets[set - 1].inside.find(load32_be(ip + 12)) != nullptr;
}

void NatStage::unmapped(const Where4& packet, Reason reason, const nat::OutsideUse& use) noexcept {
  const VrfTables tables(*views_, snapshot_->rules.get());
  const InterfaceId interface = packet.lane.ingress[packet.at].interface();
  if (tables.is_own(interface, lookup::Family::kIpv4, packet.ip + 16)) return;
  if (use.one_to_one)
    refuse(packet.at, reason);
  else
    refuse(packet.at, reason, use.pool);
}

void NatStage::in(Lane4& lane, Chunk& chunk) noexcept {
  if (lane.count == 0) return;
  begin(lane.count);
  const NatTables& tables = *tables_;
  for (unsigned i = 0; i < lane.count; ++i) {
    if (handed_ && steps_[i] == NatStep::kHairpin) [[unlikely]] {
      // Where it came from may have another set by now: then it is not inside any more.
      const uint8_t* const ip = where(lane, i).ip;
      for (size_t set = 1; set <= tables.sets.size(); ++set)
        if (is_inside(static_cast<uint8_t>(set), ip)) {
          hairpin(where(lane, i), static_cast<uint8_t>(set));
          break;
        }
      continue;
    }
    const nat::Range* const range = tables.outside.find(lane.destinations[i]);
    if (range == nullptr) continue;
    const nat::OutsideUse& use = tables.uses[range->index];
    if (use.one_to_one)
      in_one_to_one(where(lane, i), use);
    else
      in_pool(where(lane, i), use, use.place + lane.destinations[i] - range->first);
  }
  if (job_count_ > 0) {
    for (unsigned i = 0; i < job_count_; ++i)
      if (jobs_[i].kind != Kind::kLater)
        share(jobs_[i].pool).prefetch_outside_session(jobs_[i].hash);
    for (unsigned i = 0; i < job_count_; ++i) in_job(jobs_[i], where(lane, jobs_[i].at));
  }
  finish(lane, chunk);
}

void NatStage::in_one_to_one(const Where4& packet, const nat::OutsideUse& use) noexcept {
  if (packet.ip[9] == nat::kIcmp && nat::read_packet(packet.ip, packet.bytes).kind == Kind::kError)
      [[unlikely]] {
    in_error(packet, use);
    return;
  }
  const uint32_t inside = use.map.to_inside(load32_native(packet.ip + 16));
  nat::rewrite_address(packet.ip, packet.bytes, End::kDestination, inside,
                       reverse_delta(use.map.delta));
  set_destination(packet, inside);
  const InterfaceId ingress = packet.lane.ingress[packet.at].interface();
  if (tables_->set_of[ingress] != use.set && is_inside(use.set, packet.ip)) [[unlikely]]
    hairpin(packet, use.set);
}

void NatStage::in_pool(const Where4& packet, const nat::OutsideUse& use, uint32_t place) noexcept {
  const nat::Ipv4Packet read = nat::read_packet(packet.ip, packet.bytes);
  const nat::Layout& layout = tables_->pools[use.pool].pool->layout();
  const bool fragment = read.kind == Kind::kLater || read.first_fragment;
  if (fragment && !(handed_ && steps_[packet.at] == NatStep::kOwned)) [[unlikely]] {
    in_fragment(packet, read, use, place);
    return;
  }
  Job& job = jobs_[job_count_];
  job.at = static_cast<uint16_t>(packet.at);
  job.pool = use.pool;
  job.kind = read.kind;
  job.set = use.set;
  job.first_fragment = read.first_fragment;
  job.peer = load32_native(packet.ip + 12);
  switch (read.kind) {
    case Kind::kTcp:
      job.flags = packet.ip[nat::kHeaderBytes + 13];
      break;
    case Kind::kUdp:
    case Kind::kQuery:
      break;
    case Kind::kLater:
      ++job_count_;
      return;
    case Kind::kError:
      in_error(packet, use);
      return;
    default:
      unmapped(packet, Reason::kNatUnknown, use);
      return;
  }
  const uint32_t block = layout.block(place, __builtin_bswap16(read.destination));
  if (block == nat::Layout::kNone) {
    unmapped(packet, Reason::kNatNoSession, use);
    return;
  }
  if (const uint32_t owner = layout.worker_of_block(block); owner != worker_) [[unlikely]] {
    hand(packet, owner, NatStep::kOwned);
    return;
  }
  const InterfaceId ingress = packet.lane.ingress[packet.at].interface();
  job.hairpin = tables_->set_of[ingress] != use.set && is_inside(use.set, packet.ip);
  job.address = load32_native(packet.ip + 16);
  job.port = read.destination;
  job.hash = share(use.pool).hash_of(job.address, job.port, job.kind);
  share(use.pool).prefetch_outside(job.hash);
  ++job_count_;
}

// All fragments of a packet go by one worker, who learns of the first whose the others are.
void NatStage::in_fragment(const Where4& packet, const nat::Ipv4Packet& read,
                           const nat::OutsideUse& use, uint32_t place) noexcept {
  const nat::Layout& layout = tables_->pools[use.pool].pool->layout();
  const bool here = handed_ && steps_[packet.at] == NatStep::kFragment;
  if (const uint32_t home = fragment_home(layout, packet.ip); !here && home != worker_) {
    hand(packet, home, NatStep::kFragment);
    return;
  }
  nat::Fragments& fragments = share(use.pool).fragments();
  const nat::FragmentKey key = nat::fragment_key(packet.ip, kWhoseFragment);
  uint32_t owner = worker_;
  if (read.kind == Kind::kLater) {
    owner = fragments.find(key, now_s_).value;
    if (owner == nat::kNobody) {
      unmapped(packet, Reason::kNatFragment, use);
      return;
    }
  } else if (read.kind < Kind::kError) {
    const uint32_t block = layout.block(place, __builtin_bswap16(read.destination));
    if (block == nat::Layout::kNone) {
      unmapped(packet, Reason::kNatNoSession, use);
      return;
    }
    owner = layout.worker_of_block(block);
    fragments.remember(key, owner, 0, now_s_);
  } else {
    unmapped(packet, Reason::kNatUnknown, use);
    return;
  }
  if (owner != worker_) {
    hand(packet, owner, NatStep::kOwned);
    return;
  }
  Job& job = jobs_[job_count_++];
  job = {};
  job.at = static_cast<uint16_t>(packet.at);
  job.pool = use.pool;
  job.kind = read.kind;
  job.set = use.set;
  job.first_fragment = read.first_fragment;
  job.peer = load32_native(packet.ip + 12);
  if (read.kind == Kind::kLater) return;
  if (read.kind == Kind::kTcp) job.flags = packet.ip[nat::kHeaderBytes + 13];
  job.hairpin = is_inside(use.set, packet.ip);
  job.address = load32_native(packet.ip + 16);
  job.port = read.destination;
  job.hash = share(use.pool).hash_of(job.address, job.port, job.kind);
}

void NatStage::in_job(const Job& job, const Where4& packet) noexcept {
  nat::Share& mine = share(job.pool);
  nat::Session* session = nullptr;
  const auto refused = [&](Reason reason) {
    unmapped(packet, reason, {false, job.pool, job.set, 0, {}});
  };
  if (job.kind == Kind::kLater) [[unlikely]] {
    session = mine.find_fragment(nat::fragment_key(packet.ip, kInwardFragment), now_s_);
    if (session == nullptr) {
      refused(Reason::kNatFragment);
      return;
    }
    nat::rewrite_address(packet.ip, packet.bytes, End::kDestination, session->inside,
                         reverse_delta(session->address_delta));
    set_destination(packet, session->inside);
    return;
  }
  session = mine.find_outside(job.hash, job.address, job.port, job.kind);
  if (session == nullptr || (!job.hairpin && !mine.received(*session, job.flags, job.peer)))
      [[unlikely]] {
    refused(Reason::kNatNoSession);
    return;
  }
  if (job.first_fragment) [[unlikely]]
    mine.remember(nat::fragment_key(packet.ip, kInwardFragment), *session, now_s_);
  nat::rewrite_end(packet.ip, End::kDestination, job.kind, session->inside, session->inside_port,
                   reverse_delta(session->address_delta), reverse_delta(session->upper_delta));
  set_destination(packet, session->inside);
  if (job.hairpin) [[unlikely]]
    hairpin(packet, job.set);
}

// RFC 4787 REQ-9: what came from inside leaves with its outside address (and port).
void NatStage::hairpin(const Where4& packet, uint8_t set) noexcept {
  const nat::Range* const range = tables_->sets[set - 1].inside.find(load32_be(packet.ip + 12));
  const nat::InsideRule& rule = tables_->rules[range->index];
  const uint32_t source = load32_native(packet.ip + 12);
  if (rule.one_to_one) {
    nat::rewrite_address(packet.ip, packet.bytes, End::kSource, rule.map.to_outside(source),
                         rule.map.delta);
    return;
  }
  const nat::Layout& layout = tables_->pools[rule.pool].pool->layout();
  if (const uint32_t owner = layout.worker_of_host(source); owner != worker_) {
    hand(packet, owner, NatStep::kHairpin);
    return;
  }
  const Reason reason = out_alone(packet.ip, packet.bytes, rule.pool);
  if (reason != Reason::kNone) refuse(packet.at, reason, rule.pool);
}

// About a packet that left with an outside address (RFC 5508 §4.2); it does not prolong its session.
void NatStage::in_error(const Where4& packet, const nat::OutsideUse& use) noexcept {
  const auto embedded = nat::find_embedded(packet.ip, packet.bytes);
  if (!embedded) {
    unmapped(packet, Reason::kNatUnknown, use);
    return;
  }
  const uint32_t outside = __builtin_bswap32(embedded->source);
  const nat::Range* const range = tables_->outside.find(outside);
  if (range == nullptr) {
    unmapped(packet, Reason::kNatNoSession, use);
    return;
  }
  const nat::OutsideUse& inner = tables_->uses[range->index];
  uint32_t inside = 0;
  if (inner.one_to_one) {
    inside = inner.map.to_inside(embedded->source);
    nat::rewrite_embedded(packet.ip, *embedded, End::kSource, inside, std::nullopt);
  } else {
    const nat::Layout& layout = tables_->pools[inner.pool].pool->layout();
    const uint32_t block = layout.block(inner.place + outside - range->first,
                                        __builtin_bswap16(embedded->source_port));
    if (embedded->kind > Kind::kQuery || block == nat::Layout::kNone) {
      unmapped(packet, Reason::kNatNoSession, use);
      return;
    }
    if (const uint32_t owner = layout.worker_of_block(block); owner != worker_) {
      hand(packet, owner, NatStep::kOwned);
      return;
    }
    nat::Share& mine = share(inner.pool);
    const nat::Session* const session =
        mine.find_outside(mine.hash_of(embedded->source, embedded->source_port, embedded->kind),
                          embedded->source, embedded->source_port, embedded->kind);
    if (session == nullptr) {
      unmapped(packet, Reason::kNatNoSession, use);
      return;
    }
    inside = session->inside;
    nat::rewrite_embedded(packet.ip, *embedded, End::kSource, inside, session->inside_port);
  }
  if (use.one_to_one) inside = use.map.to_inside(load32_native(packet.ip + 16));
  const uint16_t delta = delta32(load32_native(packet.ip + 16), inside);
  nat::rewrite_address(packet.ip, packet.bytes, End::kDestination, inside, delta);
  set_destination(packet, inside);
}

}  // namespace hecto::router
