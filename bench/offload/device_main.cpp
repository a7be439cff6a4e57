// hecto-offload: the measuring core of hecto-bench offload as a program that needs nothing but this
// checkout (device.sh builds it); with CUDA also kernels and copies alone.
//
//   hecto-offload kinds                                 names of kinds of work, one a line
//   hecto-offload WHAT DEVICE JSON [PREFIXES]           WHAT: one of
//     check     every batch size, against the CPU's answers
//     kernels   kernels alone (cuda:N); with KINDS=copies the link alone
//     time      end to end, one thread that submits
//     threads   end to end, 1 to 16 threads that submit
//     worker    look-ups by Stage and Decision: never, always, auto; by a helper process as the
//               router has it (HECTO_GPU_HELPER)
//     inline    the same with the device in this process
//
// DEVICE: host or cuda:N. PREFIXES: a prefix a line; else the synthetic table. KINDS in the
// environment: beginnings of kinds of work, with commas; QUICK=1: few and small. Exit code 1: failed,
// or a wrong answer.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "bench/lib/synthetic_table.hpp"
#include "bench/offload/offload.hpp"
#include "bench/offload/report.hpp"
#include "bench/offload/threads.hpp"
#include "bench/offload/worker.hpp"
#include "gpu_offload/devices/open.hpp"
#ifdef HECTO_OFFLOAD_CUDA
#include "bench/offload/kernels.hpp"
#endif

namespace {

using namespace hecto;
using namespace hecto::bench;

constexpr unsigned kNextHops = 64;

int failed(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  return 1;
}

OffloadTable synthetic(double scale) {
  OffloadTable table{.name = scale == 1 ? "synthetic" : "synthetic, small", .v4 = {}, .v6 = {}};
  for (const lookup::IpPrefix& prefix : router::synthetic_prefixes(1, scale))
    table.add(prefix, kNextHops);
  return table;
}

bool read(const char* path, OffloadTable& table) {
  std::ifstream file(path);
  table.name = path;
  for (std::string line; std::getline(file, line);) {
    const auto prefix = lookup::IpPrefix::parse(line.substr(0, line.find_first_of(" \t\r")));
    if (!prefix) return false;
    table.add(*prefix, kNextHops);
  }
  return !table.v4.empty() && !table.v6.empty();
}

bool write(const char* path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  return static_cast<bool>(file.flush());
}

std::vector<std::string> kinds_of_environment() {
  std::vector<std::string> kinds;
  const char* named = std::getenv("KINDS");
  std::stringstream list(named == nullptr ? "" : named);
  for (std::string kind; std::getline(list, kind, ',');) kinds.push_back(kind);
  return kinds;
}

// Rows of one kind of measurement; what they are called in the JSON.
template <typename Row, typename Write>
std::string json_rows(const char* name, const std::vector<Row>& rows, Write&& write) {
  std::ostringstream text;
  text << "{\n  \"" << name << "\": [";
  for (const Row& row : rows) {
    text << (&row == rows.data() ? "\n    {" : ",\n    {");
    write(text, row);
    text << "}";
  }
  text << "\n  ]\n}\n";
  return text.str();
}

int written(const char* json, const std::string& text) {
  return write(json, text) ? 0 : failed(std::string(json) + ": not written");
}

#ifdef HECTO_OFFLOAD_CUDA

constexpr unsigned kKernelRounds = 11;

int copies(int gpu, const char* json) {
  std::vector<CopyTime> rows;
  std::string name;
  if (auto error = gpu_name(gpu, name); !error.empty()) return failed(error);
  if (auto error = time_copies(gpu, kKernelRounds, rows); !error.empty()) return failed(error);
  std::printf("%s\n%-6s %10s %10s\n", name.c_str(), "copy", "bytes", "GB/s");
  for (const CopyTime& row : rows)
    std::printf("%-6s %10zu %10.3f\n", row.direction, row.bytes, row.gbytes_per_s);
  return written(json, json_rows("copies", rows, [](std::ostream& text, const CopyTime& row) {
                   text << "\"direction\": \"" << row.direction << "\", \"bytes\": " << row.bytes
                        << ", \"gbytes_per_s\": " << row.gbytes_per_s;
                 }));
}

// Batches of different keys, at most this much of the pool.
std::vector<KernelBatch> batches_of(Workload& work, uint32_t batch) {
  constexpr size_t kMostBatches = 16, kMostItems = size_t{1} << 23;
  const size_t all = work.cut(batch);
  const size_t some = std::clamp<size_t>(kMostItems / batch, 2, kMostBatches);
  std::vector<KernelBatch> batches;
  for (size_t i = 0; i < std::min(all, some); ++i)
    batches.push_back({work.job(i, work.table().image.data()), work.answers(i), work.sealed(i)});
  return batches;
}

int kernels(int gpu, const OffloadOptions& options, const OffloadTable& table, const char* json) {
  auto kinds = chosen_kinds(options.kinds);
  if (!kinds) return failed(kinds.error());
  std::printf("%-20s %8s %12s %9s\n", "kernel", "batch", "M items/s", "Gb/s");
  std::vector<KernelTime> rows;
  for (const WorkKind& kind : *kinds) {
    auto work = kind.make(options, table);
    if (!work) return failed(work.error());
    for (uint32_t batch : {1024u, 4096u, 16384u, 65536u, 1u << 20, 1u << 22}) {
      KernelTime row{work->name(), work->packet_bytes(), batch, 0, 0, 0};
      const std::vector<KernelBatch> batches = batches_of(*work, batch);
      if (batches.empty()) continue;
      const auto error = time_kernel(gpu, batches, work->table().words, kKernelRounds, row);
      if (!error.empty()) return failed(error);
      rows.push_back(row);
      std::printf("%-20s %8u %12.1f %9.2f\n", row.kind.c_str(), row.batch, row.items_per_s * 1e-6,
                  row.gbps);
    }
  }
  return written(json, json_rows("kernels", rows, [](std::ostream& text, const KernelTime& row) {
                   text << "\"kind\": " << json_string(row.kind)
                        << ", \"packet_bytes\": " << row.packet_bytes
                        << ", \"batch\": " << row.batch << ", \"items_per_s\": " << row.items_per_s
                        << ", \"gbps\": " << row.gbps << ", \"checked\": " << row.checked;
                 }));
}

#endif

int threads(const OffloadOptions& options, const OffloadTable& table, const char* json) {
  auto kinds = chosen_kinds(options.kinds);
  if (!kinds) return failed(kinds.error());
  auto device = gpu_offload::open_local_device(options.device);
  if (!device) return failed(device.error());
  if ((*device)->restart() != gpu_offload::Status::kOk)
    return failed(options.device + " does not start");
  ThreadsMeasure measure;
  if (options.measure.rounds < 5) measure.threads = {1, 2}, measure.seconds = 0.02;
  std::printf("%-20s %8s %8s %12s %10s\n", "work", "threads", "batch", "M items/s", "submit ns");
  std::vector<ThreadsRow> rows;
  for (const WorkKind& kind : *kinds) {
    auto work = kind.make(options, table);
    if (!work) return failed(work.error());
    auto some = measure_threads(**device, *work, measure);
    if (!some) return failed(some.error());
    for (const ThreadsRow& row : *some)
      std::printf("%-20s %8u %8u %12.2f %10.0f\n", row.kind.c_str(), row.threads, row.batch,
                  row.items_per_s * 1e-6, row.submit_ns);
    rows.insert(rows.end(), some->begin(), some->end());
  }
  return written(json, json_rows("threads", rows, [](std::ostream& text, const ThreadsRow& row) {
                   text << "\"kind\": " << json_string(row.kind)
                        << ", \"packet_bytes\": " << row.packet_bytes
                        << ", \"threads\": " << row.threads << ", \"batch\": " << row.batch
                        << ", \"items_per_s\": " << row.items_per_s
                        << ", \"submit_ns\": " << row.submit_ns;
                 }));
}

int worker(const std::string& what, const OffloadOptions& options, OffloadTable table,
           const char* json) {
  if (options.kinds.empty() || !options.kinds[0].ends_with("ipv6"))
    table.v6.clear();
  else
    table.v4.clear();
  auto device = what == "inline" ? gpu_offload::open_local_device(options.device)
                                 : gpu_offload::open_device(options.device);
  if (!device) return failed(device.error());
  WorkerMeasure measure;
  if (options.measure.rounds < 5) measure.seconds = 0.05, measure.offered_pps = {1e5, 0};
  auto rows = measure_worker(std::move(*device), table, measure);
  if (!rows) return failed(rows.error());
  std::printf("%-6s %-8s %12s %10s %10s %8s %9s %8s\n", "work", "mode", "offered Mpps", "Mpps",
              "busy ns", "device", "p99 us", "redone");
  for (const WorkerRow& row : *rows)
    std::printf("%-6s %-8s %12.2f %10.3f %10.2f %7.0f%% %9.1f %8llu\n", row.kind.c_str(),
                to_string(row.mode), row.offered_pps * 1e-6, row.pps * 1e-6, row.busy_ns,
                row.device_share * 100, row.p99_us, static_cast<unsigned long long>(row.redone));
  return written(json, json_rows(what.c_str(), *rows, [](std::ostream& text, const WorkerRow& row) {
                   text << "\"kind\": " << json_string(row.kind) << ", \"mode\": \""
                        << to_string(row.mode) << "\", \"offered_pps\": " << row.offered_pps
                        << ", \"pps\": " << row.pps << ", \"busy_ns\": " << row.busy_ns
                        << ", \"device_share\": " << row.device_share
                        << ", \"p99_us\": " << row.p99_us << ", \"redone\": " << row.redone;
                 }));
}

int offload(const std::string& what, const OffloadOptions& options, const OffloadTable& table,
            const char* json) {
  auto result = measure_offload(options, table);
  if (!result) return failed(result.error());
  uint64_t checked = 0;
  for (const OffloadRow& row : result->rows) checked += row.checked;
  if (what == "check")
    std::printf("%s: %llu answers are the CPU's\n", options.device.c_str(),
                static_cast<unsigned long long>(checked));
  else
    std::printf("%s", offload_text(*result).c_str());
  return written(json, offload_json(*result));
}

// ESP needs no routes.
bool needs_table(const std::vector<std::string>& kinds) {
  const auto looks_up = [](const std::string& kind) { return kind.find("ip") != kind.npos; };
  return kinds.empty() || std::any_of(kinds.begin(), kinds.end(), looks_up);
}

int run(const std::string& what, const char* device, const char* json, const char* prefixes) {
  OffloadOptions options;
  options.device = device;
  options.kinds = kinds_of_environment();
  const bool host = options.device == "host";
  const bool quick = std::getenv("QUICK") != nullptr;
  if (host) options.items = 1 << 20;
  if (quick) options.make_quick();
  options.measure.check_only = what == "check";
  const bool small = quick || !needs_table(options.kinds) || (what == "check" && !prefixes);
  OffloadTable table = synthetic(small ? kQuickScale : 1);
  if (prefixes != nullptr && needs_table(options.kinds) && !read(prefixes, table = {}))
    return failed(std::string(prefixes) + ": is no list of IPv4 and IPv6 prefixes, one a line");
#ifdef HECTO_OFFLOAD_CUDA
  if (what == "kernels") {
    if (host) return failed("kernels: only of cuda:N");
    const int gpu = std::atoi(device + options.device.find(':') + 1);
    options.items = size_t{1} << 24;
    options.payload_mb = 192;
    if (!options.kinds.empty() && options.kinds[0] == "copies") return copies(gpu, json);
    return kernels(gpu, options, table, json);
  }
#endif
  if (options.payload_mb == 0 && what == "threads") options.payload_mb = host ? 4 : 64;
  if (what == "threads") return threads(options, table, json);
  if (what == "worker" || what == "inline") return worker(what, options, std::move(table), json);
  return offload(what, options, table, json);
}

int list_kinds() {
  const auto kinds = chosen_kinds({});
  for (const WorkKind& kind : *kinds) std::printf("%s\n", kind.name);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "kinds" && argc == 2) return list_kinds();
  bool known = false;
  for (const char* one : {"check", "time", "threads", "worker", "inline", "kernels"})
    known |= what == one;
#ifndef HECTO_OFFLOAD_CUDA
  known = known && what != "kernels";
#endif
  if (!known || argc < 4 || argc > 5) {
    std::fprintf(stderr,
                 "use: %s kinds | {check|time|threads|worker|inline|kernels} {host|cuda:N} JSON "
                 "[PREFIXES]\n",
                 argv[0]);
    return 2;
  }
  try {
    return run(what, argv[2], argv[3], argc == 5 ? argv[4] : nullptr);
  } catch (const std::exception& error) {
    return failed(error.what());
  }
}
