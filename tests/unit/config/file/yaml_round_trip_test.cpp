// load(to_yaml(c)) == c, for random configurations and for the shipped examples.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "config/file/load.hpp"
#include "config/file/load_bond.hpp"
#include "config/file/to_yaml.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::config {
namespace {

void expect_round_trip(const Config& config) {
  std::string yaml = to_yaml(config);
  auto again = parse(yaml, config.file);
  ASSERT_TRUE(again) << again.error()[0] << "\n" << yaml;
  EXPECT_EQ(*again, config) << yaml << "\n---\n" << to_yaml(*again);
}

class RandomConfig {
 public:
  explicit RandomConfig(uint32_t seed) : random_(seed) {}

  Config make() {
    Config c;
    c.file = "/etc/hecto/random.yaml";
    for (unsigned i = 0; i < below(3); ++i)
      c.workers[static_cast<int>(i)] = {i * 8, i * 8 + 1, i * 8 + 5};
    if (flip()) c.control_core = 100;
    c.idle = static_cast<IdleMode>(below(4));
    if (c.workers.empty() && flip())
      for (unsigned core = 0; core < 9; ++core)
        if (flip()) c.idle_by_core[core] = static_cast<IdleMode>(below(4));
    c.idle_sleep_us = 1 + below(10000);
    c.burst = static_cast<uint16_t>(4 + below(253));
    for (unsigned i = 0, n = 1 + below(4); i < n; ++i) c.ports.push_back(port(i));
    c.linux_side.enabled = flip();
    if (c.linux_side.enabled) {
      c.linux_side.name_space = flip() ? "blue.1" : "hecto";
      c.linux_side.mirror_addresses = flip();
      c.linux_side.mirror_routes = flip();
      c.linux_side.mirror_neighbors = flip();
      c.linux_side.mirror_ipsec = flip();
    }
    for (unsigned i = 0, n = below(5); i < n; ++i) c.routes.push_back(route(i));
    if (!c.linux_side.enabled) add_rules(c);
    if (flip()) add_filters(c);
    if (flip()) c.route_files = {"/var/a b/full.mrt", "/x", "/it's \"quoted\" \\ here"};
    if (flip()) c.neighbors.push_back({*IpAddress::parse("10.0.0.9"), "p0", {2, 0, 0, 0, 0, 9}});
    if (flip()) c.punt_pps = {{"arp", below(10000001)}, {"too_big", 0}};
    if (flip()) c.punt_class_pps = {{"sessions", below(10000001)}, {"closed", 0}};
    if (flip()) c.punt_peers = {*IpAddress::parse("192.0.2.1"), *IpAddress::parse("fe80::1")};
    if (flip())
      c.flows = {{"p0"}, 1 + below(kMostFlows), flip() ? kMissDrop : flip() ? "p0" : kMissRoute};
    c.spare_mbufs = below(1000);
    if (flip())
      c.tables = {static_cast<Ipv4Engine>(below(3)), kDirectFib_bytes + below(1u << 30),
                  16 + below(1000)};
    c.tables.consistent_ecmp = flip();
    if (flip()) {
      c.offload.devices =
          flip() ? std::vector<std::string>{"none"} : std::vector<std::string>{"cuda:0", "host"};
      c.offload.lookup = static_cast<OffloadMode>(below(3));
      c.offload.ipsec = static_cast<OffloadMode>(below(3));
      c.offload.shader = flip();
      c.offload.latency_bound_us = 1 + below(1000);
      c.offload.deadline_us = 10 + below(1000);
      c.offload.batch = 256 + below(1000);
    }
    if (flip()) {
      c.sflow.collectors = {
          {*IpAddress::parse("192.0.2.5"), 6343},
          {*IpAddress::parse("2001:db8::5"), static_cast<uint16_t>(1 + below(65535))}};
      if (flip()) c.sflow.agent = *IpAddress::parse("2001:db8::1");
      c.sflow.from = flip() ? SflowFrom::kHost : SflowFrom::kRouter;
      c.sflow.sampling = 1 + below(kMostSampling);
      c.sflow.polling_s = below(86401);
      c.sflow.header_bytes = static_cast<uint16_t>(14 + below(1011));
      if (flip()) c.sflow.ports = {"p0"};
    }
    if (flip()) {
      if (flip()) c.ipfix.collectors = {{*IpAddress::parse("192.0.2.5"), 4739}};
      // Of both, packets are sampled once.
      c.ipfix.sampling = c.sflow.sampling;
      c.ipfix.ports = c.sflow.ports;
      if (flip() && c.flows.on()) c.ipfix.records = IpfixRecords::kFlowTable;
      c.ipfix.from = flip() ? SflowFrom::kHost : SflowFrom::kRouter;
      c.ipfix.active_s = 1 + below(86'400);
      c.ipfix.idle_s = 1 + below(86'400);
      c.ipfix.flows = kLeastIpfixFlows + below(kMostIpfixFlows - kLeastIpfixFlows);
      c.ipfix.domain = below(UINT32_MAX);
      c.ipfix.templates_s = 1 + below(86'400);
    }
    if (flip()) c.api_socket = "/run/a b.sock";
    if (flip()) c.api_http = HttpEndpoint{*IpAddress::parse("::1"), 8080};
    if (flip()) c.api_read_group = "net watchers";
    if (flip()) c.api_operate_group = "operators";
    if (flip()) c.api_admin_group = "root";
    c.log_level = flip() ? "debug" : "warn";
    c.stuck_worker = flip() ? StuckWorker::kReport : StuckWorker::kRestart;
    if (flip()) c.memory_bytes = (64ull << 20) + below(1u << 30);
    return c;
  }

 private:
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  bool flip() { return below(2) == 1; }

  // Keys that the mode has none of keep their defaults: a file that has them is refused.
  BondConfig bond(const std::string& n) {
    BondConfig b;
    b.mode = static_cast<BondMode>(below(4));
    b.members = {{"eth" + n + "0", DeviceKind::kKernel},
                 {"0000:2" + n + ":00.1", DeviceKind::kPci}};
    if (belongs("hash", b.mode)) b.hash = static_cast<BondHash>(below(3));
    if (belongs("lacp_rate", b.mode)) b.lacp_rate = static_cast<LacpRate>(below(2));
    if (belongs("primary", b.mode) && flip()) b.primary = b.members[1].device;
    b.min_links = static_cast<uint16_t>(1 + below(2));
    return b;
  }

  PortConfig port(unsigned i) {
    PortConfig p;
    p.name = "p" + std::to_string(i);
    const std::string n = std::to_string(i);
    switch (below(4)) {
      case 3:
        p.kind = DeviceKind::kBond;
        p.bond = bond(n);
        break;
      case 0:
        p.device = "0000:1" + n + ":00.0";
        p.kind = DeviceKind::kPci;
        break;
      case 1:
        p.device = "net_memif" + n + ",role=server,socket=/run/m" + n + ".sock";
        p.kind = DeviceKind::kVdev;
        break;
      default:
        p.device = "eth" + n;
    }
    p.mtu = static_cast<uint16_t>(1280 + below(7721));
    p.addresses = {*IpPrefix::parse_interface("10." + n + ".0.1/16")};
    if (flip()) p.addresses.push_back(*IpPrefix::parse_interface("2001:db8:" + n + "::1/64"));
    if (flip()) p.rx_queues = static_cast<uint16_t>(1 + below(128));
    p.rx_descriptors = static_cast<uint16_t>(64u << below(10));
    p.tx_descriptors = static_cast<uint16_t>(64u << below(10));
    if (flip()) p.mac = MacAddress{2, 0, 0, 1, 2, static_cast<uint8_t>(i)};
    p.promiscuous = flip();
    p.counters = flip();
    p.spread = static_cast<SpreadMode>(below(3));
    p.urpf = static_cast<UrpfMode>(below(3));
    p.mss_clamp = static_cast<MssClamp>(below(2));
    for (uint16_t id : {5, 4094}) {
      if (flip()) continue;
      VlanConfig v;
      v.id = id;
      v.addresses = {
          *IpPrefix::parse_interface("172." + std::to_string(id % 200) + "." + n + ".1/24")};
      if (flip()) v.mtu = static_cast<uint16_t>(576 + below(p.mtu - 575u));
      v.urpf = static_cast<UrpfMode>(below(3));
      v.mss_clamp = static_cast<MssClamp>(below(2));
      if (flip()) v.protocol = TagProtocol::k8021ad;
      p.vlans.push_back(v);
    }
    const size_t outer = p.vlans.size();
    for (size_t i = 0; i < outer; ++i) {
      if (flip()) continue;
      VlanConfig v;
      v.id = static_cast<uint16_t>(1 + below(4094));
      v.outer = p.vlans[i].id;
      v.protocol = p.vlans[i].protocol;
      v.mtu = p.vlans[i].mtu;
      v.addresses = {*IpPrefix::parse_interface("172.2" + std::to_string(i) + "." + n + ".1/24")};
      p.vlans.push_back(v);
    }
    return p;
  }

  RouteConfig route(unsigned i) {
    RouteConfig r;
    r.to = *IpPrefix::parse("203.0." + std::to_string(i) + ".0/24");
    r.metric = below(3) * 100;
    constexpr RouteType kOfTheFile[] = {RouteType::kUnicast, RouteType::kBlackhole,
                                        RouteType::kUnreachable, RouteType::kProhibit};
    r.type = kOfTheFile[below(4)];
    if (r.type != RouteType::kUnicast) return r;
    for (unsigned h = 0, n = 1 + below(3); h < n; ++h)
      r.via.push_back({*IpAddress::parse("10.0.1." + std::to_string(h + 1)), flip() ? "p0" : "",
                       static_cast<uint16_t>(1 + below(256))});
    return r;
  }

  // Of static mode. The last port is in the VRF, which no route needs.
  void add_rules(Config& c) {
    for (RouteConfig& route : c.routes)
      if (flip()) route.table = 1 + below(200);
    if (flip()) {
      c.vrfs = {{"red", 1000}, {"blue-2", 4000000000}};
      if (c.ports.size() > 1) {
        c.ports.back().vrf = "red";
        c.ports.back().vrf_table = 1000;
      }
    }
    for (unsigned i = 0, n = below(4); i < n; ++i) {
      RuleConfig r;
      r.priority = 1 + i;
      if (flip())
        r.family = static_cast<RuleFamily>(below(3));
      else
        r.from = IpPrefix::parse(flip() ? "10.0.0.0/8" : "2001:db8::/32");
      if (flip() && c.ports[0].urpf == UrpfMode::kOff && c.ports.size() == 1 &&
          c.ports[0].vlans.empty())
        r.iif = "p0";
      if (flip()) r.dscp = static_cast<uint8_t>(below(64));
      if (flip()) r.ip_protocol = static_cast<uint8_t>(1 + below(255));
      if (flip()) r.destinations = PortSpan{53, static_cast<uint16_t>(53 + below(3))};
      r.invert = flip() && (r.from || r.dscp);
      switch (below(4)) {
        case 0:
          r.table = flip() ? kMainTable : 1 + below(200);
          break;
        case 1:
          if (!c.vrfs.empty()) {
            r.vrf = "red";
            r.table = 1000;
            break;
          }
          [[fallthrough]];
        case 2:
          r.target = kMainPriority;
          break;
        default:
          r.action = static_cast<RuleRefusal>(1 + below(3));
      }
      c.rules.push_back(r);
    }
  }

  void add_filters(Config& c) {
    c.filters.sets = {
        {"nets", {*IpPrefix::parse("10.0.0.0/8"), *IpPrefix::parse("fc00::/7")}, "", {}},
        {"empty-1", {}, "", {}}};
    PolicerConfig policer;
    policer.name = "pings";
    policer.rate_bps = 8000 + below(1000000);
    policer.burst_bytes = 1500 + below(100000);
    switch (below(3)) {
      case 0:
        policer.excess_bytes = 1500 + below(5000);
        policer.drops_yellow = flip();
        break;
      case 1:
        policer.peak_bps = 2'000'000'000;
        policer.peak_burst_bytes = 64000;
        policer.yellow_dscp = static_cast<uint8_t>(below(64));
    }
    if (flip()) policer.in = {"p0"};
    c.filters.policers = {policer};
    for (unsigned i = 0, n = below(3); i < n; ++i) {
      FilterConfig f;
      f.name = "f" + std::to_string(i);
      if (i == 0) f.in = {"p0"};
      if (i == 0 && flip()) f.out = {"p0"};
      f.local = i == 1;
      f.otherwise = static_cast<FilterVerdict>(below(3));
      for (unsigned r = 0, rules = below(4); r < rules; ++r) f.rules.push_back(filter_rule(r));
      const bool leads = f.out.empty() && !f.local;  // only where packets come in
      for (FilterRuleConfig& rule : f.rules)
        if (!leads) rule.table = 0;
      c.filters.filters.push_back(f);
    }
  }

  FilterRuleConfig filter_rule(unsigned number) {
    FilterRuleConfig r;
    if (flip()) r.name = "r_" + std::to_string(number);
    if (flip()) r.from.set = "nets";
    if (flip()) r.to.prefix = IpPrefix::parse(flip() ? "10.0.0.0/8" : "::/0");
    if (flip() && !r.to.prefix) r.family = static_cast<RuleFamily>(below(3));
    constexpr uint8_t kProtocols[] = {0, 1, 6, 17, 47, 255};
    r.protocol = kProtocols[below(6)];
    if (r.protocol == 6 || r.protocol == 17) r.sources = {{0, 0}, {80, 90}};
    if (r.protocol == 17 && flip()) r.destinations = {{static_cast<uint16_t>(below(9)), 65535}};
    if (r.protocol == 6 && flip()) {
      r.tcp_mask = static_cast<uint8_t>(1 + below(255));
      r.tcp_set = static_cast<uint8_t>(r.tcp_mask & below(256));
    }
    if (r.protocol == 1 && (r.to.prefix || r.family != RuleFamily::kAuto)) {
      r.icmp_type = NumberSpan{below(150), below(100)};
      r.icmp_type->last += r.icmp_type->first;
      if (flip()) r.icmp_type->last = r.icmp_type->first;
      if (r.icmp_type->first == r.icmp_type->last && flip()) r.icmp_code = NumberSpan{0, 255};
    } else if (r.protocol == 1 && flip()) {
      r.icmp_type = NumberSpan{8, 8};
      r.icmp_both = true;
    }
    r.fragments = static_cast<FragmentMatch>(below(5));
    if (flip()) r.dscp = static_cast<uint8_t>(below(64));
    if (flip()) r.length = NumberSpan{below(100), 100 + below(65000)};
    if (flip()) r.iif = "p0";
    if (flip()) r.vlans = {{100, 100}, {200, 300}};
    if (flip()) r.mark = static_cast<uint32_t>(random_());
    r.verdict = static_cast<FilterVerdict>(below(3));
    if (r.verdict == FilterVerdict::kAccept) {
      if (flip()) r.police = "pings";
      if (flip()) r.set_mark = static_cast<uint32_t>(random_());
      if (flip()) r.set_dscp = static_cast<uint8_t>(below(64));
      if (flip()) r.table = flip() ? kMainTable : 1 + below(200);
    }
    r.log = flip();
    r.sample = below(3);
    if (flip()) r.mirror = "p0";
    return r;
  }

  std::mt19937 random_;
};

TEST(YamlRoundTrip, KeepsRandomConfigurations) {
  auto seed = static_cast<uint32_t>(test_seed());
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomConfig random(seed);
  for (int i = 0; i < 300 && !HasFatalFailure(); ++i) expect_round_trip(random.make());
}

TEST(YamlRoundTrip, KeepsTheExamples) {
  size_t count = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(HECTO_SOURCE_ROOT "/config/examples")) {
    if (entry.path().extension() != ".yaml") continue;
    auto config = load(entry.path().string());
    ASSERT_TRUE(config) << config.error()[0];
    if (config->ipsec.sas.empty())
      expect_round_trip(*config);
    else
      EXPECT_EQ(to_yaml(*config).find("0x0001020304"), std::string::npos) << "keys are not shown";
    ++count;
  }
  EXPECT_GE(count, 17u);
}

TEST(YamlRoundTrip, WritesAutoAsAuto) {
  auto config = parse("ports: {a: {device: e}}", "t");
  ASSERT_TRUE(config);
  std::string yaml = to_yaml(*config);
  for (const char* line : {"workers: auto\n", "control_core: auto\n", "    queues: auto\n",
                           "memory: auto\n", "tables: {ipv4_engine: auto, memory: auto, "})
    EXPECT_NE(yaml.find(line), std::string::npos) << line << yaml;
}

}  // namespace
}  // namespace hecto::config
