#include "bench/offload/worker.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "bench/lib/destinations.hpp"
#include "bench/lib/statistics.hpp"
#include "gpu_offload/device_control.hpp"
#include "gpu_offload/stage.hpp"

namespace hecto::bench {
namespace {

using gpu_offload::DeviceControl;
using gpu_offload::Mode;
using gpu_offload::Outcome;
using gpu_offload::Side;
using gpu_offload::Slot;

constexpr uint32_t kChunk = 32;            // packets of one receive
constexpr size_t kPool = size_t{1} << 20;  // keys
constexpr uint64_t kClose_ns = 20'000;
constexpr uint64_t kDeadline_ns = 1'000'000'000;  // how late answers come is what is measured
constexpr uint64_t kStartPatience_ns = 20'000'000'000;

uint64_t clock_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

// One worker, one family.
template <typename Address>
class SimulatedWorker {
 public:
  using Keys = decltype(make_destinations(Destinations::kInTable,
                                          std::span<const lookup::Prefix<Address>>(), 0, 0));
  using Key = typename Keys::value_type;

  SimulatedWorker(DeviceControl& control, gpu_offload::Stage& stage,
                  const gpu_offload::DecisionOptions& options, lookup::FibView<Address> view,
                  const Keys& keys)
      : control_(control),
        stage_(stage),
        decision_(options),
        view_(view),
        keys_(keys),
        taken_(size_t{stage.options().slots + stage.options().spares} * stage.options().items),
        spent_(stage.options().slots + stage.options().spares) {}

  // Packets come at that rate, or as they are wanted; nothing is counted before `from`.
  void run(double pps, uint64_t from_ns, uint64_t until_ns) {
    const uint64_t start = clock_ns();
    uint64_t come = 0;
    for (uint64_t now = start; now < until_ns || !stage_.empty(); now = clock_ns()) {
      counting_ = now >= from_ns && now < until_ns;
      const bool due =
          pps == 0 || static_cast<double>(now - start) * pps >= static_cast<double>(come) * 1e9;
      const bool worked = now < until_ns && due && chunk(now);
      come += worked ? kChunk : 0;
      const bool delivered = poll();
      if (counting_ && (worked || delivered)) busy_ns += clock_ns() - now;
      if (++turns_ % 1024 == 0) control_.tick(now);
      if (!worked && !delivered) std::this_thread::yield();
    }
  }

  uint64_t packets = 0, shaded = 0, redone = 0, busy_ns = 0, wrong = 0;
  std::vector<double> waits_ns;

 private:
  bool chunk(uint64_t now) {
    const Key* keys = &keys_[next_];
    const Side side = decision_.choose(kChunk, 0, stage_.ready(), now);
    if (side == Side::kCpu && stage_.empty()) {
      lookup_batch(view_, keys, groups_, kChunk);
      decision_.cpu_took(kChunk, 0, clock_ns() - now);
      count(kChunk);
    } else {
      Slot* slot = stage_.room(side, 0, kChunk, 0, now);
      if (slot == nullptr) return false;
      if (slot->count == 0) spent_[slot->index] = 0;
      auto* to = reinterpret_cast<Key*>(slot->input) + slot->count;
      std::memcpy(to, keys, kChunk * sizeof(Key));
      uint64_t* taken = &taken_[size_t{slot->index} * stage_.options().items + slot->count];
      std::fill_n(taken, kChunk, now);
      slot->add(kChunk);
      spent_[slot->index] += clock_ns() - now;
    }
    next_ = (next_ + kChunk) % (keys_.size() - kChunk);
    return true;
  }
  void count(uint32_t n) { packets += counting_ ? n : 0; }
  bool poll() {
    if (!stage_.needs_poll()) return false;
    const uint64_t start = clock_ns();
    const unsigned delivered = stage_.poll(start, [&](Slot& slot, Outcome outcome) noexcept {
      const auto* keys = reinterpret_cast<const Key*>(slot.input);
      const auto* groups = reinterpret_cast<const lookup::GroupId*>(slot.output);
      const uint64_t before = clock_ns();
      if (outcome == Outcome::kShaded) {
        std::memcpy(groups_, groups, slot.count * sizeof(lookup::GroupId));
        decision_.device_took(slot.count, 0, spent_[slot.index] + clock_ns() - before,
                              slot.answered_ns - slot.submitted_ns);
        if (counting_) shaded += slot.count;
        if (++checks_ % 64 == 0) check(keys, groups, slot.count);
      } else {
        lookup_batch(view_, keys, groups_, slot.count);
        decision_.cpu_took(slot.count, 0, clock_ns() - before);
        if (counting_ && slot.side == Side::kDevice) redone += slot.count;
      }
      count(slot.count);
      if (!counting_ || waits_ns.size() >= 100'000) return;
      const uint64_t taken = taken_[size_t{slot.index} * stage_.options().items];
      waits_ns.push_back(static_cast<double>(before - taken));
    });
    return delivered != 0;
  }
  void check(const Key* keys, const lookup::GroupId* groups, uint32_t n) {
    lookup_batch(view_, keys, groups_, n);
    wrong += std::memcmp(groups, groups_, n * sizeof(lookup::GroupId)) != 0;
  }

  DeviceControl& control_;
  gpu_offload::Stage& stage_;
  gpu_offload::Decision decision_;
  lookup::FibView<Address> view_;
  const Keys& keys_;
  std::vector<uint64_t> taken_;  // when, by slot and item
  std::vector<uint64_t> spent_;
  size_t next_ = 0;
  uint64_t turns_ = 0, checks_ = 0;
  bool counting_ = false;
  lookup::GroupId groups_[65536];
};

template <typename Address>
struct Family;
template <>
struct Family<lookup::Ipv4Address> {
  static constexpr auto kKind = gpu_offload::JobKind::kLookup4;
  static const auto& routes(const OffloadTable& table) { return table.v4; }
};
template <>
struct Family<lookup::Ipv6Address> {
  static constexpr auto kKind = gpu_offload::JobKind::kLookup6;
  static const auto& routes(const OffloadTable& table) { return table.v6; }
};

bool started(DeviceControl& control, gpu_offload::Stage& stage) {
  const uint64_t begin = clock_ns();
  while (!stage.ready() && clock_ns() - begin < kStartPatience_ns) {
    control.tick(clock_ns());
    stage.poll(clock_ns(), [](Slot&, Outcome) noexcept {});
  }
  return stage.ready();
}

template <typename Address>
tl::expected<void, std::string> measure_family(std::unique_ptr<gpu_offload::Device>& device,
                                               const OffloadTable& table,
                                               const WorkerMeasure& options,
                                               std::vector<WorkerRow>& rows) {
  using Of = Family<Address>;
  const std::string name = gpu_offload::kJobKindNames[static_cast<unsigned>(Of::kKind)];
  auto fib = lookup::Fib<Address>::create();
  if (!fib || !(*fib)->load(Of::routes(table))) return tl::unexpected(name + ": no table");
  (*fib)->publish();
  std::vector<lookup::Prefix<Address>> prefixes;
  for (const auto& route : Of::routes(table)) prefixes.push_back(route.prefix);
  const auto keys = make_destinations(Destinations::kInTable,
                                      std::span<const lookup::Prefix<Address>>(prefixes), kPool, 1);
  DeviceControl control(std::move(device));
  auto& mirror = control.add_table([&] { return (*fib)->image(); });
  gpu_offload::StageOptions stage_options;
  stage_options.kind = Of::kKind;
  stage_options.items = options.items;
  stage_options.close_ns = kClose_ns;
  stage_options.deadline_ns = kDeadline_ns;
  gpu_offload::Stage stage(stage_options, control.device(), control.health(),
                           {&mirror.table(), &mirror.table()},
                           control.device().make_queue(stage_options.slots + stage_options.spares),
                           lookup::Memory::system());
  control.add_user(stage.holds());
  if (!started(control, stage)) return tl::unexpected(name + ": the device does not start");
  gpu_offload::DecisionOptions decision;
  decision.latency_bound_ns = options.latency_bound_ns;
  decision.close_ns = kClose_ns;
  decision.items = options.items;
  for (const double pps : options.offered_pps) {
    for (const Mode mode : {Mode::kNever, Mode::kAlways, Mode::kAuto}) {
      decision.mode = mode;
      auto worker = std::make_unique<SimulatedWorker<Address>>(control, stage, decision,
                                                               (*fib)->view(0), keys);
      const uint64_t from = clock_ns() + static_cast<uint64_t>(options.seconds * 0.5e9);
      worker->run(pps, from, from + static_cast<uint64_t>(options.seconds * 1e9));
      if (worker->wrong != 0) return tl::unexpected(name + ": answers are not the CPU's");
      const auto packets = std::max(static_cast<double>(worker->packets), 1.0);
      rows.push_back({name, mode, pps, packets / options.seconds,
                      static_cast<double>(worker->busy_ns) / packets,
                      static_cast<double>(worker->shaded) / packets,
                      worker->waits_ns.empty() ? 0 : quantile(worker->waits_ns, 0.99) * 1e-3,
                      worker->redone});
    }
  }
  const uint64_t ends = clock_ns();
  while (!stage.idle() && clock_ns() - ends < kStartPatience_ns) {
    control.tick(clock_ns());
    stage.poll(clock_ns(), [](Slot&, Outcome) noexcept {});
  }
  control.remove_user(stage.holds());
  control.device().restart();
  return {};
}

}  // namespace

tl::expected<std::vector<WorkerRow>, std::string> measure_worker(
    std::unique_ptr<gpu_offload::Device> device, const OffloadTable& table,
    const WorkerMeasure& options) {
  std::vector<WorkerRow> rows;
  const bool v6 = table.v4.empty();
  auto done = v6 ? measure_family<lookup::Ipv6Address>(device, table, options, rows)
                 : measure_family<lookup::Ipv4Address>(device, table, options, rows);
  if (!done) return tl::unexpected(done.error());
  return rows;
}

}  // namespace hecto::bench
