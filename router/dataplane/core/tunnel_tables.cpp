#include "router/dataplane/core/tunnel_tables.hpp"

#include <algorithm>
#include <bit>

#include "base/checksum.hpp"
#include "base/ether.hpp"

namespace hecto::router {
namespace {

using Kind = TunnelKey::Kind;

constexpr uint16_t kGreKeyFlag = 0x2000;

uint8_t* put_gre(uint8_t* out, const LinuxTunnel& tunnel) {
  store16_be(out, tunnel.key_out ? kGreKeyFlag : 0);
  if (!tunnel.key_out) return out + 4;
  store32_be(out + 4, *tunnel.key_out);
  return out + 8;
}

void put_header4(TunnelView& view, const LinuxTunnel& tunnel) {
  uint8_t* const ip = view.header.data();
  ip[0] = 0x45;
  std::copy_n(tunnel.local.bytes.data(), 4, ip + 12);
  std::copy_n(tunnel.remote.bytes.data(), 4, ip + 16);
  view.sum = sum_words(ip, kIpv4Bytes);
  view.remote4 = load32_be(ip + 16);
  uint8_t* const end = tunnel.gre ? put_gre(ip + kIpv4Bytes, tunnel) : ip + kIpv4Bytes;
  view.protocol_at = tunnel.gre ? kIpv4Bytes + 2 : 9;
  view.bytes = static_cast<uint8_t>(end - ip);
}

void put_header6(TunnelView& view, const LinuxTunnel& tunnel) {
  uint8_t* const ip = view.header.data();
  store32_be(ip, 0x60000000u | (tunnel.flow_label & 0xfffff));
  view.has_label = tunnel.flow_label != 0;
  std::copy_n(tunnel.local.bytes.data(), 16, ip + 8);
  std::copy_n(tunnel.remote.bytes.data(), 16, ip + 24);
  std::memcpy(&view.remote6, ip + 24, 16);
  uint8_t* end = ip + kIpv6Bytes;
  uint8_t* next = ip + 6;
  if (tunnel.encap_limit) {
    *next = kProtocolOptions6;
    next = end;
    const uint8_t option[8] = {0, 0, 4, 1, *tunnel.encap_limit, 1, 1, 0};  // RFC 2473 §4.1.1, PadN
    end = std::copy(option, option + sizeof option, end);
  }
  if (tunnel.gre) {
    *next = kProtocolGre;
    view.protocol_at = static_cast<uint8_t>(end + 2 - ip);
    end = put_gre(end, tunnel);
  } else {
    view.protocol_at = static_cast<uint8_t>(next - ip);
  }
  view.bytes = static_cast<uint8_t>(end - ip);
}

TunnelKey key_of(const LinuxTunnel& tunnel, Kind kind, uint32_t key = 0) {
  const bool v4 = tunnel.remote.family == Family::kIpv4;
  return (v4 ? TunnelKey::of4 : TunnelKey::of6)(tunnel.local.bytes.data(),
                                                tunnel.remote.bytes.data(), kind, key);
}

}  // namespace

TunnelView tunnel_view(const TunnelSetup& setup) {
  const LinuxTunnel& tunnel = setup.tunnel;
  TunnelView view;
  view.interface = setup.interface;
  view.link = setup.link;
  view.outer6 = tunnel.remote.family == Family::kIpv6;
  view.gre = tunnel.gre;
  view.carries4 = tunnel.carries4;
  view.carries6 = tunnel.carries6;
  view.sets_df = tunnel.sets_df;
  view.inherits_tos = tunnel.inherits_tos;
  view.ttl = tunnel.ttl;
  view.tos = tunnel.tos;
  view.outer6 ? put_header6(view, tunnel) : put_header4(view, tunnel);
  return view;
}

TunnelTables::TunnelTables(std::span<const TunnelSetup> tunnels, bool gre_is_known, uint64_t flag)
    : entries_(std::bit_ceil(6 * tunnels.size() + 2)), mask_(entries_.size() - 1), flag_(flag) {
  for (const TunnelSetup& setup : tunnels) {
    if (setup.interface >= kMaxInterfaces) continue;
    views_.push_back(tunnel_view(setup));
    const auto place = static_cast<uint32_t>(views_.size());
    by_interface_[setup.interface] = static_cast<uint16_t>(place);
    const LinuxTunnel& tunnel = setup.tunnel;
    if (tunnel.gre) {
      put(key_of(tunnel, tunnel.key_in ? Kind::kGreWithKey : Kind::kGre, tunnel.key_in.value_or(0)),
          place);
      if (gre_is_known) put(key_of(tunnel, Kind::kGreEnds), place);
      continue;
    }
    if (tunnel.carries4) put(key_of(tunnel, Kind::kIpv4), place);
    if (tunnel.carries6) put(key_of(tunnel, Kind::kIpv6), place);
  }
}

// The first one that has a key keeps it.
void TunnelTables::put(const TunnelKey& key, uint32_t place) {
  uint64_t at = key.hash() & mask_;
  for (; entries_[at].place != 0; at = (at + 1) & mask_)
    if (entries_[at].key == key) return;
  entries_[at] = {key, place};
}

}  // namespace hecto::router
