// hecto-gpu: the process that hectod gives a GPU to, so that a driver that hangs or breaks holds up
// nothing and can be killed. hectod starts it; by hand it is of no use.
//
//   hecto-gpu DEVICE [CPUS]      host or cuda:N; CPUS as in 2,3,8-11. Descriptor 3: the router's socket
#include <cstdio>
#include <cstdlib>
#include <string>

#include "gpu_offload/devices/open.hpp"
#include "gpu_offload/helper/keeper.hpp"

int main(int argc, char** argv) {
  using namespace hecto;
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "use: hecto-gpu DEVICE [CPUS], by hectod\n");
    return 2;
  }
  if (argc == 3 && !gpu_offload::stay_on(argv[2]))
    std::fprintf(stderr, "hecto-gpu: cannot stay on CPUs %s\n", argv[2]);
  // Numbers as nvidia-smi has them; kernels loaded at the start, not in the middle of traffic; no two
  // batches on one hardware queue (8 of jobs, one of updates).
  setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 0);
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "16", 0);
  const std::string name = argv[1];
  return gpu_offload::keep_device(FileDescriptor(3),
                                  [&name] { return gpu_offload::open_helper_device(name); });
}
