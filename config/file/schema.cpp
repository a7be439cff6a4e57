#include "config/file/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace hecto::config {
namespace {

constexpr auto kReload = Change::kReload;
constexpr auto kRestart = Change::kRestart;

// clang-format off
constexpr auto kKeys = std::to_array<Key>({
  {"workers", "map", "auto", "auto, or cores by socket, as {0: [2-9], 1: [18-25]}", kRestart,
   "Cores that poll the receive queues."},
  {"control_core", "integer", "auto", "auto, or a core from 0 to 4095", kRestart,
   "Core of everything that is not packet forwarding."},
  {"idle", "word", "sleep", "sleep or poll", kReload,
   "What a worker does between packets: give the core away, or spin for the lowest latency."},
  {"idle_sleep_us", "integer", "50", "1 to 10000", kReload,
   "Longest sleep of an idle worker, microseconds."},
  {"burst", "integer", "64", "4 to 256", kReload,
   "Packets asked from a receive queue at once."},

  {"ports", "map", "none", "1 to 64 ports by name", kReload,
   "The router's ports. The name is also that of the TAP device in Linux."},
  {"ports.*.device", "text", "none",
   "a PCI address, a DPDK vdev (net_...), or a kernel interface", kRestart,
   "What the port is made of."},
  {"ports.*.mtu", "integer", "1500", "576 to 9000 (from 1280 with IPv6 addresses)", kReload,
   "Longest IP packet, bytes."},
  {"ports.*.addresses", "list", "[]", "interface addresses, as 192.0.2.1/24 or 2001:db8::1/64",
   kReload, "The router's own addresses on this port."},
  {"ports.*.queues", "integer", "auto", "auto, or 1 to 128", kRestart,
   "Receive queues. auto: one per worker of the NIC's socket, one for software ports."},
  {"ports.*.rx_descriptors", "integer", "1024", "a power of two, 64 to 32768", kRestart,
   "Length of each receive queue."},
  {"ports.*.tx_descriptors", "integer", "1024", "a power of two, 64 to 32768", kRestart,
   "Length of each transmit queue."},
  {"ports.*.mac", "text", "the device's", "a unicast MAC address, as 02:00:00:00:00:01", kRestart,
   "The port's MAC address."},
  {"ports.*.promiscuous", "boolean", "false", "true or false", kReload,
   "Ask the device for every packet on the wire."},
  {"ports.*.urpf", "word", "off", "off, loose or strict", kReload,
   "Reverse path filter (RFC 3704): drop packets whose source has no route (loose), or not "
   "through this interface (strict)."},
  {"ports.*.counters", "boolean", "false", "true or false", kReload,
   "Count packets and bytes per interface."},
  {"ports.*.vlans", "map", "none", "VLAN ids from 1 to 4094", kReload,
   "802.1Q sub-interfaces, named PORT.ID."},
  {"ports.*.vlans.*.addresses", "list", "[]",
   "interface addresses, as 192.0.2.1/24 or 2001:db8::1/64", kReload,
   "The router's own addresses on this VLAN."},
  {"ports.*.vlans.*.mtu", "integer", "the port's", "576 to the port's mtu (from 1280 with IPv6)",
   kReload, "Longest IP packet, bytes."},
  {"ports.*.vlans.*.urpf", "word", "off", "off, loose or strict", kReload,
   "As of the port."},

  {"linux", "map", "on", "off, or a map with the keys below", kRestart,
   "The slow path. `off` routes from this file alone (static mode)."},
  {"linux.namespace", "text", "hecto", "a name of letters, digits and - _ .", kRestart,
   "Network namespace of the TAP devices; made when it is not there."},
  {"linux.mirror", "list", "all four", "addresses, routes, neighbors, ipsec", kRestart,
   "What is taken over from Linux."},

  {"routes", "list", "[]", "routes, each a map with the keys below", kReload,
   "Static routes."},
  {"routes.*.to", "text", "none", "a prefix, as 203.0.113.0/24 or 2001:db8::/32", kReload,
   "Destination."},
  {"routes.*.via", "text or list", "none",
   "a gateway address, or a list of at most 256 gateways", kReload,
   "Next hop, or several for ECMP."},
  {"routes.*.via.*.gateway", "text", "none", "an address of the family of `to`", kReload,
   "The neighbor that packets are sent to."},
  {"routes.*.via.*.interface", "text", "auto", "a port, or PORT.ID", kReload,
   "Egress interface. auto: the one whose network holds the gateway."},
  {"routes.*.via.*.weight", "integer", "1", "1 to 256", kReload,
   "Share of the flows."},
  {"routes.*.type", "word", "unicast", "unicast, blackhole, unreachable or prohibit", kReload,
   "blackhole drops; unreachable and prohibit also tell the sender."},
  {"routes.*.metric", "integer", "0", "0 to 4294967295", kReload,
   "The lowest wins among routes to the same prefix."},
  {"route_files", "list", "[]", "file names, taken from this file's folder", kReload,
   "Tables loaded at start, in the formats of `hecto load-routes`."},

  {"neighbors", "list", "[]", "neighbors, each a map with the keys below", kReload,
   "Static neighbors."},
  {"neighbors.*.address", "text", "none", "an address", kReload,
   "The neighbor's IP address."},
  {"neighbors.*.interface", "text", "auto", "a port, or PORT.ID", kReload,
   "Where it is. auto: the interface whose network holds the address."},
  {"neighbors.*.mac", "text", "none", "a unicast MAC address, as 02:00:00:00:00:01", kReload,
   "Its MAC address."},

  {"punt", "map", "see below", "0 to 10M packets a second by reason, as {arp: 2kpps}", kReload,
   "Packets a second that may go to Linux, by reason."},
  {"spare_mbufs", "integer", "0", "0 to 16777216", kRestart,
   "Packet buffers per socket kept for ports that are added later."},

  {"tables", "map", "auto", "a map with the keys below", kRestart,
   "The look-up tables, which grow as routes come."},
  {"tables.ipv4_engine", "word", "auto", "auto, direct or compact", kRestart,
   "The IPv4 table: direct (also auto) takes 34 MB, one load a look-up; compact 8 MB for a full "
   "table, and a few loads."},
  {"tables.memory", "size", "auto", "auto, or 16MiB to 4GiB (from 48MiB with direct)", kRestart,
   "Most that one family's table takes on each socket. auto: no limit."},
  {"tables.groups", "integer", "16384", "16 to 32768", kRestart,
   "Next-hop groups: distinct next hops and ECMP sets."},

  {"offload", "map", "auto", "auto, none, or a map with the keys below", kRestart,
   "Look-ups and ESP on a GPU, where that is measured to pay."},
  {"offload.device", "text or list", "auto", "auto, none, host, cuda:N, or a list of the last two",
   kRestart,
   "Devices, each for the workers of its socket. auto: every GPU that is found, else none; host: "
   "the device's functions on CPU threads, to see it work."},
  {"offload.lookup", "word", "auto", "auto, never or always", kRestart,
   "Whether look-ups go there. auto: as costs and latency are measured."},
  {"offload.ipsec", "word", "auto", "auto, never or always", kRestart,
   "Whether ESP goes there, of SAs with AES-GCM (ICV of 16 bytes), or AES-CBC and HMAC-SHA1-96 or "
   "HMAC-SHA2-256-128. never: no key is brought to a device."},
  {"offload.shader", "boolean", "false", "true or false", kRestart,
   "A thread for each device, on the control core, merges the batches of its workers; else each "
   "worker hands over its own."},
  {"offload.latency_bound_us", "integer", "50", "1 to 1000000", kRestart,
   "auto: most time for gathering a batch and its answer, microseconds."},
  {"offload.deadline_us", "integer", "2000", "10 to 1000000", kRestart,
   "A batch unanswered for so long is done again on the CPU, microseconds."},
  {"offload.batch", "integer", "1024", "256 to 65536", kRestart,
   "Most packets of one batch."},

  {"ipsec", "map", "empty", "a map with the keys below", kReload,
   "Static SAs and policies, beside those of Linux."},
  {"ipsec.crypto", "word", "auto", "auto, ipsec-mb or openssl", kRestart,
   "What encrypts. auto: ipsec-mb where the CPU has AES-NI, else OpenSSL, which is slower."},
  {"ipsec.nic", "word", "auto", "auto or never", kRestart,
   "Whether NICs that can do so encrypt AES-GCM of their ports. never: no key is brought to a NIC."},
  {"ipsec.max_sas", "integer", "16384", "1 to 1000000", kRestart,
   "Most SAs, those of Linux and the API with them."},
  {"ipsec.max_policies", "integer", "16384", "1 to 1000000", kRestart,
   "Most policies, likewise."},
  {"ipsec.export_keys", "boolean", "false", "true or false", kRestart,
   "Root may read the keys of SAs (`hecto capture --esp-keys`): who has them reads the traffic."},
  {"ipsec.sas", "list", "[]", "SAs, each a map with the keys below", kReload,
   "Security associations, each of one way."},
  {"ipsec.sas.*.source", "text", "none", "a unicast address", kReload,
   "The end that sends."},
  {"ipsec.sas.*.destination", "text", "none", "a unicast address of the same family", kReload,
   "The end that receives."},
  {"ipsec.sas.*.spi", "integer", "none", "0x100 to 0xffffffff", kReload,
   "With the destination, what packets name the SA by."},
  {"ipsec.sas.*.mode", "word", "tunnel", "tunnel or transport", kReload,
   "Whether whole packets or their payloads are protected."},
  {"ipsec.sas.*.reqid", "integer", "0", "0 to 4294967295", kReload,
   "What a policy's `protect` asks for."},
  {"ipsec.sas.*.if_id", "integer", "0", "0 to 4294967295", kReload,
   "Of a route-based tunnel: the number of its interface."},
  {"ipsec.sas.*.cipher", "word", "none",
   "null, aes-{128,192,256}-{cbc,ctr,gcm,gmac}, chacha20-poly1305; gcm also with -12 or -8", kReload,
   "What encrypts; the number behind gcm is the ICV's length in bytes."},
  {"ipsec.sas.*.integrity", "word", "none",
   "hmac-sha1, hmac-sha2-256, hmac-sha2-384, hmac-sha2-512", kReload,
   "Of null, cbc and ctr: what protects integrity."},
  {"ipsec.sas.*.key", "text", "none", "0x and hex digits: the cipher's key, then its salt", kReload,
   "Never shown."},
  {"ipsec.sas.*.integrity_key", "text", "none", "0x and hex digits", kReload,
   "Never shown."},
  {"ipsec.sas.*.key_file", "text", "none", "a file that nobody else may read", kReload,
   "Instead of both: holds the cipher's key, then that of integrity, as above."},
  {"ipsec.sas.*.replay_window", "integer", "0", "0 to 4096", kReload,
   "Packets that may come late; 0: no anti-replay."},
  {"ipsec.sas.*.esn", "boolean", "false", "true or false", kReload,
   "Sequence numbers of 64 bits."},
  {"ipsec.sas.*.encapsulation", "map", "none", "a map with the keys below", kReload,
   "ESP in UDP, through NAT (RFC 3948)."},
  {"ipsec.sas.*.encapsulation.source_port", "integer", "4500", "1 to 65535", kReload,
   "UDP port of the end that sends."},
  {"ipsec.sas.*.encapsulation.destination_port", "integer", "4500", "1 to 65535", kReload,
   "UDP port of the end that receives."},
  {"ipsec.sas.*.lifetime", "map", "no limits", "a map with the keys below", kReload,
   "How long it lives. Past a soft limit another SA is taken where there is one; past a hard one "
   "it is dropped."},
  {"ipsec.sas.*.lifetime.soft_bytes", "size", "none", "1B to 4294967296GiB", kReload,
   "Bytes."},
  {"ipsec.sas.*.lifetime.hard_bytes", "size", "none", "1B to 4294967296GiB", kReload,
   "Bytes."},
  {"ipsec.sas.*.lifetime.soft_packets", "integer", "none", "1 to 4611686018427387904", kReload,
   "Packets."},
  {"ipsec.sas.*.lifetime.hard_packets", "integer", "none", "1 to 4611686018427387904", kReload,
   "Packets."},
  {"ipsec.sas.*.lifetime.soft_add_s", "integer", "none", "1 to 1000000000", kReload,
   "Seconds since it was added."},
  {"ipsec.sas.*.lifetime.hard_add_s", "integer", "none", "1 to 1000000000", kReload,
   "Seconds since it was added."},
  {"ipsec.sas.*.lifetime.soft_use_s", "integer", "none", "1 to 1000000000", kReload,
   "Seconds since its first packet."},
  {"ipsec.sas.*.lifetime.hard_use_s", "integer", "none", "1 to 1000000000", kReload,
   "Seconds since its first packet."},
  {"ipsec.sas.*.copy_dscp", "boolean", "true", "true or false", kReload,
   "The outer header takes the inner one's DSCP."},
  {"ipsec.sas.*.copy_dont_fragment", "boolean", "true", "true or false", kReload,
   "The outer header takes the inner one's DF."},
  {"ipsec.sas.*.ecn", "boolean", "true", "true or false", kReload,
   "ECN goes through the tunnel (RFC 6040)."},
  {"ipsec.sas.*.tfc_pad", "integer", "0", "0 to 65535", kReload,
   "Bytes that payloads are padded to (RFC 4303 §2.7)."},
  {"ipsec.policies", "list", "[]", "policies, each a map with the keys below", kReload,
   "What is protected, passes as it is, or is dropped; the lowest priority number wins."},
  {"ipsec.policies.*.direction", "word", "none", "out, in or forward", kReload,
   "Packets that leave, come to the router itself, or are forwarded."},
  {"ipsec.policies.*.source", "text", "everything", "a prefix", kReload,
   "Source addresses of the packets."},
  {"ipsec.policies.*.destination", "text", "everything", "a prefix of the same family", kReload,
   "Destination addresses of the packets."},
  {"ipsec.policies.*.protocol", "word or integer", "any", "tcp, udp, sctp, icmp, gre, ... or 1 to 255",
   kReload, "The packets' protocol."},
  {"ipsec.policies.*.source_port", "integer", "any", "0 to 65535", kReload,
   "Of tcp, udp, sctp, dccp, udplite."},
  {"ipsec.policies.*.destination_port", "integer", "any", "0 to 65535", kReload,
   "Likewise."},
  {"ipsec.policies.*.priority", "integer", "0", "0 to 4294967295", kReload,
   "The lowest wins, then the older."},
  {"ipsec.policies.*.if_id", "integer", "0", "0 to 4294967295", kReload,
   "Packets of this interface number only."},
  {"ipsec.policies.*.action", "word", "protect", "protect, bypass or discard", kReload,
   "What becomes of the packets."},
  {"ipsec.policies.*.protect", "map", "none", "a map with the keys below", kReload,
   "The SA that protects: the newest that fits."},
  {"ipsec.policies.*.protect.source", "text", "none", "a unicast address", kReload,
   "Its source; without, in transport mode, that of the packets."},
  {"ipsec.policies.*.protect.destination", "text", "none", "a unicast address", kReload,
   "Its destination, likewise."},
  {"ipsec.policies.*.protect.reqid", "integer", "0", "0 to 4294967295", kReload,
   "Its reqid; 0: any."},
  {"ipsec.policies.*.protect.spi", "integer", "any", "0x100 to 0xffffffff", kReload,
   "Its SPI."},
  {"ipsec.policies.*.protect.mode", "word", "tunnel", "tunnel or transport", kReload,
   "Its mode."},
  {"ipsec.policies.*.protect.optional", "boolean", "false", "true or false", kReload,
   "Packets may also come in without."},

  {"memory", "size", "auto", "auto, or 64MiB to 1TiB", kRestart,
   "Memory that DPDK takes at start. auto: what `hecto plan` computes."},
  {"api", "map", "see below", "a map with the key below", kRestart,
   "The API that `hecto` talks to."},
  {"api.socket", "text", "/run/hecto/hecto.sock", "an absolute path of at most 107 bytes", kRestart,
   "UNIX socket of the API."},
  {"log", "map", "see below", "a map with the key below", kReload,
   "The log."},
  {"log.level", "word", "info", "trace, debug, info, warn or error", kReload,
   "Least important event that is logged."},
});
// clang-format on

}  // namespace

std::span<const Key> schema() noexcept {
  return kKeys;
}

std::vector<std::string_view> keys_of(std::string_view path) {
  std::vector<std::string_view> keys;
  for (const Key& key : kKeys) {
    std::string_view rest = key.path;
    if (!path.empty()) {
      if (!rest.starts_with(path) || rest.size() <= path.size() || rest[path.size()] != '.')
        continue;
      rest.remove_prefix(path.size() + 1);
    }
    if (rest != "*" && rest.find('.') == std::string_view::npos) keys.push_back(rest);
  }
  return keys;
}

// Optimal string alignment: insert, remove, replace, or swap two neighbors. Words longer than any
// key are near to none.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr size_t kLongest = 32;
  if (word.size() > kLongest) return {};
  std::string_view best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  size_t d[kLongest + 1][kLongest + 1];
  for (std::string_view candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    for (size_t i = 0; i <= word.size(); ++i) {
      for (size_t j = 0; j <= candidate.size(); ++j) {
        if (i == 0 || j == 0) {
          d[i][j] = i + j;
          continue;
        }
        d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1,
                            d[i - 1][j - 1] + (word[i - 1] != candidate[j - 1])});
        if (i > 1 && j > 1 && word[i - 1] == candidate[j - 2] && word[i - 2] == candidate[j - 1])
          d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
    if (size_t distance = d[word.size()][candidate.size()]; distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string markdown_row(const Key& key) {
  return fmt::format("| `{}` | {} | {} | {} | {} | {} |", key.path, key.type, key.default_value,
                     key.range, key.change == Change::kReload ? "reload" : "restart",
                     key.description);
}

}  // namespace hecto::config
