#include "bench/ipsec/verify.hpp"

#include <fmt/format.h>

#include <cstring>
#include <unordered_map>

#include "base/ether.hpp"
#include "bench/bed/port_tap.hpp"
#include "bench/bed/verify.hpp"
#include "bench/ipsec/open_esp.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/worker.hpp"

namespace hecto::bench {
namespace {

constexpr unsigned kMostEmptyPolls = 1000;

using Bytes = std::span<const uint8_t>;

// What both directions count, and the first complaint.
class Pass {
 public:
  explicit Pass(Bed& bed)
      : hops_(bed.table(), bed.router().config().neighbors), macs_(egress_macs(bed)) {}

  void blame(std::string what) {
    if (wrong_++ == 0) first_wrong_ = std::move(what);
  }
  // As difference(), of the frame around what `right` is inside of.
  void compare(Bytes got, Bytes right, const std::string& name) {
    if (const auto wrong = difference(got, right))
      blame(fmt::format("the packet to {} {}", name, *wrong));
    else
      ++right_;
  }
  const ExpectedHops& hops() const { return hops_; }
  const MacAddress& mac(unsigned side) const { return macs_[side]; }

  Result<uint64_t> run(Bed& bed, size_t wanted) {
    router::Worker& worker = bed.router().dataplane().worker(0);
    uint64_t received = 0;
    for (unsigned empty = 0; received < wanted && empty < kMostEmptyPolls;) {
      const unsigned more = worker.poll_once();
      received += more;
      empty = more == 0 ? empty + 1 : 0;
    }
    if (wrong_ > 0) return fail(fmt::format("{} ({} wrong of {})", first_wrong_, wrong_, received));
    if (right_ != received || received < wanted)
      return fail(fmt::format("of {} packets wanted {} went in and {} came out right", wanted,
                              received, right_));
    return right_;
  }

 private:
  ExpectedHops hops_;
  std::array<MacAddress, 2> macs_;
  uint64_t right_ = 0, wrong_ = 0;
  std::string first_wrong_;
};

Bytes bytes_of(const rte_mbuf* packet) {
  return {rte_pktmbuf_mtod(packet, const uint8_t*), packet->data_len};
}

}  // namespace

Result<uint64_t> verify_encap(Bed& bed, const Tunnels& tunnels) {
  Pass pass(bed);
  std::unordered_map<uint32_t, std::vector<uint8_t>> in_flight;  // by number
  uint32_t next = 0;
  const auto enter = [&](rte_mbuf* packet) {
    uint8_t* frame = rte_pktmbuf_mtod(packet, uint8_t*);
    mark_frame({frame, packet->data_len}, ++next);
    in_flight[next].assign(frame, frame + packet->data_len);
  };
  const auto leave = [&](unsigned side, rte_mbuf* packet) {
    const Bytes got = bytes_of(packet);
    if (got.size() < kLeastFrame_bytes)
      return pass.blame(fmt::format("a packet of {} bytes came out", got.size()));
    const std::string name = destination_of(got);
    constexpr size_t kProtocol = kEthernetBytes + 9, kSpi = kEthernetBytes + kIpv4Bytes;
    if (got[kProtocol] != 50)
      return pass.blame(fmt::format("the packet to {} left in clear", name));
    const uint32_t spi = static_cast<uint32_t>(got[kSpi]) << 24 | got[kSpi + 1] << 16 |
                         got[kSpi + 2] << 8 | got[kSpi + 3];
    const Tunnel* tunnel = tunnels.by_spi(spi);
    if (tunnel == nullptr)
      return pass.blame(fmt::format("the packet to {} has SPI 0x{:x} of no tunnel", name, spi));
    const auto inner = open_esp(tunnel->outbound(), got.subspan(kEthernetBytes));
    if (!inner) return pass.blame(fmt::format("the packet to {} {}", name, inner.error().message));
    const auto hop = pass.hops().find(got);
    if (!hop || hop->side != side)
      return pass.blame(fmt::format("the packet to {} left by out{}", name, side));
    // A frame of the outer addresses around what is inside, to be held against what went in.
    std::vector<uint8_t> frame(got.begin(), got.begin() + kEthernetBytes);
    frame.insert(frame.end(), inner->begin(), inner->end());
    const auto at = in_flight.find(number_of(frame));
    if (at == in_flight.end() || !tunnel->leads_to(destination_of(frame)))
      return pass.blame(
          fmt::format("the packet to {} holds one that did not go in, or not there", name));
    const std::vector<uint8_t> sent = std::move(at->second);
    in_flight.erase(at);
    pass.compare(frame, forwarded(sent, hop->mac, pass.mac(side)), destination_of(sent));
  };
  const PortTap tap(bed, enter, leave);
  return pass.run(bed, bed.destinations().ipv4.size());
}

Result<uint64_t> verify_decap(Bed& bed, const WholeFrames& frames) {
  Pass pass(bed);
  const auto leave = [&](unsigned side, rte_mbuf* packet) {
    const Bytes got = bytes_of(packet);
    if (got.size() < kLeastFrame_bytes)
      return pass.blame(fmt::format("a packet of {} bytes came out", got.size()));
    const std::string name = destination_of(got);
    const auto n = static_cast<unsigned>(got[kEthernetBytes + 13] << 8 | got[kEthernetBytes + 14]);
    std::vector<uint8_t> sent(kEthernetBytes);
    std::memcpy(&sent[12], &kEtherIpv4, sizeof kEtherIpv4);
    const auto inner = inner_packet(n, static_cast<uint16_t>(got.size() - kEthernetBytes));
    sent.insert(sent.end(), inner.begin(), inner.end());
    const auto& way = bed.router().config().neighbors.front();
    if (side != 0) return pass.blame(fmt::format("the packet to {} left by out{}", name, side));
    pass.compare(got, forwarded(sent, way.mac, pass.mac(0)), name);
  };
  const PortTap tap(
      bed, [](rte_mbuf*) {}, leave);
  return pass.run(bed, frames.ends.size());
}

}  // namespace hecto::bench
