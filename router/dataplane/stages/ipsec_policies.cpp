// encap, first half: which policy holds for a packet, inbound and outbound, and what it asks for.
#include <new>
#include <span>

#include "router/dataplane/stages/ipsec.hpp"
#include "router/dataplane/stages/ipsec_wire.hpp"
#include "router/dataplane/stages/path_mtu.hpp"
#include "router/ipsec/esp/sa.hpp"
#include "router/ipsec/esp/sad.hpp"
#include "router/ipsec/esp/spd.hpp"

namespace hecto::router {

using lookup::NextHopRecord;
using lookup::RecordKind;

namespace {

// Whether a packet with this verdict would leave the router: a neighbor that is not resolved does
// not matter to what goes through a tunnel.
bool leaves(const NextHopRecord& record) noexcept {
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

}  // namespace

// What came in against the policy for it (RFC 4301 §5.2, steps 4 and 5).
Reason IpsecStages::check_inbound(const esp::Policy* policy, const esp::Sa* sa, bool ike) noexcept {
  const bool tunneled = sa != nullptr && sa->mode == IpsecMode::kTunnel;
  if (policy == nullptr || policy->action == PolicyAction::kBypass)
    return tunneled ? Reason::kPolicyMismatch : Reason::kNone;
  if (policy->action == PolicyAction::kDiscard) return Reason::kPolicyDiscard;
  if (sa == nullptr) return policy->optional || ike ? Reason::kNone : Reason::kPolicyMismatch;
  const bool fits = sa->mode == policy->mode && (policy->reqid == 0 || policy->reqid == sa->reqid);
  return fits ? Reason::kNone : Reason::kPolicyMismatch;
}

// Which packets of the lane the policies are asked about, and what for.
template <IpsecStages::From Source, typename Address>
unsigned IpsecStages::ask(const Lane<Address>& lane, const lookup::NextHopView& hops) noexcept {
  unsigned asked = 0;
  for (unsigned i = 0; i < lane.count; ++i) {
    rte_mbuf* packet = lane.packets[i];
    const unsigned l2 = lane.ingress[i].l2_length();
    Question& question = questions_[asked];
    question = {static_cast<uint16_t>(i), false, nullptr};
    // Made in its place: a copy would wait for the small stores that it was made of (13 ns).
    new (&keys_[asked]) esp::FlowKey(
        esp::flow_key(ipsec_wire::family(lane), rte_pktmbuf_mtod_offset(packet, const uint8_t*, l2),
                      packet->data_len - l2));
    ends_if_id_[asked] = came_if_id_[asked] = 0;
    if constexpr (Source == From::kPort) {
      const NextHopRecord& record = hops.record(lane.groups[i]);
      if (record.own == 0 && !leaves(record)) continue;  // refused by its route all the same
      question.own = record.own != 0;
      ends_if_id_[asked] = record.if_id;
      if ((packet->ol_flags & options_.mark.flag) != 0) {
        question.sa = sa_of(packet);
        packet->ol_flags &= ~options_.mark.flag;  // no driver hands it on to another port
        came_if_id_[asked] = question.sa->if_id;
      }
    }
    ++asked;
  }
  return asked;
}

// Of an SA of ours that sends: what its packets may be from now on. Linux hears of it as well.
template <typename Address>
void IpsecStages::hear_path_mtu(const Lane<Address>&, const uint8_t* ip,
                                uint32_t bytes) const noexcept {
  const auto said = sizeof(Address) == 4 ? read_path_mtu4(ip, bytes) : read_path_mtu6(ip, bytes);
  if (!said) return;
  esp::Sa* sa = options_.tables.sad->find(said->spi, said->family, said->destination);
  const size_t address_bytes = said->family == lookup::Family::kIpv4 ? 4 : 16;
  if (sa != nullptr && std::memcmp(sa->source.bytes.data(), said->source, address_bytes) == 0)
    sa->hear_path_mtu(said->mtu, options_.now_s->load(std::memory_order_relaxed));
}

// What becomes of a packet that came in; kNone: it may go on.
template <typename Address>
Reason IpsecStages::inbound_verdict(const Lane<Address>& lane, unsigned q,
                                    const esp::Policy* forward) const noexcept {
  const Question& question = questions_[q];
  const esp::FlowKey& key = keys_[q];
  if (!question.own) return check_inbound(forward, question.sa, false);
  const esp::Policy* policy = options_.tables.in->find(key, came_if_id_[q]);
  if (policy != nullptr) policy->packets.fetch_add(1, std::memory_order_relaxed);
  const bool ike = ipsec_wire::is_ike(key.protocol, key.destination_port);
  const Reason reason = check_inbound(policy, question.sa, ike);
  if (reason != Reason::kNone) return reason;
  const rte_mbuf* packet = lane.packets[question.place];
  const unsigned l2 = lane.ingress[question.place].l2_length();
  const auto* ip = rte_pktmbuf_mtod_offset(packet, const uint8_t*, l2);
  const uint32_t bytes = packet->data_len - l2;
  if (ipsec_wire::is_too_big(key)) hear_path_mtu(lane, ip, bytes);
  return ipsec_wire::unanswered(lane, ip, bytes);
}

// What an outbound policy makes of it: an SA that protects it, or a reason, or neither.
IpsecStages::Fate IpsecStages::outbound_fate(const esp::Policy* policy) noexcept {
  if (policy == nullptr || policy->action == PolicyAction::kBypass) return {};
  if (policy->action == PolicyAction::kDiscard) return {nullptr, Reason::kPolicyDiscard};
  esp::Sa* sa = policy->sa.load(std::memory_order_acquire);
  return {sa, sa == nullptr ? Reason::kPolicyNoSa : Reason::kNone};
}

// Linux protects what it sends over IPv6 itself, by numbers of its own: they must not meet ours.
template <typename Address>
bool IpsecStages::made_by_linux(const Lane<Address>& lane, unsigned i) const noexcept {
  const unsigned l2 = lane.ingress[i].l2_length();
  const auto* ip = rte_pktmbuf_mtod_offset(lane.packets[i], const uint8_t*, l2);
  const uint32_t spi =
      ipsec_wire::spi(ipsec_wire::payload(lane, ip, lane.packets[i]->data_len - l2));
  return spi != 0 && options_.tables.sad->find(spi, ipsec_wire::family(lane),
                                               ipsec_wire::destination(lane, ip)) != nullptr;
}

// Takes out of the lane what is refused or to be protected; the others close up.
template <IpsecStages::From Source, typename Address>
void IpsecStages::apply_policies(Lane<Address>& lane, Chunk& chunk,
                                 const TableViews& tables) noexcept {
  const unsigned asked = ask<Source>(lane, tables.next_hops);
  if (asked == 0) return;
  const esp::Policy *out[kChunkSize], *forward[kChunkSize];
  options_.tables.out->find_batch({keys_, asked}, ends_if_id_, out);
  if constexpr (Source == From::kPort) {
    options_.tables.forward->find_batch({keys_, asked}, came_if_id_, forward);
  }
  prefetch_sas({out, asked});
  PolicyCount used_out, used_forward;
  unsigned kept = questions_[0].place, q = 0;
  for (unsigned i = kept; i < lane.count; ++i) {
    if (q == asked || questions_[q].place != i) {
      keep(lane, kept, i);
      continue;
    }
    rte_mbuf* packet = lane.packets[i];
    Fate fate;
    if constexpr (Source == From::kPort) {
      if (!questions_[q].own) used_forward.add(forward[q]);
      fate.reason = inbound_verdict(lane, q, forward[q]);
    }
    const bool bypass =
        questions_[q].own ||
        (Source == From::kLinux && ipsec_wire::is_ike(keys_[q].protocol, keys_[q].source_port));
    if (fate.reason == Reason::kNone && !bypass) {
      used_out.add(out[q]);
      fate = outbound_fate(out[q]);
    }
    ++q;
    if (fate.sa != nullptr && packet->nb_segs > 1 && rte_pktmbuf_linearize(packet) != 0)
      fate.reason = Reason::kEspNoRoom;
    if (fate.reason != Reason::kNone)
      chunk.refuse(packet, fate.reason, lane.ingress[i].interface());
    else if (fate.sa != nullptr)
      add(packet, lane.ingress[i], fate.sa);
    else
      keep(lane, kept, i);
  }
  lane.count = kept;
}

bool IpsecStages::encap(Chunk& chunk, const TableViews& tables, const Snapshot& snapshot,
                        Observer* observer) noexcept {
  count_ = 0;
  apply_policies<From::kPort>(chunk.v4, chunk, tables);
  apply_policies<From::kPort>(chunk.v6, chunk, tables);
  if (count_ == 0) return true;
  protect(chunk, tables, snapshot, From::kPort, observer);
  if (snapshot.seals_esp && observer == nullptr) [[unlikely]]
    encap_for_nics(chunk, tables);
  if (device_ != nullptr) return encap_beside_device(chunk, tables, observer);
  seal_here(chunk, tables, observer);
  return true;
}

bool IpsecStages::encap_own(Chunk& chunk, const TableViews& tables, const Snapshot& snapshot,
                            Observer* observer) noexcept {
  count_ = 0;
  apply_policies<From::kLinux>(chunk.v4, chunk, tables);
  apply_policies<From::kLinux>(chunk.v6, chunk, tables);
  if (count_ == 0) return chunk.refused_count > 0;
  protect(chunk, tables, snapshot, From::kLinux, observer);
  seal_here(chunk, tables, observer);
  return true;
}

}  // namespace hecto::router
