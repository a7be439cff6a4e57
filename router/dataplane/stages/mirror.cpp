#include "router/dataplane/stages/mirror.hpp"

#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/stages/transmit.hpp"

namespace hecto::router {
namespace {

// Bytes of an IP packet that the port takes; 0: it is not there.
uint32_t longest_of(PortId port, const Snapshot& snapshot) noexcept {
  const PortView& view = snapshot.ports[port];
  if (!view.present) return 0;
  const InterfaceId interface =
      view.untagged == kNoInterface ? view.down_untagged() : view.untagged;
  return interface < kMaxInterfaces ? snapshot.interfaces[interface].mtu : 0;
}

}  // namespace

// From the packet's own pool, which has mbufs for full queues of all ports.
void mirror(const rte_mbuf* packet, unsigned l2_bytes, PortId port, const Snapshot& snapshot,
            Transmitter& transmitter, ReasonCounters& reasons) noexcept {
  if (snapshot.closed) return;
  reasons.copies.add(1);
  const auto drop = [&](Reason reason) { reasons.dropped[static_cast<size_t>(reason)].add(1); };
  const uint32_t longest = longest_of(port, snapshot);
  if (longest == 0) return drop(Reason::kInterfaceDown);
  if (packet->pkt_len > l2_bytes + longest) return drop(Reason::kMirrorTooLong);
  rte_mbuf* const copy = rte_pktmbuf_copy(packet, packet->pool, 0, UINT32_MAX);
  if (copy == nullptr) return drop(Reason::kMirrorMbuf);
  copy->ol_flags = 0;  // marks of ours, and what a NIC would do to it
  transmitter.enqueue(port, copy);
}

}  // namespace hecto::router
