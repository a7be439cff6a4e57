// NAT of what goes out.
#include "router/dataplane/core/wakeup.hpp"
#include "router/dataplane/nat/icmp_error.hpp"
#include "router/dataplane/stages/framed_ip.hpp"
#include "router/dataplane/stages/nat.hpp"
#include "router/dataplane/stages/rewrite.hpp"

namespace hecto::router {
namespace {

using lookup::NextHopRecord;
using lookup::RecordKind;
using nat::End;
using nat::Kind;

constexpr uint8_t kOutwardFragment = 3;  // asked of a share's fragments
constexpr uint8_t kResetFlag = 0x04;

// Whether rewrite will send it as it is; what it refuses has to be as it came.
bool leaves(const uint8_t* ip, uint32_t bytes, const NextHopRecord& record) noexcept {
  const bool uncut = (ip[6] & 0x40) != 0;
  return ip[8] > 1 && (bytes <= record.mtu || !uncut);
}

}  // namespace

// Of a multipath the member that it hashes to, which it keeps: what is hashed is about to change.
const NextHopRecord& NatStage::way_out(Lane4& lane, unsigned at) noexcept {
  const lookup::NextHopView& hops = views_->next_hops;
  const NextHopRecord& record = hops.record(lane.groups[at]);
  if (record.kind != RecordKind::kMultipath) [[likely]]
    return record;
  const Where4 packet = where(lane, at);
  const uint32_t hash = flow_hash4(lane.packets[at], packet.ip, packet.bytes, snapshot_->ecmp_seed);
  lookup::GroupId group;
  __atomic_load(&hops.buckets[record.bucket_offset + (hash & record.bucket_mask)], &group,
                __ATOMIC_ACQUIRE);
  const NextHopRecord& member = hops.record(group);
  if (lookup::leaves_by_port(member.kind) && tables_->set_of[member.interface] != 0)
    lane.groups[at] = group;
  return member;
}

void NatStage::out(Lane4& lane, Chunk& chunk) noexcept {
  if (lane.count == 0) return;
  begin(lane.count);
  const NatTables& tables = *tables_;
  for (unsigned i = 0; i < lane.count; ++i) {
    const NextHopRecord& record = way_out(lane, i);
    if (!lookup::leaves_by_port(record.kind)) continue;
    const uint8_t set_number = tables.set_of[record.interface];
    if (set_number == 0) continue;
    const nat::InsideSet& set = tables.sets[set_number - 1];
    const Where4 packet = where(lane, i);
    const uint32_t source = load32_native(packet.ip + 12);
    const nat::Range* const range = set.inside.find(__builtin_bswap32(source));
    if (range == nullptr && packet.ip[9] != nat::kIcmp) continue;
    if (!leaves(packet.ip, lane.packets[i]->pkt_len - lane.ingress[i].l2_length(), record))
        [[unlikely]]
      continue;
    const nat::InsideRule* const rule = range == nullptr ? nullptr : &tables.rules[range->index];
    if (rule != nullptr && rule->one_to_one && packet.ip[9] != nat::kIcmp) {
      nat::rewrite_address(packet.ip, packet.bytes, End::kSource, rule->map.to_outside(source),
                           rule->map.delta);
      continue;
    }
    const nat::Ipv4Packet read = nat::read_packet(packet.ip, packet.bytes);
    if (read.kind == Kind::kError) [[unlikely]] {
      out_error(packet, set);
      continue;
    }
    if (rule == nullptr) continue;
    if (rule->one_to_one) {
      nat::rewrite_address(packet.ip, packet.bytes, End::kSource, rule->map.to_outside(source),
                           rule->map.delta);
      continue;
    }
    const nat::Layout& layout = tables.pools[rule->pool].pool->layout();
    if (const uint32_t owner = layout.worker_of_host(source); owner != worker_) [[unlikely]] {
      hand(packet, owner, NatStep::kReceived);
      continue;
    }
    if (read.kind > Kind::kLater || read.kind == Kind::kOther) [[unlikely]] {
      refuse(i, Reason::kNatUnknown, rule->pool);
      continue;
    }
    Job& job = jobs_[job_count_++];
    job.at = static_cast<uint16_t>(i);
    job.pool = rule->pool;
    job.kind = read.kind;
    job.first_fragment = read.first_fragment;
    job.flags = read.kind == Kind::kTcp ? packet.ip[nat::kHeaderBytes + 13] : uint8_t{0};
    job.address = source;
    job.port = read.source;
    job.peer = load32_native(packet.ip + 16);
    if (read.kind == Kind::kLater) [[unlikely]]
      continue;
    job.hash = share(rule->pool).hash_of(job.address, job.port, job.kind);
    share(rule->pool).prefetch_inside(job.hash);
  }
  if (job_count_ > 0) {
    for (unsigned i = 0; i < job_count_; ++i)
      if (jobs_[i].kind != Kind::kLater)
        share(jobs_[i].pool).prefetch_inside_session(jobs_[i].hash);
    for (unsigned i = 0; i < job_count_; ++i) {
      const Job& job = jobs_[i];
      const Where4 packet = where(lane, job.at);
      const Reason reason = translate_out(job, packet.ip, packet.bytes);
      if (reason != Reason::kNone) [[unlikely]]
        refuse(job.at, reason, job.pool);
    }
  }
  finish(lane, chunk);
}

Reason NatStage::translate_out(const Job& job, uint8_t* ip, uint32_t bytes) noexcept {
  nat::Share& mine = share(job.pool);
  if (job.kind == Kind::kLater) [[unlikely]] {
    const nat::Session* const session =
        mine.find_fragment(nat::fragment_key(ip, kOutwardFragment), now_s_);
    if (session == nullptr) return Reason::kNatFragment;
    nat::rewrite_address(ip, bytes, End::kSource, session->outside, session->address_delta);
    return Reason::kNone;
  }
  nat::Session* session = mine.find_inside(job.hash, job.address, job.port, job.kind);
  if (session == nullptr) [[unlikely]] {
    // What ends a connection begins none.
    if (job.kind == Kind::kTcp && (job.flags & kResetFlag) != 0) return Reason::kNatNoSession;
    const Reason reason = mine.open(job.hash, job.address, job.port, job.kind,
                                    tables_->pools[job.pool].limits, now_s_, session);
    if (reason != Reason::kNone) return reason;
  }
  mine.sent(*session, job.flags, job.peer, now_s_);
  if (job.first_fragment) [[unlikely]]
    mine.remember(nat::fragment_key(ip, kOutwardFragment), *session, now_s_);
  nat::rewrite_end(ip, End::kSource, job.kind, session->outside, session->outside_port,
                   session->address_delta, session->upper_delta);
  return Reason::kNone;
}

Reason NatStage::out_alone(uint8_t* ip, uint32_t bytes, uint16_t pool) noexcept {
  const nat::Ipv4Packet read = nat::read_packet(ip, bytes);
  if (read.kind >= Kind::kError && read.kind != Kind::kLater) return Reason::kNatUnknown;
  Job job{};
  job.pool = pool;
  job.kind = read.kind;
  job.first_fragment = read.first_fragment;
  if (read.kind == Kind::kTcp) job.flags = ip[nat::kHeaderBytes + 13];
  job.address = load32_native(ip + 12);
  job.port = read.source;
  job.peer = load32_native(ip + 16);
  if (read.kind != Kind::kLater) job.hash = share(pool).hash_of(job.address, job.port, job.kind);
  return translate_out(job, ip, bytes);
}

// About a packet that came in (RFC 5508 §4.2, §4.3). From a router inside it has the outside address
// of who it is about, from the router itself its own.
Reason NatStage::translate_error(uint8_t* ip, uint32_t bytes, const nat::InsideSet& set,
                                 unsigned& owner) noexcept {
  const uint32_t source = load32_native(ip + 12);
  const nat::Range* const outer_range = set.inside.find(__builtin_bswap32(source));
  const nat::InsideRule* const outer =
      outer_range == nullptr ? nullptr : &tables_->rules[outer_range->index];
  const auto embedded = nat::find_embedded(ip, bytes);
  const nat::Range* const range =
      embedded ? set.inside.find(__builtin_bswap32(embedded->destination)) : nullptr;
  uint32_t outside = 0;
  if (range == nullptr) {
    if (outer == nullptr) return Reason::kNone;
    if (!outer->one_to_one) return embedded ? Reason::kNatNoSession : Reason::kNatUnknown;
  } else if (const nat::InsideRule& inner = tables_->rules[range->index]; inner.one_to_one) {
    outside = inner.map.to_outside(embedded->destination);
    nat::rewrite_embedded(ip, *embedded, End::kDestination, outside, std::nullopt);
  } else {
    owner = tables_->pools[inner.pool].pool->layout().worker_of_host(embedded->destination);
    if (owner != worker_ || !has_shares_) return kGone;
    nat::Share& mine = share(inner.pool);
    const nat::Session* session = nullptr;
    if (embedded->kind <= Kind::kQuery)
      session = mine.find_inside(
          mine.hash_of(embedded->destination, embedded->destination_port, embedded->kind),
          embedded->destination, embedded->destination_port, embedded->kind);
    if (session == nullptr) return outer == nullptr ? Reason::kNone : Reason::kNatNoSession;
    outside = session->outside;
    nat::rewrite_embedded(ip, *embedded, End::kDestination, outside, session->outside_port);
  }
  if (outer == nullptr) return Reason::kNone;
  if (outer->one_to_one) outside = outer->map.to_outside(source);
  nat::rewrite_address(ip, bytes, End::kSource, outside, delta32(source, outside));
  return Reason::kNone;
}

void NatStage::out_error(const Where4& packet, const nat::InsideSet& set) noexcept {
  unsigned owner = worker_;
  const Reason reason = translate_error(packet.ip, packet.bytes, set, owner);
  if (reason == kGone)
    hand(packet, owner, NatStep::kReceived);
  else if (reason != Reason::kNone)
    refuse(packet.at, reason);
}

// ---- What Linux forwards or says ----

Reason NatStage::leave_for_linux(uint8_t* ip, const NatHanded& handed) noexcept {
  const uint32_t bytes = handed.packet->data_len - handed.ingress.l2_length();
  const uint8_t set_number = tables_->set_of[handed.ingress.interface()];
  if (set_number == 0) return Reason::kNatHandover;
  const nat::InsideSet& set = tables_->sets[set_number - 1];
  if (nat::read_packet(ip, bytes).kind == Kind::kError) {
    unsigned owner = worker_;
    const Reason reason = translate_error(ip, bytes, set, owner);
    return reason == kGone ? Reason::kNatHandover : reason;
  }
  const nat::Range* const range = set.inside.find(load32_be(ip + 12));
  if (range == nullptr || tables_->rules[range->index].one_to_one) return Reason::kNatHandover;
  const uint16_t pool = tables_->rules[range->index].pool;
  if (tables_->pools[pool].pool->layout().worker_of_host(load32_native(ip + 12)) != worker_)
    return Reason::kNatHandover;
  const Reason reason = out_alone(ip, bytes, pool);
  if (reason != Reason::kNone) share(pool).refused(reason).add(1);
  return reason;
}

std::optional<Reason> NatStage::from_linux(rte_mbuf* packet, const FramedIp& frame,
                                           InterfaceId interface) noexcept {
  const uint8_t set_number = interface < kMaxInterfaces ? tables_->set_of[interface] : uint8_t {
    0
  };
  if (set_number == 0 || frame.ip == nullptr || frame.damaged) return Reason::kNone;
  const nat::InsideSet& set = tables_->sets[set_number - 1];
  uint8_t* const ip = rte_pktmbuf_mtod_offset(packet, uint8_t*, frame.l2_bytes);
  if (frame.family == lookup::Family::kIpv6) {
    for (const nat::Prefix6& prefix : set.prefixes)
      if (prefix.is_inside(ip + 8) && !prefix.to_outside(ip + 8)) return Reason::kNatUnknown;
    return Reason::kNone;
  }
  const nat::Range* const range = set.inside.find(load32_be(ip + 12));
  const Kind kind = nat::read_packet(ip, frame.bytes).kind;
  unsigned owner = worker_;
  if (kind == Kind::kError) {
    const Reason reason = translate_error(ip, frame.bytes, set, owner);
    if (reason != kGone) return reason;
  } else if (range == nullptr) {
    return Reason::kNone;
  } else if (const nat::InsideRule& rule = tables_->rules[range->index]; rule.one_to_one) {
    nat::rewrite_address(ip, frame.bytes, End::kSource, rule.map.to_outside(load32_native(ip + 12)),
                         rule.map.delta);
    return Reason::kNone;
  } else {
    owner = tables_->pools[rule.pool].pool->layout().worker_of_host(load32_native(ip + 12));
  }
  if (!frame.whole || owner >= tables_->rings.size()) return Reason::kNatUnknown;
  NatHanded handed{packet, {interface, frame.l2_bytes}, NatStep::kFromLinux};
  const nat::HandoverRing& to = tables_->rings[owner];
  if (rte_ring_mp_enqueue_elem(to.ring, &handed, sizeof handed) != 0) return Reason::kNatHandover;
  if (to.owner != nullptr) to.owner->ring();
  return std::nullopt;
}

}  // namespace hecto::router
