// Devices from a plug-in (plugin_abi.hpp), so that one package runs on machines with and without
// a GPU: libhecto_cuda.so is loaded when the configuration names cuda:N, and only then.
#pragma once

#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "gpu_offload/device.hpp"

struct HectoDeviceApi;

namespace hecto::gpu_offload {

// A loaded plug-in; it stays in the process, as drivers do not like to be unloaded.
class Plugin {
 public:
  // `path` as dlopen takes it. An error is one line for the operator.
  static tl::expected<Plugin, std::string> load(const std::string& path);

  // How many devices it sees; or why it sees none.
  tl::expected<unsigned, std::string> count() const;
  // `name` is the operator's.
  tl::expected<std::unique_ptr<Device>, std::string> open(unsigned index,
                                                          const std::string& name) const;

 private:
  explicit Plugin(const HectoDeviceApi& api) : api_(&api) {}
  const HectoDeviceApi* api_;
};

}  // namespace hecto::gpu_offload
