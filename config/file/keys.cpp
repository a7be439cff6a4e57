#include "config/file/keys.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <map>

namespace hecto::config {
namespace {

using namespace row;  // integer, size, boolean, word, text, structure

constexpr auto kReload = Change::kReload;
constexpr auto kRestart = Change::kRestart;
constexpr std::string_view kKeysBelow = "a map with the keys below";
constexpr std::string_view kInterfaceAddresses =
    "interface addresses, as 192.0.2.1/24 or 2001:db8::1/64";
constexpr std::string_view kMac = "a unicast MAC address, as 02:00:00:00:00:01";
constexpr std::string_view kUnicast = "a unicast address";
constexpr std::string_view kInterface = "a port, or PORT.ID";
constexpr std::string_view kGroup = "a group's name";
constexpr uint64_t kMiB = 1u << 20, kGiB = 1u << 30;
constexpr uint64_t kMost32 = UINT32_MAX, kMost62 = uint64_t{1} << 62;
constexpr uint64_t kMostSeconds = 1'000'000'000;

std::string address_text(const lookup::IpAddress& address) {
  return quoted(address.to_string());
}
std::string spi_text(uint32_t spi) {
  return spi == 0 ? std::string() : fmt::format("{:#010x}", spi);
}

// In each row the name, the range where the type does not say it, when a change applies and what
// the manual says; of a structure also the type and the default in words. The default of all
// others is the member's own.
// clang-format off
constexpr Key<Config> kFile[] = {
  structure<Config>("workers", "map", "",
      {0, 4095, "auto, or cores by socket, as {0: [2-9], 1: [18-25]}"}, kRestart,
      "Cores that poll the receive queues.")
      .printed([](const Config& c) { return workers_text(c.workers); }),
  integer<&Config::control_core>("control_core", {0, 4095, "a core from {low} to {high}"}, kRestart,
      "Core of everything that is not packet forwarding.").or_auto(),
  word<&Config::idle>("idle", kReload,
      "What a worker does between packets: give the core away, or spin for the lowest latency."),
  integer<&Config::idle_sleep_us>("idle_sleep_us", {1, 10000}, kReload,
      "Longest sleep of an idle worker, microseconds."),
  integer<&Config::burst>("burst", {4, 256}, kReload,
      "Packets asked from a receive queue at once."),
  integer<&Config::ecmp_seed>("ecmp_seed", {0, kMost32}, kReload,
      "Seed of the hash that spreads flows over next hops. auto: this box's own, the same at each "
      "start; boxes in a row need different ones.").or_auto(),
  structure<Config>("ports", "map", "none", {1, 64, "{low} to {high} ports by name"}, kReload,
      "The router's ports. The name is also that of the TAP device in Linux.")
      .needed("at least one, as ports: {wan0: {device: eth1}}"),
  structure<Config>("linux", "map", "on", {0, 0, "off, or a map with the keys below"}, kRestart,
      "The slow path. `off` routes from this file alone (static mode)."),
  structure<Config>("routes", "list", "[]", {0, 0, "routes, each a map with the keys below"}, kReload,
      "Static routes."),
  structure<Config>("route_files", "list", "[]",
      {0, 1024, "file names, taken from this file's folder"}, kReload,
      "Tables loaded at start, in the formats of `hecto load-routes`."),
  structure<Config>("neighbors", "list", "[]",
      {0, 0, "neighbors, each a map with the keys below"}, kReload,
      "Static neighbors."),
  structure<Config>("punt", "map", "see below",
      {0, 10'000'000, "0 to 10M packets a second by reason, as {arp: 2kpps}"}, kReload,
      "Packets a second that may go to Linux, by reason; and the keys below."),
  integer<&Config::spare_mbufs>("spare_mbufs", {0, 16777216}, kRestart,
      "Packet buffers per socket kept for ports that are added later."),
  structure<Config>("tables", "map", "auto", {0, 0, kKeysBelow}, kRestart,
      "The look-up tables, which grow as routes come."),
  structure<Config>("offload", "map", "auto", {0, 0, "auto, none, or a map with the keys below"},
      kRestart, "Look-ups and ESP on a GPU, where that is measured to pay."),
  structure<Config>("ipsec", "map", "empty", {0, 0, kKeysBelow}, kReload,
      "Static SAs and policies, beside those of Linux."),
  size<&Config::memory_bytes>("memory", {64 * kMiB, 1024 * kGiB}, kRestart,
      "Memory that DPDK takes at start. auto: what `hecto plan` computes.").or_auto(),
  structure<Config>("api", "map", "see below", {0, 0, "a map with the keys below"}, kRestart,
      "The API that `hecto` talks to."),
  structure<Config>("log", "map", "see below", {0, 0, "a map with the key below"}, kReload,
      "The log."),
  structure<Config>("watchdog", "map", "see below", {0, 0, "a map with the key below"}, kReload,
      "What the service manager's watchdog is fed by (docs/service.md)."),
};

constexpr Key<PortConfig> kPorts[] = {
  text<&PortConfig::device>("device",
      {0, 1024, "a PCI address, a DPDK vdev (net_...), or a kernel interface"}, kRestart,
      "What the port is made of.").otherwise("none")
      .needed("a PCI address, vdev or kernel interface"),
  integer<&PortConfig::mtu>("mtu",  // RFC 791: what every IPv4 host must take; RFC 8200 §5
      {576, 9000, "{low} to {high} (from 1280 with IPv6 addresses)"}, kReload,
      "Longest IP packet, bytes."),
  structure<PortConfig>("addresses", "list", "[]", {0, 0, kInterfaceAddresses}, kReload,
      "The router's own addresses on this port.")
      .printed([](const PortConfig& p) { return addresses_text(p.addresses); }).by_section(),
  integer<&PortConfig::rx_queues>("queues", {1, 128}, kRestart,
      "Receive queues. auto: one per worker of the NIC's socket, one for software ports.").or_auto(),
  power_of_two<&PortConfig::rx_descriptors>("rx_descriptors",
      {64, 32768, "a power of two, {low} to {high}"}, kRestart,
      "Length of each receive queue."),
  power_of_two<&PortConfig::tx_descriptors>("tx_descriptors",
      {64, 32768, "a power of two, {low} to {high}"}, kRestart,
      "Length of each transmit queue."),
  text<&PortConfig::mac>("mac", {0, 0, kMac}, kRestart,
      "The port's MAC address.").otherwise("the device's"),
  boolean<&PortConfig::promiscuous>("promiscuous", kReload,
      "Ask the device for every packet on the wire."),
  word<&PortConfig::urpf>("urpf", kReload,
      "Reverse path filter (RFC 3704): drop packets whose source has no route (loose), or not "
      "through this interface (strict)."),
  boolean<&PortConfig::counters>("counters", kReload,
      "Count packets and bytes per interface."),
  structure<PortConfig>("vlans", "map", "none", {1, 4094, "VLAN ids from {low} to {high}"}, kReload,
      "802.1Q sub-interfaces, named PORT.ID."),
};

constexpr Key<VlanConfig> kVlans[] = {
  structure<VlanConfig>("addresses", "list", "[]", {0, 0, kInterfaceAddresses}, kReload,
      "The router's own addresses on this VLAN.")
      .printed([](const VlanConfig& v) { return addresses_text(v.addresses); }).by_section(),
  integer<&VlanConfig::mtu>("mtu", {576, 9000, "{low} to the port's mtu (from 1280 with IPv6)"},
      kReload, "Longest IP packet, bytes.").otherwise("the port's"),
  word<&VlanConfig::urpf>("urpf", kReload, "As of the port."),
};

constexpr Key<LinuxConfig> kLinux[] = {
  text<&LinuxConfig::name_space>("namespace", {1, 64, "a name of letters, digits and - _ ."},
      kRestart, "Network namespace of the TAP devices; made when it is not there."),
  structure<LinuxConfig>("mirror", "list", "all four",
      {0, 4, "addresses, routes, neighbors, ipsec"}, kRestart,
      "What is taken over from Linux.")
      .printed(mirror_text).by_section(),
};

constexpr Key<RouteConfig> kRoutes[] = {
  structure<RouteConfig>("to", "text", "none",
      {0, 0, "a prefix, as 203.0.113.0/24 or 2001:db8::/32"}, kReload,
      "Destination."),
  structure<RouteConfig>("via", "text or list", "none",
      {1, 256, "a gateway address, or a list of at most {high} gateways"}, kReload,
      "Next hop, or several for ECMP."),
  word<&RouteConfig::type>("type", kReload,
      "blackhole drops; unreachable and prohibit also tell the sender."),
  integer<&RouteConfig::metric>("metric", {0, kMost32}, kReload,
      "The lowest wins among routes to the same prefix."),
};

constexpr Key<NextHopConfig> kNextHops[] = {
  structure<NextHopConfig>("gateway", "text", "none", {0, 0, "an address of the family of `to`"},
      kReload, "The neighbor that packets are sent to."),
  structure<NextHopConfig>("interface", "text", "auto", {0, 0, kInterface}, kReload,
      "Egress interface. auto: the one whose network holds the gateway."),
  integer<&NextHopConfig::weight>("weight", {1, 256}, kReload, "Share of the flows."),
};

constexpr Key<NeighborConfig> kNeighbors[] = {
  structure<NeighborConfig>("address", "text", "none", {0, 0, "an address"}, kReload,
      "The neighbor's IP address."),
  structure<NeighborConfig>("interface", "text", "auto", {0, 0, kInterface}, kReload,
      "Where it is. auto: the interface whose network holds the address."),
  structure<NeighborConfig>("mac", "text", "none", {0, 0, kMac}, kReload,
      "Its MAC address."),
};

constexpr Key<Config> kPunt[] = {
  structure<Config>("classes", "map", "see punt.md",
      {0, 10'000'000, "0 to 10M packets a second by class, as {sessions: 10kpps}"}, kReload,
      "Packets a second that may go to Linux from one interface, by class."),
  structure<Config>("peers", "list", "[]", {0, 16384, "unicast addresses"}, kReload,
      "Hosts that may open sessions of routing protocols (BGP, LDP, MSDP) before they are known."),
};

constexpr Key<TablesConfig> kTables[] = {
  word<&TablesConfig::ipv4_engine>("ipv4_engine", kRestart,
      "The IPv4 table: direct (also auto) takes 34 MB, one load a look-up; compact 8 MB for a full "
      "table, and a few loads."),
  size<&TablesConfig::memory_bytes>("memory",  // an empty IPv6 table takes 0.7 MB
      {16 * kMiB, 4 * kGiB, "{low} to {high} (from 48MiB with direct)"}, kRestart,
      "Most that one family's table takes on each socket. auto: no limit.").or_auto(),
  integer<&TablesConfig::groups>("groups", {16, 32768}, kRestart,
      "Next-hop groups: distinct next hops and ECMP sets."),
};

constexpr Key<OffloadConfig> kOffload[] = {
  structure<OffloadConfig>("device", "text or list", "",
      {0, 64, "auto, none, host, cuda:N, or a list of the last two"}, kRestart,
      "Devices, each for the workers of its socket. auto: every GPU that is found, else none; host: "
      "the device's functions on CPU threads, to see it work.")
      .printed(offload_devices_text),
  word<&OffloadConfig::lookup>("lookup", kRestart,
      "Whether look-ups go there. auto: as costs and latency are measured."),
  word<&OffloadConfig::ipsec>("ipsec", kRestart,
      "Whether ESP goes there, of SAs with AES-GCM (ICV of 16 bytes), or AES-CBC and HMAC-SHA1-96 or "
      "HMAC-SHA2-256-128. never: no key is brought to a device."),
  boolean<&OffloadConfig::shader>("shader", kRestart,
      "A thread for each device, on the control core, merges the batches of its workers; else each "
      "worker hands over its own."),
  integer<&OffloadConfig::latency_bound_us>("latency_bound_us", {1, 1'000'000}, kRestart,
      "auto: most time for gathering a batch and its answer, microseconds."),
  integer<&OffloadConfig::deadline_us>("deadline_us", {10, 1'000'000}, kRestart,
      "A batch unanswered for so long is done again on the CPU, microseconds."),
  integer<&OffloadConfig::batch>("batch", {256, 65536}, kRestart,
      "Most packets of one batch."),
};

constexpr Key<IpsecConfig> kIpsec[] = {
  word<&IpsecConfig::crypto>("crypto", kRestart,
      "What encrypts. auto: ipsec-mb where the CPU has AES-NI, else OpenSSL, which is slower."),
  word<&IpsecConfig::nic>("nic", kRestart,
      "Whether NICs that can do so encrypt AES-GCM of their ports. never: no key is brought to a NIC."),
  integer<&IpsecConfig::max_sas>("max_sas", {1, 1'000'000}, kRestart,
      "Most SAs, those of Linux and the API with them."),
  integer<&IpsecConfig::max_policies>("max_policies", {1, 1'000'000}, kRestart,
      "Most policies, likewise."),
  boolean<&IpsecConfig::export_keys>("export_keys", kRestart,
      "Root may read the keys of SAs (`hecto capture --esp-keys`): who has them reads the traffic."),
  structure<IpsecConfig>("sas", "list", "[]", {0, 0, "SAs, each a map with the keys below"}, kReload,
      "Security associations, each of one way."),
  structure<IpsecConfig>("policies", "list", "[]",
      {0, 0, "policies, each a map with the keys below"}, kReload,
      "What is protected, passes as it is, or is dropped; the lowest priority number wins."),
};

constexpr Key<IpsecSaConfig> kSas[] = {
  structure<IpsecSaConfig>("source", "text", "none", {0, 0, kUnicast}, kReload,
      "The end that sends.")
      .printed([](const IpsecSaConfig& sa) { return address_text(sa.source); }),
  structure<IpsecSaConfig>("destination", "text", "none",
      {0, 0, "a unicast address of the same family"}, kReload,
      "The end that receives.")
      .printed([](const IpsecSaConfig& sa) { return address_text(sa.destination); }),
  structure<IpsecSaConfig>("spi", "integer", "none", {0x100, kMost32, "0x100 to 0xffffffff"}, kReload,
      "With the destination, what packets name the SA by.")
      .printed([](const IpsecSaConfig& sa) { return fmt::format("{:#010x}", sa.spi); }),
  word<&IpsecSaConfig::mode>("mode", kReload,
      "Whether whole packets or their payloads are protected."),
  integer<&IpsecSaConfig::reqid>("reqid", {0, kMost32}, kReload,
      "What a policy's `protect` asks for.").if_changed(),
  integer<&IpsecSaConfig::if_id>("if_id", {0, kMost32}, kReload,
      "Of a route-based tunnel: the number of its interface.").if_changed(),
  structure<IpsecSaConfig>("cipher", "word", "none", {0, 0,
      "null, aes-{128,192,256}-{cbc,ctr,gcm,gmac}, chacha20-poly1305; gcm also with -12 or -8"},
      kReload, "What encrypts; the number behind gcm is the ICV's length in bytes.")
      .printed([](const IpsecSaConfig& sa) { return sa.cipher; }),
  structure<IpsecSaConfig>("integrity", "word", "none",
      {0, 0, "hmac-sha1, hmac-sha2-256, hmac-sha2-256-96, hmac-sha2-384, hmac-sha2-512"}, kReload,
      "Of null, cbc and ctr: what protects integrity.")
      .printed([](const IpsecSaConfig& sa) { return sa.integrity; }),
  structure<IpsecSaConfig>("key", "text", "none",
      {0, 0, "0x and hex digits: the cipher's key, then its salt"}, kReload,
      "Never shown.")
      .printed([](const IpsecSaConfig& sa) {
        return std::string(sa.key_file.empty() && sa.cipher_key.size() != 0 ? "set" : "");
      }),
  structure<IpsecSaConfig>("integrity_key", "text", "none", {0, 0, "0x and hex digits"}, kReload,
      "Never shown.")
      .printed([](const IpsecSaConfig& sa) {
        return std::string(sa.key_file.empty() && sa.integrity_key.size() != 0 ? "set" : "");
      }),
  structure<IpsecSaConfig>("key_file", "text", "none", {0, 0, "a file that nobody else may read"},
      kReload, "Instead of both: holds the cipher's key, then that of integrity, as above.")
      .printed([](const IpsecSaConfig& sa) {
        return sa.key_file.empty() ? std::string() : quoted(sa.key_file);
      }),
  integer<&IpsecSaConfig::replay_window>("replay_window", {0, 4096}, kReload,
      "Packets that may come late; 0: no anti-replay."),
  boolean<&IpsecSaConfig::esn>("esn", kReload, "Sequence numbers of 64 bits."),
  structure<IpsecSaConfig>("encapsulation", "map", "none", {0, 0, kKeysBelow}, kReload,
      "ESP in UDP, through NAT (RFC 3948).")
      .printed([](const IpsecSaConfig& sa) {
        return sa.encapsulation ? flow_map(encapsulation_keys, *sa.encapsulation) : std::string();
      }),
  structure<IpsecSaConfig>("lifetime", "map", "no limits", {0, 0, kKeysBelow}, kReload,
      "How long it lives. Past a soft limit another SA is taken where there is one; past a hard one "
      "it is dropped.")
      .printed([](const IpsecSaConfig& sa) {
        return sa.lifetime == IpsecLifetime{} ? std::string() : flow_map(lifetime_keys, sa.lifetime);
      }),
  boolean<&IpsecSaConfig::copy_dscp>("copy_dscp", kReload,
      "The outer header takes the inner one's DSCP.").if_changed(),
  boolean<&IpsecSaConfig::copy_dont_fragment>("copy_dont_fragment", kReload,
      "The outer header takes the inner one's DF.").if_changed(),
  boolean<&IpsecSaConfig::ecn>("ecn", kReload,
      "ECN goes through the tunnel (RFC 6040).").if_changed(),
  integer<&IpsecSaConfig::tfc_pad>("tfc_pad", {0, 65535}, kReload,
      "Bytes that payloads are padded to (RFC 4303 §2.7).").if_changed(),
};

constexpr Key<IpsecEncapsulation> kEncapsulation[] = {
  integer<&IpsecEncapsulation::source_port>("source_port", {1, 65535}, kReload,
      "UDP port of the end that sends."),
  integer<&IpsecEncapsulation::destination_port>("destination_port", {1, 65535}, kReload,
      "UDP port of the end that receives."),
};

constexpr Key<IpsecLifetime> kLifetime[] = {
  size<&IpsecLifetime::soft_bytes>("soft_bytes", {1, kMost62}, kReload, "Bytes."),
  size<&IpsecLifetime::hard_bytes>("hard_bytes", {1, kMost62}, kReload, "Bytes."),
  integer<&IpsecLifetime::soft_packets>("soft_packets", {1, kMost62}, kReload, "Packets."),
  integer<&IpsecLifetime::hard_packets>("hard_packets", {1, kMost62}, kReload, "Packets."),
  integer<&IpsecLifetime::soft_add_s>("soft_add_s", {1, kMostSeconds}, kReload,
      "Seconds since it was added."),
  integer<&IpsecLifetime::hard_add_s>("hard_add_s", {1, kMostSeconds}, kReload,
      "Seconds since it was added."),
  integer<&IpsecLifetime::soft_use_s>("soft_use_s", {1, kMostSeconds}, kReload,
      "Seconds since its first packet."),
  integer<&IpsecLifetime::hard_use_s>("hard_use_s", {1, kMostSeconds}, kReload,
      "Seconds since its first packet."),
};

constexpr Key<IpsecPolicyConfig> kPolicies[] = {
  word<&IpsecPolicyConfig::direction>("direction", kReload,
      "Packets that leave, come to the router itself, or are forwarded.").otherwise("none"),
  structure<IpsecPolicyConfig>("source", "text", "everything", {0, 0, "a prefix"}, kReload,
      "Source addresses of the packets.")
      .printed([](const IpsecPolicyConfig& p) { return quoted(p.source.to_string()); }),
  structure<IpsecPolicyConfig>("destination", "text", "everything",
      {0, 0, "a prefix of the same family"}, kReload,
      "Destination addresses of the packets.")
      .printed([](const IpsecPolicyConfig& p) { return quoted(p.destination.to_string()); }),
  structure<IpsecPolicyConfig>("protocol", "word or integer", "any",
      {1, 255, "tcp, udp, sctp, icmp, gre, ... or {low} to {high}"}, kReload,
      "The packets' protocol.")
      .printed([](const IpsecPolicyConfig& p) {
        return p.protocol == 0 ? std::string() : protocol_text(p.protocol);
      }),
  integer<&IpsecPolicyConfig::source_port>("source_port", {0, 65535}, kReload,
      "Of tcp, udp, sctp, dccp, udplite.").otherwise("any"),
  integer<&IpsecPolicyConfig::destination_port>("destination_port", {0, 65535}, kReload,
      "Likewise.").otherwise("any"),
  integer<&IpsecPolicyConfig::priority>("priority", {0, kMost32}, kReload,
      "The lowest wins, then the older."),
  integer<&IpsecPolicyConfig::if_id>("if_id", {0, kMost32}, kReload,
      "Packets of this interface number only.").if_changed(),
  word<&IpsecPolicyConfig::action>("action", kReload, "What becomes of the packets."),
  structure<IpsecPolicyConfig>("protect", "map", "none", {0, 0, kKeysBelow}, kReload,
      "The SA that protects: the newest that fits.")
      .printed([](const IpsecPolicyConfig& p) {
        return p.protect ? flow_map(template_keys, *p.protect) : std::string();
      }),
};

constexpr Key<IpsecTemplateConfig> kTemplates[] = {
  structure<IpsecTemplateConfig>("source", "text", "none", {0, 0, kUnicast}, kReload,
      "Its source; without, in transport mode, that of the packets.")
      .printed([](const IpsecTemplateConfig& t) {
        return t.source ? address_text(*t.source) : std::string();
      }),
  structure<IpsecTemplateConfig>("destination", "text", "none", {0, 0, kUnicast}, kReload,
      "Its destination, likewise.")
      .printed([](const IpsecTemplateConfig& t) {
        return t.destination ? address_text(*t.destination) : std::string();
      }),
  integer<&IpsecTemplateConfig::reqid>("reqid", {0, kMost32}, kReload, "Its reqid; 0: any."),
  structure<IpsecTemplateConfig>("spi", "integer", "any", {0x100, kMost32, "0x100 to 0xffffffff"},
      kReload, "Its SPI.")
      .printed([](const IpsecTemplateConfig& t) { return spi_text(t.spi); }),
  word<&IpsecTemplateConfig::mode>("mode", kReload, "Its mode."),
  boolean<&IpsecTemplateConfig::optional>("optional", kReload,
      "Packets may also come in without.").if_changed(),
};

constexpr Key<Config> kApi[] = {
  text<&Config::api_socket>("socket",  // sun_path less its final 0
      {1, 107, "an absolute path of at most {high} bytes"}, kRestart,
      "UNIX socket of the API."),
  text<&Config::api_read_group>("read_group", {0, 0, kGroup}, kRestart,
      "Its members may look: `hecto show`, metrics. With any of these groups the socket is open to "
      "all users, and hectod asks the kernel who they are."),
  text<&Config::api_operate_group>("operate_group", {0, 0, kGroup}, kRestart,
      "Its members may also trace and capture."),
  text<&Config::api_admin_group>("admin_group", {0, 0, kGroup}, kRestart,
      "Its members may also change routes, SAs and the configuration, as root and the user of "
      "hectod may."),
};

constexpr Key<Config> kLog[] = {
  word_of<&Config::log_level, kLogLevels>("level", kReload,
      "Least important event that is logged."),
};

constexpr Key<Config> kWatchdog[] = {
  word<&Config::stuck_worker>("stuck_worker", kReload,
      "A worker that does not come round is told in the log and by `hecto show summary`. restart: "
      "the watchdog is fed no more, too, and the service manager restarts hectod."),
};
// clang-format on

template <const auto& kTable>
constexpr auto names_of() {
  std::array<std::string_view, std::size(kTable)> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kTable[i].name;
  return names;
}
template <const auto& kTable>
constexpr auto kNames = names_of<kTable>();

template <typename S, size_t N>
constexpr Section<S> section_of(std::string_view path, const Key<S> (&table)[N],
                                const std::array<std::string_view, N>& names) {
  return {path, table, names};
}
template <const auto& kTable>
constexpr auto section(std::string_view path) {
  return section_of(path, kTable, kNames<kTable>);
}

}  // namespace

constinit const Section<Config> file_keys = section<kFile>("");
constinit const Section<PortConfig> port_keys = section<kPorts>("ports.*");
constinit const Section<VlanConfig> vlan_keys = section<kVlans>("ports.*.vlans.*");
constinit const Section<LinuxConfig> linux_keys = section<kLinux>("linux");
constinit const Section<RouteConfig> route_keys = section<kRoutes>("routes.*");
constinit const Section<NextHopConfig> next_hop_keys = section<kNextHops>("routes.*.via.*");
constinit const Section<NeighborConfig> neighbor_keys = section<kNeighbors>("neighbors.*");
constinit const Section<Config> punt_keys = section<kPunt>("punt");
constinit const Section<TablesConfig> table_keys = section<kTables>("tables");
constinit const Section<OffloadConfig> offload_keys = section<kOffload>("offload");
constinit const Section<IpsecConfig> ipsec_keys = section<kIpsec>("ipsec");
constinit const Section<IpsecSaConfig> sa_keys = section<kSas>("ipsec.sas.*");
constinit const Section<IpsecEncapsulation> encapsulation_keys =
    section<kEncapsulation>("ipsec.sas.*.encapsulation");
constinit const Section<IpsecLifetime> lifetime_keys = section<kLifetime>("ipsec.sas.*.lifetime");
constinit const Section<IpsecPolicyConfig> policy_keys = section<kPolicies>("ipsec.policies.*");
constinit const Section<IpsecTemplateConfig> template_keys =
    section<kTemplates>("ipsec.policies.*.protect");
constinit const Section<Config> api_keys = section<kApi>("api");
constinit const Section<Config> log_keys = section<kLog>("log");
constinit const Section<Config> watchdog_keys = section<kWatchdog>("watchdog");

namespace {

template <typename S>
KeyText in_words(const Section<S>& section, const Key<S>& key) {
  std::string path(section.path);
  if (!path.empty()) path += '.';
  std::string range = key.legal == nullptr ? std::string(key.range.words) : key.legal(key.range);
  if (key.takes_auto) range = "auto, or " + range;
  return {path.append(key.name),
          std::string(key.type),
          key.unset.empty() ? key.text(S{}) : std::string(key.unset),
          std::move(range),
          key.change,
          std::string(key.description)};
}

// The keys of `section`, each before those of its own map.
template <typename... Sections>
class Walk {
 public:
  explicit Walk(const Sections&... sections) { (add(sections), ...); }
  std::vector<KeyText> take() {
    append("");
    return std::move(out_);
  }

 private:
  template <typename S>
  void add(const Section<S>& section) {
    std::vector<KeyText>& keys = by_path_[std::string(section.path)];
    for (const Key<S>& key : section.keys) keys.push_back(in_words(section, key));
  }
  void append(const std::string& path) {
    const auto found = by_path_.find(path);
    if (found == by_path_.end()) return;
    for (const KeyText& key : found->second) {
      out_.push_back(key);
      append(key.path);
      append(key.path + ".*");
    }
  }

  std::map<std::string, std::vector<KeyText>> by_path_;
  std::vector<KeyText> out_;
};

}  // namespace

std::vector<KeyText> all_keys() {
  return Walk(file_keys, port_keys, vlan_keys, linux_keys, route_keys, next_hop_keys, neighbor_keys,
              punt_keys, table_keys, offload_keys, ipsec_keys, sa_keys, encapsulation_keys,
              lifetime_keys, policy_keys, template_keys, api_keys, log_keys, watchdog_keys)
      .take();
}

std::string markdown_row(const KeyText& key) {
  return fmt::format("| `{}` | {} | {} | {} | {} | {} |", key.path, key.type, key.default_value,
                     key.range, key.change == Change::kReload ? "reload" : "restart",
                     key.description);
}

}  // namespace hecto::config
