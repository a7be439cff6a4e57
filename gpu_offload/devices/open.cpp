#include "gpu_offload/devices/open.hpp"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "gpu_offload/devices/helper.hpp"
#include "gpu_offload/devices/host.hpp"
#include "gpu_offload/devices/plugin.hpp"

namespace hecto::gpu_offload {
namespace {

constexpr std::string_view kCuda = "cuda:";

std::string plugin_path() {
  const char* named = std::getenv("HECTO_CUDA_PLUGIN");
  return named != nullptr ? named : HECTO_CUDA_PLUGIN_PATH;
}

bool has_plugin() {
  return access(plugin_path().c_str(), F_OK) == 0;
}

tl::unexpected<std::string> no_plugin(const std::string& name) {
  return tl::unexpected(name + ": there is no CUDA plug-in at " + plugin_path());
}

tl::expected<std::unique_ptr<Device>, std::string> open_cuda(unsigned index,
                                                             const std::string& name) {
  if (!has_plugin()) return no_plugin(name);
  auto plugin = Plugin::load(plugin_path());
  if (!plugin) return tl::unexpected(name + ": " + plugin.error());
  auto count = plugin->count();
  if (!count) return tl::unexpected(name + ": no CUDA device: " + count.error());
  if (index >= *count)
    return tl::unexpected(name + ": there are " + std::to_string(*count) + " CUDA devices, from 0");
  return plugin->open(index, name);
}

std::string helper_path() {
  if (const char* named = std::getenv("HECTO_GPU_HELPER"); named != nullptr) return named;
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  // In a build folder: router/hectod, bench/hecto-bench, tests/unit/…-test; gpu_offload/hecto-gpu.
  for (auto folder = self.parent_path(); !error && folder.has_relative_path();
       folder = folder.parent_path()) {
    if (!std::filesystem::exists(folder / "build.ninja", error)) continue;
    return folder / "gpu_offload" / "hecto-gpu";
  }
  return HECTO_GPU_HELPER_PATH;
}

bool is_cuda(const std::string& name, unsigned& index) {
  if (!name.starts_with(kCuda)) return false;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kCuda.size(), end, index);
  return error == std::errc{} && stop == end;
}

tl::unexpected<std::string> unknown(const std::string& name) {
  return tl::unexpected(name + ": no such device; known are host and cuda:N");
}

}  // namespace

tl::expected<std::unique_ptr<Device>, std::string> open_local_device(const std::string& name) {
  if (name == "host") return std::make_unique<HostDevice>(true, -1);
  unsigned index = 0;
  return is_cuda(name, index) ? open_cuda(index, name) : unknown(name);
}

tl::expected<std::unique_ptr<Device>, std::string> open_helper_device(const std::string& name) {
  if (name == "host") return std::make_unique<HostDevice>(false, -1);
  return open_local_device(name);
}

tl::expected<std::unique_ptr<Device>, std::string> open_device(const std::string& name,
                                                               const std::vector<unsigned>& cpus) {
  unsigned index = 0;
  if (name != "host" && !is_cuda(name, index)) return unknown(name);
  if (name != "host" && !has_plugin()) return no_plugin(name);  // no process for that
  return HelperDevice::open(name, {helper_path(), cpus});
}

}  // namespace hecto::gpu_offload
