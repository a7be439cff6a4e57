// The policy check, after look-up: every packet is held against the inbound policies (RFC 4301
// §5.2): the right protection or none. What is to be forwarded, against the outbound ones (§5.1):
// it stays in its lane, is refused, or leaves for encap with the SA that protects it. What stages
// before it have refused for Linux meets the inbound ones on its way there (PuntCheck), so that of a
// chunk every packet is judged here once.
//
// Not thread-safe.
#pragma once

#include "router/dataplane/core/table_views.hpp"
#include "router/dataplane/stages/esp_state.hpp"
#include "router/dataplane/stages/policy_verdict.hpp"
#include "router/dataplane/stages/punt_check.hpp"
#include "router/ipsec/esp/spd_words.hpp"

namespace hecto::router {

class PolicyCheck {
 public:
  explicit PolicyCheck(const EspState& state) : state_(state), punt_check_(state) {}

  // Makes the batch `protect` of packets that are to be ESP. `rules`: null, or Linux's.
  void forwarded(Chunk& chunk, const TableViews& tables, const RuleTables* rules,
                 EspBatch& protect) noexcept;
  // Of packets that Linux sends: only the outbound policies; IKE and what keeps a link alive go by
  // them.
  void from_linux(Chunk& chunk, const TableViews& tables, EspBatch& protect) noexcept;

 private:
  struct Candidate {
    uint16_t place;  // in its lane
    Goes goes;
    bool plain;         // on, with nothing unseen: what the batch look-ups found is all
    const esp::Sa* sa;  // that it came by; null: in the clear
  };
  template <PacketSource Source>
  void check(Chunk& chunk, const lookup::NextHopView& next_hops, EspBatch& protect) noexcept;
  template <PacketSource Source, typename Address>
  void check(Lane<Address>& lane, Chunk& chunk, const lookup::NextHopView& next_hops,
             EspBatch& protect) noexcept;
  template <PacketSource Source, typename Address>
  unsigned collect(const Lane<Address>& lane, const lookup::NextHopView& next_hops) noexcept;
  template <typename Address>
  unsigned collect_exceptions(const Lane<Address>& lane,
                              const lookup::NextHopView& next_hops) noexcept;
  template <PacketSource Source>
  bool has_policies(lookup::Family family) const noexcept;
  template <typename Address>
  Reason check_inbound(const Lane<Address>& lane, unsigned c) const noexcept;
  template <PacketSource Source, typename Address>
  Verdict check_outbound(const Lane<Address>& lane, unsigned c) const noexcept;
  template <typename Address>
  void update_path_mtu(const Lane<Address>& lane, const uint8_t* ip, uint32_t bytes) const noexcept;

  EspState state_;
  PuntCheck punt_check_;
  esp::SpdWords<3>* words(const Lane4&) noexcept { return words4_; }
  esp::SpdWords<6>* words(const Lane6&) noexcept { return words6_; }
  // Of a lane: the packets that policies are looked up for, and what they are looked up by.
  Candidate candidates_[kChunkSize];
  esp::SpdWords<3> words4_[kChunkSize];
  esp::SpdWords<6> words6_[kChunkSize];
  uint32_t inbound_if_id_[kChunkSize], outbound_if_id_[kChunkSize];
};

}  // namespace hecto::router
