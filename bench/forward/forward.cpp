#include "bench/forward/forward.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/bed/stations.hpp"
#include "bench/bed/verify.hpp"
#include "bench/forward/report.hpp"
#include "bench/lib/json_file.hpp"
#include "router/dataplane/worker.hpp"

namespace hecto::bench {
namespace {

// `cuts`: packets that IPv6 would not let be cut are left out.
std::vector<ForwardSeries> make_series(const ForwardOptions& options) {
  using enum BedWork;
  if (options.stations > 0) return {{kFloor}, {kBridge}};
  const std::string& mode = options.mode;
  const bool cuts = options.bed.egress_mtu != 0;
  std::vector<ForwardSeries> out;
  const bool all = mode == "all";
  if (all || mode == "rx") out.push_back({kReceive});
  if (all || mode == "tx") out.push_back({kTransmit});
  if (all || mode == "forward")
    for (const BedWork work : {kFloor, kIpv4, kIpv6})
      if (!cuts || work != kIpv6) out.push_back({work});
  return out;
}

// The bed's kinds of frames: one for each cache.
void make_kinds(ForwardOptions& options, const std::vector<uint16_t>& sizes) {
  ReplayFrames like = options.bed.frames[0];
  like.sizes = sizes;
  options.bed.frames.clear();
  for (const std::string& cache : options.caches) {
    like.cache = cache_by_name(cache);
    options.bed.frames.push_back(like);
  }
  options.bed.burst = *std::max_element(options.bursts.begin(), options.bursts.end());
}

std::vector<ForwardPoint> make_points(const ForwardOptions& options) {
  std::vector<ForwardPoint> points;
  for (size_t kind = 0; kind < options.caches.size(); ++kind)
    for (const unsigned burst : options.bursts)
      points.push_back({cache_by_name(options.caches[kind]), kind, burst, make_series(options)});
  return points;
}

void select(Bed& bed, Slices& slices, const ForwardPoint& point) {
  bed.select_frames(point.kind);
  bed.set_burst(point.burst);
  slices.set_burst(point.burst);
}

// Each destination once, for each family and point; how many packets.
Result<uint64_t> verify(Bed& bed, Slices& slices, const std::vector<ForwardPoint>& points) {
  Verifier verifier(bed);
  router::Worker& worker = bed.router().dataplane().worker(0);
  for (const ForwardPoint& point : points) {
    select(bed, slices, point);
    for (const ForwardSeries& series : point.series) {
      if (!through_worker(series.work)) continue;
      bed.replay(0).select(series.work == BedWork::kIpv6 ? Traffic::kIpv6 : Traffic::kIpv4);
      bed.replay(0).settle();
      const auto done =
          verifier.run(bed.destinations().ipv4.size(), [&worker] { return worker.poll_once(); });
      if (!done)
        return fail(fmt::format("{}, packets from {}, burst {}: {}", to_string(series.work),
                                to_string(point.cache), point.burst, done.error().message));
    }
  }
  return verifier.verified();
}

// The same of a bridge's frames.
Result<uint64_t> verify(Bed& bed, Slices& slices, const std::vector<ForwardPoint>& points,
                        Stations& stations) {
  uint64_t verified = 0;
  router::Worker& worker = bed.router().dataplane().worker(0);
  for (const ForwardPoint& point : points) {
    select(bed, slices, point);
    auto done = stations.verify(bed.destinations().ipv4.size(), [&] { return worker.poll_once(); });
    if (!done) return done;
    verified += *done;
  }
  return verified;
}

void measure(Bed& bed, ForwardSeries& series, Slices& slices, unsigned round_ms) {
  bed.forget_samples();
  const Slice slice = slices.measure(series.work, round_ms);
  series.cycles.push_back(slice.cycles);
  series.taken.push_back(slice.taken);
  if (slice.stages)
    for (size_t i = 0; i < kBedStages; ++i) series.stages[i].push_back((*slice.stages)[i]);
}

}  // namespace

std::vector<std::string> forward_modes() {
  return {"forward", "rx", "tx", "all"};
}

int forward(const ForwardOptions& wanted) {
  ForwardOptions options = wanted;
  auto sizes = frame_sizes(options.size);
  if (!sizes) return complain(sizes.error());
  if (options.bed.into_tunnels > options.bed.next_hops)
    return complain(
        Error{fmt::format("--into-tunnels {}: more than there are next hops ({}), where "
                          "they end",
                          options.bed.into_tunnels, options.bed.next_hops)});
  make_kinds(options, *sizes);
  auto bed = Bed::create(options.bed);
  if (!bed) return complain(bed.error());
  Slices slices(**bed, options.bed.burst);
  std::vector<ForwardPoint> points = make_points(options);
  std::optional<Stations> stations;
  if (options.stations > 0) stations.emplace(**bed, options.stations);
  auto verified =
      stations ? verify(**bed, slices, points, *stations) : verify(**bed, slices, points);
  if (!verified) {
    (*bed)->all_forwarded();  // names what was dropped
    return complain(verified.error());
  }
  for (unsigned round = 0; round < options.rounds; ++round)
    for (ForwardPoint& point : points) {
      select(**bed, slices, point);
      for (ForwardSeries& series : point.series) measure(**bed, series, slices, options.round_ms);
    }
  const ForwardReport report = {options, **bed, points, *verified};
  if (options.json != "-") print(report);
  if (auto done = write_json(options.json, to_json(report)); !done) return complain(done.error());
  return (*bed)->all_forwarded() ? 0 : 1;
}

}  // namespace hecto::bench
