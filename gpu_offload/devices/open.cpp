#include "gpu_offload/devices/open.hpp"

#include <charconv>
#include <cstdlib>

#include "gpu_offload/devices/host.hpp"
#include "gpu_offload/devices/plugin.hpp"

namespace hecto::gpu_offload {
namespace {

constexpr std::string_view kCuda = "cuda:";

tl::expected<std::unique_ptr<Device>, std::string> open_cuda(unsigned index,
                                                             const std::string& name) {
  const char* named = std::getenv("HECTO_CUDA_PLUGIN");
  auto plugin = Plugin::load(named != nullptr ? named : HECTO_CUDA_PLUGIN_PATH);
  if (!plugin) return tl::unexpected(name + ": " + plugin.error());
  auto count = plugin->count();
  if (!count) return tl::unexpected(name + ": no CUDA device: " + count.error());
  if (index >= *count)
    return tl::unexpected(name + ": there are " + std::to_string(*count) + " CUDA devices, from 0");
  return plugin->open(index, name);
}

}  // namespace

tl::expected<std::unique_ptr<Device>, std::string> open_device(const std::string& name) {
  if (name == "host") return std::make_unique<HostDevice>();
  unsigned index = 0;
  if (name.starts_with(kCuda)) {
    const char* end = name.data() + name.size();
    auto [stop, error] = std::from_chars(name.data() + kCuda.size(), end, index);
    if (error == std::errc{} && stop == end) return open_cuda(index, name);
  }
  return tl::unexpected(name + ": no such device; known are host and cuda:N");
}

}  // namespace hecto::gpu_offload
