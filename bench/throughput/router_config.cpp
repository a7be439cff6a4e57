#include "bench/throughput/router_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>

#include "bench/lib/route_list.hpp"
#include "bench/lib/synthetic_table.hpp"
#include "lookup/radix_tree.hpp"
#include "router/rib/route_file.hpp"

namespace hecto::bench {
namespace {

constexpr double kSyntheticPrefixes = 901'899;  // IPv4, at scale 1
constexpr unsigned kFirstHost = 10;             // of the next hops, behind the router's own address

template <typename Routes>
void take(const Routes& routes, uint64_t most, std::vector<lookup::IpPrefix>& into) {
  const size_t count = most == 0 ? routes.size() : std::min<size_t>(most, routes.size());
  into.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const auto& prefix = routes[i * routes.size() / count].prefix;
    into.push_back(*lookup::IpPrefix::parse(prefix.to_string()));
  }
}

unsigned socket_of(unsigned cpu) {
  for (unsigned node = 0; node < 64; ++node)
    if (std::filesystem::exists(fmt::format("/sys/devices/system/cpu/cpu{}/node{}", cpu, node)))
      return node;
  return 0;
}

std::string workers_yaml(const std::vector<unsigned>& cpus) {
  std::map<unsigned, std::vector<unsigned>> sockets;
  for (const unsigned cpu : cpus) sockets[socket_of(cpu)].push_back(cpu);
  std::string text;
  for (const auto& [socket, members] : sockets)
    text += fmt::format("{}{}: [{}]", text.empty() ? "" : ", ", socket, fmt::join(members, ", "));
  return "{" + text + "}";
}

}  // namespace

Result<RouteSet> choose_routes(const std::string& file, const std::string& root, uint64_t most) {
  auto table = read_route_list(file, root, 1);
  if (!table) return tl::unexpected(table.error());
  RouteSet set;
  set.name = table->name;
  if (file.empty() && most > table->v4.size()) {
    set.name = "synthetic";
    const double scale = static_cast<double>(most) * 1.02 / kSyntheticPrefixes;
    table->v4.clear();
    table->v6.clear();
    for (const auto& prefix : router::synthetic_prefixes(1, scale))
      if (prefix.address.family == lookup::Family::kIpv4)
        table->v4.push_back({prefix.v4(), 1});
      else
        table->v6.push_back({prefix.v6(), 1});
  }
  take(table->v4, most, set.v4);
  take(table->v6, most, set.v6);
  return set;
}

std::string next_hop(lookup::Family family, unsigned index) {
  return family == lookup::Family::kIpv4 ? fmt::format("198.51.100.{}", kFirstHost + index)
                                         : fmt::format("2001:db8:2::{:x}", kFirstHost + index);
}

namespace {

constexpr uint16_t kNotKnown = UINT16_MAX;

// The next hop that write_routes gives the prefix.
unsigned index_of(const lookup::IpPrefix& prefix, unsigned next_hops) {
  return router::fnv1a32(prefix.to_string()) % next_hops;
}

template <typename Address, typename Narrow>
auto tree_of(const std::vector<lookup::IpPrefix>& prefixes, unsigned next_hops,
             const std::vector<lookup::IpPrefix>& changing, Narrow narrow) {
  auto tree = std::make_shared<lookup::RadixTree<Address, uint16_t>>();
  for (const lookup::IpPrefix& prefix : prefixes)
    tree->insert(narrow(prefix), static_cast<uint16_t>(index_of(prefix, next_hops)));
  for (const lookup::IpPrefix& prefix : changing)
    if (uint16_t* index = tree->find(narrow(prefix))) *index = kNotKnown;
  return tree;
}

template <typename Match>
std::optional<MacAddress> mac_of(const Match& match) {
  if (!match) return next_hop_mac(0);
  if (*match->value == kNotKnown) return std::nullopt;
  return next_hop_mac(*match->value);
}

}  // namespace

NextHopMac next_hops_of(const std::vector<lookup::IpPrefix>& prefixes, unsigned next_hops,
                        const std::vector<lookup::IpPrefix>& changing) {
  if (prefixes.empty()) return {};
  if (prefixes[0].address.family == lookup::Family::kIpv4) {
    auto tree = tree_of<lookup::Ipv4Address>(prefixes, next_hops, changing,
                                             [](const auto& prefix) { return prefix.v4(); });
    return [tree](const lookup::IpAddress& to) { return mac_of(tree->longest_match(to.v4())); };
  }
  auto tree = tree_of<lookup::Ipv6Address>(prefixes, next_hops, changing,
                                           [](const auto& prefix) { return prefix.v6(); });
  return [tree](const lookup::IpAddress& to) { return mac_of(tree->longest_match(to.v6())); };
}

Result<void> write_routes(const RouteSet& routes, unsigned next_hops,
                          const std::filesystem::path& file) {
  std::ofstream out(file);
  for (const auto* prefixes : {&routes.v4, &routes.v6})
    for (const lookup::IpPrefix& prefix : *prefixes)
      out << prefix.to_string() << " via "
          << next_hop(prefix.address.family, index_of(prefix, next_hops)) << '\n';
  if (!out.flush()) return fail(file.string() + ": cannot be written");
  return {};
}

std::string router_yaml(const RouterOptions& options, const std::filesystem::path& folder,
                        const RouterChanges& changes) {
  const unsigned descriptors = 1u << options.ring_bits;
  const auto port = [&](unsigned number, const char* addresses) {
    const std::string device =
        options.veth ? fmt::format("r{}", number)
                     : fmt::format(
                           "net_memif{0},role=server,socket={1}/gen{0}.sock,socket-abstract=no,"
                           "mac=02:00:00:00:00:{2:02x}",
                           number, folder.string(), number + 1);
    return fmt::format(
        "  gen{0}:\n    device: \"{1}\"\n"
        "    mtu: {2}\n    rx_descriptors: {3}\n    tx_descriptors: {3}\n    addresses: [{4}]\n",
        number, device, options.mtu, descriptors, addresses);
  };
  std::string yaml = fmt::format(
      "linux: off\nworkers: {}\ncontrol_core: {}\nidle: {}\nburst: {}\nspare_mbufs: 16384\n"
      "tables: {{ipv4_engine: {}}}\napi: {{socket: {}/api.sock}}\nroute_files: "
      "[routes.txt]\nports:\n",
      workers_yaml(options.worker_cpus), options.control_cpu, options.idle,
      changes.other_burst ? std::max(4u, options.burst / 2) : options.burst, options.engine,
      folder.string());
  yaml += port(0, "192.0.2.1/24, \"2001:db8:1::1/64\"");
  yaml += port(1, "198.51.100.1/24, \"2001:db8:2::1/64\"");
  if (changes.spare_port)
    yaml += "  spare0: {device: \"net_null7,no-rx=1\", addresses: [203.0.113.1/24]}\n";
  yaml += "neighbors:\n";
  for (unsigned i = 0; i < options.next_hops; ++i)
    for (const auto family : {lookup::Family::kIpv4, lookup::Family::kIpv6})
      yaml +=
          fmt::format("  - {{address: \"{}\", interface: gen1, mac: \"02:00:00:00:02:{:02x}\"}}\n",
                      next_hop(family, i), i);
  if (options.default_route)
    yaml +=
        fmt::format("routes:\n  - {{to: 0.0.0.0/0, via: {}}}\n  - {{to: \"::/0\", via: \"{}\"}}\n",
                    next_hop(lookup::Family::kIpv4, 0), next_hop(lookup::Family::kIpv6, 0));
  return yaml;
}

std::string generator_device(const RouterOptions& options, const std::filesystem::path& folder,
                             unsigned port) {
  if (options.veth) return fmt::format("g{}", port);
  // A packet in one buffer, also a jumbo.
  const unsigned buffer = options.mtu <= 1500 ? 2048 : 10368;
  return fmt::format(
      "net_memif{0},role=client,socket={1}/gen{0}.sock,socket-abstract=no,"
      "rsize={2},bsize={3}",
      port, folder.string(), options.ring_bits, buffer);
}

CpuPlan plan_cpus(const std::vector<unsigned>& allowed, unsigned workers) {
  CpuPlan plan;
  if (allowed.size() < 2) {
    plan.generator = plan.workers = allowed;
    plan.control = allowed.empty() ? 0 : allowed[0];
    return plan;
  }
  // One more than generator and workers take: it is the control's.
  const size_t first = allowed.size() >= workers + 2 ? 1 : 0;
  plan.control = allowed[0];
  plan.generator = {allowed[first]};
  for (size_t i = first + 1; i < allowed.size() && plan.workers.size() < workers; ++i)
    plan.workers.push_back(allowed[i]);
  return plan;
}

std::vector<unsigned> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<unsigned> cpus;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

}  // namespace hecto::bench
