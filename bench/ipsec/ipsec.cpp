#include "bench/ipsec/ipsec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/bed/slices.hpp"
#include "bench/bed/worker_rate.hpp"
#include "bench/ipsec/alone.hpp"
#include "bench/ipsec/cases.hpp"
#include "bench/ipsec/control.hpp"
#include "bench/ipsec/crypto_perf.hpp"
#include "bench/ipsec/raw.hpp"
#include "bench/ipsec/tunnels.hpp"
#include "bench/ipsec/verify.hpp"
#include "bench/lib/child.hpp"
#include "bench/lib/json_file.hpp"
#include "bench/lib/machine.hpp"
#include "bench/lib/statistics.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/worker.hpp"

namespace hecto::bench {
namespace {

using namespace router;
using nlohmann::json;

constexpr uint16_t kEspRoom_bytes = 128;  // more than any algorithm adds in IPv4
constexpr unsigned kControlTunnels = 10000;

// Of one size: what was measured round by round, in nanoseconds a packet.
struct Series {
  std::vector<double> ns, raw, streamed, floor, copy, share, share_of_streamed;
};

struct Size {
  std::string name;
  std::vector<uint16_t> inner;
  WholeFrames frames = {};  // as the far ends send them
  Series encap = {}, decap = {};
};

constexpr const char* kDirections[] = {"encap", "decap"};

class Bench {
 public:
  Bench(const IpsecBenchOptions& options, Bed& bed, std::vector<IpAddress> ends,
        std::vector<Size> sizes)
      : options_(options),
        bed_(bed),
        ends_(std::move(ends)),
        sizes_(std::move(sizes)),
        slices_(bed, options.bed.burst),
        raw_(bed.pool(0), options.bed.burst) {}

  Result<void> measure(const std::string& algorithm, unsigned tunnels, IpsecReport& report);
  // Without the router.
  Result<void> measure_alone(const std::string& algorithm, IpsecReport& report);

 private:
  Result<void> verify(const Size& size, size_t kind, const Tunnels& tunnels, IpsecReport& report);
  void measure(Size& size, size_t kind, const Tunnels& tunnels);
  double streamed(IMB_CIPHER_DIRECTION direction);
  // What goes its way in the clear, by size: nanoseconds a packet.
  std::vector<double> clear_ipv6();
  Result<void> scale(Size& size, size_t kind, IpsecRow like, IpsecReport& report);
  double ns(const Slice& slice) const {
    return slice.cycles * 1e9 / static_cast<double>(rte_get_tsc_hz());
  }
  uint64_t through_workers();

  const IpsecBenchOptions& options_;
  Bed& bed_;
  std::vector<IpAddress> ends_;
  std::vector<Size> sizes_;
  Slices slices_;
  RawCrypto raw_;
};

// Every packet of both directions, before anything is timed.
Result<void> Bench::verify(const Size& size, size_t kind, const Tunnels& tunnels,
                           IpsecReport& report) {
  bed_.replay(0).select(Traffic::kIpv4);
  bed_.select_frames(kind);
  const auto out = verify_encap(bed_, tunnels);
  if (!out) return fail(fmt::format("encap, {} bytes: {}", size.name, out.error().message));
  bed_.replay(0).select_whole(&size.frames);
  const auto in = verify_decap(bed_, size.frames);
  bed_.replay(0).select_whole(nullptr);
  if (!in) return fail(fmt::format("decap, {} bytes: {}", size.name, in.error().message));
  report.verified += *out + *in;
  return {};
}

// Raw on packets as they are received, less what receiving them costs: thousands lie between the two
// times that one is worked on, as on the whole way.
double Bench::streamed(IMB_CIPHER_DIRECTION direction) {
  const double receive = ns(slices_.measure(BedWork::kReceive, options_.round_ms));
  const auto poll = [&] { return raw_.run_received(bed_.in(0), direction); };
  return ns(slices_.measure(poll, options_.round_ms)) - receive;
}

// Raw, the whole way and its floor in turn, in both directions.
void Bench::measure(Size& size, size_t kind, const Tunnels& tunnels) {
  const unsigned ms = options_.round_ms;
  bed_.select_frames(kind);
  raw_.use(tunnels.twin(), size.inner);
  const double seal = ns(slices_.measure([this] { return raw_.seal(); }, ms));
  const double seal_streamed = streamed(IMB_DIR_ENCRYPT);
  const double encap = ns(slices_.measure(BedWork::kIpv4, ms));
  const double floor = ns(slices_.measure(BedWork::kFloor, ms));
  const double open = ns(slices_.measure([this] { return raw_.open(); }, ms));
  const double open_streamed = streamed(IMB_DIR_DECRYPT);
  bed_.replay(0).select_whole(&size.frames);
  const double decap = ns(slices_.measure(BedWork::kIpv4, ms));
  const double copied = ns(slices_.measure(BedWork::kFloor, ms));
  bed_.replay(0).select_whole(nullptr);
  const double copy = std::max(0.0, copied - floor);
  const auto add = [floor](Series& to, double whole, double raw, double streamed, double copy_ns) {
    to.ns.push_back(whole - copy_ns);
    to.raw.push_back(raw);
    to.streamed.push_back(streamed);
    to.floor.push_back(floor);
    to.copy.push_back(copy_ns);
    to.share.push_back(raw / (whole - copy_ns));
    to.share_of_streamed.push_back(streamed / (whole - copy_ns));
  };
  add(size.encap, encap, seal, seal_streamed, 0);
  add(size.decap, decap, open, open_streamed, copy);
}

IpsecRow row_of(IpsecRow row, const char* direction, const Series& series) {
  row.direction = direction;
  row.ns = median(series.ns);
  row.raw_ns = median(series.raw);
  row.streamed_ns = median(series.streamed);
  row.floor_ns = median(series.floor);
  row.copy_ns = median(series.copy);
  row.share_of_raw = median(series.share);
  row.share_of_streamed = median(series.share_of_streamed);
  row.spread = quartile_spread(series.ns);
  return row;
}

// Numbers of workers take turns; what they share is the SAs and the egress ports.
Result<void> Bench::scale(Size& size, size_t kind, IpsecRow like, IpsecReport& report) {
  bed_.select_frames(kind);
  for (const char* direction : kDirections) {
    like.direction = direction;
    for (unsigned i = 0; i < bed_.workers(); ++i)
      bed_.replay(i).select_whole(direction == kDirections[1] ? &size.frames : nullptr);
    std::vector<std::vector<double>> mpps(options_.workers.size());  // by number, by round
    auto running = RunningWorkers::start(bed_);
    if (!running) return tl::unexpected(running.error());
    for (unsigned round = 0; round < options_.rounds; ++round)
      for (size_t i = 0; i < options_.workers.size(); ++i)
        mpps[i].push_back(rate_of_workers(bed_, options_.workers[i], options_.round_ms).mpps);
    running->reset();
    for (size_t i = 1; i < options_.workers.size(); ++i) {
      std::vector<double> of_one, ns;
      for (unsigned round = 0; round < options_.rounds; ++round) {
        of_one.push_back(mpps[i][round] / mpps[0][round]);
        ns.push_back(1e3 / mpps[i][round]);
      }
      like.workers = options_.workers[i];
      like.ns = median(ns);
      like.of_one_worker = median(of_one);
      like.spread = quartile_spread(ns);
      report.rows.push_back(like);
    }
  }
  for (unsigned i = 0; i < bed_.workers(); ++i) {
    bed_.replay(i).select_whole(nullptr);
    bed_.replay(i).set_active(i == 0);
  }
  return {};
}

uint64_t Bench::through_workers() {
  uint64_t packets = 0;
  for (unsigned i = 0; i < bed_.workers(); ++i)
    packets += bed_.router().dataplane().worker(i).counters().ports[bed_.in(i)].rx_packets.get();
  return packets;
}

Result<void> Bench::measure(const std::string& algorithm, unsigned count, IpsecReport& report) {
  const auto transform = ipsec_transform(algorithm);
  if (!transform) return tl::unexpected(transform.error());
  const bool beside = report.rows.empty() || report.rows[0].algorithm == algorithm;
  const std::vector<double> without = beside ? clear_ipv6() : std::vector<double>();
  auto tunnels = Tunnels::create(bed_, *transform, std::span(ends_).first(count), options_.shapes);
  if (!tunnels) return tl::unexpected(tunnels.error());
  auto hosts = hosts_behind(count, bed_.destinations().ipv4.size());
  bed_.set_destinations(replay_destinations(hosts, bed_.destinations().ipv6));
  for (Size& size : sizes_) {
    auto frames = (*tunnels)->frames(size.inner);
    if (!frames) return tl::unexpected(frames.error());
    size.frames = std::move(*frames);
    size.encap = size.decap = {};
  }
  const uint64_t before = through_workers();
  for (size_t kind = 0; kind < sizes_.size(); ++kind)
    if (auto done = verify(sizes_[kind], kind, **tunnels, report); !done)
      return fail(fmt::format("{}, {} tunnels: {}", algorithm, count, done.error().message));
  for (unsigned round = 0; round < options_.rounds; ++round)
    for (size_t kind = 0; kind < sizes_.size(); ++kind) measure(sizes_[kind], kind, **tunnels);
  IpsecRow row;
  row.algorithm = algorithm;
  row.tunnels = count;
  for (size_t kind = 0; kind < sizes_.size(); ++kind) {
    Size& size = sizes_[kind];
    row.size = size.name;
    row.bytes = mean_bytes(size.inner);
    for (const auto& [direction, series] :
         {std::pair{kDirections[0], &size.encap}, {kDirections[1], &size.decap}})
      report.rows.push_back(row_of(row, direction, *series));
    if (options_.workers.size() > 1)
      if (auto done = scale(size, kind, row, report); !done) return done;
  }
  const uint64_t packets = through_workers() - before, carried = (*tunnels)->carried();
  if (packets != carried)
    return fail(fmt::format("{}, {} tunnels: {} packets came, SAs carried {}", algorithm, count,
                            packets, carried));
  if (!beside) return {};
  const std::vector<double> with = clear_ipv6();
  for (size_t kind = 0; kind < sizes_.size(); ++kind)
    report.beside.push_back({sizes_[kind].name, count, without[kind], with[kind]});
  return {};
}

std::vector<double> Bench::clear_ipv6() {
  std::vector<std::vector<double>> rounds(sizes_.size());
  for (unsigned round = 0; round < options_.rounds; ++round) {
    for (size_t kind = 0; kind < sizes_.size(); ++kind) {
      bed_.select_frames(kind);
      rounds[kind].push_back(ns(slices_.measure(BedWork::kIpv6, options_.round_ms)));
    }
  }
  std::vector<double> medians;
  for (auto& of_size : rounds) medians.push_back(median(of_size));
  return medians;
}

Result<void> Bench::measure_alone(const std::string& algorithm, IpsecReport& report) {
  const auto transform = ipsec_transform(algorithm);
  if (!transform) return tl::unexpected(transform.error());
  const SaState state = Tunnel{0, 1, ends_[0], *transform}.outbound();
  auto key = esp::Sa::create(state);
  auto own = own_engine(state);
  if (!key || !own) return tl::unexpected(!key ? key.error() : own.error());
  auto librte = librte_ipsec(state);
  if (!librte) {
    report.not_measured.push_back(fmt::format("{}: {}", algorithm, librte.error().message));
    return {};
  }
  for (const Size& size : sizes_) {
    InnerBurst burst(bed_.pool(0), options_.bed.burst, size.inner);
    raw_.use(**key, size.inner);
    std::vector<double> raw, ours, theirs;
    for (unsigned round = 0; round < options_.rounds; ++round) {
      const auto time = [&](const std::function<unsigned()>& poll) {
        return ns(slices_.measure(poll, options_.round_ms));
      };
      raw.push_back(time([&] { return raw_.seal(); }));
      ours.push_back(time([&] { return (*own)->encap(burst.reset()); }));
      theirs.push_back(time([&] { return (*librte)->encap(burst.reset()); }));
    }
    report.alone.push_back({algorithm, size.name, median(raw), median(ours), median(theirs)});
  }
  return {};
}

// Other programs that do the same work, where they are installed.
void measure_peers(const IpsecBenchOptions& options, const std::vector<std::string>& algorithms,
                   IpsecReport& report) {
  for (const std::string& algorithm : algorithms) {
    auto rows = run_crypto_perf(algorithm, options.sizes);
    if (!rows) {
      report.not_measured.push_back(rows.error().message);
      break;
    }
    report.peers.insert(report.peers.end(), rows->begin(), rows->end());
  }
  for (const char* name : {"dpdk-ipsec-secgw", "vpp"}) {
    const auto found = find_program(name);
    report.not_measured.push_back(found ? fmt::format("{}: found, but not driven from here", *found)
                                        : fmt::format("{}: not found", name));
  }
}

Result<std::vector<Size>> sizes_of(IpsecBenchOptions& options) {
  std::vector<Size> sizes;
  options.bed.frames.clear();
  for (const std::string& name : options.sizes) {
    auto inner = inner_sizes(name);
    if (!inner) return tl::unexpected(inner.error());
    ReplayFrames frames;
    frames.sizes = *inner;
    frames.cache = options.cache;
    for (uint16_t& bytes : frames.sizes) bytes = static_cast<uint16_t>(bytes + kIpOverhead_bytes);
    const uint16_t largest = *std::max_element(inner->begin(), inner->end());
    options.bed.mtu = std::max(options.bed.mtu, static_cast<uint16_t>(largest + kEspRoom_bytes));
    options.bed.frames.push_back(std::move(frames));
    sizes.push_back({name, std::move(*inner)});
  }
  options.bed.frames.emplace_back();  // of the rekeys, burst by burst: without a ring
  return sizes;
}

Result<IpsecReport> measure_all(const IpsecBenchOptions& options, Bed& bed,
                                std::vector<Size> sizes) {
  unsigned most = options.control ? kControlTunnels : 1;
  for (const unsigned tunnels : options.tunnels) most = std::max(most, tunnels);
  auto ends = far_ends(bed, most);
  if (!ends) return tl::unexpected(ends.error());
  if (auto done = add_private_routes(bed); !done) return tl::unexpected(done.error());
  IpsecReport report;
  const auto& algorithms = options.algorithms.empty() ? ipsec_algorithms() : options.algorithms;
  {
    Bench bench(options, bed, *ends, std::move(sizes));
    for (const std::string& algorithm : algorithms) {
      for (const unsigned tunnels : options.tunnels)
        if (auto done = bench.measure(algorithm, tunnels, report); !done)
          return tl::unexpected(done.error());
      if (auto done = bench.measure_alone(algorithm, report); !done)
        return tl::unexpected(done.error());
    }
  }
  if (options.control) {
    bed.select_frames(options.bed.frames.size() - 1);
    auto control = measure_control(bed, std::span(*ends).first(kControlTunnels));
    if (!control) return tl::unexpected(control.error());
    report.control = *control;
  }
  if (options.peers) measure_peers(options, algorithms, report);
  return report;
}

// One worker is always among them. With one alone it is where the caller is.
Result<void> place_workers(IpsecBenchOptions& options) {
  auto topology = config::read_topology();
  if (!topology) return fail("topology: " + topology.error());
  const auto cores = worker_cores(*topology);
  std::vector<unsigned>& workers = options.workers;
  if (workers.empty()) workers = {static_cast<unsigned>(cores.size())};
  workers.push_back(1);
  std::sort(workers.begin(), workers.end());
  workers.erase(std::unique(workers.begin(), workers.end()), workers.end());
  if (workers.back() > cores.size())
    return fail(fmt::format("--workers {}: use 1 to {}, as many as there are cores", workers.back(),
                            cores.size()));
  if (workers.back() > 1) options.bed.workers.assign(cores.begin(), cores.begin() + workers.back());
  return {};
}

}  // namespace

int ipsec(const IpsecBenchOptions& wanted) {
  IpsecBenchOptions options = wanted;
  if (auto done = place_workers(options); !done) return complain(done.error());
  for (const std::string& algorithm : options.algorithms)
    if (auto known = ipsec_transform(algorithm); !known) return complain(known.error());
  auto sizes = sizes_of(options);
  if (!sizes) return complain(sizes.error());
  auto bed = Bed::create(options.bed);
  if (!bed) return complain(bed.error());
  (*bed)->replay(0).set_active(true);
  const std::string table = (*bed)->table_name();
  auto report = measure_all(options, **bed, std::move(*sizes));
  if (!report) return complain(report.error());
  if (options.json != "-") {
    fmt::print(
        "IPsec, {} routes ({}), burst {}, packets from {}, {} rounds of {} ms; {} packets "
        "verified\n{}, {}, {}\n\n{}",
        (*bed)->routes(), table, options.bed.burst, to_string(options.cache), options.rounds,
        options.round_ms, report->verified, machine_name(),
        rte_eal_has_hugepages() != 0 ? "hugepages" : "no hugepages",
        esp::describe(esp::best_crypto()), to_text(*report));
  }
  json out = to_json(*report);
  out["machine"] = machine_facts();
  out["table"] = table;
  out["routes"] = (*bed)->routes();
  out["burst"] = options.bed.burst;
  out["cache"] = to_string(options.cache);
  out["shapes"] = options.shapes;
  out["crypto"] = esp::describe(esp::best_crypto());
  if (auto done = write_json(options.json, out); !done) return complain(done.error());
  return (*bed)->all_forwarded() && (!report->control || report->control->lost == 0) ? 0 : 1;
}

}  // namespace hecto::bench
