// A libnvidia-ml.so.1 that knows one GPU, at 0000:99:00.0, which takes 2.5 J between any two
// readings, or fails in the call that SCRIPTED_GPU_FAILS names.
#include <cstdlib>
#include <cstring>

namespace {

bool initialized = false;
unsigned long long mj = 1'000'000;

int answer(const char* call) {
  const char* fails = std::getenv("SCRIPTED_GPU_FAILS");
  return fails != nullptr && std::strcmp(fails, call) == 0 ? 3 : 0;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  initialized = true;
  return answer("nvmlInit");
}
int nvmlShutdown() {
  initialized = false;
  return 0;
}
const char* nvmlErrorString(int code) {
  return code == 3 ? "Not Supported" : "Not Found";
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
  if (!initialized || std::strcmp(address, "0000:99:00.0") != 0) return 6;
  *device = &mj;
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* energy) {
  if (device != &mj) return 2;
  *energy = mj += 2500;
  return answer("nvmlDeviceGetTotalEnergyConsumption");
}
}
