// One worker's share of a pool: its sessions, their ports, and what is known of fragments. Nobody
// else reads or writes it, but counters and events.
//
// A session is a mapping (RFC 4787 §4.1, endpoint-independent): an inside address, port and kind,
// and the outside address and port that they have towards everybody. It is found by the one and by
// the other. Of TCP it knows which ways segments and FINs have gone; many connections of one inside
// port have one state.
//
// Addresses and ports are as they lie in packets, but where it says so. Times are seconds of any
// clock that wraps at 2^32.
#pragma once

#include <memory>

#include "router/dataplane/nat/fragments.hpp"
#include "router/dataplane/nat/peers.hpp"
#include "router/dataplane/nat/port_blocks.hpp"

namespace hecto::router::nat {

struct Timeouts {
  uint32_t udp_s = 300, tcp_established_s = 7440, tcp_transitory_s = 240, icmp_s = 60;
};

struct Limits {
  HostLimits host;
  Timeouts timeouts;
};

// One cache line. What a packet in either direction needs is there.
struct alignas(64) Session {
  uint32_t inside, outside;
  uint16_t inside_port, outside_port;
  uint16_t address_delta, upper_delta;  // outwards, as rewrite_end() takes them
  Kind kind;
  uint8_t tcp;  // TcpSeen bits
  bool used;
  bool long_lived;  // an established TCP connection
  uint32_t last_s;  // a packet went out
  uint32_t serial;
  uint32_t peer;  // that it has sent to last
  uint32_t host, block;
  uint32_t next_free;
};
static_assert(sizeof(Session) == 64);

enum TcpSeen : uint8_t {
  kSeenOut = 1,  // a segment behind the SYN
  kSeenIn = 2,
  kFinOut = 4,
  kFinIn = 8,
  kReset = 16
};

class Share;
struct ShareDelete {
  lookup::Memory* memory = nullptr;
  void operator()(Share* share) const noexcept;
};
using SharePointer = std::unique_ptr<Share, ShareDelete>;

class Share {
 public:
  struct Setup {
    Layout layout;
    uint32_t worker = 0;
    uint32_t sessions = 0;
    bool by_peer = false;     // address-dependent filtering
    uint64_t secret[2] = {};  // of hashes
  };
  // Null: there is no memory. All of it lies on the socket. `outside`: the address at each place;
  // outlives it, as `memory` does.
  static SharePointer create(const Setup& setup, const uint32_t* outside, lookup::Memory& memory,
                             int socket);

  // ---- By key ----
  uint64_t hash_of(uint32_t address, uint16_t port, Kind kind) const noexcept {
    return mixed(key_of(address, port, kind), secret_);
  }
  void prefetch_inside(uint64_t hash) const noexcept { inside_.prefetch(hash); }
  void prefetch_outside(uint64_t hash) const noexcept { outside_.prefetch(hash); }
  // Inlined by order: GCC takes what does nothing but fetch for a function without effect, and drops
  // its calls.
  [[gnu::always_inline]] void prefetch_inside_session(uint64_t hash) const noexcept {
    prefetch_session(inside_.candidate(hash));
  }
  [[gnu::always_inline]] void prefetch_outside_session(uint64_t hash) const noexcept {
    prefetch_session(outside_.candidate(hash));
  }
  Session* find_inside(uint64_t hash, uint32_t address, uint16_t port, Kind kind) noexcept {
    return at(inside_.find(hash, [&](uint32_t number) {
      const Session& s = sessions_[number];
      return (s.inside == address) & (s.inside_port == port) & (s.kind == kind);
    }));
  }
  Session* find_outside(uint64_t hash, uint32_t address, uint16_t port, Kind kind) noexcept {
    return at(outside_.find(hash, [&](uint32_t number) {
      const Session& s = sessions_[number];
      return (s.outside == address) & (s.outside_port == port) & (s.kind == kind);
    }));
  }
  // A new one, which find_inside() has not found.
  Reason open(uint64_t hash, uint32_t address, uint16_t port, Kind kind, const Limits& limits,
              uint32_t now_s, Session*& made) noexcept;

  // ---- A session's packets ----
  // `flags`: TCP's, of others anything.
  void sent(Session& session, uint8_t flags, uint32_t peer, uint32_t now_s) noexcept {
    if (session.last_s != now_s) session.last_s = now_s;
    if (session.kind == Kind::kTcp) [[likely]]
      saw_out(session, flags);
    if (by_peer_ && session.peer != peer) [[unlikely]] {
      session.peer = peer;
      peers_.add(session.serial, peer);
    }
  }
  // Whether it is let in.
  bool received(Session& session, uint8_t flags, uint32_t peer) noexcept {
    if (by_peer_ && session.peer != peer && !peers_.has(session.serial, peer)) [[unlikely]]
      return false;
    if (session.kind == Kind::kTcp) [[likely]]
      saw_in(session, flags);
    return true;
  }

  // ---- Fragments ----
  void remember(const FragmentKey& key, const Session& session, uint32_t now_s) noexcept {
    fragments_.remember(key, static_cast<uint32_t>(&session - &sessions_[0]), session.serial,
                        now_s);
  }
  Session* find_fragment(const FragmentKey& key, uint32_t now_s) noexcept {
    const Fragments::Said said = fragments_.find(key, now_s);
    if (said.value == kNobody || !sessions_[said.value].used ||
        sessions_[said.value].serial != said.serial)
      return nullptr;
    return &sessions_[said.value];
  }
  Fragments& fragments() noexcept { return fragments_; }

  // ---- Time ----
  // Closes what is over, of the next so many places; and what `keeps(inside address)` does not hold
  // for.
  template <typename Keeps>
  void expire(uint32_t places, const Timeouts& timeouts, uint32_t now_s, Keeps keeps) noexcept {
    for (uint32_t i = 0; i < places; ++i) {
      if (i + 8 < places) __builtin_prefetch(&sessions_[later(hand_, 8)]);
      Session& session = sessions_[hand_];
      hand_ = later(hand_, 1);
      if (session.used &&
          (now_s - session.last_s > timeout(session, timeouts) || !keeps(session.inside)))
        close(session);
    }
  }

  uint32_t capacity() const noexcept { return capacity_; }
  uint64_t bytes() const noexcept;
  uint64_t sessions() const noexcept { return opened_.get() - closed_.get(); }
  uint64_t opened() const noexcept { return opened_.get(); }
  PortBlocks& blocks() noexcept { return blocks_; }
  const PortBlocks& blocks() const noexcept { return blocks_; }
  // Packets refused, by the worker.
  Counter& refused(Reason reason) noexcept { return refused_[static_cast<size_t>(reason)]; }
  const Counter& refused(Reason reason) const noexcept {
    return refused_[static_cast<size_t>(reason)];
  }

 private:
  Share() = default;
  static uint64_t key_of(uint32_t address, uint16_t port, Kind kind) noexcept {
    return uint64_t{address} | uint64_t{port} << 32 | uint64_t{static_cast<uint8_t>(kind)} << 48;
  }
  [[gnu::always_inline]] void prefetch_session(uint32_t number) const noexcept {
    if (number != kNobody) __builtin_prefetch(&sessions_[number]);
  }
  Session* at(uint32_t number) noexcept { return number == kNobody ? nullptr : &sessions_[number]; }
  uint32_t later(uint32_t place, uint32_t by) const noexcept {
    const uint32_t next = place + by;
    return next >= capacity_ ? (next - capacity_) % capacity_ : next;
  }
  static uint32_t timeout(const Session& session, const Timeouts& timeouts) noexcept;
  static void saw_out(Session& session, uint8_t flags) noexcept;
  static void saw_in(Session& session, uint8_t flags) noexcept;
  void close(Session& session) noexcept;
  uint64_t random() noexcept;

  bool by_peer_ = false;
  uint32_t capacity_ = 0, hand_ = 0, free_ = kNobody, serial_ = 0;
  uint64_t secret_[2] = {}, random_ = 0;
  const uint32_t* outside_addresses_ = nullptr;
  FixedArray<Session> sessions_;
  BucketIndex inside_, outside_;
  PortBlocks blocks_;
  Peers peers_;
  Fragments fragments_;
  Counter opened_, closed_;
  std::array<Counter, kReasonCount> refused_;
};

}  // namespace hecto::router::nat
