#include "bench/forward/offload_modes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>

#include "bench/bed/verify.hpp"
#include "bench/lib/json_file.hpp"
#include "bench/lib/machine.hpp"
#include "bench/lib/statistics.hpp"
#include "bench/lib/stopwatch.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/offload/offload.hpp"

namespace hecto::bench {
namespace {

using namespace router;
using config::OffloadMode;
using nlohmann::json;

constexpr double kLowLoad_pps = 1e6;
constexpr unsigned kLearn_ms = 1000;
constexpr uint32_t kHostDeadline_us = 1'000'000;  // its threads may wait for a core
constexpr std::array kModes = {OffloadMode::kNever, OffloadMode::kAlways, OffloadMode::kAuto};
constexpr std::array kModeNames = {"never", "always", "auto"};

struct Side {
  std::unique_ptr<Offload> offload;  // none: never
  std::unique_ptr<Worker> worker;
};

Result<Side> make_side(Bed& bed, const std::string& device, OffloadMode mode) {
  Router& router = bed.router();
  config::OffloadConfig config;
  config.devices = {device};
  config.lookup = mode;
  config.ipsec = OffloadMode::kNever;
  if (device == "host") config.deadline_us = kHostDeadline_us;
  std::string found;
  auto offload = Offload::create(config, router.placement(), router.tables(), found);
  if (!offload) return tl::unexpected(offload.error());
  Side side{std::move(*offload), nullptr};
  Worker::Options options = router.dataplane().worker(0).options();
  options.offload = side.offload ? side.offload->worker(0) : nullptr;
  if (mode != OffloadMode::kNever && options.offload == nullptr)
    return fail(fmt::format("--offload {}: it is not on the worker's socket", device));
  while (side.offload && side.offload->tick()) continue;
  side.worker = std::make_unique<Worker>(options);
  side.worker->refresh();
  return side;
}

// One family at one load, all modes.
struct Load {
  Traffic traffic;
  double pps;  // 0: flat out
  std::array<std::vector<double>, kModes.size()> cycles;
  std::vector<double> to_better;  // auto's by the smaller of the two others, a round each

  std::string name() const {
    return fmt::format("{} {}", traffic == Traffic::kIpv4 ? "ipv4" : "ipv6",
                       pps == 0 ? "flat out" : fmt::format("at {:.0f} Mpps", pps / 1e6));
  }
};

// TSC ticks a packet of this thread's own time, turns without packets and answers left out.
double cycles_of(Bed& bed, const Side& side, const Load& load, unsigned milliseconds,
                 unsigned burst) {
  const auto hz = static_cast<double>(rte_get_tsc_hz());
  const auto length = static_cast<uint64_t>(hz / 1000 * milliseconds);
  const auto pause = load.pps == 0 ? 0 : static_cast<uint64_t>(hz * burst / load.pps);
  const WorkerOffload* device = side.worker->options().offload;
  bed.replay(0).select(load.traffic);
  bed.replay(0).settle();
  uint64_t packets = 0, busy = 0;
  const Stopwatch watch;
  const uint64_t begin = rte_rdtsc();
  for (uint64_t now = begin, due = begin; now - begin < length;) {
    const bool active = now >= due;
    if (active) due += pause;
    bed.replay(0).set_active(active);
    const uint32_t held = device == nullptr ? 0 : device->held();
    const uint64_t start = rte_rdtsc();
    const unsigned received = side.worker->poll_once();
    now = rte_rdtsc();
    if (now - begin < length / 4) continue;  // it finds out what load this is
    if (received > 0 || (device != nullptr && device->held() != held)) busy += now - start;
    packets += received;
  }
  const double own = watch.cpu_seconds() / watch.seconds();
  bed.replay(0).set_active(false);
  side.worker->drain();
  return static_cast<double>(busy) * own / static_cast<double>(packets);
}

std::string chosen_by_auto(const Side& side, Traffic traffic) {
  const WorkerOffload& device = *side.worker->options().offload;
  const auto said =
      traffic == Traffic::kIpv4 ? device.lookups()->v4.explain() : device.lookups()->v6.explain();
  return fmt::format("{}, {}", said.side == gpu_offload::Side::kDevice ? "device" : "CPU",
                     to_string(said.why));
}

// What each of the three workers makes of every packet, both families.
Result<uint64_t> verify(Bed& bed, const std::vector<Side>& sides) {
  Verifier verifier(bed);
  for (size_t mode = 0; mode < sides.size(); ++mode)
    for (const Traffic traffic : {Traffic::kIpv4, Traffic::kIpv6}) {
      bed.replay(0).select(traffic);
      bed.replay(0).settle();
      bed.replay(0).set_active(true);
      Worker& worker = *sides[mode].worker;
      const auto done = verifier.run(
          bed.destinations().ipv4.size(), [&worker] { return worker.poll_once(); },
          [&bed, &worker] {
            bed.replay(0).set_active(false);
            worker.drain();
          });
      if (!done)
        return fail(fmt::format("{}, look-ups on the device: {}: {}",
                                traffic == Traffic::kIpv4 ? "ipv4" : "ipv6", kModeNames[mode],
                                done.error().message));
    }
  return verifier.verified();
}

json to_json(const Load& load, const std::string& chosen) {
  json out = {{"load", load.name()}, {"auto_to_better", median(load.to_better)}, {"auto", chosen}};
  for (size_t mode = 0; mode < kModes.size(); ++mode)
    out["cycles"][kModeNames[mode]] = median(load.cycles[mode]);
  return out;
}

}  // namespace

int forward_offload_modes(const ForwardOptions& wanted) {
  ForwardOptions options = wanted;
  options.bed.burst = *std::max_element(options.bursts.begin(), options.bursts.end());
  // One alone; of the default's three the one that has no misses of packets.
  const std::string cache = options.caches.size() == 1 ? options.caches[0] : "l1";
  options.bed.frames[0].cache = cache_by_name(cache);
  auto bed = Bed::create(options.bed);
  if (!bed) return complain(bed.error());
  std::vector<Side> sides;
  for (const OffloadMode mode : kModes) {
    auto side = make_side(**bed, options.offload, mode);
    if (!side) return complain(side.error());
    sides.push_back(std::move(*side));
  }
  auto verified = verify(**bed, sides);
  if (!verified) {
    (*bed)->all_forwarded();
    return complain(verified.error());
  }
  std::vector<Load> loads;
  for (const Traffic traffic : {Traffic::kIpv4, Traffic::kIpv6})
    for (const double pps : {0.0, kLowLoad_pps}) loads.push_back({traffic, pps, {}, {}});
  for (const Load& load : loads) cycles_of(**bed, sides[2], load, kLearn_ms, options.bed.burst);
  std::vector<std::string> chosen(loads.size());
  for (unsigned round = 0; round < options.rounds; ++round) {
    for (size_t i = 0; i < loads.size(); ++i) {
      std::array<double, kModes.size()> cycles{};
      for (size_t turn = 0; turn < kModes.size(); ++turn) {
        const size_t mode = (turn + round) % kModes.size();
        cycles[mode] = cycles_of(**bed, sides[mode], loads[i], options.round_ms, options.bed.burst);
        loads[i].cycles[mode].push_back(cycles[mode]);
      }
      loads[i].to_better.push_back(cycles[2] / std::min(cycles[0], cycles[1]));
      chosen[i] = chosen_by_auto(sides[2], loads[i].traffic);
    }
  }
  json out = {{"machine", machine_name()},
              {"device", options.offload},
              {"cache", cache},
              {"verified", *verified},
              {"loads", json::array()}};
  if (options.json != "-")
    fmt::print(
        "one worker, 64-byte packets, {} routes ({}), device {}; {}, {} rounds\n\n{:<16}{:>9}"
        "{:>9}{:>9}{:>15}{:>9}  {}\n",
        (*bed)->routes(), (*bed)->table_name(), options.offload, machine_name(), options.rounds,
        "cycles a packet", "never", "always", "auto", "auto / better", "spread",
        "auto's last choice");
  for (size_t i = 0; i < loads.size(); ++i) {
    const Load& load = loads[i];
    out["loads"].push_back(to_json(load, chosen[i]));
    if (options.json == "-") continue;
    fmt::print("{:<16}{:>9.1f}{:>9.1f}{:>9.1f}{:>15.3f}{:>8.0f}%  {}\n", load.name(),
               median(load.cycles[0]), median(load.cycles[1]), median(load.cycles[2]),
               median(load.to_better), quartile_spread(load.to_better) * 100, chosen[i]);
  }
  auto written = write_json(options.json, out);
  return written ? 0 : complain(written.error());
}

}  // namespace hecto::bench
