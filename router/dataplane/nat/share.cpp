#include "router/dataplane/nat/share.hpp"

#include <new>

namespace hecto::router::nat {
namespace {

constexpr uint8_t kFin = 0x01, kSyn = 0x02, kRst = 0x04;

bool established(uint8_t seen) noexcept {
  const bool both = (seen & (kSeenOut | kSeenIn)) == (kSeenOut | kSeenIn);
  const bool closing = (seen & (kFinOut | kFinIn)) == (kFinOut | kFinIn) || (seen & kReset) != 0;
  return both && !closing;
}

}  // namespace

SharePointer Share::create(const Setup& setup, const uint32_t* outside, lookup::Memory& memory,
                           int socket) {
  void* const block = memory.allocate(sizeof(Share), socket);
  if (block == nullptr) return {nullptr, {}};
  SharePointer share(new (block) Share, {&memory});
  share->by_peer_ = setup.by_peer;
  share->capacity_ = setup.sessions;
  share->outside_addresses_ = outside;
  for (unsigned i = 0; i < 2; ++i) share->secret_[i] = setup.secret[i];
  share->random_ = setup.secret[0] ^ setup.worker * 0x9e3779b97f4a7c15u ^ 1;
  const uint32_t most = setup.sessions;
  if (!share->sessions_.create(most, memory, socket) ||
      !share->inside_.create(most, memory, socket) ||
      !share->outside_.create(most, memory, socket) ||
      !share->blocks_.create(setup.layout, setup.worker, setup.secret, memory, socket) ||
      !share->peers_.create(setup.by_peer ? most : 0, memory, socket) ||
      !share->fragments_.create(memory, socket))
    return {nullptr, {}};
  for (uint32_t number = most; number-- > 0;) {
    share->sessions_[number].next_free = share->free_;
    share->free_ = number;
  }
  return share;
}

void ShareDelete::operator()(Share* share) const noexcept {
  share->~Share();
  memory->release(share, sizeof(Share));
}

uint64_t Share::bytes() const noexcept {
  return sessions_.bytes() + inside_.bytes() + outside_.bytes() + blocks_.bytes() + peers_.bytes() +
         fragments_.bytes() + sizeof(Share);
}

// xorshift64 (Marsaglia 2003): ports need not be unguessable, only spread.
uint64_t Share::random() noexcept {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  return random_ ^= random_ << 17;
}

Reason Share::open(uint64_t hash, uint32_t address, uint16_t port, Kind kind, const Limits& limits,
                   uint32_t now_s, Session*& made) noexcept {
  if (free_ == kNobody) return Reason::kNatFull;
  PortBlocks::Port taken;
  const Reason reason = blocks_.take(address, kind, limits.host, random(), taken);
  if (reason != Reason::kNone) return reason;
  const uint32_t number = free_;
  Session& session = sessions_[number];
  const uint32_t outside = outside_addresses_[taken.address];
  const uint16_t outside_port = __builtin_bswap16(taken.port);
  const uint64_t outside_hash = hash_of(outside, outside_port, kind);
  const bool placed = inside_.insert(hash, number);
  if (!placed || !outside_.insert(outside_hash, number)) {
    if (placed) inside_.erase(hash, number);
    blocks_.give_back(taken.host, taken.block, taken.port, kind);
    return Reason::kNatFull;
  }
  free_ = session.next_free;
  session.inside = address;
  session.outside = outside;
  session.inside_port = port;
  session.outside_port = outside_port;
  session.address_delta = delta32(address, outside);
  const uint16_t port_delta = delta16(port, outside_port);
  session.upper_delta =
      kind == Kind::kQuery ? port_delta : join_deltas(session.address_delta, port_delta);
  session.kind = kind;
  session.tcp = 0;
  session.used = true;
  session.long_lived = false;
  session.last_s = now_s;
  session.serial = ++serial_;
  session.peer = 0;
  session.host = taken.host;
  session.block = taken.block;
  opened_.add(1);
  made = &session;
  return Reason::kNone;
}

void Share::close(Session& session) noexcept {
  const auto number = static_cast<uint32_t>(&session - &sessions_[0]);
  inside_.erase(hash_of(session.inside, session.inside_port, session.kind), number);
  outside_.erase(hash_of(session.outside, session.outside_port, session.kind), number);
  blocks_.give_back(session.host, session.block, __builtin_bswap16(session.outside_port),
                    session.kind);
  session.used = false;
  session.next_free = free_;
  free_ = number;
  closed_.add(1);
}

uint32_t Share::timeout(const Session& session, const Timeouts& timeouts) noexcept {
  switch (session.kind) {
    case Kind::kTcp:
      return session.long_lived ? timeouts.tcp_established_s : timeouts.tcp_transitory_s;
    case Kind::kUdp:
      return timeouts.udp_s;
    default:
      return timeouts.icmp_s;
  }
}

// A SYN begins anew; a connection is established by a segment each way behind it (RFC 5382 §5). Who
// goes on sending has not been reset: what came in was forged.
void Share::saw_out(Session& session, uint8_t flags) noexcept {
  uint8_t seen = session.tcp;
  if ((flags & kSyn) != 0)
    seen = static_cast<uint8_t>(seen & ~(kSeenOut | kFinOut | kFinIn | kReset));
  else
    seen |= kSeenOut;
  if ((flags & kFin) != 0) seen |= kFinOut;
  if ((flags & kRst) != 0)
    seen |= kReset;
  else
    seen &= static_cast<uint8_t>(~kReset);
  if (seen == session.tcp) [[likely]]
    return;
  session.tcp = seen;
  session.long_lived = established(seen);
}

void Share::saw_in(Session& session, uint8_t flags) noexcept {
  uint8_t seen = session.tcp;
  if ((flags & kRst) != 0)
    seen |= kReset;
  else
    seen |= kSeenIn;
  if ((flags & kFin) != 0) seen |= kFinIn;
  if (seen == session.tcp) [[likely]]
    return;
  session.tcp = seen;
  session.long_lived = established(seen);
}

}  // namespace hecto::router::nat
