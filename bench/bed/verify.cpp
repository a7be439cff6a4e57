#include "bench/bed/verify.hpp"

#include <fmt/format.h>

#include "base/bytes.hpp"
#include "base/ether.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::bench {
namespace {

constexpr unsigned kUdpBytes = 8;
constexpr unsigned kMostEmptyPolls = 1000;

size_t l4_at(std::span<const uint8_t> frame) {
  return kEthernetBytes + (frame[kEthernetBytes] >> 4 == 4 ? kIpv4Bytes : kIpv6Bytes);
}

std::span<uint8_t> bytes_of(rte_mbuf* packet) {
  return {rte_pktmbuf_mtod(packet, uint8_t*), packet->data_len};
}

// Empty: they have no bottom, or another TTL than what is inside (RFC 3443).
std::vector<uint8_t> without_labels(std::span<const uint8_t> frame) {
  size_t at = kEthernetBytes;
  while (at + kLabelBytes < frame.size() && (frame[at + 2] & 1) == 0) at += kLabelBytes;
  at += kLabelBytes;
  if (at + kIpv6Bytes > frame.size()) return {};
  const bool v4 = frame[at] >> 4 == 4;
  for (size_t label = kEthernetBytes; label < at; label += kLabelBytes)
    if (frame[label + 3] != frame[at + (v4 ? 8 : 7)]) return {};
  std::vector<uint8_t> bare(frame.begin(), frame.begin() + kEthernetBytes);
  const uint16_t type = v4 ? kEtherIpv4 : kEtherIpv6;
  std::memcpy(&bare[12], &type, sizeof type);
  bare.insert(bare.end(), frame.begin() + static_cast<long>(at), frame.end());
  return bare;
}

}  // namespace

std::string destination_of(std::span<const uint8_t> frame) {
  lookup::IpAddress address;
  const bool v4 = frame[kEthernetBytes] >> 4 == 4;
  address.family = v4 ? lookup::Family::kIpv4 : lookup::Family::kIpv6;
  const size_t bytes = v4 ? 4 : 16;
  std::copy_n(&frame[l4_at(frame) - bytes], bytes, address.bytes.begin());
  return address.to_string();
}

void mark_frame(std::span<uint8_t> frame, uint32_t number) {
  const size_t l4 = l4_at(frame);
  uint8_t* ip = &frame[kEthernetBytes];
  const auto ttl = static_cast<uint8_t>(2 + number % 254);
  if (l4 == kEthernetBytes + kIpv4Bytes) {
    store16_be(ip + 4, static_cast<uint16_t>(number));
    ip[8] = ttl;
    store16_be(ip + 10, 0);
    store16_be(ip + 10, checksum_by_definition({ip, kIpv4Bytes}));
  } else {
    store16_be(ip + 2, static_cast<uint16_t>(number));
    ip[7] = ttl;
  }
  store16_be(&frame[l4], static_cast<uint16_t>(number >> 16));
  store16_be(&frame[l4 + 2], static_cast<uint16_t>(number));
  for (size_t i = l4 + kUdpBytes; i < frame.size(); ++i)
    frame[i] = static_cast<uint8_t>(number * 167 + i * 31);
}

uint32_t number_of(std::span<const uint8_t> frame) {
  if (frame.size() < kLeastFrame_bytes) return 0;
  const uint8_t* ports = &frame[l4_at(frame)];
  return static_cast<uint32_t>(ports[0]) << 24 | ports[1] << 16 | ports[2] << 8 | ports[3];
}

Verifier::Verifier(Bed& bed)
    : hops_(bed.table(), bed.router().config().neighbors),
      port_macs_(egress_macs(bed)),
      out_of_tunnel_(bed.options().frames[0].in_gre),
      into_tunnel_(bed.options().into_tunnels > 0),
      tap_(
          bed, [this](rte_mbuf* packet) { enter(packet); },
          [this](unsigned side, rte_mbuf* packet) { leave(side, packet); }) {}

void Verifier::enter(rte_mbuf* packet) {
  auto frame = bytes_of(packet);
  if (out_of_tunnel_)
    frame = frame.subspan(kOuterBytes);  // what stands in front ends as Ethernet does
  mark_frame(frame, ++next_);
  in_flight_[next_].assign(frame.begin(), frame.end());
}

void Verifier::blame(std::string what) {
  if (wrong_++ == 0) first_wrong_ = std::move(what);
}

// Fragments of a packet leave one behind the other. True: the last has come, and partial_ is the packet as
// it would be whole.
bool Verifier::joined(unsigned side, std::span<const uint8_t> fragment) {
  constexpr size_t kHeaders = kEthernetBytes + kIpv4Bytes;
  std::vector<uint8_t>& whole = partial_[side];
  const uint8_t* const ip = &fragment[kEthernetBytes];
  const unsigned offset = (load16_be(ip + 6) & 0x1fff) * 8u;
  if (checksum_by_definition({ip, kIpv4Bytes}) != 0 ||
      fragment.size() != load16_be(ip + 2) + kEthernetBytes)
    blame("a fragment came out with a wrong length or checksum");
  if (offset == 0) {
    whole.assign(fragment.begin(), fragment.end());
  } else if (whole.size() != kHeaders + offset ||
             load16_be(ip + 4) != load16_be(&whole[kEthernetBytes + 4])) {
    blame("a fragment came out of turn");
    return false;
  } else {
    whole.insert(whole.end(), fragment.begin() + kHeaders, fragment.end());
  }
  if ((ip[6] & 0x20) != 0) return false;
  uint8_t* const header = &whole[kEthernetBytes];
  store16_be(header + 2, static_cast<uint16_t>(whole.size() - kEthernetBytes));
  store16_be(header + 6, 0);
  store16_be(header + 10, 0);
  store16_be(header + 10, checksum_by_definition({header, kIpv4Bytes}));
  return true;
}

void Verifier::leave(unsigned side, rte_mbuf* packet) {
  std::span<const uint8_t> got = bytes_of(packet);
  if (got.size() > kEthernetBytes + kIpv4Bytes && got[kEthernetBytes] == 0x45 &&
      (load16_be(&got[kEthernetBytes + 6]) & 0x3fff) != 0) {
    if (!joined(side, got)) return;
    got = partial_[side];
  }
  const std::span<const uint8_t> outer = got;
  if (into_tunnel_) {
    if (got.size() < kGreFront + kIpv4Bytes) return blame("a packet came out that is in no tunnel");
    inner_.assign(got.begin() + kOuterBytes, got.end());
    std::copy_n(got.begin(), 12, inner_.begin());
    got = inner_;
  }
  std::vector<uint8_t> bare;
  if (got.size() > kEthernetBytes && load16_native(&got[12]) == kEtherMpls) {
    bare = without_labels(got);
    if (bare.empty()) return blame("a packet came out with labels that are wrong");
    got = bare;
  }
  const auto at = in_flight_.find(number_of(got));
  if (at == in_flight_.end()) return blame("a packet came out that never went in, or twice");
  const std::vector<uint8_t> sent = std::move(at->second);
  in_flight_.erase(at);
  const std::string name = destination_of(sent);
  const auto hop = hops_.find(sent);
  if (!hop) return blame(fmt::format("the packet to {} came out, and there is no route", name));
  if (side != hop->side)
    return blame(fmt::format("the packet to {} left by out{}, not out{}", name, side, hop->side));
  if (packet->nb_segs != 1 || packet->pkt_len != packet->data_len)
    return blame(fmt::format("the packet to {} came out in pieces", name));
  if (into_tunnel_)
    if (const auto wrong = wrong_gre_front(outer, hop->side, hop->mac))
      return blame(fmt::format("the packet to {} {}", name, *wrong));
  if (const auto wrong = difference(got, forwarded(sent, hop->mac, port_macs_[hop->side])))
    return blame(fmt::format("the packet to {} {}", name, *wrong));
  ++verified_;
}

Result<void> Verifier::run(size_t packets, const std::function<unsigned()>& poll,
                           const std::function<void()>& drain) {
  const uint64_t before = verified_;
  uint64_t received = 0;
  for (unsigned empty = 0; received < packets && empty < kMostEmptyPolls;) {
    const unsigned more = poll();
    received += more;
    empty = more == 0 ? empty + 1 : 0;
  }
  drain();
  if (wrong_ > 0)
    return fail(fmt::format("verification: {} ({} wrong of {})", first_wrong_, wrong_, received));
  if (!in_flight_.empty() || verified_ - before != received || received < packets)
    return fail(
        fmt::format("verification: of {} packets wanted {} went in, {} came out right, {} not at "
                    "all; the first: to {}",
                    packets, received, verified_ - before, in_flight_.size(),
                    in_flight_.empty() ? "none" : destination_of(in_flight_.begin()->second)));
  return {};
}

}  // namespace hecto::bench
