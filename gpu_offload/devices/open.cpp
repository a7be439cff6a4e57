#include "gpu_offload/devices/open.hpp"

#include <unistd.h>

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
  const std::string path = named != nullptr ? named : HECTO_CUDA_PLUGIN_PATH;
  if (access(path.c_str(), F_OK) != 0)
    return tl::unexpected(name + ": there is no CUDA plug-in at " + path);
  auto plugin = Plugin::load(path);
  if (!plugin) return tl::unexpected(name + ": " + plugin.error());
  auto count = plugin->count();
  if (!count) return tl::unexpected(name + ": no CUDA device: " + count.error());
  if (index >= *count)
    return tl::unexpected(name + ": there are " + std::to_string(*count) + " CUDA devices, from 0");
  return plugin->open(index, name);
}

}  // namespace

tl::expected<std::unique_ptr<Device>, std::string> open_device(const std::string& name) {
  if (name == "host") return std::make_unique<HostDevice>(true, -1);
  unsigned index = 0;
  if (name.starts_with(kCuda)) {
    const char* end = name.data() + name.size();
    auto [stop, error] = std::from_chars(name.data() + kCuda.size(), end, index);
    if (error == std::errc{} && stop == end) return open_cuda(index, name);
  }
  return tl::unexpected(name + ": no such device; known are host and cuda:N");
}

}  // namespace hecto::gpu_offload
