// The helper's first process: starts and kills the one that has the device, and never calls a driver
// itself, so nothing can hold it up. It lives as long as its socket to the router.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "base/file_descriptor.hpp"
#include "gpu_offload/device.hpp"

namespace hecto::gpu_offload {

using OpenDevice = std::function<tl::expected<std::unique_ptr<Device>, std::string>()>;

// `open` is called in a new process each time. The exit code.
int keep_device(FileDescriptor router, const OpenDevice& open);

// "2,3,7" as the CPUs that this process and those to come may use; false where it is no such list.
bool stay_on(const std::string& cpus);

}  // namespace hecto::gpu_offload
