#include "bench/forward/forward.hpp"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <nlohmann/json.hpp>

#include "bench/json_file.hpp"
#include "bench/machine.hpp"
#include "bench/statistics.hpp"
#include "bench/stopwatch.hpp"
#include "lookup/kernels.hpp"
#include "router/dpdk.hpp"
#include "router/show/sampler.hpp"

namespace hecto::bench {
namespace {

using namespace router;
using nlohmann::json;

constexpr size_t kStages = 5;  // receive, classify, look-up, rewrite, transmit

// One thing that is measured, over its rounds.
struct Series {
  std::string name;
  std::function<unsigned()> poll;  // gives packets
  std::optional<Traffic> traffic;  // through the worker
  std::vector<double> cycles;      // TSC a packet
  std::vector<double> taken;       // share of the core that others had
  std::array<std::vector<double>, kStages> stages;
};

class Loops {
 public:
  Loops(Bed& bed, unsigned burst)
      : worker_(bed.router().dataplane().worker(0)),
        replay_(bed.replay(0)),
        pool_(bed.pool(0)),
        in_(bed.in(0)),
        out_(bed.out()),
        burst_(static_cast<uint16_t>(burst)) {}

  // Receive and transmit, nothing between: what `testpmd` calls io forwarding.
  unsigned floor() {
    rte_mbuf* packets[kChunkSize];
    return send(packets, rte_eth_rx_burst(in_, 0, packets, burst_));
  }
  unsigned receive() {
    rte_mbuf* packets[kChunkSize];
    const uint16_t count = rte_eth_rx_burst(in_, 0, packets, burst_);
    rte_pktmbuf_free_bulk(packets, count);
    return count;
  }
  unsigned transmit() {
    rte_mbuf* packets[kChunkSize];
    if (rte_pktmbuf_alloc_bulk(pool_, packets, burst_) != 0) return 0;
    for (uint16_t i = 0; i < burst_; ++i) {
      const uint16_t bytes = replay_.write(rte_pktmbuf_mtod(packets[i], uint8_t*));
      packets[i]->data_len = bytes;
      packets[i]->pkt_len = bytes;
    }
    return send(packets, burst_);
  }
  unsigned forward() { return worker_.poll_once(); }

 private:
  unsigned send(rte_mbuf** packets, uint16_t count) {
    const uint16_t sent = rte_eth_tx_burst(out_[turn_++ % 2], 0, packets, count);
    rte_pktmbuf_free_bulk(packets + sent, count - sent);
    return count;
  }

  Worker& worker_;
  Replay& replay_;
  rte_mempool* pool_;
  uint16_t in_;
  std::array<uint16_t, 2> out_;
  uint16_t burst_;
  unsigned turn_ = 0;
};

std::vector<Series> make_series(const std::string& mode, Loops& loops) {
  const auto series = [](const char* name, std::function<unsigned()> poll,
                         std::optional<Traffic> traffic = {}) {
    return Series{name, std::move(poll), traffic, {}, {}, {}};
  };
  std::vector<Series> out;
  const bool all = mode == "all";
  if (all || mode == "rx") out.push_back(series("rx", [&loops] { return loops.receive(); }));
  if (all || mode == "tx") out.push_back(series("tx", [&loops] { return loops.transmit(); }));
  if (!all && mode != "forward") return out;
  out.push_back(series("floor", [&loops] { return loops.floor(); }));
  out.push_back(series(
      "ipv4", [&loops] { return loops.forward(); }, Traffic::kIpv4));
  out.push_back(series(
      "ipv6", [&loops] { return loops.forward(); }, Traffic::kIpv6));
  return out;
}

// TSC ticks of this thread's own time for a packet: what the kernel gave to others meanwhile is
// told apart. `taken`: their share.
double cycles_per_packet(const std::function<unsigned()>& poll, unsigned round_ms, double& taken) {
  const uint64_t length = rte_get_tsc_hz() / 1000 * round_ms;
  const uint64_t warm = rte_rdtsc() + length / 10;
  while (rte_rdtsc() < warm) poll();
  uint64_t packets = 0;
  const Stopwatch watch;
  const uint64_t start = rte_rdtsc();
  while (rte_rdtsc() - start < length)
    for (unsigned i = 0; i < 64; ++i) packets += poll();
  const double own = watch.cpu_seconds();
  taken = std::max(0.0, 1 - own / watch.seconds());
  return own * static_cast<double>(rte_get_tsc_hz()) / static_cast<double>(packets);
}

void measure(Series& series, Bed& bed, unsigned round_ms) {
  bed.replay(0).select(series.traffic.value_or(Traffic::kIpv4));
  const WorkerTotals before = collect(bed.router().dataplane()).workers[0];
  double taken = 0;
  series.cycles.push_back(cycles_per_packet(series.poll, round_ms, taken));
  series.taken.push_back(taken);
  if (!series.traffic) return;
  // Of the sampled chunks between two totals.
  const WorkerTotals after = collect(bed.router().dataplane()).workers[0];
  const auto packets = static_cast<double>(after.sampled_packets - before.sampled_packets);
  for (size_t i = 0; i < kStages && packets > 0; ++i)
    series.stages[i].push_back(static_cast<double>(after.stage_cycles[i] - before.stage_cycles[i]) /
                               packets);
}

struct Row {
  std::string name;
  double cycles, mpps, gbps, spread, taken;
  std::optional<double> over_floor;
  std::vector<double> stages;
};

std::vector<Row> rows_of(const std::vector<Series>& all, double frame_bytes) {
  std::vector<Row> rows;
  std::optional<double> floor;
  for (const Series& series : all) {
    Row row;
    row.name = series.name;
    row.cycles = median(series.cycles);
    row.mpps = static_cast<double>(rte_get_tsc_hz()) / row.cycles / 1e6;
    row.gbps = row.mpps * frame_bytes * 8 / 1e3;
    row.spread = quartile_spread(series.cycles);
    row.taken = median(series.taken);
    if (series.name == "floor") floor = row.cycles;
    if (series.traffic && floor) row.over_floor = row.cycles - *floor;
    for (const auto& stage : series.stages)
      if (!stage.empty()) row.stages.push_back(median(stage));
    rows.push_back(std::move(row));
  }
  return rows;
}

void print(const ForwardOptions& options, Bed& bed, const std::vector<Row>& rows) {
  fmt::print("forwarding, one core, {}{}, {} routes ({}), {} next hops, burst {}\n",
             options.size == "imix" ? "imix" : options.size + "-byte packets",
             options.bed.frames.copied ? " copied in and out" : "", bed.routes(), bed.table_name(),
             options.bed.next_hops, options.bed.burst);
  fmt::print("{}, TSC {:.1f} GHz, {}, look-up {}; routes programmed in {:.2f} s\n\n",
             machine_name(), static_cast<double>(rte_get_tsc_hz()) / 1e9,
             rte_eal_has_hugepages() != 0 ? "hugepages" : "no hugepages",
             lookup::to_string(lookup::kernels().isa), bed.load_seconds());
  fmt::print("{:<8} {:>10} {:>10} {:>16} {:>18} {:>8}\n", "", "Mpps", "Gb/s", "cycles/packet",
             "over the floor", "spread");
  for (const Row& row : rows)
    fmt::print("{:<8} {:>10.1f} {:>10.1f} {:>16.1f} {:>18} {:>7.0f}%\n", row.name, row.mpps,
               row.gbps, row.cycles, row.over_floor ? fmt::format("{:.1f}", *row.over_floor) : "",
               row.spread * 100);
  bool headed = false;
  for (const Row& row : rows) {
    if (row.stages.empty()) continue;
    if (!headed)
      fmt::print(
          "\nstages (sampled, with the clock's own cost): receive, classify, look-up, rewrite, "
          "transmit\n");
    headed = true;
    fmt::print("{:<8} {:>10.1f} {:>8.1f} {:>8.1f} {:>8.1f} {:>8.1f}\n", row.name, row.stages[0],
               row.stages[1], row.stages[2], row.stages[3], row.stages[4]);
  }
}

// What a reader of the figures should know of the machine.
void print_noise(const std::vector<Row>& rows) {
  double taken = 0, spread = 0;
  for (const Row& row : rows) {
    taken = std::max(taken, row.taken);
    spread = std::max(spread, row.spread);
  }
  if (taken > 0.02)
    fmt::print("\nother work took {:.0f}% of the core: not counted, but it cools the caches\n",
               taken * 100);
  if (spread > 0.1)
    fmt::print(
        "\na noisy machine: the middle half of the rounds spreads over {:.0f}%; stop other work, "
        "or put chrt -f 50 before the command\n",
        spread * 100);
}

json to_json(const ForwardOptions& options, Bed& bed, const std::vector<Row>& rows) {
  json out = {{"machine", machine_name()},
              {"table", bed.table_name()},
              {"isa", lookup::to_string(lookup::kernels().isa)},
              {"tsc_hz", rte_get_tsc_hz()},
              {"hugepages", rte_eal_has_hugepages() != 0},
              {"routes", bed.routes()},
              {"next_hops", options.bed.next_hops},
              {"burst", options.bed.burst},
              {"size", options.size},
              {"frame_bytes", mean_bytes(options.bed.frames.sizes)},
              {"copied", options.bed.frames.copied},
              {"load_s", bed.load_seconds()},
              {"dpdk", Eal::version()}};
  for (const Row& row : rows) {
    json& series = out[row.name] = {
        {"mpps", row.mpps},     {"gbps", row.gbps},   {"cycles_per_packet", row.cycles},
        {"spread", row.spread}, {"taken", row.taken}, {"stages", row.stages}};
    if (row.over_floor) series["cycles_over_floor"] = *row.over_floor;
  }
  return out;
}

}  // namespace

std::vector<std::string> forward_modes() {
  return {"forward", "rx", "tx", "all"};
}

int forward(const ForwardOptions& wanted) {
  ForwardOptions options = wanted;
  auto sizes = frame_sizes(options.size);
  if (!sizes) return complain(sizes.error());
  options.bed.frames.sizes = *sizes;
  auto bed = Bed::create(options.bed);
  if (!bed) return complain(bed.error());
  Loops loops(**bed, options.bed.burst);
  std::vector<Series> series = make_series(options.mode, loops);
  for (unsigned round = 0; round < options.rounds; ++round)
    for (Series& one : series) measure(one, **bed, options.round_ms);
  const auto rows = rows_of(series, mean_bytes(*sizes));
  if (options.json != "-") {
    print(options, **bed, rows);
    print_noise(rows);
  }
  if (auto done = write_json(options.json, to_json(options, **bed, rows)); !done)
    return complain(done.error());
  return (*bed)->all_forwarded() ? 0 : 1;
}

}  // namespace hecto::bench
