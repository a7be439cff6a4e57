#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <map>

#include "config/file/key_tables.hpp"

namespace hecto::config {
namespace {

using namespace row;     // integer, size, boolean, word, text, structure
using namespace tables;  // what all tables have in common

constexpr std::string_view kInterfaceAddresses =
    "interface addresses, as 192.0.2.1/24 or 2001:db8::1/64";
constexpr std::string_view kMac = "a unicast MAC address, as 02:00:00:00:00:01";
constexpr std::string_view kInterface = "a port, PORT.ID or PORT.OUTER.ID";
constexpr std::string_view kVrf = "a name under vrfs";
constexpr std::string_view kGroup = "a group's name";
constexpr uint64_t kMiB = 1u << 20, kGiB = 1u << 30;

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
  structure<Config>("idle", "word", "sleep",
      {0, 4095, "sleep, poll, interrupt or adaptive; or by core, as {2-5: poll, others: adaptive}"},
      kReload,
      "What a worker does between packets: sleep, spin for the lowest latency, wait until its ports "
      "say that something came, or all of these by how empty its queues are.")
      .printed([](const Config& c) { return idle_text(c); }),
  integer<&Config::idle_sleep_us>("idle_sleep_us", {1, 10000}, kReload,
      "Longest sleep of an idle worker, microseconds."),
  integer<&Config::burst>("burst", {4, 256}, kReload,
      "Packets asked from a receive queue at once."),
  integer<&Config::ecmp_seed>("ecmp_seed", {0, kMost32}, kReload,
      "Seed of the hash that spreads flows over next hops. auto: this box's own, the same at each "
      "start; boxes in a row need different ones.").or_auto(),
  structure<Config>("vrfs", "map", "none", {0, kMostTables, "at most {high} VRFs by name"}, kReload,
      "Static mode: routing tables that interfaces have to themselves. With a Linux side VRFs are Linux's."),
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
  structure<Config>("rules", "list", "[]",
      {0, 4000, "at most {high} rules, each a map with the keys below"}, kReload,
      "Static mode: policy rules (ip-rule(8)). With a Linux side they are Linux's."),
  structure<Config>("sets", "map", "none", {0, kMostPrefixSets, "at most {high} sets by name"}, kReload,
      "Prefixes of both families by one name, for filters: a list, or a map with the keys below."),
  structure<Config>("policers", "map", "none", {0, kMostPolicers, "at most {high} policers by name"}, kReload,
      "Rates that rules of filters hold packets to, each over all workers."),
  structure<Config>("filters", "map", "none", {0, kMostFilters - 1, "at most {high} filters by name"}, kReload,
      "Lists of rules, of which the first that holds decides about a packet (docs/filters.md)."),
  structure<Config>("punt", "map", "see below",
      {0, 10'000'000, "0 to 10M packets a second by reason, as {arp: 2kpps}"}, kReload,
      "Packets a second that may go to Linux, by reason; and the keys below."),
  structure<Config>("flows", "map", "off", {0, 0, kKeysBelow}, kReload,
      "The flow table (docs/flows.md): what becomes of single flows, by entries that the API sets."),
  integer<&Config::spare_mbufs>("spare_mbufs", {0, 16777216}, kRestart,
      "Packet buffers per socket kept for ports that are added later."),
  structure<Config>("tables", "map", "auto", {0, 0, kKeysBelow}, kRestart,
      "The look-up tables, which grow as routes come."),
  structure<Config>("offload", "map", "auto", {0, 0, "auto, none, or a map with the keys below"},
      kRestart, "Look-ups and ESP on a GPU, where that is measured to pay."),
  structure<Config>("ipsec", "map", "empty", {0, 0, kKeysBelow}, kReload,
      "Static SAs and policies, beside those of Linux."),
  structure<Config>("sflow", "map", "off", {0, 0, kKeysBelow}, kReload,
      "Samples of packets, and counters, for collectors (docs/sflow.md)."),
  structure<Config>("ipfix", "map", "off", {0, 0, kKeysBelow}, kReload,
      "Flows, for collectors (docs/ipfix.md)."),
  structure<Config>("nat", "map", "none", {0, 0, kKeysBelow}, kReload,
      "Network address translation (nat.md): 1:1 by prefix, and pools of addresses that hosts share."),
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
      "What the port is made of; or it has `bond`.").otherwise("none"),
  structure<PortConfig>("bond", "map", "none", {0, 0, kKeysBelow}, kRestart,
      "Several devices that carry one port, in place of `device`.")
      .printed(bond_text),
  integer<&PortConfig::mtu>("mtu",  // RFC 791: what every IPv4 host must take; RFC 8200 §5
      {576, 9000, "{low} to {high} (from 1280 with IPv6 addresses)"}, kReload,
      "Longest IP packet, bytes."),
  text<&PortConfig::vrf>("vrf", {0, 0, kVrf}, kReload,
      "The VRF that it is in; its VLANs name their own.").otherwise("none"),
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
  word<&PortConfig::mss_clamp>("mss_clamp", kReload,
      "auto: the MSS of TCP that is forwarded through this interface, either way, is lowered to what "
      "the MTUs of both its interfaces, and its route's, carry."),
  boolean<&PortConfig::counters>("counters", kReload,
      "Count packets and bytes per interface."),
  word<&PortConfig::spread>("spread", kRestart,
      "Packets of each receive queue go over the workers of its socket, each flow to one of them. auto: "
      "once the queue's worker is at its limit and others have time, where the port has fewer queues "
      "than there are workers."),
  structure<PortConfig>("vlans", "map", "none", {1, 4094, "VLAN ids from {low} to {high}"}, kReload,
      "Sub-interfaces by the VLAN of their tag, named PORT.ID."),
};

constexpr Key<BondConfig> kBonds[] = {
  word<&BondConfig::mode>("mode", kRestart,
      "lacp: IEEE 802.3ad. active-backup: one member at a time. balance-xor: by flow, without a "
      "protocol. round-robin: packet by packet, which reorders flows."),
  structure<BondConfig>("members", "list", "none",
      {1, kMostBondMembers, "{low} to {high} PCI addresses and kernel interfaces"}, kRestart,
      "The devices; the first one's MAC is the port's, unless it has `mac`.")
      .printed([](const BondConfig& b) { return members_text(b); })
      .needed("a list of devices, as [eth1, eth2]"),
  word<&BondConfig::hash>("hash", kRestart,
      "With lacp and balance-xor: what of a packet chooses the member that sends it."),
  word<&BondConfig::lacp_rate>("lacp_rate", kRestart,
      "With lacp: how often the other end is asked for LACPDUs, each 30 s or each second; three lost "
      "ones take a member out."),
  integer<&BondConfig::min_links>("min_links", {1, kMostBondMembers}, kRestart,
      "With fewer members that carry packets the port has no link, and its routes go."),
  text<&BondConfig::primary>("primary", {0, 0, "one of the members"}, kRestart,
      "With active-backup: the member that is used while it has a link.").otherwise("the first"),
};

constexpr Key<VlanConfig> kInnerVlans[] = {
  text<&VlanConfig::vrf>("vrf", {0, 0, kVrf}, kReload,
      "The VRF that it is in, whatever its port is in.").otherwise("none"),
  structure<VlanConfig>("addresses", "list", "[]", {0, 0, kInterfaceAddresses}, kReload,
      "The router's own addresses on this VLAN.")
      .printed([](const VlanConfig& v) { return addresses_text(v.addresses); }).by_section(),
  integer<&VlanConfig::mtu>("mtu", {576, 9000, "{low} to the port's mtu (from 1280 with IPv6)"},
      kReload, "Longest IP packet, bytes.").otherwise("that of the VLAN it is in"),
  word<&VlanConfig::urpf>("urpf", kReload, "As of the port."),
  word<&VlanConfig::mss_clamp>("mss_clamp", kReload, "As of the port."),
};

constexpr Key<VlanConfig> kVlans[] = {
  word<&VlanConfig::protocol>("protocol", kReload,
      "The tag's: 802.1ad for that of a provider (TPID 0x88a8). Changed, it is another interface.")
      .if_changed(),
  kInnerVlans[0], kInnerVlans[1], kInnerVlans[2].otherwise("the port's"), kInnerVlans[3], kInnerVlans[4],
  structure<VlanConfig>("vlans", "map", "none", {1, 4094, "VLAN ids from {low} to {high}"}, kReload,
      "Sub-interfaces with two tags, this VLAN's and within it one of 802.1Q, named PORT.OUTER.ID."),
};
static_assert(std::size(kVlans) == std::size(kInnerVlans) + 2);

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
  structure<RouteConfig>("table", "integer", "main",
      {1, kMost32, "main, or {low} to {high} but 253 and 255"}, kReload,
      "The routing table that it is in."),
  text<&RouteConfig::vrf>("vrf", {0, 0, kVrf}, kReload,
      "The same, by the name of a VRF; its gateways are on that one's interfaces.").otherwise("none"),
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
  integer<&TablesConfig::bridge_stations>("bridge_stations", {64, 1'048'576}, kRestart,
      "Stations (MAC addresses) that all bridges of Linux may learn; what is from others is dropped "
      "as bridge_full unless it is for one that is known."),
  integer<&TablesConfig::bridge_stations_per_port>("bridge_stations_per_port", {16, 1'048'576},
      kRestart, "The same, behind one port."),
  boolean<&TablesConfig::consistent_ecmp>("consistent_ecmp", kRestart,
      "Which member of an ECMP set has a flow follows from ecmp_seed and the members' gateways alone, so that routers "
      "with the same of both choose alike; shares are less even."),
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
      "A thread for each device, on the control core, takes its workers' batches on their way to the "
      "device's process, which merges them in any case: for comparison."),
  integer<&OffloadConfig::latency_bound_us>("latency_bound_us", {1, 1'000'000}, kRestart,
      "auto: most time for gathering a batch and its answer, microseconds; of ESP six times that."),
  integer<&OffloadConfig::deadline_us>("deadline_us", {10, 1'000'000}, kRestart,
      "A batch unanswered for so long is done again on the CPU, microseconds."),
  integer<&OffloadConfig::batch>("batch", {256, 65536}, kRestart,
      "Most packets of one batch."),
};

constexpr Key<Config> kApi[] = {
  text<&Config::api_socket>("socket",  // sun_path less its final 0
      {1, 107, "an absolute path of at most {high} bytes"}, kRestart,
      "UNIX socket of the API."),
  structure<Config>("http", "text", "none",
      {1, 65535, "a loopback address with a port, as 127.0.0.1:8080 or \"[::1]:8080\""}, kRestart,
      "HTTP for this machine alone: metrics, the page, and all that the role read may; any user may "
      "ask.")
      .printed([](const Config& c) {
        return c.api_http ? quoted(to_string(*c.api_http)) : std::string();
      }),
  structure<Config>("http_token_file", "text", "none", {0, 0, "a file that nobody else may read"},
      kReload,
      "Holds a token: who sends it (`Authorization: Bearer TOKEN`) has the role operate. A reload "
      "reads it again.")
      .printed([](const Config& c) {
        return c.api_http_token_file.empty() ? std::string() : quoted(c.api_http_token_file);
      }),
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

}  // namespace

constinit const Section<Config> file_keys = section<kFile>("");
constinit const Section<PortConfig> port_keys = section<kPorts>("ports.*");
constinit const Section<BondConfig> bond_keys = section<kBonds>("ports.*.bond");
constinit const Section<VlanConfig> vlan_keys = section<kVlans>("ports.*.vlans.*");
constinit const Section<VlanConfig> inner_vlan_keys =
    section<kInnerVlans>("ports.*.vlans.*.vlans.*");
constinit const Section<LinuxConfig> linux_keys = section<kLinux>("linux");
constinit const Section<RouteConfig> route_keys = section<kRoutes>("routes.*");
constinit const Section<NextHopConfig> next_hop_keys = section<kNextHops>("routes.*.via.*");
constinit const Section<NeighborConfig> neighbor_keys = section<kNeighbors>("neighbors.*");
constinit const Section<Config> punt_keys = section<kPunt>("punt");
constinit const Section<TablesConfig> table_keys = section<kTables>("tables");
constinit const Section<OffloadConfig> offload_keys = section<kOffload>("offload");
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
  return Walk(file_keys, vrf_keys, port_keys, bond_keys, vlan_keys, inner_vlan_keys, linux_keys,
              route_keys, next_hop_keys, neighbor_keys, rule_keys, set_keys, policer_keys,
              filter_keys, filter_rule_keys, punt_keys, flow_keys, table_keys, offload_keys,
              ipsec_keys, sa_keys, encapsulation_keys, lifetime_keys, policy_keys, template_keys,
              sflow_keys, ipfix_keys, nat_keys, nat_pool_keys, nat_rule_keys, api_keys, log_keys,
              watchdog_keys)
      .take();
}

std::string markdown_row(const KeyText& key) {
  return fmt::format("| `{}` | {} | {} | {} | {} | {} |", key.path, key.type, key.default_value,
                     key.range, key.change == Change::kReload ? "reload" : "restart",
                     key.description);
}

}  // namespace hecto::config
