// Where a test's jobs run: on the host, on lanes that are threads, on a GPU where there is one.
#pragma once

#include <string>

#include "gpu_offload/crypto/launch.hpp"

namespace hecto::gpu_offload::crypto {

struct Launcher {
  const char* name;
  bool (*present)();
  EspLauncher run;  // has finished on return
};

struct LauncherName {  // for INSTANTIATE_TEST_SUITE_P
  std::string operator()(const auto& info) const { return info.param.name; }
};

// Every lane a thread of its own, that waits for the others only where a warp's would: 8 a packet.
int launch_on_threads(void* stream, const EspJob& job) noexcept;

// The job's memory is copied there and back.
bool cuda_present();
int launch_on_cuda(void* stream, const EspJob& job) noexcept;

inline bool always_present() {
  return true;
}
inline constexpr Launcher kHost{"host", always_present, launch_esp_host};
inline constexpr Launcher kThreads{"threads", always_present, launch_on_threads};
#ifdef HECTO_HAVE_CUDA
inline constexpr Launcher kCuda{"cuda", cuda_present, launch_on_cuda};
#endif

}  // namespace hecto::gpu_offload::crypto
