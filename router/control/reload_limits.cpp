#include "router/control/reload_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace hecto::router {
namespace {

namespace fs = std::filesystem;

// Arguments of DPDK's devices that are names of files: of captures that are read or written, of
// programs that are loaded into the kernel.
constexpr std::string_view kFileArguments[] = {"rx_pcap=", "tx_pcap=", "xdp_prog="};

bool names_files(std::string_view device) {
  return std::ranges::any_of(kFileArguments, [device](std::string_view argument) {
    return device.find(argument) != std::string_view::npos;
  });
}

}  // namespace

ReloadLimits::ReloadLimits(const config::Config& started) {
  std::error_code error;
  folder_ = fs::weakly_canonical(fs::absolute(started.file, error), error).parent_path();
  for (const config::PortConfig& port : started.ports) devices_.insert(port.device);
  const auto named = [&](const std::string& path) {
    if (!path.empty()) files_.insert(fs::weakly_canonical(path, error).string());
  };
  for (const std::string& file : started.route_files) named(file);
  named(started.api_http_token_file);
  for (const config::PrefixSetConfig& set : started.filters.sets) named(set.file);
  for (const config::IpsecSaConfig& sa : started.ipsec.sas) named(sa.key_file);
}

std::string ReloadLimits::file(const std::string& path) const {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(path, error);
  const fs::path beside = real.lexically_relative(folder_);
  const bool inside = !error && !beside.empty() && *beside.begin() != "..";
  if (inside || (!error && files_.contains(real.string()))) return {};
  return fmt::format(
      "is not in {}, and a running hectod reads nothing else: put it there, or restart "
      "hectod with it",
      folder_);
}

std::string ReloadLimits::device(const std::string& device) const {
  if (!names_files(device) || devices_.contains(device)) return {};
  return "reads or writes a file, which the file that hectod was started with did not name: "
         "restart "
         "hectod with it";
}

config::LoadLimits ReloadLimits::of_load() const {
  return {[this](const std::string& path) { return file(path); },
          [this](const std::string& name) { return device(name); }, true};
}

}  // namespace hecto::router
