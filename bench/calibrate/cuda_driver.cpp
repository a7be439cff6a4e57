#include "bench/calibrate/cuda_driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace hecto::bench {

namespace {

constexpr char kEmptyKernel[] =
    ".version 6.0\n.target sm_52\n.address_size 64\n.visible .entry empty() { ret; }\n";

}  // namespace

struct CudaDriver::Calls {
  int (*init)(unsigned);
  int (*device_count)(int*);
  int (*device_get)(int*, int);
  int (*device_name)(char*, int, int);
  int (*device_pci)(char*, int, int);
  int (*context_create)(void**, unsigned, int);
  int (*context_destroy)(void*);
  int (*memory_alloc)(DevicePointer*, size_t);
  int (*host_alloc)(void**, size_t, unsigned);
  int (*copy_down)(DevicePointer, const void*, size_t, void*);
  int (*copy_up)(void*, DevicePointer, size_t, void*);
  int (*stream_create)(void**, unsigned);
  int (*stream_wait)(void*);
  int (*module_load)(void**, const void*);
  int (*module_function)(void**, void*, const char*);
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                void**, void**);
  int (*error_name)(int, const char**);

  // The name of the first that the library has not.
  const char* find(void* library) {
    const auto one = [library](auto& call, const char* name) {
      call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(dlsym(library, name));
      return call == nullptr ? name : nullptr;
    };
    for (const char* missing :
         {one(init, "cuInit"), one(device_count, "cuDeviceGetCount"),
          one(device_get, "cuDeviceGet"), one(device_name, "cuDeviceGetName"),
          one(device_pci, "cuDeviceGetPCIBusId"), one(context_create, "cuCtxCreate_v2"),
          one(context_destroy, "cuCtxDestroy_v2"), one(memory_alloc, "cuMemAlloc_v2"),
          one(host_alloc, "cuMemHostAlloc"), one(copy_down, "cuMemcpyHtoDAsync_v2"),
          one(copy_up, "cuMemcpyDtoHAsync_v2"), one(stream_create, "cuStreamCreate"),
          one(stream_wait, "cuStreamSynchronize"), one(module_load, "cuModuleLoadData"),
          one(module_function, "cuModuleGetFunction"), one(launch, "cuLaunchKernel"),
          one(error_name, "cuGetErrorName")})
      if (missing != nullptr) return missing;
    return nullptr;
  }
};

CudaDriver::~CudaDriver() {
  // Frees what was allocated in it.
  if (context_ != nullptr) calls_->context_destroy(context_);
  if (library_ != nullptr) dlclose(library_);
}

Result<void> CudaDriver::check(int code, const char* call) const {
  if (code == 0) return {};
  const char* name = nullptr;
  calls_->error_name(code, &name);
  return fail(fmt::format("{}: {} ({})", call, name == nullptr ? "no such error" : name, code));
}

Result<std::unique_ptr<CudaDriver>> CudaDriver::open() {
  std::unique_ptr<CudaDriver> driver(new CudaDriver);
  driver->library_ = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver->library_ == nullptr) return fail("no NVIDIA driver (libcuda.so.1) on this machine");
  driver->calls_ = std::make_unique<Calls>();
  if (const char* missing = driver->calls_->find(driver->library_))
    return fail(
        fmt::format("libcuda.so.1 has no {}: a driver of CUDA 9 or newer is needed", missing));
  const Calls& calls = *driver->calls_;
  int count = 0, device = 0;
  char name[256] = "", pci[64] = "";
  if (auto done = driver->check(calls.init(0), "cuInit"); !done)
    return tl::unexpected(done.error());
  if (calls.device_count(&count) != 0 || count == 0) return fail("a driver, but no GPU");
  if (auto done = driver->check(calls.device_get(&device, 0), "cuDeviceGet"); !done)
    return tl::unexpected(done.error());
  calls.device_name(name, sizeof name - 1, device);
  calls.device_pci(pci, sizeof pci - 1, device);
  driver->device_name_ = name;
  driver->pci_ = pci;
  if (auto done = driver->check(calls.context_create(&driver->context_, 0, device), "cuCtxCreate");
      !done)
    return tl::unexpected(done.error());
  return driver;
}

Result<void> CudaDriver::prepare(size_t bytes) {
  const Calls& calls = *calls_;
  void* module = nullptr;
  for (auto [code, call] :
       {std::pair{calls.stream_create(&stream_, 1), "cuStreamCreate"},
        std::pair{calls.memory_alloc(&device_, bytes), "cuMemAlloc"},
        std::pair{calls.host_alloc(&host_, bytes, 0), "cuMemHostAlloc"},
        std::pair{calls.module_load(&module, kEmptyKernel), "cuModuleLoadData"}})
    if (auto done = check(code, call); !done) return done;
  return check(calls.module_function(&kernel_, module, "empty"), "cuModuleGetFunction");
}

Result<void> CudaDriver::copy_down(size_t bytes) {
  if (auto done = check(calls_->copy_down(device_, host_, bytes, stream_), "cuMemcpyHtoDAsync");
      !done)
    return done;
  return check(calls_->stream_wait(stream_), "cuStreamSynchronize");
}

Result<void> CudaDriver::copy_up(size_t bytes) {
  if (auto done = check(calls_->copy_up(host_, device_, bytes, stream_), "cuMemcpyDtoHAsync");
      !done)
    return done;
  return check(calls_->stream_wait(stream_), "cuStreamSynchronize");
}

Result<void> CudaDriver::round_trip(size_t bytes) {
  if (auto done = check(calls_->copy_down(device_, host_, bytes, stream_), "cuMemcpyHtoDAsync");
      !done)
    return done;
  if (auto done = check(calls_->launch(kernel_, 1, 1, 1, 32, 1, 1, 0, stream_, nullptr, nullptr),
                        "cuLaunchKernel");
      !done)
    return done;
  return copy_up(bytes);
}

}  // namespace hecto::bench
