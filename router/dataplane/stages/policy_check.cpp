#include "router/dataplane/stages/policy_check.hpp"

#include <new>

#include "router/dataplane/stages/esp_parse.hpp"
#include "router/dataplane/stages/path_mtu.hpp"
#include "router/ipsec/esp/sad.hpp"
#include "router/ipsec/esp/spd.hpp"

namespace hecto::router {

using lookup::NextHopRecord;
using lookup::RecordKind;

namespace {

// Whether a packet with this verdict would be forwarded: a neighbor that is not resolved does not
// matter to what goes through a tunnel.
bool forwards(const NextHopRecord& record) noexcept {
  return record.kind == RecordKind::kForward || record.kind == RecordKind::kMultipath ||
         record.if_id != 0 ||
         (record.kind == RecordKind::kPunt &&
          record.reason == static_cast<uint8_t>(Reason::kGlean));
}

template <typename Address>
void keep(Lane<Address>& lane, unsigned& kept, unsigned i) noexcept {
  lane.packets[kept] = lane.packets[i];
  lane.destinations[kept] = lane.destinations[i];
  lane.groups[kept] = lane.groups[i];
  lane.ingress[kept++] = lane.ingress[i];
}

// Packets of one policy in a row cost one atomic addition.
class PolicyCount {
 public:
  ~PolicyCount() { flush(); }
  void add(const esp::Policy* policy) noexcept {
    if (policy != policy_) {
      flush();
      policy_ = policy;
    }
    ++packets_;
  }

 private:
  void flush() noexcept {
    if (policy_ != nullptr) policy_->packets.fetch_add(packets_, std::memory_order_relaxed);
    packets_ = 0;
  }
  const esp::Policy* policy_ = nullptr;
  uint64_t packets_ = 0;
};

// What comes first of the SAs that will protect the packets.
void prefetch_sas(std::span<const esp::Policy* const> policies) noexcept {
  const esp::Policy* last = nullptr;
  for (const esp::Policy* policy : policies) {
    if (policy == last || policy == nullptr) continue;
    last = policy;
    const esp::Sa* sa = policy->sa.load(std::memory_order_relaxed);
    if (sa == nullptr) continue;
    __builtin_prefetch(&sa->id);
    __builtin_prefetch(&sa->shape());
    __builtin_prefetch(&sa->shape().salt);
    __builtin_prefetch(&sa->sequence, 1);
  }
}

// What came in against the policy for it (RFC 4301 §5.2, steps 4 and 5).
Reason match_inbound(const esp::Policy* policy, const esp::Sa* sa, bool ike) noexcept {
  const bool tunneled = sa != nullptr && sa->mode == IpsecMode::kTunnel;
  if (policy == nullptr || policy->action == PolicyAction::kBypass)
    return tunneled ? Reason::kPolicyMismatch : Reason::kNone;
  if (policy->action == PolicyAction::kDiscard) return Reason::kPolicyDiscard;
  if (sa == nullptr) return policy->optional || ike ? Reason::kNone : Reason::kPolicyMismatch;
  const bool fits = sa->mode == policy->mode && (policy->reqid == 0 || policy->reqid == sa->reqid);
  return fits ? Reason::kNone : Reason::kPolicyMismatch;
}

struct Verdict {
  esp::Sa* sa = nullptr;  // that is to protect the packet
  Reason reason = Reason::kNone;
};

Verdict match_outbound(const esp::Policy* policy) noexcept {
  if (policy == nullptr || policy->action == PolicyAction::kBypass) return {};
  if (policy->action == PolicyAction::kDiscard) return {nullptr, Reason::kPolicyDiscard};
  esp::Sa* sa = policy->sa.load(std::memory_order_acquire);
  return {sa, sa == nullptr ? Reason::kPolicyNoSa : Reason::kNone};
}

}  // namespace

// The packets of the lane that policies are looked up for, and their keys. Returns how many.
template <PacketSource Source, typename Address>
unsigned PolicyCheck::collect(const Lane<Address>& lane,
                              const lookup::NextHopView& next_hops) noexcept {
  unsigned count = 0;
  for (unsigned i = 0; i < lane.count; ++i) {
    rte_mbuf* packet = lane.packets[i];
    const unsigned l2 = lane.ingress[i].l2_length();
    Candidate& candidate = candidates_[count];
    candidate = {static_cast<uint16_t>(i), false, nullptr};
    // Made in its place: a copy would wait for the small stores that it was made of (13 ns).
    new (&keys_[count]) esp::FlowKey(
        esp::flow_key(esp_parse::family(lane), rte_pktmbuf_mtod_offset(packet, const uint8_t*, l2),
                      packet->data_len - l2));
    outbound_if_id_[count] = inbound_if_id_[count] = 0;
    if constexpr (Source == PacketSource::kPort) {
      const NextHopRecord& record = next_hops.record(lane.groups[i]);
      if (record.own == 0 && !forwards(record)) continue;  // refused by its route all the same
      candidate.own = record.own != 0;
      outbound_if_id_[count] = record.if_id;
      candidate.sa = state_.mark.take(packet);
      if (candidate.sa != nullptr) inbound_if_id_[count] = candidate.sa->if_id;
    }
    ++count;
  }
  return count;
}

// Of an SA of ours that sends: what its packets may be from now on. Linux hears of it as well.
template <typename Address>
void PolicyCheck::update_path_mtu(const Lane<Address>&, const uint8_t* ip,
                                  uint32_t bytes) const noexcept {
  const auto said = sizeof(Address) == 4 ? read_path_mtu4(ip, bytes) : read_path_mtu6(ip, bytes);
  if (!said) return;
  esp::Sa* sa = state_.tables.sad->find(said->spi, said->family, said->destination);
  const size_t address_bytes = said->family == lookup::Family::kIpv4 ? 4 : 16;
  if (sa != nullptr && std::memcmp(sa->source.bytes.data(), said->source, address_bytes) == 0)
    sa->update_path_mtu(said->mtu, state_.now_s());
}

// Whether a packet that came in may go on (kNone).
template <typename Address>
Reason PolicyCheck::check_inbound(const Lane<Address>& lane, unsigned c,
                                  const esp::Policy* forward) const noexcept {
  const Candidate& candidate = candidates_[c];
  const esp::FlowKey& key = keys_[c];
  if (!candidate.own) return match_inbound(forward, candidate.sa, false);
  const esp::Policy* policy = state_.tables.in->find(key, inbound_if_id_[c]);
  if (policy != nullptr) policy->packets.fetch_add(1, std::memory_order_relaxed);
  const bool ike = esp_parse::is_ike(key.protocol, key.destination_port);
  const Reason reason = match_inbound(policy, candidate.sa, ike);
  if (reason != Reason::kNone) return reason;
  const rte_mbuf* packet = lane.packets[candidate.place];
  const unsigned l2 = lane.ingress[candidate.place].l2_length();
  const auto* ip = rte_pktmbuf_mtod_offset(packet, const uint8_t*, l2);
  const uint32_t bytes = packet->data_len - l2;
  if (esp_parse::is_too_big(key)) update_path_mtu(lane, ip, bytes);
  return esp_parse::reason_without_sa(lane, ip, bytes);
}

// Takes out of the lane what is refused or to be protected; the others close up.
template <PacketSource Source, typename Address>
void PolicyCheck::check(Lane<Address>& lane, Chunk& chunk, const lookup::NextHopView& next_hops,
                        EspBatch& protect) noexcept {
  const unsigned count = collect<Source>(lane, next_hops);
  if (count == 0) return;
  const esp::Policy *out[kChunkSize], *forward[kChunkSize];
  state_.tables.out->find_batch({keys_, count}, outbound_if_id_, out);
  if constexpr (Source == PacketSource::kPort) {
    state_.tables.forward->find_batch({keys_, count}, inbound_if_id_, forward);
  }
  prefetch_sas({out, count});
  PolicyCount used_out, used_forward;
  unsigned kept = candidates_[0].place, c = 0;
  for (unsigned i = kept; i < lane.count; ++i) {
    if (c == count || candidates_[c].place != i) {
      keep(lane, kept, i);
      continue;
    }
    rte_mbuf* packet = lane.packets[i];
    Verdict verdict;
    if constexpr (Source == PacketSource::kPort) {
      if (!candidates_[c].own) used_forward.add(forward[c]);
      verdict.reason = check_inbound(lane, c, forward[c]);
    }
    const bool bypass =
        candidates_[c].own || (Source == PacketSource::kLinux &&
                               esp_parse::is_ike(keys_[c].protocol, keys_[c].source_port));
    if (verdict.reason == Reason::kNone && !bypass) {
      used_out.add(out[c]);
      verdict = match_outbound(out[c]);
    }
    ++c;
    if (verdict.sa != nullptr && packet->nb_segs > 1 && rte_pktmbuf_linearize(packet) != 0)
      verdict.reason = Reason::kEspNoRoom;
    if (verdict.reason != Reason::kNone)
      chunk.refuse(packet, verdict.reason, lane.ingress[i].interface());
    else if (verdict.sa != nullptr)
      protect.add(packet, lane.ingress[i], verdict.sa);
    else
      keep(lane, kept, i);
  }
  lane.count = kept;
}

template <PacketSource Source>
void PolicyCheck::check(Chunk& chunk, const lookup::NextHopView& next_hops,
                        EspBatch& protect) noexcept {
  protect.count = 0;
  check<Source>(chunk.v4, chunk, next_hops, protect);
  check<Source>(chunk.v6, chunk, next_hops, protect);
}

void PolicyCheck::forwarded(Chunk& chunk, const lookup::NextHopView& next_hops,
                            EspBatch& protect) noexcept {
  check<PacketSource::kPort>(chunk, next_hops, protect);
}

void PolicyCheck::from_linux(Chunk& chunk, const lookup::NextHopView& next_hops,
                             EspBatch& protect) noexcept {
  check<PacketSource::kLinux>(chunk, next_hops, protect);
}

}  // namespace hecto::router
