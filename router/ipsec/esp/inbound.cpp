#include "router/ipsec/esp/inbound.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "router/ipsec/esp/block.hpp"
#include "router/ipsec/esp/headers.hpp"
#include "router/ipsec/esp/lifetime_use.hpp"

namespace hecto::router::esp::inbound {
namespace {

// Where ESP begins and ends in a packet, all bounds checked. `esp_bytes`: up to the ICV's end.
Reason locate(const Shape& shape, const Packet& packet, Work& work, uint32_t& esp_bytes) {
  const uint32_t bytes = ip_bytes(packet.ip, packet.bytes);
  if (bytes == 0 || is_ipv4(packet.ip) != shape.outer_ipv4) return Reason::kEspMalformed;
  const auto upper = upper_layer(packet.ip, bytes, false);
  if (!upper) return Reason::kEspMalformed;
  if (upper->fragment) return Reason::kEspFragment;
  if (upper->protocol != (shape.udp_bytes != 0 ? kProtocolUdp : kProtocolEsp))
    return Reason::kEspMalformed;
  uint32_t begin = upper->offset, end = bytes;
  if (shape.udp_bytes != 0) {
    if (begin + 8 > end) return Reason::kEspMalformed;
    const uint32_t udp_bytes = load16_be(packet.ip + begin + 4);
    if (udp_bytes < 8 || begin + udp_bytes > end) return Reason::kEspMalformed;
    end = begin + udp_bytes;
    begin += 8;
  }
  work.header_bytes = upper->offset;
  work.next_header = static_cast<uint16_t>(upper->next_header);
  work.esp = packet.ip + begin;
  esp_bytes = end - begin;
  return Reason::kNone;
}

// What can be told before the ICV is verified (RFC 4303 §3.4.2, §3.4.3).
Reason check_packet(Sa& sa, const Packet& packet, Work& work) {
  const Shape& shape = sa.shape();
  uint32_t esp_bytes = 0;
  const Reason reason = locate(shape, packet, work, esp_bytes);
  if (reason != Reason::kNone) return reason;
  const uint32_t around = 8U + shape.iv_bytes + shape.icv_bytes;
  if (esp_bytes < around + shape.block_bytes) return Reason::kEspMalformed;
  work.text_bytes = esp_bytes - around;
  if (beyond_blocks(shape, work.text_bytes) != 0) return Reason::kEspMalformed;
  if (load32_be(work.esp) != sa.id.spi) return Reason::kEspMalformed;
  work.number = sa.replay.extend(load32_be(work.esp + 4), shape.esn);
  if (sa.replay.check(work.number) != ReplayWindow::Verdict::kFresh) return Reason::kEspReplay;
  if (shape.esn && shape.integrity == Integrity::kNone) write_aad(work, shape, work.aad);
  if (shape.iv_bytes == 8) {
    memcpy(work.iv, shape.salt.data(), 4);
    memcpy(work.iv + 4, work.esp + 8, 8);
  } else if (shape.iv_bytes == 16) {
    memcpy(work.iv, work.esp + 8, 16);
  }
  return Reason::kNone;
}

// RFC 4303 §2.4: the padding of a sender that we trust is 1, 2, 3, … In front of it lie at least 8
// bytes, ESP's header, so that a short one is the end of a word.
bool padding_is_right(const uint8_t* pad, uint32_t count) {
  uint64_t wrong = 0;
  if (count >= 8) {
    for (uint32_t i = 0; i + 8 < count; i += 8)
      wrong |= load64_native(pad + i) ^ padding_from(i + 1);
    wrong |= load64_native(pad + count - 8) ^ padding_from(count - 7);
    return wrong == 0;
  }
  const uint64_t last = load64_native(pad + count - 8);
  return (last >> 1) >> (63 - 8 * count) == (padding_from(1) & ((uint64_t{1} << 8 * count) - 1));
}

void move_bounds(Packet& packet, uint8_t* ip, uint32_t bytes) {
  const auto front = static_cast<uint32_t>(ip - packet.ip);
  packet.tailroom = static_cast<uint16_t>(
      std::min<uint32_t>(packet.tailroom + packet.bytes - front - bytes, 0xffff));
  packet.headroom = static_cast<uint16_t>(std::min<uint32_t>(packet.headroom + front, 0xffff));
  packet.ip = ip;
  packet.bytes = bytes;
}

// The inner packet may be shorter than the payload: the rest is TFC padding (RFC 4303 §2.7).
Reason unwrap_tunnel(const Shape& shape, Packet& packet, uint8_t* inner, uint32_t payload_bytes,
                     uint8_t next_header) {
  const uint32_t bytes = ip_bytes(inner, payload_bytes);
  if (bytes == 0) return Reason::kEspMalformed;
  if (next_header != (is_ipv4(inner) ? kProtocolIpv4 : kProtocolIpv6)) return Reason::kEspMalformed;
  const unsigned before = traffic_class(inner) & 3U;
  if (shape.ecn) {
    const int ecn = decapsulated_ecn(traffic_class(packet.ip) & 3U, before);
    if (ecn < 0) return Reason::kEspMalformed;
    if (static_cast<unsigned>(ecn) != before) set_ecn(inner, static_cast<unsigned>(ecn));
  }
  move_bounds(packet, inner, bytes);
  return Reason::kNone;
}

// The IP headers move up to the payload and say what it is (RFC 4303 §3.4.4, RFC 3948 §3.1.2).
Reason unwrap_transport(const Work& work, Packet& packet, uint8_t* payload, uint32_t payload_bytes,
                        uint8_t next_header) {
  uint8_t* ip = payload - work.header_bytes;
  const uint32_t bytes = work.header_bytes + payload_bytes;
  memmove(ip, packet.ip, work.header_bytes);
  ip[work.next_header] = next_header;
  if (is_ipv4(ip)) {
    store16_be(ip + 2, bytes);
    store16_be(ip + 10, 0);
    store16_be(ip + 10, ipv4_checksum(ip, work.header_bytes));
  } else {
    store16_be(ip + 4, bytes - 40);
  }
  if (work.sa->shape().udp_bytes != 0) renew_checksum(ip, bytes, work.header_bytes, next_header);
  move_bounds(packet, ip, bytes);
  return Reason::kNone;
}

Reason unwrap(const Work& work) {
  const Shape& shape = work.sa->shape();
  uint8_t* text = work.esp + 8 + shape.iv_bytes;
  const uint8_t* end = text + work.text_bytes;
  const uint8_t next_header = end[-1];
  const uint32_t padding = end[-2];
  if (padding + 2 > work.text_bytes || !padding_is_right(end - 2 - padding, padding))
    return Reason::kEspMalformed;
  if (next_header == kProtocolNone) return Reason::kEspDummy;
  const uint32_t payload_bytes = work.text_bytes - 2 - padding;
  if (shape.tunnel) return unwrap_tunnel(shape, *work.packet, text, payload_bytes, next_header);
  return unwrap_transport(work, *work.packet, text, payload_bytes, next_header);
}

bool authentic(const Work& work) {
  return !work.failed && Crypto::icv_is_right(work);
}
bool not_failed(const Work& work) {
  return !work.failed;
}

// After the ICV: the window has the last word, then the lifetime.
template <bool (*kAuthentic)(const Work&)>
Reason accept_one(const Work& work, LifetimeUse& use, uint64_t& top) {
  if (!kAuthentic(work)) return Reason::kEspBadIcv;
  if (work.sa->replay.claim(work.number, top) != ReplayWindow::Verdict::kFresh)
    return Reason::kEspReplay;
  if (!use.take(work.text_bytes)) return Reason::kEspExpired;
  return unwrap(work);
}

template <bool (*kAuthentic)(const Work&)>
void accept_all(std::span<const Work> batch, uint32_t now_s) {
  while (!batch.empty()) {
    Sa& sa = *batch[0].sa;
    LifetimeUse use(sa);
    uint64_t top = sa.replay.top();
    size_t n = 0;
    for (; n < batch.size() && batch[n].sa == &sa; ++n)
      batch[n].packet->reason = accept_one<kAuthentic>(batch[n], use, top);
    sa.replay.advance(top);
    use.end(now_s);
    batch = batch.subspan(n);
  }
}

unsigned admit(std::span<Packet> run, Work* to) {
  Sa* sa = run[0].sa;
  const bool expired = sa != nullptr && sa->expired.load(std::memory_order_relaxed);
  unsigned admitted = 0;
  for (Packet& packet : run) {
    Work& work = to[admitted];
    work.packet = &packet;
    work.sa = sa;
    packet.reason = sa == nullptr ? Reason::kEspUnknownSpi
                    : expired     ? Reason::kEspExpired
                                  : check_packet(*sa, packet, work);
    admitted += packet.reason == Reason::kNone ? 1 : 0;
  }
  return admitted;
}

std::span<Work> admit_block(std::span<Packet> block, Work* to) {
  prefetch(block, true);
  unsigned count = 0;
  while (!block.empty()) {
    const size_t n = run_of(block);
    count += admit(block.first(n), to + count);
    block = block.subspan(n);
  }
  return {to, count};
}

}  // namespace

void process(std::span<Packet> packets, uint32_t now_s, Crypto& crypto, Work* scratch) noexcept {
  Work* to = scratch;
  for (size_t i = 0; i < packets.size(); i += kBlock) {
    const auto block = packets.subspan(i, std::min(kBlock, packets.size() - i));
    const std::span<Work> work = admit_block(block, to);
    crypto.open(work);
    to += work.size();
  }
  crypto.drain();
  accept_all<authentic>(std::span(scratch, to), now_s);
}

std::span<Work> check(std::span<Packet> packets, Work* to) noexcept {
  Work* end = to;
  for (size_t i = 0; i < packets.size(); i += kBlock)
    end += admit_block(packets.subspan(i, std::min(kBlock, packets.size() - i)), end).size();
  return {to, end};
}

void open(std::span<Work> work, Crypto& crypto) noexcept {
  crypto.open(work);
  crypto.drain();
  for (Work& opened : work) opened.failed = !authentic(opened);
}

void accept(std::span<const Work> work, uint32_t now_s) noexcept {
  accept_all<not_failed>(work, now_s);
}

}  // namespace hecto::router::esp::inbound
