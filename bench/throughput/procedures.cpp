#include "bench/throughput/procedures.hpp"

#include <algorithm>
#include <cmath>

namespace hecto::bench {
namespace {

constexpr double kSettle_s = 0.2;  // at most

uint64_t lost_of(const TrialResult& result) {
  return result.offered() - std::min(result.offered(), result.received);
}

double offered_pps(const TrialResult& result) {
  return result.seconds > 0 ? static_cast<double>(result.offered()) / result.seconds : 0;
}

struct Histograms {
  Histogram latency, jitter;
  uint64_t duplicated = 0, reordered = 0;
  void add(const TrialResult& result) {
    for (const StreamResult& stream : result.streams) {
      latency.merge(stream.latency_ns);
      jitter.merge(stream.jitter_ns);
      duplicated += stream.duplicated;
      reordered += stream.reordered;
    }
  }
};

// The longest burst of up to `longest` frames without loss; whole powers first, then by halves.
Result<uint64_t> longest_burst(TrialRunner& runner, double pps, uint64_t longest) {
  uint64_t passes = 0, fails = longest + 1;
  for (uint64_t frames = std::min<uint64_t>(longest, 64); passes < longest;) {
    const auto result = runner.run({pps, static_cast<double>(frames) / pps, kSettle_s});
    if (!result) return tl::unexpected(result.error());
    if (result->interrupted) return fail("interrupted");
    (lost_of(*result) == 0 ? passes : fails) = frames;
    // To 1 part in 32, or single frames.
    if (fails - passes <= std::max<uint64_t>(1, fails / 32)) break;
    frames = fails > longest ? std::min(passes * 4, longest) : passes + (fails - passes) / 2;
  }
  return passes;
}

}  // namespace

Quantiles quantiles_of(const Histogram& histogram) {
  Quantiles q;
  q.min = histogram.min();
  q.p50 = histogram.quantile(0.5);
  q.p90 = histogram.quantile(0.9);
  q.p99 = histogram.quantile(0.99);
  q.p99_9 = histogram.quantile(0.999);
  q.p99_99 = histogram.quantile(0.9999);
  q.max = histogram.max();
  q.mean = histogram.mean();
  q.count = histogram.count();
  return q;
}

Result<LoadedResult> measure_loaded(TrialRunner& runner, double pps, double seconds,
                                    const LoadReader& device) {
  if (device) device();
  const auto result = runner.run({pps, seconds, kSettle_s});
  if (!result) return tl::unexpected(result.error());
  LoadedResult loaded;
  loaded.device = device ? device() : std::nullopt;
  loaded.pps = pps;
  loaded.offered_pps = offered_pps(*result);
  loaded.seconds = result->seconds;
  loaded.offered = result->offered();
  loaded.lost = lost_of(*result);
  loaded.interrupted = result->interrupted;
  Histograms all;
  all.add(*result);
  loaded.latency_ns = quantiles_of(all.latency);
  loaded.jitter_ns = quantiles_of(all.jitter);
  loaded.duplicated = all.duplicated;
  loaded.reordered = all.reordered;
  return loaded;
}

Result<void> loss_curve(TrialRunner& runner, double max_pps, double seconds,
                        std::vector<LossRow>& rows) {
  unsigned lossless = 0;
  for (unsigned tenths = 10; tenths > 0 && lossless < 2; --tenths) {
    LossRow row;
    row.part = tenths / 10.0;
    row.pps = std::floor(max_pps * row.part);
    const auto result = runner.run({row.pps, seconds, kSettle_s});
    if (!result) return tl::unexpected(result.error());
    if (result->interrupted) return fail("interrupted");
    row.offered_pps = offered_pps(*result);
    if (result->offered() > 0)
      row.loss_ratio =
          static_cast<double>(lost_of(*result)) / static_cast<double>(result->offered());
    lossless = lost_of(*result) == 0 ? lossless + 1 : 0;
    rows.push_back(row);
  }
  return {};
}

Result<void> back_to_back(TrialRunner& runner, double pps, double longest_s, unsigned repetitions,
                          BackToBack& result) {
  result.pps = pps;
  const auto longest = std::max<uint64_t>(1, static_cast<uint64_t>(pps * longest_s));
  result.least = longest;
  double sum = 0;
  while (result.repetitions < repetitions) {
    const auto frames = longest_burst(runner, pps, longest);
    if (!frames) return tl::unexpected(frames.error());
    sum += static_cast<double>(*frames);
    ++result.repetitions;
    result.frames = sum / result.repetitions;
    result.least = std::min(result.least, *frames);
    result.most = std::max(result.most, *frames);
    result.unlimited = result.least == longest;
  }
  return {};
}

SoakResult soak(TrialRunner& runner, double pps, double seconds, double interval_s,
                const std::function<void(const SoakInterval&)>& each) {
  SoakResult whole;
  whole.pps = pps;
  Histograms all;
  while (whole.seconds < seconds * (1 - 1e-9) && !whole.interrupted) {
    const double next = std::min(interval_s, seconds - whole.seconds);
    const auto result = runner.run({pps, next, kSettle_s});
    if (!result) {
      whole.error = result.error();
      break;
    }
    whole.interrupted = result->interrupted;
    whole.seconds += whole.interrupted ? result->seconds : next;
    whole.offered += result->offered();
    whole.lost += lost_of(*result);
    ++whole.intervals;
    whole.lossy_intervals += lost_of(*result) > 0 ? 1 : 0;
    all.add(*result);
    Histograms here;
    here.add(*result);
    each({whole.seconds, result->offered(), lost_of(*result), whole.offered, whole.lost,
          quantiles_of(here.latency)});
  }
  whole.latency_ns = quantiles_of(all.latency);
  whole.duplicated = all.duplicated;
  whole.reordered = all.reordered;
  return whole;
}

}  // namespace hecto::bench
