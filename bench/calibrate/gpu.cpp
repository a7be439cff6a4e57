#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <fstream>

#include "bench/calibrate/cuda_driver.hpp"
#include "bench/calibrate/parts.hpp"
#include "bench/lib/statistics.hpp"

namespace hecto::bench {
namespace {

constexpr size_t kLarge_bytes = 64u << 20;
constexpr size_t kSmall_bytes = 256 * 4;  // the keys of a chunk

template <typename Call>
Result<double> median_seconds(unsigned rounds, Call call) {
  std::vector<double> seconds;
  for (unsigned round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    if (auto done = call(); !done) return tl::unexpected(done.error());
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    if (round > 0) seconds.push_back(time.count());  // the first pays for set-up
  }
  return median(seconds);
}

// The link's bit rate after its coding, as sysfs tells it; 0 when it does not.
double link_gbit_s(std::string pci) {
  std::transform(pci.begin(), pci.end(), pci.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string device = "/sys/bus/pci/devices/" + pci;
  double gt_s = 0, lanes = 0;
  std::ifstream(device + "/max_link_speed") >> gt_s;  // an idle GPU's link runs slower
  std::ifstream(device + "/current_link_width") >> lanes;
  return gt_s * lanes * (gt_s < 8 ? 8.0 / 10 : 128.0 / 130);
}

}  // namespace

Result<void> measure_gpu(const CalibrateOptions& options, MeasuredConstants& found) {
  auto driver = CudaDriver::open();
  if (!driver) {
    found.notes.push_back("gpu: " + driver.error().message + "; its constants stay");
    return {};
  }
  CudaDriver& gpu = **driver;
  if (auto done = gpu.prepare(kLarge_bytes); !done) return done;
  const unsigned rounds = options.quick ? 4 : 32;
  auto down = median_seconds(rounds, [&] { return gpu.copy_down(kLarge_bytes); });
  if (!down) return tl::unexpected(down.error());
  auto up = median_seconds(rounds, [&] { return gpu.copy_up(kLarge_bytes); });
  if (!up) return tl::unexpected(up.error());
  auto trip = median_seconds(rounds * 32, [&] { return gpu.round_trip(kSmall_bytes); });
  if (!trip) return tl::unexpected(trip.error());
  const double down_gbit_s = kLarge_bytes * 8 / *down / 1e9;
  const double up_gbit_s = kLarge_bytes * 8 / *up / 1e9;
  found.set(config::Constant::kGpuLaunchUs, *trip * 1e6);
  const double link = link_gbit_s(gpu.pci());
  if (link > 0)
    found.set(config::Constant::kGpuLinkEfficiency, std::min(down_gbit_s, up_gbit_s) / link);
  found.notes.push_back(fmt::format(
      "gpu: {} at {}: {:.0f} Gb/s down, {:.0f} up, {} link; a job of {} bytes takes {:.1f} us",
      gpu.device_name(), gpu.pci(), down_gbit_s, up_gbit_s,
      link > 0 ? fmt::format("{:.0f} Gb/s", link) : "unknown", kSmall_bytes, *trip * 1e6));
  return {};
}

}  // namespace hecto::bench
