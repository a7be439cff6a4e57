// What a packet may meet whose ports, or whose protocol with them, nobody sees (Unseen): fragments
// above all. RFC 4301 §7: where a selector asks for what is opaque nothing is certain.
//
// For each policy that protects or discards and asks for ports or a protocol there is one here that
// does not ask: in `without_ports_` only protocol and addresses count, in `without_protocol_`
// addresses alone. What is found there and outranks what the Spd itself has found may be what the
// sender's packet is subject to, so that a bypass, or another SA, would be a guess. Policies that
// bypass are not here: to protect, or to ask for protection, leaks nothing.
//
// One writer (control); any number of readers. judge() asks before and behind the Spd; the writer
// inserts before it changes the Spd and removes behind it: so no packet meets a mixture of what was
// in force before a change and what is behind it.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "router/ipsec/esp/spd.hpp"

namespace hecto::router::esp {

class UnseenSpd {
 public:
  explicit UnseenSpd(lookup::Reclaimer& readers = lookup::Reclaimer::none());

  // Readers. The best that may hold for the packet; null: none.
  const Policy* find(const FlowKey& key, uint32_t if_id) const noexcept;

  // Control. Those to be removed were inserted.
  void insert(std::span<Policy* const> policies);
  void remove(std::span<Policy* const> policies);
  size_t size() const { return stand_ins_.size(); }  // policies that ask for what may be unseen

 private:
  struct StandIns {
    std::unique_ptr<Policy> without_ports;  // null: it asks for none
    std::unique_ptr<Policy> without_protocol;
  };
  struct Retired {
    uint64_t token;
    std::vector<StandIns> policies;
  };
  void reclaim();

  lookup::Reclaimer& readers_;
  Spd without_ports_, without_protocol_;
  std::unordered_map<const Policy*, StandIns> stand_ins_;
  std::deque<Retired> retired_;
};

// The policy of a packet that may have parts unseen. `certain`: false where another one may be its.
struct Judged {
  const Policy* policy = nullptr;  // null: none
  bool certain = true;
};
Judged judge(const Spd& spd, const UnseenSpd& unseen, const FlowKey& key, uint32_t if_id) noexcept;

}  // namespace hecto::router::esp
