// Devices by the names that the configuration gives them.
#pragma once

#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "gpu_offload/device.hpp"

namespace hecto::gpu_offload {

// `host`, or `cuda:N` for the N-th GPU that the CUDA driver shows, in this process. The CUDA plug-in
// is the installed one, or the file that HECTO_CUDA_PLUGIN names. Not started yet; an error is one
// line for the operator.
tl::expected<std::unique_ptr<Device>, std::string> open_local_device(const std::string& name);

// The same as hecto-gpu serves it: `host` does its work on the helper's one thread.
tl::expected<std::unique_ptr<Device>, std::string> open_helper_device(const std::string& name);

// The same in a helper process of its own (helper.hpp), which is the program that HECTO_GPU_HELPER
// names, that of the same build, or the installed one. Takes as long as the driver does, half a
// minute at most. `cpus`: where the helper may run; empty: where this process does. Not after
// anything that forbids new processes.
tl::expected<std::unique_ptr<Device>, std::string> open_device(
    const std::string& name, const std::vector<unsigned>& cpus = {});

}  // namespace hecto::gpu_offload
