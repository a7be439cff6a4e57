#include "router/dataplane/stages/policy_check.hpp"

#include "router/dataplane/stages/esp_parse.hpp"
#include "router/dataplane/stages/framed_ip.hpp"
#include "router/dataplane/stages/path_mtu.hpp"
#include "router/dataplane/stages/policy_verdict.hpp"
#include "router/ipsec/esp/sad.hpp"
#include "router/ipsec/esp/spd.hpp"

namespace hecto::router {

using lookup::NextHopRecord;

namespace {

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
  explicit PolicyCount(bool counts) : counts_(counts) {}
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
    if (policy_ != nullptr && counts_)
      policy_->packets.fetch_add(packets_, std::memory_order_relaxed);
    packets_ = 0;
  }
  const bool counts_;
  const esp::Policy* policy_ = nullptr;
  uint64_t packets_ = 0;
};

template <typename Address>
std::span<const uint8_t> ip_of(const Lane<Address>& lane, unsigned place) noexcept {
  const rte_mbuf* packet = lane.packets[place];
  const unsigned l2 = lane.ingress[place].l2_length();
  return {rte_pktmbuf_mtod_offset(packet, const uint8_t*, l2), packet->data_len - l2};
}

template <typename Address>
esp::FlowKey key_of(const Lane<Address>& lane, unsigned place) noexcept {
  const auto ip = ip_of(lane, place);
  return esp::flow_key(esp_parse::family(lane), ip.data(), static_cast<uint32_t>(ip.size()));
}

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

// The packets of the lane that policies are looked up for, and their keys. Returns how many.
template <PacketSource Source, typename Address>
[[gnu::flatten]] unsigned PolicyCheck::collect(const Lane<Address>& lane,
                                               const lookup::NextHopView& next_hops) noexcept {
  constexpr size_t kWords = sizeof(Address) == 4 ? 3 : 6;
  esp::SpdWords<kWords>* keys = words(lane);
  unsigned count = 0;
  for (unsigned i = 0; i < lane.count; ++i) {
    rte_mbuf* packet = lane.packets[i];
    const auto ip = ip_of(lane, i);
    Candidate& candidate = candidates_[count];
    candidate = {static_cast<uint16_t>(i), Goes::kOn, true, nullptr};
    bool seen = true;
    if (!esp::plain_spd_words(ip.data(), static_cast<uint32_t>(ip.size()), keys[count])) {
      const esp::FlowKey key = key_of(lane, i);
      keys[count] = esp::spd_words<kWords>(key, 0);
      seen = key.unseen == esp::Unseen::kNothing;
    }
    outbound_if_id_[count] = inbound_if_id_[count] = 0;
    if constexpr (Source == PacketSource::kPort) {
      const NextHopRecord& record = next_hops.record(lane.groups[i]);
      candidate.goes = goes(record);
      if (candidate.goes == Goes::kNowhere) continue;
      outbound_if_id_[count] = record.if_id;
      candidate.sa = state_.mark.take(packet);
      if (candidate.sa != nullptr) inbound_if_id_[count] = candidate.sa->if_id;
    }
    candidate.plain = candidate.goes == Goes::kOn && seen;
    ++count;
  }
  return count;
}

// The same where no policy holds for what goes on in the clear: what came by an SA, and what goes to
// Linux, which is asked about one by one.
template <typename Address>
unsigned PolicyCheck::collect_exceptions(const Lane<Address>& lane,
                                         const lookup::NextHopView& next_hops) noexcept {
  unsigned count = 0;
  for (unsigned i = 0; i < lane.count; ++i) {
    rte_mbuf* packet = lane.packets[i];
    const NextHopRecord& record = next_hops.record(lane.groups[i]);
    const Goes way = goes(record);
    if (way == Goes::kNowhere || (way == Goes::kOn && !state_.mark.is_set(packet))) continue;
    outbound_if_id_[count] = record.if_id;
    candidates_[count++] = {static_cast<uint16_t>(i), way, false, state_.mark.take(packet)};
  }
  return count;
}

// Of the directions that packets from there meet on their way on. A policy that comes is seen by
// the next chunk, as it is by the look-ups.
template <PacketSource Source>
bool PolicyCheck::has_policies(lookup::Family family) const noexcept {
  return state_.tables.out->has(family) ||
         (Source == PacketSource::kPort && state_.tables.forward->has(family));
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
Reason PolicyCheck::check_inbound(const Lane<Address>& lane, unsigned c) const noexcept {
  const Candidate& candidate = candidates_[c];
  const esp::FlowKey key = key_of(lane, candidate.place);
  const OnePacket one(state_.tables, key, state_.counts);
  Reason reason = Reason::kNone;
  // Where nobody here knows whether Linux delivers or forwards it, both policies hold.
  if (candidate.goes != Goes::kOwn) reason = one.forward(candidate.sa);
  if (reason != Reason::kNone || candidate.goes == Goes::kOn) return reason;
  const auto packet = ip_of(lane, candidate.place);
  const uint8_t* ip = packet.data();
  const auto bytes = static_cast<uint32_t>(packet.size());
  const bool own = candidate.goes == Goes::kOwn;
  if (own && keeps_link_alive(key.family, ip, bytes)) return Reason::kNone;
  const bool ike = own && esp_parse::is_ike(key.protocol, key.destination_port);
  reason = one.in(candidate.sa, ike);
  if (reason != Reason::kNone || !own) return reason;
  if (esp_parse::is_too_big(key)) update_path_mtu(lane, ip, bytes);
  return esp_parse::reason_without_sa(key, ip, bytes);
}

// What becomes of a packet whose way or whose key is not plain, when it leaves.
template <PacketSource Source, typename Address>
Verdict PolicyCheck::check_outbound(const Lane<Address>& lane, unsigned c) const noexcept {
  const Candidate& candidate = candidates_[c];
  const esp::FlowKey key = key_of(lane, candidate.place);
  if (Source == PacketSource::kLinux) {
    const auto ip = ip_of(lane, candidate.place);
    if (esp_parse::is_ike(key.protocol, key.source_port) ||
        keeps_link_alive(key.family, ip.data(), static_cast<uint32_t>(ip.size())))
      return {};
  }
  const OnePacket one(state_.tables, key, state_.counts);
  switch (candidate.goes) {
    case Goes::kOn:
    case Goes::kByLinux:
      return one.out(outbound_if_id_[c]);
    case Goes::kNoRoute:
      return {nullptr, one.out_in_clear(outbound_if_id_[c])};
    case Goes::kOwn:
    case Goes::kRejected:
    case Goes::kNowhere:
      break;
  }
  return {};
}

// Takes out of the lane what is refused or to be protected; the others close up.
template <PacketSource Source, typename Address>
void PolicyCheck::check(Lane<Address>& lane, Chunk& chunk, const lookup::NextHopView& next_hops,
                        EspBatch& protect) noexcept {
  const esp::Policy *out[kChunkSize], *forward[kChunkSize];
  unsigned count = 0;
  if (has_policies<Source>(esp_parse::family(lane))) {
    count = collect<Source>(lane, next_hops);
    const std::span keys(words(lane), count);
    state_.tables.out->find_batch(keys, outbound_if_id_, out);
    if constexpr (Source == PacketSource::kPort) {
      state_.tables.forward->find_batch(keys, inbound_if_id_, forward);
    }
    prefetch_sas({out, count});
  } else if constexpr (Source == PacketSource::kPort) {
    count = collect_exceptions(lane, next_hops);
  }
  if (count == 0) return;
  PolicyCount used_out(state_.counts), used_forward(state_.counts);
  unsigned kept = candidates_[0].place, c = 0;
  for (unsigned i = kept; i < lane.count; ++i) {
    if (c == count || candidates_[c].place != i) {
      keep(lane, kept, i);
      continue;
    }
    rte_mbuf* packet = lane.packets[i];
    Verdict verdict;
    if (Source == PacketSource::kPort && candidates_[c].plain) [[likely]] {
      used_forward.add(forward[c]);
      verdict.reason = match_inbound(forward[c], candidates_[c].sa, false);
      if (verdict.reason == Reason::kNone) {
        used_out.add(out[c]);
        verdict = match_outbound(out[c]);
      }
    } else {
      if constexpr (Source == PacketSource::kPort) verdict.reason = check_inbound(lane, c);
      if (verdict.reason == Reason::kNone) verdict = check_outbound<Source>(lane, c);
    }
    ++c;
    if (verdict.sa != nullptr && packet->nb_segs > 1 && rte_pktmbuf_linearize(packet) != 0)
      verdict.reason = Reason::kEspNoRoom;
    if (verdict.reason != Reason::kNone) {
      chunk.refuse(packet, verdict.reason, lane.ingress[i].interface());
    } else if (verdict.sa != nullptr) {
      if constexpr (Source == PacketSource::kPort)
        protect.frames[protect.count].route = lane.groups[i];
      protect.add(packet, lane.ingress[i], verdict.sa);
    } else {
      keep(lane, kept, i);
    }
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

void PolicyCheck::forwarded(Chunk& chunk, const TableViews& tables, const RuleTables* rules,
                            EspBatch& protect) noexcept {
  if (chunk.refused_count > 0) [[unlikely]]
    punt_check_.check(chunk, tables, rules);
  check<PacketSource::kPort>(chunk, tables.next_hops, protect);
}

void PolicyCheck::from_linux(Chunk& chunk, const TableViews& tables, EspBatch& protect) noexcept {
  check<PacketSource::kLinux>(chunk, tables.next_hops, protect);
}

}  // namespace hecto::router
