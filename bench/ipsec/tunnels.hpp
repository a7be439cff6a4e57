// Tunnels in a bed's router, and their far ends.
//
//   10.n.n.0/24 ── far end n (an address of the table) ══ ESP ══ 198.18.0.254 router ──
//   172.16.0.0/12
//
// An SA and a policy of each tunnel and direction, all of one algorithm. Inbound SAs have no
// anti-replay window: the same frames come again and again.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "bench/bed/bed.hpp"
#include "router/ipsec/esp/engine.hpp"
#include "router/ipsec/esp/sa.hpp"

namespace hecto::bench {

// An SA and a policy, by direction: what one tunnel consists of. `n`: of the network behind it.
// `spi`: outbound as it is, inbound one more.
struct Tunnel {
  unsigned n = 0;
  Spi spi = 0;
  router::IpAddress far_end;
  router::esp::Transform transform;
  uint32_t replay_window = 0;
  uint8_t our_bits = 0;  // that its policies ask of the address at our end

  router::SaState outbound() const;
  router::SaState inbound() const;
  router::IpsecPolicy policy(PolicyDirection direction) const;
  // A host in the network behind it.
  bool leads_to(const std::string& host) const;
};

// The routes of both private networks, once for each bed.
Result<void> add_private_routes(Bed& bed);
// `count` different destinations of the bed's table.
Result<std::vector<router::IpAddress>> far_ends(const Bed& bed, unsigned count);
// Hosts behind the first `tunnels` at random, as many as the bed has destinations.
std::vector<uint32_t> hosts_behind(unsigned tunnels, size_t count);

// What a host of network `n` sends to one of ours: IPv4 and UDP, a payload by `n`.
std::vector<uint8_t> inner_packet(unsigned n, uint16_t bytes);

// What tunnels' far ends send.
class FarEnd {
 public:
  static Result<std::unique_ptr<FarEnd>> create();
  // A frame, without its MAC addresses, through an SA of ours (`inbound()`'s twin), from a host
  // behind it to one of ours.
  void send(router::esp::Sa& sa, unsigned n, uint16_t inner_bytes, WholeFrames& to) {
    send(sa, inner_packet(n, inner_bytes), to);
  }
  void send(router::esp::Sa& sa, std::span<const uint8_t> inner, WholeFrames& to);

 private:
  std::unique_ptr<router::esp::Engine> engine_;
  std::vector<uint8_t> buffer_;
};

class Tunnels {
 public:
  // One for each end; their policies' selectors have so many shapes in turn, all of one priority.
  static Result<std::unique_ptr<Tunnels>> create(Bed& bed, const router::esp::Transform& transform,
                                                 std::span<const router::IpAddress> ends,
                                                 unsigned shapes = 1);
  ~Tunnels();  // takes them away again
  Tunnels(const Tunnels&) = delete;
  Tunnels& operator=(const Tunnels&) = delete;

  unsigned count() const { return static_cast<unsigned>(tunnels_.size()); }
  const router::esp::Sa& twin() const { return *twins_[0]; }  // a key of the same algorithm
  const Tunnel* by_spi(uint32_t outbound) const;              // null: of none
  // Packets that its SAs have carried so far, out and in.
  uint64_t carried() const;
  // At least one frame of each tunnel, at least 256, in random order.
  Result<WholeFrames> frames(const std::vector<uint16_t>& inner_bytes) const;

 private:
  explicit Tunnels(Bed& bed) : bed_(bed) {}
  Result<void> install();
  Bed& bed_;
  std::vector<Tunnel> tunnels_;
  std::vector<std::unique_ptr<router::esp::Sa>> twins_;  // of the inbound SAs
};

// SAs and policies as they are now, to the workers. While none runs.
void apply(Bed& bed);

}  // namespace hecto::bench
