#include "gpu_offload/cuda/cuda_device.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>

#include "gpu_offload/crypto/launch.hpp"
#include "gpu_offload/cuda/kernels.hpp"

using namespace hecto::gpu_offload;

namespace {

constexpr unsigned kPinned = cudaHostRegisterPortable | cudaHostRegisterMapped;
constexpr size_t kFirstChanges = size_t{1} << 20;  // bytes

std::string line_of(const std::string& path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return line;
}

}  // namespace

cudaError_t HectoDevice::use() const {
  static thread_local int current = -1;
  if (current == index) return cudaSuccess;
  const cudaError_t error = cudaSetDevice(index);
  if (error == cudaSuccess) current = index;
  return error;
}

HectoDevice::~HectoDevice() {
  if (use() != cudaSuccess) return;
  for (const Pinned& pinned : pinned_) cudaHostUnregister(pinned.start);
  cudaDeviceReset();
}

// Model, bus address and link; the NUMA socket as the kernel tells it.
bool HectoDevice::describe(std::string& text, int& socket) {
  cudaDeviceProp properties{};
  char bus[32] = {};
  cudaError_t error = cudaGetDeviceProperties(&properties, index);
  if (error == cudaSuccess) error = cudaDeviceGetPCIBusId(bus, sizeof(bus), index);
  if (error != cudaSuccess) {
    text = cudaGetErrorString(error);
    return false;
  }
  if (properties.major < 7 || (properties.major == 7 && properties.minor < 5)) {
    text = std::string(properties.name) + " is older than Turing, which is the oldest supported";
    return false;
  }
  std::string address(bus);
  std::transform(address.begin(), address.end(), address.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string node = "/sys/bus/pci/devices/" + address + "/";
  const std::string socket_text = line_of(node + "numa_node");
  socket = socket_text.empty() ? -1 : std::atoi(socket_text.c_str());
  text = std::string(properties.name) + ", " + address + ", PCIe " +
         line_of(node + "current_link_speed") + " x" + line_of(node + "current_link_width");
  return true;
}

Status HectoDevice::restart() {
  cudaError_t error = use();
  if (error == cudaSuccess) {
    for (HectoQueue* queue : queues) queue->stop();
    for (const Pinned& pinned : pinned_) cudaHostUnregister(pinned.start);
    if (started)
      for (const Arena& arena : arenas_)
        cudaMemset(arena.start, 0, arena.bytes);  // if it still can
    arenas_.clear();
    changes_ = nullptr;
    changes_bytes_ = 0;
    started = false;
    cudaGetLastError();
    error = cudaDeviceReset();
    if (error == cudaSuccess) error = cudaSetDevice(index);
  }
  if (error == cudaSuccess) error = start_all();
  started = error == cudaSuccess;
  trouble_ = started ? "" : cudaGetErrorString(error);
  return status_of(error);
}

cudaError_t HectoDevice::start_all() {
  int reads_host = 0, pools = 0;
  cudaError_t error =
      cudaDeviceGetAttribute(&reads_host, cudaDevAttrCanUseHostPointerForRegisteredMem, index);
  if (error == cudaSuccess && reads_host == 0) return cudaErrorNotSupported;
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, index);
  has_pool_ = pools != 0;
  if (error == cudaSuccess && has_pool_) {  // what is released stays for the next
    cudaMemPool_t pool = nullptr;
    uint64_t all = UINT64_MAX;
    error = cudaDeviceGetDefaultMemPool(&pool, index);
    if (error == cudaSuccess)
      error = cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all);
  }
  if (error == cudaSuccess)
    error = cudaStreamCreateWithFlags(&update_stream_, cudaStreamNonBlocking);
  if (error == cudaSuccess) error = cudaEventCreateWithFlags(&updated_, cudaEventDisableTiming);
  if (error == cudaSuccess) error = load_kernels();
  if (error == cudaSuccess) error = static_cast<cudaError_t>(crypto::load_esp_kernels());
  if (error == cudaSuccess) error = reserve_changes(kFirstChanges);
  for (const Pinned& pinned : pinned_) {
    if (error == cudaSuccess) error = cudaHostRegister(pinned.start, pinned.bytes, kPinned);
  }
  for (HectoQueue* queue : queues) {
    if (error == cudaSuccess) error = queue->start();
  }
  return error;
}

// From the pool, in the order of updates: no cudaFree waits for kernels that run.
cudaError_t HectoDevice::allocate(void** start, size_t bytes) {
  return has_pool_ ? cudaMallocAsync(start, bytes, update_stream_) : cudaMalloc(start, bytes);
}

// Before the first start it is only noted.
Status HectoDevice::pin(void* start, size_t bytes) {
  if (started) {
    cudaError_t error = use();
    if (error == cudaSuccess) error = cudaHostRegister(start, bytes, kPinned);
    if (error != cudaSuccess) return status_of(error);
  }
  pinned_.push_back({start, bytes});
  return Status::kOk;
}

void HectoDevice::unpin(void* start) {
  if (started && use() == cudaSuccess) cudaHostUnregister(start);
  std::erase_if(pinned_, [start](const Pinned& pinned) { return pinned.start == start; });
}

uint32_t* HectoDevice::create_arena(size_t words) {
  void* start = nullptr;
  if (use() != cudaSuccess || allocate(&start, words * 4) != cudaSuccess) {
    cudaGetLastError();
    return nullptr;
  }
  arenas_.push_back({static_cast<uint32_t*>(start), words * 4});
  return arenas_.back().start;
}

// Wiped, as it may have held the keys of SAs.
void HectoDevice::release_arena(uint32_t* arena) {
  auto found = std::find_if(arenas_.begin(), arenas_.end(),
                            [arena](const Arena& one) { return one.start == arena; });
  if (found == arenas_.end() || use() != cudaSuccess) return;
  cudaMemsetAsync(arena, 0, found->bytes, update_stream_);
  has_pool_ ? cudaFreeAsync(arena, update_stream_) : cudaFree(arena);
  arenas_.erase(found);
}

cudaError_t HectoDevice::reserve_changes(size_t bytes) {
  if (bytes <= changes_bytes_) return cudaSuccess;
  if (changes_ != nullptr) has_pool_ ? cudaFreeAsync(changes_, update_stream_) : cudaFree(changes_);
  changes_ = nullptr;
  changes_bytes_ = 0;
  const size_t wanted = 2 * bytes;
  const cudaError_t error = allocate(reinterpret_cast<void**>(&changes_), wanted);
  if (error == cudaSuccess) changes_bytes_ = wanted;
  return error;
}

// One packed copy, one kernel.
Status HectoDevice::start_update(uint32_t* arena, const uint32_t* image, size_t words,
                                 const uint32_t* changes, size_t change_count) {
  cudaError_t error = use();
  if (error == cudaSuccess && image != nullptr)
    error = cudaMemcpyAsync(arena, image, words * 4, cudaMemcpyHostToDevice, update_stream_);
  const size_t bytes = change_count * 8;
  if (error == cudaSuccess && bytes != 0) error = reserve_changes(bytes);
  if (error == cudaSuccess && bytes != 0)
    error = cudaMemcpyAsync(changes_, changes, bytes, cudaMemcpyHostToDevice, update_stream_);
  if (error == cudaSuccess)
    error = launch_scatter(arena, changes_, static_cast<uint32_t>(change_count), update_stream_);
  if (error == cudaSuccess && bytes != 0)  // they may be of keys
    error = cudaMemsetAsync(changes_, 0, bytes, update_stream_);
  if (error == cudaSuccess) error = cudaEventRecord(updated_, update_stream_);
  return status_of(error);
}

Status HectoDevice::update_status() {
  cudaError_t error = use();
  if (error == cudaSuccess) error = cudaEventQuery(updated_);
  return error == cudaErrorNotReady ? Status::kBusy : status_of(error);
}
