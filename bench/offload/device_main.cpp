// hecto-offload: the measuring core of hecto-bench offload as a program that needs nothing but this
// checkout (device.sh builds it); with CUDA also kernels and copies alone.
//
//   hecto-offload {check|time|kernels} DEVICE JSON [PREFIXES]
//
// DEVICE: host or cuda:N. PREFIXES: a prefix a line; else the synthetic table. KINDS in the
// environment: beginnings of kinds of work, with commas. Exit code 1: failed, or a wrong answer.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "bench/lib/synthetic_table.hpp"
#include "bench/offload/offload.hpp"
#include "bench/offload/report.hpp"
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

#ifdef HECTO_OFFLOAD_CUDA

std::string json_of(const std::string& gpu, const std::vector<KernelTime>& kernels,
                    const std::vector<CopyTime>& copies) {
  std::ostringstream text;
  text << "{\n  \"gpu\": " << json_string(gpu) << ",\n  \"kernels\": [";
  for (const KernelTime& row : kernels)
    text << (&row == kernels.data() ? "\n" : ",\n") << "    {\"kind\": " << json_string(row.kind)
         << ", \"packet_bytes\": " << row.packet_bytes << ", \"batch\": " << row.batch
         << ", \"items_per_s\": " << row.items_per_s << ", \"gbps\": " << row.gbps
         << ", \"checked\": " << row.checked << "}";
  text << "\n  ],\n  \"copies\": [";
  for (const CopyTime& row : copies)
    text << (&row == copies.data() ? "\n" : ",\n") << "    {\"direction\": \"" << row.direction
         << "\", \"bytes\": " << row.bytes << ", \"gbytes_per_s\": " << row.gbytes_per_s << "}";
  text << "\n  ]\n}\n";
  return text.str();
}

int kernels(int gpu, const OffloadOptions& options, const OffloadTable& table, const char* json) {
  constexpr unsigned kRounds = 11;
  std::string name;
  if (auto error = gpu_name(gpu, name); !error.empty()) return failed(error);
  auto kinds = chosen_kinds(options.kinds);
  if (!kinds) return failed(kinds.error());
  std::printf("%s\n%-20s %8s %12s %9s\n", name.c_str(), "kernel", "batch", "M items/s", "Gb/s");
  std::vector<KernelTime> rows;
  for (const WorkKind& kind : *kinds) {
    auto work = kind.make(options, table);
    if (!work) return failed(work.error());
    for (uint32_t batch : {4096u, 16384u, 65536u, 1u << 20, 1u << 22}) {
      if (work->cut(batch) == 0) continue;
      KernelTime row{work->name(), work->packet_bytes(), batch, 0, 0, 0};
      const auto error =
          time_kernel(gpu, work->job(0, work->table().image.data()), work->table().words,
                      work->answers(0), work->sealed(0), kRounds, row);
      if (!error.empty()) return failed(error);
      rows.push_back(row);
      std::printf("%-20s %8u %12.1f %9.2f\n", row.kind.c_str(), row.batch, row.items_per_s * 1e-6,
                  row.gbps);
    }
  }
  std::vector<CopyTime> copies;
  if (auto error = time_copies(gpu, kRounds, copies); !error.empty()) return failed(error);
  std::printf("\n%-6s %10s %10s\n", "copy", "bytes", "GB/s");
  for (const CopyTime& row : copies)
    std::printf("%-6s %10zu %10.3f\n", row.direction, row.bytes, row.gbytes_per_s);
  return write(json, json_of(name, rows, copies)) ? 0 : failed(std::string(json) + ": not written");
}

#endif

int run(const std::string& what, const char* device, const char* json, const char* prefixes) {
  OffloadOptions options;
  options.device = device;
  options.kinds = kinds_of_environment();
  const bool host = options.device == "host";
  if (host) options.items = 1 << 20;
  options.measure.check_only = what == "check";
  OffloadTable table = synthetic(what == "check" && prefixes == nullptr ? kQuickScale : 1);
  if (prefixes != nullptr && !read(prefixes, table = {}))
    return failed(std::string(prefixes) + ": is no list of IPv4 and IPv6 prefixes, one a line");
#ifdef HECTO_OFFLOAD_CUDA
  if (what == "kernels") {
    if (host) return failed("kernels: only of cuda:N");
    options.items = size_t{1} << 24;
    options.payload_mb = 192;
    return kernels(std::atoi(device + options.device.find(':') + 1), options, table, json);
  }
#endif
  auto result = measure_offload(options, table);
  if (!result) return failed(result.error());
  uint64_t checked = 0;
  for (const OffloadRow& row : result->rows) checked += row.checked;
  if (what == "check")
    std::printf("%s: %llu answers are the CPU's\n", device,
                static_cast<unsigned long long>(checked));
  else
    std::printf("%s", offload_text(*result).c_str());
  return write(json, offload_json(*result)) ? 0 : failed(std::string(json) + ": not written");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
#ifdef HECTO_OFFLOAD_CUDA
  const bool known = what == "check" || what == "time" || what == "kernels";
#else
  const bool known = what == "check" || what == "time";
#endif
  if (!known || argc < 4 || argc > 5) {
    std::fprintf(stderr, "use: %s {check|time|kernels} {host|cuda:N} JSON [PREFIXES]\n", argv[0]);
    return 2;
  }
  try {
    return run(what, argv[2], argv[3], argc == 5 ? argv[4] : nullptr);
  } catch (const std::exception& error) {
    return failed(error.what());
  }
}
