// What the operator wrote, checked and with defaults filled in. Plain values: no DPDK, no pointers.
// docs/configuration.md is the reference of every key; load.cpp reads them, diff.cpp compares two.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/idle_mode.hpp"
#include "base/net.hpp"
#include "config/file/endpoint.hpp"
#include "config/file/filters.hpp"
#include "config/file/flows.hpp"
#include "config/file/ipfix.hpp"
#include "config/file/ipsec.hpp"
#include "config/file/nat.hpp"
#include "config/file/rules.hpp"
#include "config/file/sflow.hpp"
#include "lookup/prefix.hpp"

namespace hecto::config {

using lookup::IpAddress;
using lookup::IpPrefix;

// How a port's `device` names it.
enum class DeviceKind : uint8_t {
  kPci,     // "0000:17:00.0", or 17:00.0
  kVdev,    // "net_memif0,role=server,...": a DPDK vdev string, starts with net_ or eth_
  kKernel,  // "eth1": a kernel interface, AF_XDP where it works, else AF_PACKET
  kBond,    // PortConfig::bond: several of the above, but vdevs, that carry one port
};

using hecto::IdleMode;

// Whether the MSS of TCP that is forwarded through an interface is lowered to what its ways carry.
enum class MssClamp : uint8_t { kOff, kAuto };

// The tag of a VLAN: 802.1Q's, or that of a provider's (TPID 0x88a8).
enum class TagProtocol : uint8_t { k8021q, k8021ad };

// A VLAN sub-interface of a port, or of such a one, within whose tag it then has its own. Its interface
// is named "<port>.<id>", or "<port>.<outer>.<id>".
struct VlanConfig {
  uint16_t id = 0;                             // 1 to 4094
  uint16_t outer = 0;                          // of the VLAN that it is in; 0: of the port itself
  TagProtocol protocol = TagProtocol::k8021q;  // of its tag, or the outer one
  std::string vrf;                             // empty: none
  uint32_t vrf_table = 0;
  std::vector<IpPrefix> addresses;
  std::optional<uint16_t> mtu;  // default: the port's
  UrpfMode urpf = UrpfMode::kOff;
  MssClamp mss_clamp = MssClamp::kOff;
  VlanTags tags() const { return {id, outer, protocol == TagProtocol::k8021ad}; }
  bool operator==(const VlanConfig&) const = default;
};
std::string interface_name(const std::string& port, const VlanConfig& vlan);

// Whether the packets of one receive queue go over the workers of its socket, by flow. kAuto: once the
// worker of the queue is at its limit, and the port has fewer queues than there are workers.
enum class SpreadMode : uint8_t { kNever, kAuto, kAlways };
inline constexpr uint32_t kSpreadRing = 2048;  // packets that wait for one of these workers

// How the members of a bond share its packets.
enum class BondMode : uint8_t { kLacp, kActiveBackup, kBalanceXor, kRoundRobin };
// What of a packet chooses the member that sends it, in modes lacp and balance-xor.
enum class BondHash : uint8_t { kLayer2, kLayer23, kLayer34 };
// How often the other end is asked for LACPDUs: each 30 s or each second. Three lost ones end a member.
enum class LacpRate : uint8_t { kSlow, kFast };

struct BondMember {
  std::string device;
  DeviceKind kind = DeviceKind::kKernel;  // or kPci
  bool operator==(const BondMember&) const = default;
};

inline constexpr size_t kMostBondMembers = 16;

struct BondConfig {
  BondMode mode = BondMode::kLacp;
  std::vector<BondMember> members;  // in the file's order; the first gives the MAC
  BondHash hash = BondHash::kLayer34;
  LacpRate lacp_rate = LacpRate::kSlow;
  uint16_t min_links = 1;  // members that carry packets; with fewer the port has no link
  std::string primary;     // of active-backup: a member's device; empty: the first
  bool operator==(const BondConfig&) const = default;
};

struct PortConfig {
  std::string name;
  std::string device;  // empty: a bond
  DeviceKind kind = DeviceKind::kKernel;
  std::optional<BondConfig> bond;  // of kBond
  uint16_t mtu = 1500;             // bytes of L3 packet, 576 (1280 with IPv6) to 9000
  std::string vrf;                 // that its untagged interface is in; empty: none
  uint32_t vrf_table = 0;
  std::vector<IpPrefix> addresses;    // host bits kept
  std::optional<uint16_t> rx_queues;  // default: one per worker of the port's socket
  uint16_t rx_descriptors = 1024;
  uint16_t tx_descriptors = 1024;
  std::optional<MacAddress> mac;
  bool promiscuous = false;
  UrpfMode urpf = UrpfMode::kOff;
  MssClamp mss_clamp = MssClamp::kOff;
  bool counters = false;  // per-interface packet and byte counters
  SpreadMode spread = SpreadMode::kNever;
  std::vector<VlanConfig> vlans;
  bool operator==(const PortConfig&) const = default;
};

struct LinuxConfig {
  bool enabled = true;               // `linux: off` gives the static mode
  std::string name_space = "hecto";  // key: namespace; created when it is not there
  bool mirror_addresses = true;
  bool mirror_routes = true;
  bool mirror_neighbors = true;
  bool mirror_ipsec = true;
  bool operator==(const LinuxConfig&) const = default;
};

struct NextHopConfig {
  IpAddress gateway;
  std::string interface;  // empty: found by the interface addresses
  uint16_t weight = 1;    // 1 to 256
  bool operator==(const NextHopConfig&) const = default;
};

struct RouteConfig {
  IpPrefix to;
  RouteType type = RouteType::kUnicast;
  std::vector<NextHopConfig> via;  // empty unless unicast
  uint32_t metric = 0;
  uint32_t table = kMainTable;  // of `vrf`, where it has one
  std::string vrf = {};
  bool operator==(const RouteConfig&) const = default;
};

struct NeighborConfig {
  IpAddress address;
  std::string interface;
  MacAddress mac{};
  bool operator==(const NeighborConfig&) const = default;
};

// How IPv4's main table is stored: DIR-24-8, or a trie that takes a quarter of its memory.
enum class Ipv4Engine : uint8_t { kAuto, kDirect, kCompact };
inline constexpr uint64_t kDirectFib_bytes = 48ull << 20;  // what DIR-24-8 grows to, and no further

struct TablesConfig {
  Ipv4Engine ipv4_engine = Ipv4Engine::kAuto;
  std::optional<uint64_t> memory_bytes;  // of one family's FIB on one socket; default: no limit
  uint32_t groups = 16384;               // next-hop groups
  uint32_t bridge_stations = 65536;      // that are switched to; Linux learns no more than that
  uint32_t bridge_stations_per_port = 16384;
  bool consistent_ecmp = false;  // buckets by the members alone, the same on every router
  bool operator==(const TablesConfig&) const = default;
};

// Whether a kind of work goes to the offload device.
enum class OffloadMode : uint8_t { kAuto, kNever, kAlways };

// Batches of one worker and one kind of work that may be on their way at once: of a family's
// look-ups, and of ESP's kinds (GCM and CBC, sealed and opened), which hold packets' bytes as well.
inline constexpr unsigned kOffloadBatches = 8;
inline constexpr unsigned kOffloadEspBatches = 4;
inline constexpr unsigned kOffloadEspKinds = 4;
inline constexpr uint32_t kMostOffloadEspBatch = 4096;  // packets, whatever offload.batch says

struct OffloadConfig {
  // "auto" (every GPU that is found), "none", or names as "cuda:0" and "host" (CPU threads).
  std::vector<std::string> devices = {"auto"};
  OffloadMode lookup = OffloadMode::kAuto;
  OffloadMode ipsec = OffloadMode::kAuto;
  bool shader = false;             // a thread for each device merges the workers' batches
  uint32_t latency_bound_us = 50;  // of gathering and the device's answer
  uint32_t deadline_us = 2000;     // what is not answered by then is done on the CPU
  uint32_t batch = 1024;           // packets of one job, gathered by one worker
  bool operator==(const OffloadConfig&) const = default;
};

// A worker that does not come round: only told, or a reason to be restarted by the service manager.
enum class StuckWorker : uint8_t { kReport, kRestart };

// Where a file says something; not part of what it says.
struct SourceLine {
  uint32_t number = 0;  // 0: nowhere
  bool operator==(const SourceLine&) const { return true; }
};

// Of the text that a configuration was read from; not part of what it says.
struct FileDigest {
  uint64_t value = 0;
  bool operator==(const FileDigest&) const { return true; }
};

inline constexpr size_t kLeastTokenBytes = 16;  // of the API

inline constexpr size_t kMostInterfaces = 1023;  // ports and VLANs together

struct Config {
  std::string file;  // where it was read from
  FileDigest digest;
  // Cores by NUMA socket; empty: `auto`.
  std::map<int, std::vector<unsigned>> workers;
  std::optional<unsigned> control_core;  // default: placement chooses
  IdleMode idle = IdleMode::kSleep;      // of all cores but those
  std::map<unsigned, IdleMode> idle_by_core;
  IdleMode idle_of(unsigned core) const {
    const auto found = idle_by_core.find(core);
    return found == idle_by_core.end() ? idle : found->second;
  }
  uint32_t idle_sleep_us = 50;        // longest sleep of an idle worker
  std::optional<uint32_t> ecmp_seed;  // default: this box's own
  uint16_t burst = 64;                // packets asked from a queue at once, 4 to 256
  std::vector<VrfConfig> vrfs;        // in the file's order; static mode's, as rules
  std::vector<PortConfig> ports;      // in the file's order
  LinuxConfig linux_side;             // key: linux (a macro in GNU mode)
  std::vector<RouteConfig> routes;
  std::vector<std::string> route_files;  // loaded at start, like `hecto load-routes`
  std::vector<NeighborConfig> neighbors;
  std::vector<RuleConfig> rules;             // in the file's order
  FiltersConfig filters;                     // keys: sets, policers, filters
  std::map<std::string, uint32_t> punt_pps;  // by reason; absent: the reason's default
  // By class, of one interface; absent: the class's default.
  std::map<std::string, uint32_t> punt_class_pps;
  std::vector<lookup::IpAddress> punt_peers;  // known to routing protocols before they connect
  FlowsConfig flows;
  uint32_t spare_mbufs = 0;  // per socket, for ports added later
  TablesConfig tables;
  OffloadConfig offload;
  IpsecConfig ipsec;
  SflowConfig sflow;
  IpfixConfig ipfix;
  NatConfig nat;
  std::string api_socket = "/run/hecto/hecto.sock";
  std::optional<HttpEndpoint> api_http;  // on loopback
  std::string api_http_token_file;
  SecretKey api_http_token;  // of that file; empty: none
  // Groups whose members may do so much by the API; none of them: who may open the socket may do
  // all.
  std::optional<std::string> api_read_group, api_operate_group, api_admin_group;
  std::string log_level = "info";
  StuckWorker stuck_worker = StuckWorker::kReport;  // key: watchdog.stuck_worker
  std::optional<uint64_t> memory_bytes;             // DPDK memory; default: from the plan
  SourceLine memory_line;
  bool operator==(const Config&) const = default;
};

// The table where it is a VRF's, else 0: whose interfaces its gateways are on.
uint32_t vrf_table_of(const Config& config, uint32_t table);

}  // namespace hecto::config
