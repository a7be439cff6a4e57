#include "router/ipsec/esp/outbound.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "router/ipsec/esp/block.hpp"
#include "router/ipsec/esp/headers.hpp"
#include "router/ipsec/esp/lifetime_use.hpp"

namespace hecto::router::esp::outbound {
namespace {

constexpr uint32_t kMaxIpBytes = 65535;
constexpr uint8_t kDontFragment = 0x40;

Reason plan_transport(const Shape& shape, const Packet& packet, Work& work) {
  if (is_ipv4(packet.ip) != shape.outer_ipv4) return Reason::kEspMalformed;
  const auto upper = upper_layer(packet.ip, packet.bytes, true);
  if (!upper) return Reason::kEspMalformed;
  if (upper->fragment) return Reason::kEspFragment;  // RFC 4301 §7: only whole packets
  work.header_bytes = upper->offset;
  work.payload_bytes = packet.bytes - upper->offset;
  work.next_header = static_cast<uint16_t>(upper->next_header);
  work.protocol = upper->protocol;
  return Reason::kNone;
}

// Where everything of a packet will stand. Its length becomes what its header says (Ethernet pads
// short frames). kEspNoRoom when ESP does not fit around it.
Reason plan(const Shape& shape, Packet& packet, Work& work) {
  const uint32_t bytes = ip_bytes(packet.ip, packet.bytes);
  if (bytes == 0) return Reason::kEspMalformed;
  const uint32_t room = packet.tailroom + packet.bytes - bytes;
  packet.bytes = bytes;
  packet.tailroom = static_cast<uint16_t>(std::min<uint32_t>(room, 0xffff));
  work.header_bytes = 0;
  work.payload_bytes = bytes;
  work.protocol = is_ipv4(packet.ip) ? kProtocolIpv4 : kProtocolIpv6;
  if (!shape.tunnel) {
    const Reason reason = plan_transport(shape, packet, work);
    if (reason != Reason::kNone) return reason;
  }
  const uint32_t front = shape.front_bytes();
  work.text_bytes = shape.text_bytes(std::max(work.payload_bytes, shape.tfc_pad));
  work.esp = packet.ip + work.header_bytes - shape.iv_bytes - 8;
  const uint32_t behind = work.text_bytes - work.payload_bytes + shape.icv_bytes;
  const bool fits =
      front <= packet.headroom && behind <= room && front + bytes + behind <= kMaxIpBytes;
  return fits ? Reason::kNone : Reason::kEspNoRoom;
}

// 28 to 56 bytes in two overlapping stores.
void copy_header(const Shape& shape, uint8_t* to, uint32_t bytes) {
  if (bytes >= 32) {
    memcpy(to, shape.header.data(), 32);
    memcpy(to + bytes - 32, shape.header.data() + bytes - 32, 32);
    return;
  }
  memcpy(to, shape.header.data(), 16);
  memcpy(to + bytes - 16, shape.header.data() + bytes - 16, 16);
}

// Outer header of a tunnel: RFC 4301 §5.1.2, RFC 6040 §4.1.
void write_outer(const Shape& shape, const uint8_t* inner, uint8_t* outer, uint32_t total,
                 uint64_t number, uint8_t ttl) {
  const unsigned inner_class = traffic_class(inner);
  const unsigned traffic_class =
      (inner_class & (shape.copy_dscp ? 0xfcU : 0U)) | (inner_class & (shape.ecn ? 3U : 0U));
  if (!shape.outer_ipv4) {
    store16_be(outer, 0x6000 | traffic_class << 4);
    store16_be(outer + 4, total - 40);
    outer[7] = ttl;
    return;
  }
  // IPv6 packets must not be fragmented on the way: as if they had DF set.
  const unsigned inner_flags = is_ipv4(inner) ? inner[6] & kDontFragment : kDontFragment;
  const unsigned flags = shape.copy_dont_fragment ? inner_flags : 0;
  const auto id = static_cast<uint16_t>(number);  // RFC 6864: unique where DF is clear
  outer[1] = static_cast<uint8_t>(traffic_class);
  store16_be(outer + 2, total);
  store16_be(outer + 4, id);
  outer[6] = static_cast<uint8_t>(flags);
  outer[8] = ttl;
  const uint32_t sum =
      shape.checksum + traffic_class + total + id + (flags << 8) + (uint32_t{ttl} << 8);
  store16_be(outer + 10, ~fold_sum(sum) & 0xffffU);
}

// Transport mode: the packet's own headers, moved to the front.
void move_headers(const Shape& shape, const Work& work, const uint8_t* from, uint8_t* to,
                  uint32_t total) {
  memmove(to, from, work.header_bytes);
  to[work.next_header] = shape.udp_bytes != 0 ? kProtocolUdp : kProtocolEsp;
  if (!shape.outer_ipv4) return store16_be(to + 4, total - 40);
  store16_be(to + 2, total);
  store16_be(to + 10, 0);
  store16_be(to + 10, ipv4_checksum(to, work.header_bytes));
}

// IV on the wire and for the cipher: RFC 4106 §3.1, RFC 3686 §2, RFC 7634 §2, RFC 4543 §3.1.
void write_iv(const Sa& sa, Work& work) {
  const Shape& shape = sa.shape();
  if (shape.iv_bytes == 8) {
    store64_be(work.esp + 8, work.number ^ shape.iv_mask);
    memcpy(work.iv, shape.salt.data(), 4);
    memcpy(work.iv + 4, work.esp + 8, 8);
  } else if (shape.iv_bytes == 16) {
    memcpy(work.esp + 8, work.iv, 16);
  }
}

// 1, 2, 3, …: at most 16 of them (RFC 4303 §2.4).
void write_padding(uint8_t* pad, uint32_t count) {
  if (count >= 8) {
    const uint64_t first = padding_from(1), last = padding_from(count - 7);
    memcpy(pad, &first, sizeof first);
    memcpy(pad + count - 8, &last, sizeof last);
    return;
  }
  for (uint32_t i = 0; i < count; ++i) pad[i] = static_cast<uint8_t>(i + 1);
}

// Pad length counts at most a block: what lies before it is TFC padding (RFC 4303 §2.7).
void write_trailer(const Shape& shape, const Work& work) {
  uint8_t* payload_end = work.esp + 8 + shape.iv_bytes + work.payload_bytes;
  uint8_t* text_end = work.esp + 8 + shape.iv_bytes + work.text_bytes;
  const uint32_t padding = static_cast<uint32_t>(text_end - payload_end) - 2;
  const uint32_t counted = beyond_blocks(shape, padding);
  if (padding != counted) memset(payload_end, 0, padding - counted);
  uint8_t* pad = text_end - 2 - counted;
  // One store, whose excess the ICV overwrites: what encrypts reads it at once as a whole.
  if (shape.block_bytes == 4) {
    const uint64_t ends = uint64_t{work.protocol} << 8 | counted;
    const uint64_t bytes = (0x030201 & ((1U << 8 * counted) - 1)) | ends << 8 * counted;
    memcpy(pad, &bytes, sizeof bytes);
    return;
  }
  write_padding(pad, counted);
  text_end[-2] = static_cast<uint8_t>(counted);
  text_end[-1] = work.protocol;
}

// Everything around the payload, and the packet's new bounds.
void write_around(Work& work, uint8_t ttl) {
  Packet& packet = *work.packet;
  const Sa& sa = *work.sa;
  const Shape& shape = sa.shape();
  const uint32_t front = shape.front_bytes();
  const uint32_t behind = work.text_bytes - work.payload_bytes + shape.icv_bytes;
  const uint32_t total = front + packet.bytes + behind;
  uint8_t* ip = packet.ip - front;
  uint8_t* udp = work.esp - shape.udp_bytes;
  if (shape.tunnel) {
    copy_header(shape, ip, shape.outer_bytes + shape.udp_bytes + 8U);
    write_outer(shape, packet.ip, ip, total, work.number, ttl);
  } else {
    move_headers(shape, work, packet.ip, ip, total);
    memcpy(udp, shape.header.data(), shape.udp_bytes + 8U);
  }
  if (shape.udp_bytes != 0) store16_be(udp + 4, total - static_cast<uint32_t>(udp - ip));
  store32_be(work.esp + 4, static_cast<uint32_t>(work.number));
  if (shape.esn && shape.integrity == Integrity::kNone) write_aad(work, shape, work.aad);
  write_iv(sa, work);
  write_trailer(shape, work);
  packet.ip = ip;
  packet.bytes = total;
  packet.headroom = static_cast<uint16_t>(packet.headroom - front);
  packet.tailroom = static_cast<uint16_t>(packet.tailroom - behind);
}

// UDP over IPv6 wants a checksum (RFC 8200 §8.1): Linux's sockets refuse packets without unless
// they were told not to (RFC 6936).
void write_udp_checksum(const Work& work) {
  const Packet& packet = *work.packet;
  uint8_t* udp = work.esp - 8;
  const auto bytes = static_cast<uint32_t>(packet.ip + packet.bytes - udp);
  const uint64_t sum =
      uint64_t{sum_data(udp, bytes)} + sum_words(packet.ip + 8, 32) + bytes + kProtocolUdp;
  const auto checksum = static_cast<uint16_t>(~fold_sum(sum));
  store16_be(udp + 6, checksum == 0 ? 0xffff : checksum);
}

void give_ivs(std::span<Work> batch, Crypto& crypto) {
  const auto needs = [](const Work& work) { return work.sa->shape().iv_bytes == 16; };
  const auto count = static_cast<unsigned>(std::ranges::count_if(batch, needs));
  if (count == 0) return;
  const uint8_t* iv = crypto.random_ivs(count);
  for (Work& work : batch) {
    if (!needs(work)) continue;
    memcpy(work.iv, iv, 16);
    iv += 16;
  }
}

void refuse(std::span<Packet> packets, Reason reason) {
  for (Packet& packet : packets) packet.reason = reason;
}

// One atomic for all of them. Numbers never go beyond the last: those that would are taken away.
unsigned give_numbers(Sa& sa, std::span<Work> run) {
  const uint64_t last = sa.shape().last_number;
  uint64_t number = sa.sequence.fetch_add(run.size(), std::memory_order_relaxed);
  unsigned given = 0;
  for (Work& work : run) {
    if (number >= last) {
      work.packet->reason = Reason::kEspExpired;
      sa.expired.store(true, std::memory_order_relaxed);
      continue;
    }
    work.number = ++number;
    ++given;
  }
  return given;
}

unsigned number(std::span<Packet> run, uint32_t now_s, Work* to) {
  Sa* sa = run[0].sa;
  if (sa == nullptr) return refuse(run, Reason::kPolicyNoSa), 0;
  if (sa->expired.load(std::memory_order_relaxed)) return refuse(run, Reason::kEspExpired), 0;
  LifetimeUse use(*sa);
  unsigned planned = 0;
  for (Packet& packet : run) {
    Work& work = to[planned];
    work.packet = &packet;
    work.sa = sa;
    packet.reason = plan(sa->shape(), packet, work);
    if (packet.reason != Reason::kNone) continue;
    if (use.take(work.text_bytes)) {
      ++planned;
    } else {
      packet.reason = Reason::kEspExpired;
    }
  }
  if (planned == 0) return 0;
  use.end(now_s);
  return give_numbers(*sa, {to, planned});
}

// `wants_ivs`: some SA's are the engine's to give.
std::span<Work> number_block(std::span<Packet> block, uint32_t now_s, Work* to, bool& wants_ivs) {
  prefetch(block, false);
  unsigned count = 0;
  while (!block.empty()) {
    const size_t n = run_of(block);
    const Sa* sa = block[0].sa;
    wants_ivs |= sa != nullptr && sa->shape().iv_bytes == 16;
    count += number(block.first(n), now_s, to + count);
    block = block.subspan(n);
  }
  return {to, count};
}

std::span<Work> write_block(std::span<Packet> block, uint32_t now_s, uint8_t ttl, Crypto& crypto,
                            Work* to) {
  bool wants_ivs = false;
  const std::span<Work> work = number_block(block, now_s, to, wants_ivs);
  if (wants_ivs) give_ivs(work, crypto);
  for (Work& planned : work) write_around(planned, ttl);
  return work;
}

}  // namespace

void process(std::span<Packet> packets, uint32_t now_s, uint8_t outer_ttl, Crypto& crypto,
             Work* scratch) noexcept {
  Work* to = scratch;
  for (size_t i = 0; i < packets.size(); i += kBlock) {
    const auto block = packets.subspan(i, std::min(kBlock, packets.size() - i));
    const std::span<Work> work = write_block(block, now_s, outer_ttl, crypto, to);
    crypto.seal(work);
    to += work.size();
  }
  crypto.drain();
  finish(std::span(scratch, to));
}

std::span<Work> write(std::span<Packet> packets, uint32_t now_s, uint8_t outer_ttl, Crypto& crypto,
                      Work* to) noexcept {
  Work* end = to;
  for (size_t i = 0; i < packets.size(); i += kBlock) {
    const auto block = packets.subspan(i, std::min(kBlock, packets.size() - i));
    end += write_block(block, now_s, outer_ttl, crypto, end).size();
  }
  return {to, end};
}

void seal(std::span<Work> work, Crypto& crypto) noexcept {
  crypto.seal(work);
  crypto.drain();
}

void finish(std::span<const Work> work) noexcept {
  for (const Work& sealed : work) {
    const Shape& shape = sealed.sa->shape();
    if (sealed.failed) sealed.packet->reason = Reason::kEspMalformed;
    if (shape.udp_bytes != 0 && !shape.outer_ipv4) write_udp_checksum(sealed);
  }
}

}  // namespace hecto::router::esp::outbound
