#include "router/dataplane/stages/decap.hpp"

#include "router/dataplane/stages/classify.hpp"
#include "router/dataplane/stages/esp_parse.hpp"
#include "router/dataplane/stages/vrf_tables.hpp"
#include "router/ipsec/esp/peers.hpp"
#include "router/ipsec/esp/sad.hpp"
#include "router/rib/rule_table.hpp"

namespace hecto::router {
namespace {

// Whether a destination is one of our addresses. An SA that sends has the SPI and the destination of
// what others send the same way: that passes. Of a chunk's ESP nearly all has one destination.
template <typename Address>
class ForUs {
 public:
  explicit ForUs(const VrfTables& tables) : tables_(tables) {}
  bool operator()(InterfaceId interface, const Address& destination) noexcept {
    if (!known_ || interface != interface_ ||
        std::memcmp(&destination, &last_, sizeof last_) != 0) {
      own_ = tables_.all().next_hops.record(tables_.group(interface, destination)).own != 0;
      interface_ = interface;
      last_ = destination;
      known_ = true;
    }
    return own_;
  }

 private:
  const VrfTables& tables_;
  InterfaceId interface_ = kNoInterface;
  Address last_{};
  bool known_ = false, own_ = false;
};

InterfaceId ingress_of_sa(const esp::Sa& sa, const RuleTables& rules,
                          InterfaceId otherwise) noexcept {
  for (const RuleTables::InVrf& ipsec : rules.ipsec_in_vrfs)
    if (ipsec.if_id == sa.if_id) return ipsec.member;
  return otherwise;
}

bool differ(uint32_t one, uint32_t other) noexcept {
  return one != other;
}
bool differ(const lookup::Ipv6Address& one, const lookup::Ipv6Address& other) noexcept {
  const auto word = [](const lookup::Ipv6Address& address, size_t at) {
    return load64_native(address.bytes.data() + at);
  };
  return ((word(one, 0) ^ word(other, 0)) | (word(one, 8) ^ word(other, 8))) != 0;
}

}  // namespace

// A fragment of ESP to one of our addresses goes where fragments are put together. What is whole by
// it takes its place, else the lane closes up. False: it is not for us.
template <typename Address>
bool Decap::reassemble(Lane<Address>& lane, unsigned i, const VrfTables& tables,
                       ReasonCounters& reasons) noexcept {
  if (!ForUs<Address>(tables)(lane.ingress[i].interface(), lane.destinations[i])) return false;
  const unsigned l2 = lane.ingress[i].l2_length();
  const auto* ip = rte_pktmbuf_mtod_offset(lane.packets[i], const uint8_t*, l2);
  const bool known =
      state_.tables.peers->contains(esp_parse::family(lane), esp_parse::source(lane, ip));
  lane.packets[i] = sizeof(Address) == 4 ? reassembly_.take4(lane.packets[i], l2, known, reasons)
                                         : reassembly_.take6(lane.packets[i], l2, known, reasons);
  if (lane.packets[i] != nullptr) return true;
  --lane.count;
  for (unsigned n = i; n < lane.count; ++n) {
    lane.packets[n] = lane.packets[n + 1];
    lane.destinations[n] = lane.destinations[n + 1];
    lane.ingress[n] = lane.ingress[n + 1];
  }
  return true;
}

// Takes out of the lane what an SA answers for; the others close up.
template <typename Address>
void Decap::gather(Lane<Address>& lane, Chunk& chunk, const VrfTables& tables,
                   ReasonCounters& reasons) noexcept {
  if (!state_.tables.sad->has(esp_parse::family(lane))) return;
  // Packets of one SA in a row ask once.
  esp::SadKey keys[kChunkSize];
  uint16_t places[kChunkSize], answers[kChunkSize];  // of each, in the lane and in `found`
  unsigned candidates = 0, questions = 0;
  Spi last_spi{0};
  Address last_destination{};
  for (unsigned i = 0; i < lane.count; ++i) {
    const unsigned l2 = lane.ingress[i].l2_length();
    const auto* ip = rte_pktmbuf_mtod_offset(lane.packets[i], const uint8_t*, l2);
    const esp_parse::Payload payload = esp_parse::payload(lane, ip, lane.packets[i]->data_len - l2);
    if (payload.fragment && payload.protocol == esp_parse::kProtocolEsp &&
        reassemble(lane, i, tables, reasons)) [[unlikely]] {
      --i;  // another packet is there now
      continue;
    }
    const Spi spi = esp_parse::spi(payload);
    if (spi == 0) continue;
    keys[questions] = {spi, esp_parse::family(lane), esp_parse::destination(lane, ip)};
    questions += differ(lane.destinations[i], last_destination) | (spi != last_spi);
    last_spi = spi;
    last_destination = lane.destinations[i];
    places[candidates] = static_cast<uint16_t>(i);
    answers[candidates++] = static_cast<uint16_t>(questions - 1);
  }
  if (candidates == 0) return;
  esp::Sa* found[kChunkSize];
  state_.tables.sad->find_batch({keys, questions}, found);
  unsigned kept = places[0], next = 0;
  ForUs<Address> for_us(tables);
  for (unsigned i = places[0]; i < lane.count; ++i) {
    rte_mbuf* packet = lane.packets[i];
    esp::Sa* sa = nullptr;
    if (next < candidates && places[next] == i) sa = found[answers[next++]];
    if (sa != nullptr && !for_us(lane.ingress[i].interface(), lane.destinations[i])) sa = nullptr;
    if (sa == nullptr) {
      lane.packets[kept] = packet;
      lane.destinations[kept] = lane.destinations[i];
      lane.ingress[kept++] = lane.ingress[i];
    } else if (packet->nb_segs > 1 && rte_pktmbuf_linearize(packet) != 0) {
      chunk.refuse(packet, Reason::kEspNoRoom, lane.ingress[i].interface());
    } else {
      batch_.frames[batch_.count].keep_l2(rte_pktmbuf_mtod(packet, const uint8_t*),
                                          lane.ingress[i].l2_length());
      batch_.add(packet, lane.ingress[i], sa);
    }
  }
  lane.count = kept;
}

bool Decap::run(Chunk& chunk, const PortView& port, const TableViews& tables,
                const Snapshot& snapshot, ReasonCounters& reasons, Observer* observer) noexcept {
  if (port.opens_esp) [[unlikely]]
    run_decrypted_by_nic(chunk, port, snapshot, observer);
  batch_.count = 0;
  const VrfTables by_vrf(tables, snapshot.rules.get());
  gather(chunk.v4, chunk, by_vrf, reasons);
  gather(chunk.v6, chunk, by_vrf, reasons);
  if (batch_.count == 0) return true;
  if (observer != nullptr) [[unlikely]]
    for (unsigned i = 0; i < batch_.count; ++i) observer->before_decap(batch_.observed(i));
  if (device_ != nullptr) return start_beside_device(chunk, port, snapshot, observer);
  state_.engine->inbound(batch_.all(), state_.now_s());
  if (observer == nullptr) [[likely]]
    for (unsigned i = 0; i < batch_.count; ++i)
      deliver(batch_.packets[i], batch_.frames[i], chunk, port, snapshot);
  else
    for (unsigned i = 0; i < batch_.count; ++i)
      deliver_and_show(i, chunk, port, snapshot, observer);
  return true;
}

void Decap::run_decrypted_by_nic(Chunk& chunk, const PortView& port, const Snapshot& snapshot,
                                 Observer* observer) noexcept {
  inline_decrypt_.gather(chunk, batch_);
  if (batch_.count == 0) return;
  if (observer != nullptr)
    for (unsigned i = 0; i < batch_.count; ++i) observer->before_decap(batch_.observed(i));
  inline_decrypt_.accept(batch_);
  for (unsigned i = 0; i < batch_.count; ++i) deliver_and_show(i, chunk, port, snapshot, observer);
}

// What the check refuses goes at once; the rest stays in the batch until the device has taken it.
bool Decap::start_beside_device(Chunk& chunk, const PortView& port, const Snapshot& snapshot,
                                Observer* observer) noexcept {
  const auto work = state_.engine->check(batch_.all(), device_->work());
  for (unsigned i = 0; i < batch_.count; ++i)
    if (batch_.packets[i].reason != Reason::kNone)
      deliver(batch_.packets[i], batch_.frames[i], chunk, port, snapshot);
  device_->begin(work, batch_.packets, batch_.frames, observer != nullptr);
  return resume(chunk, port, snapshot, observer);
}

bool Decap::resume(Chunk& chunk, const PortView& port, const Snapshot& snapshot,
                   Observer* observer) noexcept {
  if (!device_->take()) return false;
  const std::span<esp::Work> here = device_->here();
  const uint64_t start = device_->now();
  state_.engine->open(here);
  device_->took_here(device_->now() - start);
  esp::Engine::accept(here, state_.now_s());
  for (const esp::Work& work : here)
    deliver_and_show(static_cast<unsigned>(work.packet - batch_.packets), chunk, port, snapshot,
                     observer);
  return true;
}

// What was inside, behind the frame's own header: it came in by that interface, in that frame, or by
// the VRF of the SA's interface in Linux. False: it is refused.
bool Decap::deliver(const esp::Packet& inner, const EspFrame& frame, Chunk& chunk,
                    const PortView& port, const Snapshot& snapshot) noexcept {
  rte_mbuf* packet = frame.packet;
  if (inner.reason != Reason::kNone) {
    if (inner.sa != nullptr) inner.sa->count_drop(inner.reason);
    chunk.refuse(packet, inner.reason, frame.ingress.interface());
    return false;
  }
  const unsigned l2 = frame.ingress.l2_length();
  Ingress ingress = frame.ingress;
  if (snapshot.rules && inner.sa->if_id != 0) [[unlikely]]
    ingress = {ingress_of_sa(*inner.sa, *snapshot.rules, ingress.interface()), l2};
  if (ingress.interface() == kNoInterface) [[unlikely]] {
    chunk.refuse(packet, Reason::kInterfaceDown, frame.ingress.interface());
    return false;
  }
  uint8_t* ether = inner.ip - l2;
  frame.put_l2(ether, l2);
  const uint16_t type = inner.ip[0] >> 4 == 4 ? kEtherIpv4 : kEtherIpv6;
  std::memcpy(inner.ip - 2, &type, sizeof type);
  packet->data_off = static_cast<uint16_t>(ether - static_cast<uint8_t*>(packet->buf_addr));
  packet->data_len = static_cast<uint16_t>(inner.bytes + l2);
  packet->pkt_len = packet->data_len;
  packet->ol_flags &= ~uint64_t{RTE_MBUF_F_RX_RSS_HASH};
  state_.mark.set(packet, inner.sa);
  const unsigned v4 = chunk.v4.count, v6 = chunk.v6.count, refused = chunk.refused_count;
  classify_again(chunk, packet, ingress, port, snapshot);
  if (ingress.interface() == frame.ingress.interface()) [[likely]]
    return true;
  // Not by what the frame says.
  if (chunk.v4.count > v4) chunk.v4.ingress[v4] = ingress;
  if (chunk.v6.count > v6) chunk.v6.ingress[v6] = ingress;
  if (chunk.refused_count > refused) chunk.refused[refused].interface = ingress.interface();
  return true;
}

void Decap::deliver_and_show(unsigned i, Chunk& chunk, const PortView& port,
                             const Snapshot& snapshot, Observer* observer) noexcept {
  const bool whole = deliver(batch_.packets[i], batch_.frames[i], chunk, port, snapshot);
  if (whole && observer != nullptr) [[unlikely]]
    observer->decapsulated(batch_.observed(i));
}

// Under the snapshot of now, which may know the port otherwise than the one when it came in.
void Decap::deliver_decrypted(std::span<esp::Work> work, const EspFrame* frames, Chunk& chunk,
                              const Snapshot& snapshot) noexcept {
  esp::Engine::accept(work, state_.now_s());
  for (size_t i = 0; i < work.size(); ++i)
    deliver(*work[i].packet, frames[i], chunk, snapshot.ports[frames[i].packet->port], snapshot);
}

}  // namespace hecto::router
