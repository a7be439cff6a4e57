// Joules as a scripted NVML and a folder in place of powercap tell them.
#include "bench/lib/energy.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/offload/offload.hpp"
#include "bench/offload/report.hpp"
#include "gpu_offload/devices/host.hpp"
#include "tests/unit/bench/lib/folder.hpp"

namespace hecto::bench {
namespace {

constexpr const char* kGpu = "0000:99:00.0";

// Packages with their counters, as the kernel's powercap shows them.
class Powercap {
 public:
  void set(const std::string& zone, uint64_t uj, uint64_t range_uj = 1'000'000) {
    std::filesystem::create_directories(folder_ / zone);
    std::ofstream(folder_ / zone / "energy_uj") << uj << "\n";
    std::ofstream(folder_ / zone / "max_energy_range_uj") << range_uj << "\n";
  }
  EnergySources sources() const { return {HECTO_SCRIPTED_NVML, folder_.path()}; }

 private:
  Folder folder_;
};

TEST(Energy, OfTheGpuIsWhatItsDriverTells) {
  Powercap none;
  EnergyMeter meter(kGpu, none.sources());
  EXPECT_EQ(meter.no_gpu(), "");
  EXPECT_NE(meter.no_cpu().find("has no intel-rapl packages"), std::string::npos);
  meter.start();
  const auto used = meter.used();
  EXPECT_DOUBLE_EQ(used.gpu.value(), 2.5);
  EXPECT_FALSE(used.cpu);
}

TEST(Energy, OfTheCpuIsTheSumOfItsPackages) {
  Powercap cpu;
  cpu.set("intel-rapl:0", 100'000);
  cpu.set("intel-rapl:0:0", 5);  // a part of it
  cpu.set("intel-rapl:1", 900'000);
  EnergyMeter meter("", cpu.sources());
  EXPECT_EQ(meter.no_gpu(), "no GPU");
  EXPECT_EQ(meter.no_cpu(), "");
  meter.start();
  cpu.set("intel-rapl:0", 400'000);
  cpu.set("intel-rapl:0:0", 999'000);
  cpu.set("intel-rapl:1", 100'000);  // its counter has begun again
  const auto used = meter.used();
  EXPECT_DOUBLE_EQ(used.cpu.value(), 0.3 + 0.2);
  EXPECT_FALSE(used.gpu);
}

TEST(Energy, IsNotToldAndSaysWhy) {
  Powercap none;
  EnergySources sources = none.sources();
  EXPECT_EQ(EnergyMeter("0000:01:00.0", sources).no_gpu(),
            "nvmlDeviceGetHandleByPciBusId(0000:01:00.0): Not Found");
  for (const char* call : {"nvmlInit", "nvmlDeviceGetTotalEnergyConsumption"}) {
    setenv("SCRIPTED_GPU_FAILS", call, 1);
    EXPECT_EQ(EnergyMeter(kGpu, sources).no_gpu(), std::string(call) + ": Not Supported");
    unsetenv("SCRIPTED_GPU_FAILS");
  }
  sources.nvml = "libc.so.6";
  EXPECT_EQ(EnergyMeter(kGpu, sources).no_gpu(), "libc.so.6 has not all of its functions");
  sources.nvml = "/nonexistent/libnvidia-ml.so.1";
  sources.powercap = "/nonexistent/powercap";
  EnergyMeter meter(kGpu, sources);
  EXPECT_NE(meter.no_gpu().find("/nonexistent/libnvidia-ml.so.1"), std::string::npos);
  EXPECT_EQ(meter.no_cpu(), "/nonexistent/powercap has no intel-rapl packages");
  EXPECT_FALSE(meter.tells());
  meter.start();
  EXPECT_FALSE(meter.used().gpu);
  EXPECT_FALSE(meter.used().cpu);
}

TEST(Energy, FindsTheGpusAddressInItsDescription) {
  EXPECT_EQ(pci_address_in("NVIDIA H100, 0000:99:00.0, PCIe 32.0 GT/s x16"), kGpu);
  EXPECT_EQ(pci_address_in("CPU threads"), "");
}

OffloadTable two_routes() {
  OffloadTable table{.name = "small", .v4 = {}, .v6 = {}};
  table.add(*lookup::IpPrefix::parse("10.0.0.0/8"), 64);
  table.add(*lookup::IpPrefix::parse("2001:db8::/32"), 64);
  return table;
}

// One batch size, once round; a GPU's joules with the host device's work.
TEST(Energy, IsReportedForAMillionItems) {
  Powercap none;
  gpu_offload::HostDevice device(false);
  ASSERT_EQ(device.restart(), gpu_offload::Status::kOk);
  auto work = Workload::lookup4(two_routes(), 1024);
  ASSERT_TRUE(work) << work.error();
  auto runner = OffloadRunner::create(device, *work, 4);
  ASSERT_TRUE(runner) << runner.error();
  EnergyMeter meter(kGpu, none.sources());
  auto row = (*runner)->energy(64, 0, meter);
  ASSERT_TRUE(row) << row.error();
  EXPECT_EQ(row->items, 1024);
  EXPECT_GT(row->core_items, 0);
  OffloadResult result;
  result.no_gpu_energy = meter.no_gpu();
  result.no_cpu_energy = meter.no_cpu();
  result.energy = {*row};
  const auto json = nlohmann::json::parse(offload_json(result));
  EXPECT_NEAR(json["energy"][0]["gpu_j_per_m_items"], 2.5e6 / 1024, 1e-3);
  EXPECT_TRUE(json["energy"][0]["gpu_j_per_gib"].is_null()) << "look-ups have no bytes";
  EXPECT_TRUE(json["energy"][0]["cpu_j_per_m_items"].is_null());
  EXPECT_TRUE(json["no_gpu_energy"].is_null());
  EXPECT_NE(offload_text(result).find("2441.4062"), std::string::npos);
  result.energy[0].packet_bytes = 1 << 10;  // 1024 packets: a MiB
  const auto esp = nlohmann::json::parse(offload_json(result));
  EXPECT_NEAR(esp["energy"][0]["gpu_j_per_gib"], 2.5 * 1024, 1e-3);
}

TEST(Energy, IsNullWhereNobodyTellsIt) {
  OffloadOptions options{.device = "host", .kinds = {"ipv4"}, .items = 1024};
  options.measure = {.batches = {64}, .rounds = 1, .round_s = 1e-4, .latency_samples = 10};
  options.energy.powercap = "/nonexistent";
  auto result = measure_offload(options, two_routes());
  ASSERT_TRUE(result) << result.error();
  EXPECT_TRUE(nlohmann::json::parse(offload_json(*result))["energy"].is_null());
  const std::string text = offload_text(*result);
  EXPECT_NE(text.find("energy of the GPU is not told: no GPU"), std::string::npos);
  EXPECT_NE(text.find("energy of the CPU is not told: /nonexistent has no"), std::string::npos);
}

}  // namespace
}  // namespace hecto::bench
