#include "bench/lib/energy.hpp"

#include <dlfcn.h>

#include <fstream>
#include <memory>
#include <regex>

namespace hecto::bench {
namespace {

constexpr double kMicro = 1e-6;
constexpr double kMilli = 1e-3;

std::optional<uint64_t> number_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  uint64_t number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

}  // namespace

// nvml.h's functions, as far as they are needed. 0 is success.
struct EnergyMeter::Nvml {
  int (*init)();
  int (*shutdown)();
  const char* (*error)(int);
  int (*by_pci)(const char*, void**);
  int (*energy)(void*, unsigned long long*);  // millijoules since the driver was loaded

  bool find(void* library) {
    const auto one = [library](auto& call, const char* name) {
      call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(dlsym(library, name));
      return call != nullptr;
    };
    return one(init, "nvmlInit_v2") && one(shutdown, "nvmlShutdown") &&
           one(error, "nvmlErrorString") && one(by_pci, "nvmlDeviceGetHandleByPciBusId_v2") &&
           one(energy, "nvmlDeviceGetTotalEnergyConsumption");
  }
};

EnergyMeter::EnergyMeter(const std::string& gpu, const EnergySources& sources)
    : no_gpu_(gpu.empty() ? "no GPU" : open_nvml(gpu, sources.nvml)),
      no_cpu_(find_packages(sources.powercap)) {}

EnergyMeter::~EnergyMeter() {
  if (nvml_) nvml_->shutdown();
  if (library_ != nullptr) dlclose(library_);
}

std::string EnergyMeter::open_nvml(const std::string& gpu, const std::string& library) {
  library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) return dlerror();
  auto nvml = std::make_unique<Nvml>();
  if (!nvml->find(library_)) return library + " has not all of its functions";
  if (const int code = nvml->init(); code != 0)
    return std::string("nvmlInit: ") + nvml->error(code);
  nvml_ = std::move(nvml);
  if (const int code = nvml_->by_pci(gpu.c_str(), &gpu_); code != 0)
    return "nvmlDeviceGetHandleByPciBusId(" + gpu + "): " + nvml_->error(code);
  std::string error;
  gpu_mj(&error);
  return error;
}

// The packages of a zone tree: intel-rapl:0, and not its parts intel-rapl:0:0. AMD's are named so
// too.
std::string EnergyMeter::find_packages(const std::filesystem::path& powercap) {
  static const std::regex kPackage("intel-rapl:[0-9]+");
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(powercap, error)) {
    if (!std::regex_match(entry.path().filename().string(), kPackage)) continue;
    const auto counter = entry.path() / "energy_uj";
    const auto range_uj = number_in(entry.path() / "max_energy_range_uj");
    if (!number_in(counter) || !range_uj) return counter.string() + " cannot be read";
    packages_.push_back({counter, *range_uj, std::nullopt});
  }
  return packages_.empty() ? powercap.string() + " has no intel-rapl packages" : "";
}

std::optional<uint64_t> EnergyMeter::gpu_mj(std::string* error) const {
  unsigned long long mj = 0;
  const int code = nvml_->energy(gpu_, &mj);
  if (code == 0) return mj;
  if (error != nullptr)
    *error = std::string("nvmlDeviceGetTotalEnergyConsumption: ") + nvml_->error(code);
  return std::nullopt;
}

void EnergyMeter::start() {
  if (no_gpu_.empty()) gpu_start_mj_ = gpu_mj();
  for (Package& package : packages_) package.start_uj = number_in(package.counter);
}

EnergyMeter::Joules EnergyMeter::used() {
  Joules joules;
  if (gpu_start_mj_)
    if (const auto mj = gpu_mj()) joules.gpu = static_cast<double>(*mj - *gpu_start_mj_) * kMilli;
  if (!no_cpu_.empty()) return joules;
  double sum = 0;
  for (const Package& package : packages_) {
    const auto uj = number_in(package.counter);
    if (!uj || !package.start_uj) return joules;
    const uint64_t turned = *uj < *package.start_uj ? package.range_uj : 0;
    sum += static_cast<double>(*uj + turned - *package.start_uj) * kMicro;
  }
  joules.cpu = sum;
  return joules;
}

std::string pci_address_in(const std::string& description) {
  static const std::regex kAddress("[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]");
  std::smatch found;
  return std::regex_search(description, found, kAddress) ? found.str() : "";
}

}  // namespace hecto::bench
