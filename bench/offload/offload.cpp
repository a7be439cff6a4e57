#include "bench/offload/offload.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

#include "gpu_offload/devices/open.hpp"

namespace hecto::bench {
namespace {

using gpu_offload::JobKind;
using gpu_offload::crypto::EspTransform;

constexpr size_t kHostPayloadMb = 4;  // CPU threads do 0.6 Gb/s
constexpr size_t kGpuPayloadMb = 192;

// Packets of 64 and 1,400 bytes; CBC encrypts whole blocks. Uniform keys touch all of a table, those
// in its prefixes little of it, which a GPU's L2 holds.
constexpr WorkKind kKinds[] = {
    {"ipv4", JobKind::kLookup4, EspTransform::kNone, 0},
    {"ipv6", JobKind::kLookup6, EspTransform::kNone, 0},
    {"uniform-ipv4", JobKind::kLookup4, EspTransform::kNone, 0, Destinations::kUniform},
    {"uniform-ipv6", JobKind::kLookup6, EspTransform::kNone, 0, Destinations::kUniform},
    {"seal-gcm 64", JobKind::kSealGcm, EspTransform::kGcm, 64},
    {"seal-gcm 1400", JobKind::kSealGcm, EspTransform::kGcm, 1400},
    {"open-gcm 64", JobKind::kOpenGcm, EspTransform::kGcm, 64},
    {"open-gcm 1400", JobKind::kOpenGcm, EspTransform::kGcm, 1400},
    {"seal-cbc-sha1 64", JobKind::kSealCbc, EspTransform::kCbcSha1, 64},
    {"seal-cbc-sha1 1392", JobKind::kSealCbc, EspTransform::kCbcSha1, 1392},
    {"open-cbc-sha1 64", JobKind::kOpenCbc, EspTransform::kCbcSha1, 64},
    {"open-cbc-sha1 1392", JobKind::kOpenCbc, EspTransform::kCbcSha1, 1392},
    {"seal-cbc-sha256 1392", JobKind::kSealCbc, EspTransform::kCbcSha256, 1392},
    {"open-cbc-sha256 1392", JobKind::kOpenCbc, EspTransform::kCbcSha256, 1392},
};

tl::expected<std::unique_ptr<gpu_offload::Device>, std::string> open(const std::string& name) {
  if (!name.empty()) return gpu_offload::open_local_device(name);
  auto gpu = gpu_offload::open_local_device("cuda:0");
  if (gpu) return gpu;
  std::fprintf(stderr, "%s; measuring the host device\n", gpu.error().c_str());
  return gpu_offload::open_local_device("host");
}

double tsc_ghz() {
#ifdef __x86_64__
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const uint64_t first = __rdtsc();
  while (Clock::now() - begin < std::chrono::milliseconds(20)) continue;
  const uint64_t cycles = __rdtsc() - first;
  return static_cast<double>(cycles) /
         std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
#else
  return 0;
#endif
}

}  // namespace

void OffloadOptions::make_quick() {
  items = 1 << 14;
  payload_mb = 1;
  measure.batches = {1, 64, 256};
  measure.rounds = 2;
  measure.round_s = 0.002;
  measure.latency_samples = 100;
  measure.energy_s = 0.2;
}

tl::expected<std::vector<WorkKind>, std::string> chosen_kinds(
    const std::vector<std::string>& beginnings) {
  std::vector<WorkKind> chosen;
  for (const WorkKind& kind : kKinds) {
    bool wanted = beginnings.empty();
    for (const std::string& beginning : beginnings)
      wanted = wanted || std::string_view(kind.name).starts_with(beginning);
    if (wanted) chosen.push_back(kind);
  }
  for (const std::string& beginning : beginnings) {
    bool known = false;
    for (const WorkKind& kind : kKinds)
      known = known || std::string_view(kind.name).starts_with(beginning);
    if (known) continue;
    std::string error = beginning + ": no kind of work begins so; known are";
    for (const WorkKind& kind : kKinds)
      error += std::string(&kind == kKinds ? " " : ", ") + kind.name;
    return tl::unexpected(error);
  }
  return chosen;
}

tl::expected<Workload, std::string> WorkKind::make(const OffloadOptions& options,
                                                   const OffloadTable& table) const {
  if (kind == JobKind::kLookup4) return Workload::lookup4(table, options.items, destinations);
  if (kind == JobKind::kLookup6) return Workload::lookup6(table, options.items, destinations);
  return Workload::esp(kind, transform, length, options.payload_mb << 20);
}

tl::expected<OffloadResult, std::string> measure_offload(const OffloadOptions& asked,
                                                         const OffloadTable& table) {
  auto kinds = chosen_kinds(asked.kinds);
  if (!kinds) return tl::unexpected(kinds.error());
  auto device = open(asked.device);
  if (!device) return tl::unexpected(device.error());
  if (const auto status = (*device)->restart(); status != gpu_offload::Status::kOk)
    return tl::unexpected((*device)->name() + " does not start: " + to_string(status));
  OffloadOptions options = asked;
  if (options.payload_mb == 0)
    options.payload_mb = (*device)->name() == "host" ? kHostPayloadMb : kGpuPayloadMb;
  EnergyMeter meter(pci_address_in((*device)->description()), options.energy);
  OffloadResult result{.device = (*device)->name(),
                       .description = (*device)->description(),
                       .table = table.name,
                       .routes4 = table.v4.size(),
                       .routes6 = table.v6.size(),
                       .in_flight = options.measure.in_flight,
                       .rounds = options.measure.rounds,
                       .tsc_ghz = tsc_ghz(),
                       .rows = {},
                       .no_gpu_energy = meter.no_gpu(),
                       .no_cpu_energy = meter.no_cpu(),
                       .energy = {},
                       .crossovers = {}};
  for (const WorkKind& kind : *kinds) {
    std::fprintf(stderr, "%s: %s\n", result.device.c_str(), kind.name);
    auto work = kind.make(options, table);
    if (!work) return tl::unexpected(work.error());
    auto runner = OffloadRunner::create(**device, *work, options.measure.in_flight);
    if (!runner) return tl::unexpected(runner.error());
    auto rows = (*runner)->measure(options.measure);
    if (!rows) return tl::unexpected(rows.error());
    if (is_lookup(kind.kind) && !options.measure.check_only && !rows->empty())
      result.crossovers.push_back(crossover_of(*rows));
    if (meter.tells() && !options.measure.check_only && !rows->empty()) {
      const auto fastest = std::max_element(rows->begin(), rows->end(),
                                            [](const OffloadRow& one, const OffloadRow& other) {
                                              return one.items_per_s < other.items_per_s;
                                            });
      auto energy = (*runner)->energy(fastest->batch, options.measure.energy_s, meter);
      if (!energy) return tl::unexpected(energy.error());
      result.energy.push_back(std::move(*energy));
    }
    result.rows.insert(result.rows.end(), rows->begin(), rows->end());
  }
  return result;
}

}  // namespace hecto::bench
