#include "gpu_offload/decision.hpp"

#include <algorithm>

namespace hecto::gpu_offload {
namespace {

constexpr uint64_t kLongestAway = 1024;   // intervals
constexpr double kFirstProbes = 10;       // times as many while nothing is known
constexpr double kProbesInFlight = 0.02;  // of the time
constexpr double kSameLoad = 0.2;

}  // namespace

const char* to_string(Mode mode) noexcept {
  constexpr const char* kModes[] = {"auto", "never", "always"};
  return kModes[static_cast<size_t>(mode)];
}

const char* to_string(Why why) noexcept {
  switch (why) {
    case Why::kConfigured:
      return "configured";
    case Why::kNoDevice:
      return "no device";
    case Why::kMeasuring:
      return "measuring";
    case Why::kLowLoad:
      return "low load";
    case Why::kLatency:
      return "latency bound";
    case Why::kTooSlow:
      return "device too slow";
    case Why::kKeptAway:
      return "device was worse than its probes";
    case Why::kCosts:
      break;
  }
  return "costs";
}

Side Decision::choose(uint32_t items, uint64_t bytes, bool device_ready, uint64_t now_ns) noexcept {
  items_ += items;
  bytes_ += bytes;
  ++chunks_;
  if (now_ns - interval_start_ns_ >= options_.interval_ns) evaluate(device_ready, now_ns);
  if (!device_ready || options_.mode == Mode::kNever) return Side::kCpu;
  if (options_.mode == Mode::kAlways) return Side::kDevice;
  return probe(items);
}

// A probe is a whole slot of the device, or a chunk on the CPU.
Side Decision::probe(uint32_t items) noexcept {
  const Side other = side_ == Side::kCpu ? Side::kDevice : Side::kCpu;
  probe_credit_ += probe_share_ * items;
  if (probe_left_ <= 0) {
    const double size = other == Side::kCpu ? items : std::max(explanation_.batch_items, items);
    if (probe_credit_ < size) return side_;
    probe_credit_ -= size;
    probe_left_ = size;
  }
  probe_left_ -= items;
  explanation_.probed_items += items;
  return other;
}

void Decision::cpu_took(uint32_t items, uint64_t bytes, uint64_t ns) noexcept {
  cpu_.add(items, static_cast<double>(bytes), static_cast<double>(ns));
}

void Decision::device_took(uint32_t items, uint64_t bytes, uint64_t worker_ns,
                           uint64_t round_trip_ns) noexcept {
  worker_.add(items, static_cast<double>(bytes), static_cast<double>(worker_ns));
  round_trip_.add(items, static_cast<double>(bytes), static_cast<double>(round_trip_ns));
}

// A hundredth of the work, and of the time where the losing side takes more than twice as much.
// While a probe is on the device, all that comes waits behind it: that may be so a fiftieth of the
// time. At low load no knowledge of the device would change anything: it is asked again with more.
double Decision::probe_share() const noexcept {
  if (explanation_.why == Why::kLowLoad) return 0;
  if (!worker_.known() || !cpu_.known()) return kFirstProbes * options_.probes;
  const Explanation& e = explanation_;
  const bool on_cpu = side_ == Side::kCpu;
  const double winner_ns = on_cpu ? e.cpu_item_ns : e.device_item_ns;
  const double loser_ns = on_cpu ? e.device_item_ns : e.cpu_item_ns;
  const double share =
      options_.probes * std::min(1.0, winner_ns / std::max(loser_ns - winner_ns, 1e-3));
  if (!on_cpu) return share;
  const double come_meanwhile = e.items_per_s * e.round_trip_ns * 1e-9;
  return std::min(share, kProbesInFlight * e.batch_items / std::max(come_meanwhile, 1e-3));
}

// The numbers of the interval that is over.
void Decision::estimate(uint64_t now_ns) noexcept {
  Explanation& e = explanation_;
  const auto ns = static_cast<double>(now_ns - interval_start_ns_);
  const auto items = static_cast<double>(items_);
  e.items_per_s = items * 1e9 / ns;
  e.bytes_per_item = static_cast<double>(bytes_) / items;
  const double chunk = items / static_cast<double>(chunks_);
  const double gathered = items * static_cast<double>(options_.close_ns) / ns;
  const double batch = std::clamp(gathered, chunk, std::max<double>(options_.items, chunk));
  e.batch_items = static_cast<uint32_t>(batch);
  e.cpu_item_ns = cpu_.cost_ns(chunk, chunk * e.bytes_per_item) / chunk;
  e.device_item_ns = worker_.cost_ns(batch, batch * e.bytes_per_item) / batch;
  e.cpu_load = e.cpu_item_ns * items / ns;
  e.device_load = e.device_item_ns * items / ns;
  e.round_trip_ns = round_trip_.cost_ns(batch, batch * e.bytes_per_item);
  const double gathering = std::min(batch * ns / items, static_cast<double>(options_.close_ns));
  e.latency_ns = gathering + e.round_trip_ns;
}

// Why the device should not have the work; kCosts if it should. A side that has the work keeps it
// until the other is clearly better.
Why Decision::objection(bool device_ready) const noexcept {
  const Explanation& e = explanation_;
  const bool has_it = side_ == Side::kDevice;
  const double clearly = 1 - options_.clearly_better;
  if (!device_ready) return Why::kNoDevice;
  if (!cpu_.known() || !worker_.known()) return Why::kMeasuring;
  if (e.cpu_load < options_.low_load * (has_it ? clearly : 1)) return Why::kLowLoad;
  if (e.latency_ns > e.latency_bound_ns * (has_it ? 1 : clearly)) return Why::kLatency;
  const double in_flight_items = static_cast<double>(options_.slots) * e.batch_items;
  if (in_flight_items * 1e9 < e.round_trip_ns * e.items_per_s / (has_it ? 1 : clearly))
    return Why::kTooSlow;
  return Why::kCosts;
}

void Decision::evaluate(bool device_ready, uint64_t now_ns) noexcept {
  if (interval_start_ns_ != 0) {
    estimate(now_ns);
    ++intervals_;
    Explanation& e = explanation_;
    e.why = options_.mode == Mode::kAuto ? objection(device_ready) : Why::kConfigured;
    if (options_.mode != Mode::kAuto) {
      turn(options_.mode == Mode::kAlways && device_ready ? Side::kDevice : Side::kCpu);
    } else if (e.why != Why::kCosts) {
      turn(Side::kCpu);
      better_for_ = 0;
    } else if (side_ == Side::kDevice) {
      if (other_is_better(e.cpu_item_ns, e.device_item_ns)) turn(Side::kCpu);
    } else if (other_is_better(e.device_item_ns, e.cpu_item_ns)) {
      if (intervals_ > keep_away_) {
        turn(Side::kDevice);
      } else {
        e.why = Why::kKeptAway;
      }
    }
    e.side = side_;
    e.probing = probe_left_ > 0;
    probe_share_ = probe_share();
    published_.set(e);
  }
  interval_start_ns_ = now_ns;
  items_ = bytes_ = chunks_ = 0;
}

// A little better is a matter of time: what is measured wavers.
bool Decision::other_is_better(double other_ns, double own_ns) noexcept {
  better_for_ = other_ns < (1 - options_.better) * own_ns ? better_for_ + 1 : 0;
  return better_for_ >= options_.better_intervals ||
         other_ns < (1 - options_.clearly_better) * own_ns;
}

void Decision::turn(Side side) noexcept {
  if (side == side_) return;
  better_for_ = 0;
  if (side == Side::kDevice) {
    promised_items_ = explanation_.batch_items;
  } else if (explanation_.why != Why::kNoDevice) {
    // Left at the load it was taken at: it broke a promise, else the load has changed.
    const double ratio = explanation_.batch_items / promised_items_;
    const bool broken = ratio > 1 - kSameLoad && ratio < 1 + kSameLoad;
    keep_away_ = broken ? std::clamp<uint64_t>(2 * keep_away_, 1, kLongestAway) : 0;
  }
  side_ = side;
  intervals_ = 0;
  probe_left_ = 0;
  ++explanation_.switches;
}

}  // namespace hecto::gpu_offload
