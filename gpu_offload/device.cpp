#include "gpu_offload/device.hpp"

namespace hecto::gpu_offload {

const char* to_string(Status status) noexcept {
  switch (status) {
    case Status::kOk:
      return "ok";
    case Status::kBusy:
      return "busy";
    case Status::kNoMemory:
      return "out of memory";
    case Status::kBroken:
      break;
  }
  return "broken";
}

}  // namespace hecto::gpu_offload
