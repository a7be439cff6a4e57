#include "bench/offload/threads.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "bench/lib/statistics.hpp"
#include "bench/offload/on_device.hpp"

namespace hecto::bench {
namespace {

using gpu_offload::Completion;
using gpu_offload::Job;
using gpu_offload::JobQueue;
using gpu_offload::Status;

constexpr double kPatience_s = 5;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// One submitting thread: its batches over and over, until the time is over and all are answered.
struct Submitter {
  std::unique_ptr<JobQueue> queue;
  size_t first = 0, batches = 0;  // of the workload
  uint64_t items = 0;
  std::vector<double> submit_s;
  std::string error;

  void run(const Workload& work, const uint32_t* arena, unsigned most, double until) {
    Completion answers[64];
    unsigned in_flight = 0;
    double heard = seconds_now();
    for (size_t next = 0; error.empty();) {
      const double now = seconds_now();
      // Each batch goes once at least, as all are checked.
      if (now >= until && next >= batches && in_flight == 0) return;
      if ((now < until || next < batches) && in_flight < most) {
        const Job job = work.job(first + next % batches, arena);
        const Status status = queue->submit({&job, 1});
        if (status == Status::kOk) {
          if (submit_s.size() < 4096) submit_s.push_back(seconds_now() - now);
          ++next;
          ++in_flight;
        } else if (status != Status::kBusy) {
          error = to_string(status);
        }
      }
      const unsigned n = queue->poll({answers, std::min<size_t>(std::size(answers), most)});
      for (unsigned i = 0; i < n; ++i) {
        if (!answers[i].ok) error = "answered with an error";
        items += answers[i].count;
      }
      in_flight -= n;
      if (n != 0 || in_flight == 0) heard = now;
      if (now - heard > kPatience_s) error = "no answer for 5 s";
      if (n == 0) std::this_thread::yield();
    }
  }
};

tl::expected<ThreadsRow, std::string> measure(gpu_offload::Device& device, Workload& work,
                                              const uint32_t* arena, unsigned count, size_t batches,
                                              const ThreadsMeasure& options) {
  std::vector<Submitter> submitters(count);
  const size_t each = batches / count;
  for (unsigned i = 0; i < count; ++i) {
    submitters[i].queue = device.make_queue(options.in_flight);
    if (submitters[i].queue == nullptr) return tl::unexpected(work.name() + ": no queue");
    submitters[i].first = i * each;
    submitters[i].batches = each;
  }
  work.poison(each * count);
  const double start = seconds_now();
  std::vector<std::thread> threads;
  for (Submitter& one : submitters)
    threads.emplace_back([&one, &work, arena, &options, start] {
      one.run(work, arena, options.in_flight, start + options.seconds);
    });
  for (std::thread& thread : threads) thread.join();
  const double seconds = seconds_now() - start;
  ThreadsRow row{.kind = work.name(), .packet_bytes = work.packet_bytes(), .threads = count};
  row.batch = options.batch;
  std::vector<double> submit_s;
  uint64_t items = 0;
  for (const Submitter& one : submitters) {
    if (!one.error.empty())
      return tl::unexpected(work.name() + ", " + std::to_string(count) + " threads: " + one.error);
    items += one.items;
    submit_s.insert(submit_s.end(), one.submit_s.begin(), one.submit_s.end());
  }
  if (const uint64_t wrong = work.wrong(each * count); wrong != 0)
    return tl::unexpected(work.name() + ", " + std::to_string(count) +
                          " threads: " + std::to_string(wrong) + " answers are not the CPU's");
  row.items_per_s = static_cast<double>(items) / seconds;
  row.submit_ns = median(std::move(submit_s)) * 1e9;
  return row;
}

}  // namespace

tl::expected<std::vector<ThreadsRow>, std::string> measure_threads(gpu_offload::Device& device,
                                                                   Workload& work,
                                                                   const ThreadsMeasure& options) {
  OnDevice there(device, work);
  if (!there.error().empty()) return tl::unexpected(there.error());
  const size_t batches = std::min<size_t>(work.cut(options.batch), 4096);
  std::vector<ThreadsRow> rows;
  for (const unsigned count : options.threads) {
    if (batches < size_t{4} * count) break;
    auto row = measure(device, work, there.arena(), count, batches, options);
    if (!row) {
      device.restart();  // nothing of it may write to the pool any more
      there.forget();
      return tl::unexpected(row.error());
    }
    rows.push_back(std::move(*row));
  }
  return rows;
}

}  // namespace hecto::bench
