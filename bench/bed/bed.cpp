#include "bench/bed/bed.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <random>

#include "base/imix.hpp"
#include "bench/bed/accepting_filters.hpp"
#include "bench/bed/gre_tunnels.hpp"
#include "bench/bed/quiet_rules.hpp"
#include "bench/lib/destinations.hpp"
#include "bench/lib/synthetic_table.hpp"
#include "router/control/interface_control.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/sampler.hpp"

namespace hecto::bench {

using namespace router;

namespace {

constexpr unsigned kIpOverhead_bytes = 14;
constexpr unsigned kFcs_bytes = 4;
constexpr uint64_t kBedSeed = 7;

config::PortConfig make_port(const std::string& name, const std::string& device, uint16_t mtu,
                             const std::string& a4, const std::string& a6) {
  config::PortConfig port;
  port.name = name;
  port.device = device;
  port.kind = config::DeviceKind::kVdev;
  port.mtu = mtu;
  port.addresses = {*lookup::IpPrefix::parse_interface(a4), *lookup::IpPrefix::parse_interface(a6)};
  return port;
}

// A receive port for each worker, two egress ports, half of the next hops on each, all neighbors
// known.
config::Config make_config(const BedOptions& options) {
  config::Config c;
  c.linux_side.enabled = false;
  c.log_level = "error";
  c.idle = options.workers.empty() ? config::IdleMode::kPoll : config::IdleMode::kSleep;
  if (!options.spread) c.idle_sleep_us = 1000;  // who has nothing to do disturbs nobody
  c.burst = static_cast<uint16_t>(options.burst);
  c.ipsec.max_sas = c.ipsec.max_policies = 65536;  // of 10,000 tunnels: two of each
  for (const auto& [socket, core] : options.workers) c.workers[socket].push_back(core);
  uint16_t largest = kLeastFrame_bytes;
  for (const ReplayFrames& kind : options.frames)
    largest = std::max(largest, *std::max_element(kind.sizes.begin(), kind.sizes.end()));
  const bool tunnels = options.into_tunnels > 0 || options.frames[0].in_gre;
  const auto mtu = static_cast<uint16_t>(
      std::max<unsigned>(options.mtu, largest - kIpOverhead_bytes + (tunnels ? kOuterBytes : 0)));
  const std::string size = fmt::format("size={}", kLeastFrame_bytes);
  const size_t receivers = std::max<size_t>(1, options.workers.size());
  for (const ReplayFrames& kind : options.frames)
    c.spare_mbufs = std::max(
        c.spare_mbufs, static_cast<uint32_t>(receivers) * ring_packets(kind.cache, cache_sizes()));
  for (size_t i = 0; i < receivers; ++i)
    c.ports.push_back(make_port(fmt::format("in{}", i), fmt::format("net_null{},{}", i, size), mtu,
                                fmt::format("198.18.{}.254/24", i),
                                fmt::format("2001:2:0:{:x}::fe/64", i)));
  if (options.spread) c.ports.front().spread = config::SpreadMode::kAuto;
  for (size_t side = 0; side < 2; ++side) {
    const auto device = fmt::format("net_null{},{},no-rx=1", receivers + side, size);
    const uint16_t out_mtu = options.egress_mtu == 0 ? mtu : options.egress_mtu;
    c.ports.push_back(make_port(fmt::format("out{}", side), device, out_mtu,
                                fmt::format("100.64.{}.254/24", side),
                                fmt::format("2001:db8:{}::fe/64", side)));
  }
  for (config::PortConfig& port : c.ports) port.counters = options.counters;
  for (unsigned i = 0; i < options.next_hops; ++i) {
    const unsigned side = i % 2;
    const auto host = i / 2 + 1;
    const MacAddress mac = {0x02, 0, 0, 1, static_cast<uint8_t>(side), static_cast<uint8_t>(host)};
    for (const std::string& address :
         {fmt::format("100.64.{}.{}", side, host), fmt::format("2001:db8:{}::{:x}", side, host)})
      c.neighbors.push_back({*lookup::IpAddress::parse(address), fmt::format("out{}", side), mac});
  }
  return c;
}

// Into tunnels, if there are any, that end at the first neighbors; each has an address of either family.
Result<RouteFile> read_table(const BedOptions& options, Router& router, std::string& name) {
  std::vector<InterfaceId> tunnels;
  if (options.into_tunnels > 0 || options.frames[0].in_gre) {
    auto made = make_gre_tunnels(router, options.into_tunnels, options.frames[0].in_gre);
    if (!made) return tl::unexpected(made.error());
    tunnels = std::move(*made);
  }
  RouteFileOptions parse;
  for (const config::NeighborConfig& neighbor : router.config().neighbors) {
    auto hop = router.routes().next_hop({neighbor.address, neighbor.interface, 1});
    if (!hop) return tl::unexpected(hop.error());
    if (!tunnels.empty()) hop->interface = tunnels[parse.via.size() / 2];
    for (unsigned i = 0; i < options.labels; ++i) hop->labels.labels[i] = 100 + i;
    hop->labels.count = static_cast<uint8_t>(options.labels);
    parse.via.push_back(*hop);
    if (parse.via.size() == 2 * tunnels.size()) break;
  }
  const std::string path =
      options.table.empty() ? find_real_table(options.root).value_or("") : options.table;
  name = path.empty() ? "synthetic" : std::filesystem::path(path).filename().string();
  if (path.empty()) return with_next_hops(synthetic_prefixes(), parse);
  return read_routes(path, parse);
}

// At most `count` of each family, the same ones each time.
void choose_routes(RouteTable& table, size_t count) {
  std::mt19937_64 random(kBedSeed);
  std::shuffle(table.entries.begin(), table.entries.end(), random);
  size_t kept[2] = {0, 0};
  std::erase_if(table.entries, [&](const RouteTable::Entry& entry) {
    return kept[entry.prefix.address.family == lookup::Family::kIpv4 ? 0 : 1]++ >= count;
  });
}

}  // namespace

Result<std::unique_ptr<Bed>> Bed::create(const BedOptions& options) {
  spdlog::set_level(spdlog::level::err);
  auto topology = config::read_topology();
  if (!topology) return fail("topology: " + topology.error());
  if (options.wrong_sockets) {
    const auto& sockets = topology->sockets;
    for (config::Core& core : topology->cores) {
      const auto at = std::find(sockets.begin(), sockets.end(), core.socket) - sockets.begin();
      core.socket = sockets[(static_cast<size_t>(at) + 1) % sockets.size()];
    }
  }
  std::unique_ptr<Bed> bed(new Bed(options));
  auto router = Router::create(make_config(options), std::move(*topology));
  if (!router) return tl::unexpected(router.error());
  bed->router_ = std::move(*router);
  if (auto done = bed->load_table(); !done) return tl::unexpected(done.error());
  if (auto done = bed->make_ports(); !done) return tl::unexpected(done.error());
  return bed;
}

Result<void> Bed::load_table() {
  auto file = read_table(options_, *router_, table_name_);
  if (!file) return tl::unexpected(file.error());
  if (options_.routes > 0) choose_routes(file->table, options_.routes);
  std::vector<lookup::Prefix4> v4;
  std::vector<lookup::Prefix6> v6;
  for (const RouteTable::Entry& entry : file->table.entries)
    if (entry.prefix.address.family == lookup::Family::kIpv4)
      v4.push_back(entry.prefix.v4());
    else
      v6.push_back(entry.prefix.v6());
  if (v4.empty() || v6.empty())
    return fail(fmt::format("table {}: {} IPv4 and {} IPv6 prefixes; some of both are needed",
                            table_name_, v4.size(), v6.size()));
  routes_ = file->table.entries.size();
  const unsigned count = options_.destinations;
  destinations_ =
      replay_destinations(make_destinations(Destinations::kInTable, v4, count, kBedSeed),
                          make_destinations(Destinations::kInTable, v6, count, kBedSeed));
  const auto start = std::chrono::steady_clock::now();
  table_ = std::make_shared<const RouteTable>(std::move(file->table));
  auto counts = router_->routing().load(table_, {});
  if (!counts) return tl::unexpected(counts.error());
  if (counts->refused > 0) return fail(counts->first_error);
  router_->routing().commit();
  if (options_.rules > 0 || options_.by != LookUpBy::kMain) {
    constexpr uint32_t kTable = 10;
    std::vector<InterfaceId> receiving;
    for (const auto& [id, interface] : router_->interfaces().table().all())
      if (interface.name.starts_with("in")) receiving.push_back(id);
    auto rules = options_.by == LookUpBy::kMain
                     ? quiet_rules(options_.rules)
                     : leading_rules(router_->routing(), *table_, kTable, options_.by, receiving);
    if (!rules) return tl::unexpected(rules.error());
    router_->dataplane().settings().rules = std::move(*rules);
    router_->dataplane().publish();
  }
  load_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return options_.filters > 0 || options_.policed || options_.policed_prefixes > 0 ? load_filters()
                                                                                   : Result<void>();
}

Result<void> Bed::load_filters() {
  FilterSurroundings around;
  around.members = [&](const std::string&) {
    std::vector<InterfaceId> receiving;
    for (const auto& [id, interface] : router_->interfaces().table().all())
      if (interface.name.starts_with("in")) receiving.push_back(id);
    return receiving;
  };
  for (const auto& worker : options_.workers)
    if (std::ranges::find(around.sockets, worker.first) == around.sockets.end())
      around.sockets.push_back(worker.first);
  around.threads = static_cast<unsigned>(workers()) + 1;
  auto filters = accepting_filters({options_.filters, options_.policed, options_.policed_prefixes},
                                   destinations_, around);
  if (!filters) return tl::unexpected(filters.error());
  router_->dataplane().settings().filters = std::move(*filters);
  router_->dataplane().publish();
  return {};
}

Result<void> Bed::make_ports() {
  Dataplane& dataplane = router_->dataplane();
  for (size_t worker = 0; worker < workers(); ++worker) {
    const Port& port = *dataplane.port(fmt::format("in{}", worker));
    in_.push_back(port.id());
    replays_.push_back(std::make_unique<Replay>(port.id(), port.mac(), pool(worker), destinations_,
                                                options_.frames));
    // Workers that run are told when.
    replays_.back()->set_active(options_.workers.empty());
    dataplane.worker(static_cast<unsigned>(worker)).refresh();
  }
  if (options_.sample != 0) {
    taps_ = std::make_shared<FlowTaps>(workers());
    dataplane.settings().sampling = std::make_shared<const FlowSamplingUse>(
        FlowSamplingUse{{options_.sample, 128, ~uint64_t{0}}, taps_});
    dataplane.publish();
    for (unsigned i = 0; i < workers(); ++i) dataplane.worker(i).refresh();
  }
  for (size_t side = 0; side < 2; ++side) {
    out_[side] = dataplane.port(fmt::format("out{}", side))->id();
    const bool any =
        std::any_of(options_.frames.begin(), options_.frames.end(),
                    [](const ReplayFrames& kind) { return kind.copied || kind.swept; });
    for (uint16_t queue = 0; any && queue < workers(); ++queue)
      sinks_.push_back(std::make_unique<Sink>(out_[side], queue));
  }
  select_frames(0);
  return {};
}

void Bed::select_frames(size_t kind) {
  for (auto& replay : replays_) replay->select_frames(kind);
  for (auto& sink : sinks_) sink->select_frames(options_.frames[kind]);
}

void Bed::set_burst(unsigned burst) {
  Dataplane& dataplane = router_->dataplane();
  dataplane.settings().burst = static_cast<uint16_t>(burst);
  dataplane.publish();
  for (unsigned i = 0; i < workers(); ++i) dataplane.worker(i).refresh();
}

void Bed::forget_samples() {
  for (size_t i = 0; taps_ && i < taps_->size(); ++i)
    while (!(*taps_)[i].ring.front().empty()) (*taps_)[i].ring.pop();
}

uint64_t Bed::sweep_cycles() const {
  uint64_t sum = 0;
  for (const auto& replay : replays_) sum += replay->sweep_cycles();
  for (const auto& sink : sinks_) sum += sink->sweep_cycles();
  return sum;
}

rte_mempool* Bed::pool(size_t worker) {
  return router_->dataplane().pool_of(fmt::format("in{}", worker))->get();
}

bool Bed::all_forwarded() {
  const Totals totals = collect(router_->dataplane());
  if (totals.dropped_total() == 0 && totals.punted_total() == 0) return true;
  std::fflush(stdout);  // so that the reason comes last
  for (size_t i = 1; i < kReasonCount; ++i) {
    if (totals.dropped[i] == 0) continue;
    fmt::print(stderr, "dropped {} packets: {}\n", totals.dropped[i],
               info(static_cast<Reason>(i)).name);
  }
  return false;
}

Result<std::vector<uint16_t>> frame_sizes(const std::string& size) {
  if (size == "imix") {
    // Parts of kImix, well mixed.
    std::vector<uint16_t> sizes;
    for (const size_t part : {0, 1, 0, 1, 0, 0, 2, 0, 1, 0, 1, 0}) {
      const unsigned bytes = kImix[part].frame_bytes - kFcs_bytes;
      sizes.push_back(static_cast<uint16_t>(std::max(bytes, kLeastFrame_bytes)));
    }
    return sizes;
  }
  unsigned bytes = 0;
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), bytes);
  if (error != std::errc() || end != size.data() + size.size() || bytes < kLeastFrame_bytes ||
      bytes > kLargestFrame_bytes)
    return fail(fmt::format("--size {}: use imix, or {} to {} bytes", size, kLeastFrame_bytes,
                            kLargestFrame_bytes));
  return std::vector<uint16_t>{static_cast<uint16_t>(bytes)};
}

double mean_bytes(const std::vector<uint16_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), 0.0) / static_cast<double>(sizes.size());
}

}  // namespace hecto::bench
