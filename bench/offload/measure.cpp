#include "bench/offload/measure.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "bench/lib/statistics.hpp"

namespace hecto::bench {
namespace {

using gpu_offload::Completion;
using gpu_offload::Status;

constexpr double kPatience = 5;  // this and the others: seconds
constexpr double kCpuRound = 2e-3;
constexpr double kLatencyRound = 0.5;
constexpr size_t kMostBatches = 4096;  // of a round

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// What two readings of the clock cost, seconds.
double clock_cost() {
  std::vector<double> costs;
  for (int i = 0; i < 1001; ++i) {
    const double before = now_s();
    costs.push_back(now_s() - before);
  }
  return median(std::move(costs));
}

}  // namespace

// Of one batch size, over all rounds.
struct OffloadRunner::Samples {
  size_t batches = 0;  // of a round
  std::vector<double> items_per_s, cpu_items_per_s;
  std::vector<double> gather_s, submit_s, collect_s;  // a batch
  uint64_t checked = 0;
  OffloadRow latency;
};

tl::expected<std::unique_ptr<OffloadRunner>, std::string> OffloadRunner::create(
    gpu_offload::Device& device, Workload& work, unsigned in_flight) {
  std::unique_ptr<OffloadRunner> runner(new OffloadRunner(device, work, in_flight));
  if (auto loaded = runner->load(); !loaded) return tl::unexpected(loaded.error());
  return runner;
}

OffloadRunner::~OffloadRunner() {
  if (in_flight_ != 0) {
    device_.restart();
  } else if (arena_ != nullptr) {
    device_.release_arena(arena_);
  }
  queue_.reset();
  for (void* start : pinned_) device_.unpin(start);
}

std::string OffloadRunner::fail(const std::string& what) const {
  return device_.name() + ", " + work_.name() +
         (batch_ == 0 ? "" : ", batch " + std::to_string(batch_)) + ": " + what;
}

tl::expected<void, std::string> OffloadRunner::load() {
  for (const Workload::Buffer& buffer : work_.buffers()) {
    const Status status = device_.pin(buffer.start, buffer.bytes);
    if (status != Status::kOk)
      return tl::unexpected(fail("memory is not pinned: " + std::string(to_string(status))));
    pinned_.push_back(buffer.start);
  }
  arena_ = device_.create_arena(work_.table().words);
  if (arena_ == nullptr) return tl::unexpected(fail("no memory for the table on the device"));
  Status status = device_.start_update(arena_, work_.table());
  const double start = now_s();
  if (status == Status::kOk) {
    do status = device_.update_status();
    while (status == Status::kBusy && now_s() - start < kPatience);
  }
  if (status != Status::kOk)
    return tl::unexpected(fail("the table was not copied: " + std::string(to_string(status))));
  queue_ = device_.make_queue(in_flight_most_);
  if (queue_ == nullptr) return tl::unexpected(fail("no queue"));
  answers_.resize(in_flight_most_);
  return {};
}

// False: the queue is full.
tl::expected<bool, std::string> OffloadRunner::submit(size_t index) {
  const gpu_offload::Job job = work_.job(index, arena_);
  const Status status = queue_->submit({&job, 1});
  if (status == Status::kBusy) return false;
  if (status != Status::kOk) return tl::unexpected(fail(to_string(status)));
  if (in_flight_++ == 0) heard_s_ = now_s();
  return true;
}

// Their number; who they are stands in answers_.
tl::expected<unsigned, std::string> OffloadRunner::poll() {
  const unsigned n = queue_->poll(answers_);
  in_flight_ -= n;
  for (unsigned i = 0; i < n; ++i) {
    if (!answers_[i].ok) return tl::unexpected(fail("answered with an error"));
    if (answers_[i].count != batch_) return tl::unexpected(fail("did fewer items than asked for"));
  }
  if (n != 0)
    heard_s_ = now_s();
  else if (in_flight_ != 0 && now_s() - heard_s_ > kPatience)
    return tl::unexpected(fail("no answer for 5 s"));
  if (n == 0 && shares_cpus_) std::this_thread::yield();
  return n;
}

tl::expected<void, std::string> OffloadRunner::check(size_t batches) {
  if (const uint64_t wrong = work_.wrong(batches); wrong != 0)
    return tl::unexpected(fail(std::to_string(wrong) + " of " + std::to_string(batches * batch_) +
                               " answers are not the CPU's"));
  return {};
}

// From the first submit to the last answer.
tl::expected<void, std::string> OffloadRunner::run(size_t batches) {
  for (size_t next = 0, done = 0; done < batches;) {
    while (next < batches && in_flight_ < in_flight_most_) {
      auto taken = submit(next);
      if (!taken) return tl::unexpected(taken.error());
      if (!*taken) break;
      ++next;
    }
    auto answered = poll();
    if (!answered) return tl::unexpected(answered.error());
    done += *answered;
  }
  return {};
}

// Items/s of so many batches.
OffloadRunner::Done OffloadRunner::throughput(size_t batches) {
  work_.poison(batches);
  const double start = now_s();
  if (auto done = run(batches); !done) return tl::unexpected(done.error());
  const double seconds = now_s() - start;
  if (auto right = check(batches); !right) return tl::unexpected(right.error());
  return static_cast<double>(batches) * batch_ / seconds;
}

// What a worker would do for these batches, timed piece by piece.
tl::expected<void, std::string> OffloadRunner::worker(size_t batches, Samples& samples) {
  static const double clock_s = clock_cost();
  work_.poison(batches);
  for (size_t next = 0, done = 0; done < batches;) {
    while (next < batches && in_flight_ < in_flight_most_) {
      const double start = now_s();
      work_.gather(next);
      const double gathered = now_s();
      auto taken = submit(next);
      const double submitted = now_s();
      if (!taken) return tl::unexpected(taken.error());
      if (!*taken) break;
      samples.gather_s.push_back(std::max(gathered - start - clock_s, 0.0));
      samples.submit_s.push_back(std::max(submitted - gathered - clock_s, 0.0));
      ++next;
    }
    const double start = now_s();
    auto answered = poll();
    if (!answered) return tl::unexpected(answered.error());
    for (unsigned i = 0; i < *answered; ++i) work_.scatter(answers_[i].id);
    const double seconds = std::max(now_s() - start - clock_s, 0.0);
    for (unsigned i = 0; i < *answered; ++i) samples.collect_s.push_back(seconds / *answered);
    done += *answered;
  }
  return check(batches);
}

// Batches are due at fixed times, half as often as the device can do them; a batch that finds the
// queue full waits, and its time counts from when it was due.
tl::expected<void, std::string> OffloadRunner::latency(size_t batches, double rate,
                                                       const OffloadMeasure& options,
                                                       OffloadRow& row) {
  const double interval = 2 * batch_ / rate;
  std::vector<double> trips;
  const double begin = now_s();
  while (trips.size() < options.latency_samples &&
         (trips.empty() || now_s() - begin < kLatencyRound)) {
    const size_t n = std::min(batches, options.latency_samples - trips.size());
    work_.poison(n);
    const double start = now_s();
    for (size_t next = 0, done = 0; done < n;) {
      if (next < n && in_flight_ < in_flight_most_ &&
          now_s() >= start + interval * static_cast<double>(next)) {
        auto taken = submit(next);
        if (!taken) return tl::unexpected(taken.error());
        next += *taken;
      }
      auto answered = poll();
      if (!answered) return tl::unexpected(answered.error());
      const double now = now_s();
      for (unsigned i = 0; i < *answered; ++i)
        trips.push_back(now - start - interval * static_cast<double>(answers_[i].id));
      done += *answered;
    }
    if (auto right = check(n); !right) return right;
    row.checked += n * batch_;
  }
  row.p50_us = quantile(trips, 0.5) * 1e6;
  row.p99_us = quantile(trips, 0.99) * 1e6;
  row.latency_samples = static_cast<uint32_t>(trips.size());
  return {};
}

// Items/s.
double OffloadRunner::on_cpu(uint32_t batch, double least_s) const {
  const uint32_t count = std::min(batch, 256u);
  const size_t most = work_.items() / count;
  size_t done = 0;
  const double start = now_s();
  double seconds = 0;
  do {
    for (int i = 0; i < 4; ++i) work_.on_cpu(done++ % most * count, count);
    seconds = now_s() - start;
  } while (seconds < least_s);
  return static_cast<double>(done) * count / seconds;
}

tl::expected<void, std::string> OffloadRunner::one_round(uint32_t batch,
                                                         const OffloadMeasure& options,
                                                         Samples& samples) {
  batch_ = batch;
  const size_t all = std::min(work_.cut(batch), kMostBatches);
  if (samples.batches == 0) {  // a first, short one says how many a round takes
    const size_t few = std::min<size_t>(all, size_t{2} * in_flight_most_);
    auto rate = throughput(few);
    if (!rate) return tl::unexpected(rate.error());
    samples.checked += few * batch;
    samples.batches = std::clamp(static_cast<size_t>(*rate * options.round_s / batch), few, all);
    if (options.check_only) return {};
  }
  auto rate = throughput(samples.batches);
  if (!rate) return tl::unexpected(rate.error());
  samples.items_per_s.push_back(*rate);
  samples.cpu_items_per_s.push_back(on_cpu(batch, kCpuRound));
  const size_t timed = std::min<size_t>(samples.batches, 256);
  if (auto done = worker(timed, samples); !done) return done;
  samples.checked += (samples.batches + timed) * batch;
  return {};
}

OffloadRow OffloadRunner::row_of(uint32_t batch, Samples& samples) const {
  OffloadRow row = samples.latency;
  row.kind = work_.name();
  row.packet_bytes = work_.packet_bytes();
  row.batch = batch;
  row.checked += samples.checked;
  if (samples.items_per_s.empty()) return row;
  row.items_per_s = median(samples.items_per_s);
  row.gbps = row.items_per_s * work_.packet_bytes() * 8e-9;
  row.submit_ns = median(samples.submit_s) * 1e9;
  row.worker_ns =
      (median(samples.gather_s) + median(samples.submit_s) + median(samples.collect_s)) * 1e9 /
      batch;
  row.cpu_items_per_s = median(samples.cpu_items_per_s);
  return row;
}

tl::expected<EnergyRow, std::string> OffloadRunner::energy(uint32_t batch, double seconds,
                                                           EnergyMeter& meter) {
  batch_ = batch;
  EnergyRow row{.kind = work_.name(), .packet_bytes = work_.packet_bytes(), .batch = batch};
  const size_t all = std::min(work_.cut(batch), kMostBatches);
  work_.poison(all);
  meter.start();
  for (const double start = now_s(); row.items == 0 || now_s() - start < seconds;) {
    if (auto done = run(all); !done) return tl::unexpected(done.error());
    row.items += static_cast<double>(all) * batch;
  }
  row.used = meter.used();
  if (auto right = check(all); !right) return tl::unexpected(right.error());
  meter.start();
  const double start = now_s();
  const double rate = on_cpu(batch, seconds);
  row.core_items = rate * (now_s() - start);
  row.core_used = meter.used();
  return row;
}

tl::expected<std::vector<OffloadRow>, std::string> OffloadRunner::measure(
    const OffloadMeasure& options) {
  std::vector<uint32_t> batches;
  for (uint32_t batch : options.batches)
    if (work_.cut(batch) != 0) batches.push_back(batch);
  std::vector<Samples> samples(batches.size());
  const unsigned rounds = options.check_only ? 1 : options.rounds;
  for (unsigned round = 0; round < rounds; ++round)
    for (size_t i = 0; i < batches.size(); ++i)
      if (auto done = one_round(batches[i], options, samples[i]); !done)
        return tl::unexpected(done.error());
  std::vector<OffloadRow> rows;
  for (size_t i = 0; i < batches.size(); ++i) {
    batch_ = batches[i];
    if (!options.check_only) {
      const size_t all = std::min(work_.cut(batch_), kMostBatches);
      auto done = latency(all, median(samples[i].items_per_s), options, samples[i].latency);
      if (!done) return tl::unexpected(done.error());
    }
    rows.push_back(row_of(batches[i], samples[i]));
  }
  return rows;
}

}  // namespace hecto::bench
