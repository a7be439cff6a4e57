// A libcuda.so.1 with one GPU that does nothing and succeeds, or fails in the call that
// SCRIPTED_GPU_FAILS names. What it is asked is checked: nothing is used before it is made.
#include <cstdlib>
#include <cstring>

namespace {

bool context = false, stream = false, memory = false;

int answer(const char* call, bool ready = true) {
  const char* fails = std::getenv("SCRIPTED_GPU_FAILS");
  if (fails != nullptr && std::strcmp(fails, call) == 0) return 719;
  return ready ? 0 : 400;
}

}  // namespace

extern "C" {

int cuInit(unsigned) {
  return answer("cuInit");
}
int cuDeviceGetCount(int* count) {
  *count = 1;
  return answer("cuDeviceGetCount");
}
int cuDeviceGet(int* device, int) {
  *device = 0;
  return answer("cuDeviceGet");
}
int cuDeviceGetName(char* name, int bytes, int) {
  std::strncpy(name, "Scripted GPU", static_cast<size_t>(bytes));
  return 0;
}
int cuDeviceGetPCIBusId(char* name, int bytes, int) {
  std::strncpy(name, "0000:99:00.0", static_cast<size_t>(bytes));
  return 0;
}
int cuCtxCreate_v2(void** out, unsigned, int) {
  *out = &context;
  context = true;
  return answer("cuCtxCreate");
}
int cuCtxDestroy_v2(void*) {
  return 0;
}
int cuMemAlloc_v2(unsigned long long* out, size_t) {
  *out = 1;
  return answer("cuMemAlloc", context);
}
int cuMemHostAlloc(void** out, size_t, unsigned) {
  *out = &memory;
  memory = true;
  return answer("cuMemHostAlloc", context);
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void*, size_t, void*) {
  return answer("cuMemcpyHtoDAsync", memory && to == 1);
}
int cuMemcpyDtoHAsync_v2(void*, unsigned long long from, size_t, void*) {
  return answer("cuMemcpyDtoHAsync", memory && from == 1);
}
int cuStreamCreate(void** out, unsigned) {
  *out = &stream;
  stream = true;
  return answer("cuStreamCreate", context);
}
int cuStreamSynchronize(void*) {
  return answer("cuStreamSynchronize", stream);
}
int cuModuleLoadData(void** out, const void* image) {
  *out = &memory;
  return answer("cuModuleLoadData", std::strstr(static_cast<const char*>(image), "empty"));
}
int cuModuleGetFunction(void** out, void*, const char*) {
  *out = &memory;
  return answer("cuModuleGetFunction");
}
int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   void* queue, void**, void**) {
  return answer("cuLaunchKernel", queue == &stream);
}
int cuGetErrorName(int, const char** name) {
  *name = "CUDA_ERROR_SCRIPTED";
  return 0;
}
}
