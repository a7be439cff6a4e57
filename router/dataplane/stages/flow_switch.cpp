#include "router/dataplane/stages/flow_switch.hpp"

#include "base/bytes.hpp"
#include "base/ether.hpp"
#include "router/dataplane/filter/read_key.hpp"
#include "router/dataplane/flow/flow_rewrite.hpp"
#include "router/dataplane/stages/rewrite.hpp"

namespace hecto::router {

struct FlowSwitch::With {
  Chunk& chunk;
  const Snapshot& snapshot;
  const FlowView& view;
  FlowTables& tables;
  FlowThread& thread;
  Transmitter& transmitter;
  std::array<InterfaceCounters, kMaxInterfaces>& interfaces;
  uint32_t now_s;
};

namespace {

// Of packets that follow one another by the same entry one sum: a store each forwards to the load of
// the next.
class RunningCount {
 public:
  explicit RunningCount(FlowCell* cells) noexcept : cells_(cells) {}
  void add(uint32_t index, uint32_t bytes) noexcept {
    if (index != index_) {
      flush();
      index_ = index;
    }
    ++packets_;
    bytes_ += bytes;
  }
  void flush() noexcept {
    if (packets_ == 0) return;
    cells_[index_].packets.add(packets_);
    cells_[index_].bytes.add(bytes_);
    packets_ = bytes_ = 0;
  }

 private:
  FlowCell* const cells_;
  uint32_t index_ = 0;
  uint64_t packets_ = 0, bytes_ = 0;
};

void write_fields(Lane4& lane, unsigned i, uint8_t* ip, uint32_t bytes,
                  const FlowAction& action) noexcept {
  rewrite_ipv4(ip, bytes, action);
  lane.destinations[i] = load32_be(ip + 16);
}
void write_fields(Lane6& lane, unsigned i, uint8_t* ip, uint32_t bytes,
                  const FlowAction& action) noexcept {
  rewrite_ipv6(ip, bytes, action);
  std::memcpy(&lane.destinations[i], ip + 24, 16);
}

// The new Ethernet header: as long as the interface's. Addresses that the entry does not say stay.
template <typename Address>
void write_l2(rte_mbuf* packet, uint8_t* ip, unsigned l2_length, const FlowOutput& output,
              const FlowAction& action) noexcept {
  constexpr uint16_t kType = sizeof(Address) == 4 ? kEtherIpv4 : kEtherIpv6;
  uint8_t macs[12];
  if ((action.does & FlowAction::kMac) != 0) {
    std::memcpy(macs, action.mac, 6);
    std::memcpy(macs + 6, output.header + 6, 6);
  } else {
    std::memcpy(macs, ip - l2_length, 12);
  }
  const unsigned length = output.header_length;
  if (length != l2_length) [[unlikely]] {
    const int growth = static_cast<int>(length) - static_cast<int>(l2_length);
    packet->data_off = static_cast<uint16_t>(packet->data_off - growth);
    packet->data_len = static_cast<uint16_t>(packet->data_len + growth);
    packet->pkt_len = static_cast<uint32_t>(static_cast<int>(packet->pkt_len) + growth);
  }
  std::memcpy(ip - length, macs, 12);
  if (length > kEthernetBytes) [[unlikely]]
    std::memcpy(ip - length + 12, output.header + 12, length - kEthernetBytes);
  std::memcpy(ip - 2, &kType, 2);
}

// kNone: it is on its way.
template <typename Address>
Reason send(Lane<Address>& lane, unsigned i, uint8_t* ip, uint32_t bytes, const FlowAction& action,
            const FlowView& view, const Snapshot& snapshot, Transmitter& transmitter,
            std::array<InterfaceCounters, kMaxInterfaces>& interfaces) noexcept {
  rte_mbuf* const packet = lane.packets[i];
  const FlowOutput& output = view.outputs[action.output];
  if (!output.present || !snapshot.interfaces[output.interface].up) [[unlikely]]
    return Reason::kInterfaceDown;
  if (bytes > output.mtu) [[unlikely]]
    return Reason::kFlowTooLong;
  if ((action.does & FlowAction::kTtl) != 0 && !rewrite_detail::decrement_ttl(lane, ip))
      [[unlikely]]
    return Reason::kTtlExpired;
  const unsigned l2_length = lane.ingress[i].l2_length();
  write_l2<Address>(packet, ip, l2_length, output, action);
  // What leaves untagged by a port its transmit buffer counts.
  if (output.header_length == kEthernetBytes && packet->nb_segs == 1) [[likely]] {
    transmitter.wake(uint64_t{1} << output.port);
    transmitter.enqueue_plain(output.port, packet, packet->pkt_len);
    return Reason::kNone;
  }
  if (snapshot.interfaces[output.interface].counters) {
    interfaces[output.interface].tx_packets.add(1);
    interfaces[output.interface].tx_bytes.add(bytes);
  }
  transmitter.enqueue(output.port, packet);
  return Reason::kNone;
}

}  // namespace

FlowSwitch::FlowSwitch() noexcept {
  // What no mask asks for is not written, and read all the same.
  std::memset(static_cast<void*>(keys4_), 0, sizeof keys4_);
  std::memset(static_cast<void*>(keys6_), 0, sizeof keys6_);
}

template <typename Address>
void FlowSwitch::find(const Lane<Address>& lane, const uint8_t* who, unsigned n,
                      const With& with) noexcept {
  auto* const keys = this->keys(lane);
  auto& table = with.tables.of(keys);
  const auto& list = table.list();
  const uint32_t needs = table.needs(list);
  for (unsigned j = 0; j < n; ++j) {
    const unsigned i = who[j];
    const rte_mbuf* const packet = lane.packets[i];
    const unsigned l2_length = lane.ingress[i].l2_length();
    read_key(rte_pktmbuf_mtod_offset(packet, const uint8_t*, l2_length),
             packet->data_len - l2_length, needs, keys[j]);
    const FlowPlace place = with.view.places[lane.ingress[i].interface()];
    std::memcpy(keys[j].interface, &place, sizeof place);
    if ((needs & kNeedMark) != 0) [[unlikely]] {
      const uint32_t mark = with.view.mark.field < 0 ? 0 : with.view.mark.get(packet);
      std::memcpy(keys[j].mark, &mark, sizeof mark);
    }
  }
  table.find(list, keys, n, with.thread.cells(keys), found_);
}

template <typename Address>
void FlowSwitch::run_lane(Lane<Address>& lane, const With& with) noexcept {
  if (lane.count == 0) return;
  const bool all = lane.of_one_ingress();
  if (all && !with.view.on[lane.ingress[0].interface()]) return;
  const FlowActions& actions = with.tables.actions();
  auto& table = with.tables.of(this->keys(lane));
  RunningCount counts(with.thread.cells(this->keys(lane)));
  unsigned kept = 0;
  const auto keep = [&](unsigned i) {
    if (kept != i) {
      lane.packets[kept] = lane.packets[i];
      lane.destinations[kept] = lane.destinations[i];
      lane.ingress[kept] = lane.ingress[i];
    }
    ++kept;
  };
  uint64_t misses = 0, looked_up = 0;
  for (unsigned start = 0; start < lane.count; start += kFlowGroup) {
    const unsigned end = std::min(lane.count, start + kFlowGroup);
    uint8_t who[kFlowGroup];
    unsigned n = 0;
    for (unsigned i = start; i < end; ++i) {
      who[n] = static_cast<uint8_t>(i);
      n += all || with.view.on[lane.ingress[i].interface()];
    }
    looked_up += n;
    find(lane, who, n, with);
    unsigned next = 0;
    for (unsigned i = start; i < end; ++i) {
      if (next == n || who[next] != i) {
        keep(i);
        continue;
      }
      const uint32_t index = found_[next++];
      rte_mbuf* const packet = lane.packets[i];
      const unsigned l2_length = lane.ingress[i].l2_length();
      const uint32_t bytes = packet->pkt_len - l2_length;
      const FlowAction* action = &with.view.miss;
      if (index != 0) [[likely]] {
        auto& entry = table.entry(index);
        action = &actions[entry.action];
        if (entry.used_s.load(std::memory_order_relaxed) != with.now_s) [[unlikely]]
          entry.used_s.store(with.now_s, std::memory_order_relaxed);
        counts.add(index, bytes);
      } else {
        ++misses;
      }
      Reason reason = Reason::kFlow;
      if (action->verdict != FlowVerdict::kDrop) [[likely]] {
        uint8_t* const ip = rte_pktmbuf_mtod_offset(packet, uint8_t*, l2_length);
        if ((action->does & FlowAction::kHeader) != 0)
          write_fields(lane, i, ip, packet->data_len - l2_length, *action);
        if ((action->does & FlowAction::kMark) != 0 && with.view.mark.field >= 0)
          with.view.mark.set(packet, action->mark);
        if (action->verdict == FlowVerdict::kAccept) {
          keep(i);
          continue;
        }
        reason = send(lane, i, ip, bytes, *action, with.view, with.snapshot, with.transmitter,
                      with.interfaces);
      }
      if (reason != Reason::kNone) [[unlikely]]
        with.chunk.refuse(packet, reason, lane.ingress[i].interface());
    }
  }
  counts.flush();
  if (misses > 0) with.thread.misses.add(misses);
  with.thread.hits.add(looked_up - misses);
  lane.count = kept;
}

void FlowSwitch::run(Chunk& chunk, const Snapshot& snapshot, unsigned thread,
                     Transmitter& transmitter,
                     std::array<InterfaceCounters, kMaxInterfaces>& interfaces) noexcept {
  const FlowView& view = *snapshot.flows;
  FlowTables& tables = *view.tables;
  const With with{chunk,       snapshot,   view,          tables, tables.thread(thread),
                  transmitter, interfaces, tables.now_s()};
  run_lane(chunk.v4, with);
  run_lane(chunk.v6, with);
}

}  // namespace hecto::router
