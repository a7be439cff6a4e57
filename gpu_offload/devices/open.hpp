// Devices by the names that the configuration gives them.
#pragma once

#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "gpu_offload/device.hpp"

namespace hecto::gpu_offload {

// `host`, or `cuda:N` for the N-th GPU that the CUDA driver shows. The CUDA plug-in is the
// installed one, or the file that HECTO_CUDA_PLUGIN names. Not started yet; an error is one line
// for the operator.
tl::expected<std::unique_ptr<Device>, std::string> open_device(const std::string& name);

}  // namespace hecto::gpu_offload
