// What a GPU and the CPU's packages have used, as the driver (NVML) and the kernel (powercap, RAPL)
// tell: joules, of all that ran there, idle power with it.
//
// NVML is loaded when a meter is made, so that nothing needs it. One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hecto::bench {

struct EnergySources {
  std::string nvml = "libnvidia-ml.so.1";
  std::filesystem::path powercap = "/sys/class/powercap";
};

class EnergyMeter {
 public:
  // `gpu`: its PCI address, 0000:99:00.0; empty: there is none to ask.
  explicit EnergyMeter(const std::string& gpu, const EnergySources& sources = {});
  ~EnergyMeter();
  EnergyMeter(const EnergyMeter&) = delete;
  EnergyMeter& operator=(const EnergyMeter&) = delete;

  // Why there is no figure, in one line; empty: there is one.
  const std::string& no_gpu() const { return no_gpu_; }
  const std::string& no_cpu() const { return no_cpu_; }
  bool tells() const { return no_gpu_.empty() || no_cpu_.empty(); }

  struct Joules {
    std::optional<double> gpu, cpu;
  };
  void start();
  // Since start(). Counters are brought up to date every 20 to 100 ms: measure for longer.
  Joules used();

 private:
  struct Nvml;
  struct Package {
    std::filesystem::path counter;
    uint64_t range_uj;  // where it begins again
    std::optional<uint64_t> start_uj;
  };

  std::string open_nvml(const std::string& gpu, const std::string& library);
  std::string find_packages(const std::filesystem::path& powercap);
  // By a pointer: why there is none.
  std::optional<uint64_t> gpu_mj(std::string* error = nullptr) const;

  void* library_ = nullptr;
  std::unique_ptr<Nvml> nvml_;
  void* gpu_ = nullptr;
  std::optional<uint64_t> gpu_start_mj_;
  std::vector<Package> packages_;
  std::string no_gpu_, no_cpu_;
};

// The PCI address in a device's description; empty: none.
std::string pci_address_in(const std::string& description);

}  // namespace hecto::bench
