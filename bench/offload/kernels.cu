#include <algorithm>
#include <cstring>

#include "bench/offload/kernels.hpp"
#include "gpu_offload/crypto/launch.hpp"
#include "gpu_offload/cuda/kernels.hpp"
#include "gpu_offload/esp_job.hpp"

namespace hecto::bench {
namespace {

using gpu_offload::Job;

// The first error stays; what comes after it does nothing.
class Cuda {
 public:
  explicit Cuda(int gpu) { run(cudaSetDevice(gpu)); }
  ~Cuda() {
    for (void* block : blocks_) cudaFree(block);
    for (void* block : pinned_) cudaFreeHost(block);
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
    for (cudaStream_t stream : streams_) cudaStreamDestroy(stream);
  }
  bool ok() const { return error_ == cudaSuccess; }
  std::string error() const {
    return ok() ? "" : std::string("CUDA: ") + cudaGetErrorString(error_);
  }
  void run(cudaError_t error) {
    if (ok()) error_ = error;
  }
  char* memory(size_t bytes) {
    void* block = nullptr;
    if (ok()) run(cudaMalloc(&block, bytes));
    if (ok()) blocks_.push_back(block);
    return static_cast<char*>(block);
  }
  char* pinned(size_t bytes) {
    void* block = nullptr;
    if (ok()) run(cudaHostAlloc(&block, bytes, cudaHostAllocDefault));
    if (ok()) pinned_.push_back(block);
    return static_cast<char*>(block);
  }
  char* copy_of(const void* from, size_t bytes) {
    char* there = memory(bytes);
    if (ok()) run(cudaMemcpy(there, from, bytes, cudaMemcpyHostToDevice));
    return there;
  }
  cudaStream_t stream() {
    cudaStream_t stream = nullptr;
    if (ok()) run(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    if (ok()) streams_.push_back(stream);
    return stream;
  }
  cudaEvent_t event() {
    cudaEvent_t event = nullptr;
    if (ok()) run(cudaEventCreate(&event));
    if (ok()) events_.push_back(event);
    return event;
  }
  // Both have been recorded.
  double seconds(cudaEvent_t from, cudaEvent_t to) {
    float ms = 0;
    if (ok()) run(cudaEventSynchronize(to));
    if (ok()) run(cudaEventElapsedTime(&ms, from, to));
    return ms * 1e-3;
  }

 private:
  cudaError_t error_ = cudaSuccess;
  std::vector<void*> blocks_, pinned_;
  std::vector<cudaEvent_t> events_;
  std::vector<cudaStream_t> streams_;
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

size_t input_size(const Job& job) {
  return size_t{job.count} * gpu_offload::input_bytes(job.kind);
}
size_t output_size(const Job& job) {
  return size_t{job.count} * gpu_offload::output_bytes(job.kind);
}

cudaError_t launch(const Job& job, cudaStream_t stream) {
  if (!gpu_offload::is_lookup(job.kind))
    return static_cast<cudaError_t>(
        gpu_offload::crypto::launch_esp_cuda(stream, gpu_offload::esp_job(job)));
  gpu_offload::Segments segments{};
  segments.of[0] = {job.input, static_cast<uint16_t*>(job.output), job.count, job.table};
  return gpu_offload::launch_lookup(job.kind, job.arena_info, job.arena, segments, 1, stream);
}

bool same(Cuda& cuda, const void* there, const char* right, size_t bytes) {
  std::vector<char> here(bytes);
  if (cuda.ok()) cuda.run(cudaMemcpy(here.data(), there, bytes, cudaMemcpyDeviceToHost));
  return std::memcmp(here.data(), right, bytes) == 0;
}

}  // namespace

namespace {

// A batch as it lies on the GPU.
struct There {
  Job job;
  char* fresh = nullptr;  // ESP: the packets, to be copied to job.result before each round
};

There bring(Cuda& cuda, const Job& job, char* arena) {
  There there{job, nullptr};
  there.job.arena = reinterpret_cast<uint32_t*>(arena);
  there.job.input = cuda.copy_of(job.input, input_size(job));
  there.job.output = cuda.memory(output_size(job));
  if (job.payload_bytes == 0) return there;
  there.fresh = cuda.copy_of(job.payload, job.payload_bytes);
  there.job.payload = there.job.result = cuda.memory(job.payload_bytes);
  return there;
}

// Outputs and packets as they are before the kernel; not timed.
void refresh(Cuda& cuda, const There& there, cudaStream_t stream) {
  const Job& job = there.job;
  if (cuda.ok()) cuda.run(cudaMemsetAsync(job.output, 0xff, output_size(job), stream));
  if (cuda.ok() && there.fresh != nullptr)
    cuda.run(cudaMemcpyAsync(job.result, there.fresh, job.payload_bytes, cudaMemcpyDeviceToDevice,
                             stream));
}

cudaGraphExec_t graph_of(Cuda& cuda, const std::vector<There>& batches, cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t runs = nullptr;
  if (cuda.ok()) cuda.run(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (const There& there : batches)
    if (cuda.ok()) cuda.run(launch(there.job, stream));
  if (cuda.ok()) cuda.run(cudaStreamEndCapture(stream, &graph));
  if (cuda.ok()) cuda.run(cudaGraphInstantiateWithFlags(&runs, graph, 0));
  if (graph != nullptr) cudaGraphDestroy(graph);
  return runs;
}

bool all_right(Cuda& cuda, const std::vector<There>& there, const std::vector<KernelBatch>& here) {
  for (size_t i = 0; i < there.size(); ++i) {
    const Job& job = there[i].job;
    if (!same(cuda, job.output, here[i].right, output_size(job))) return false;
    if (job.payload_bytes != 0 && !same(cuda, job.result, here[i].sealed, job.payload_bytes))
      return false;
  }
  return true;
}

}  // namespace

std::string time_kernel(int gpu, const std::vector<KernelBatch>& batches, size_t words,
                        unsigned rounds, KernelTime& row) {
  Cuda cuda(gpu);
  char* arena = cuda.copy_of(batches[0].job.arena, words * 4);
  std::vector<There> there;
  for (const KernelBatch& batch : batches)
    if (cuda.ok()) there.push_back(bring(cuda, batch.job, arena));
  const cudaStream_t stream = cuda.stream();
  const cudaEvent_t begin = cuda.event();
  const cudaEvent_t end = cuda.event();
  if (cuda.ok()) cuda.run(cudaDeviceSynchronize());  // a non-blocking stream waits for no copies
  cudaGraphExec_t graph = graph_of(cuda, there, stream);
  std::vector<double> times;
  bool right = true;
  for (unsigned round = 0; round <= rounds && cuda.ok() && right; ++round) {
    for (const There& one : there) refresh(cuda, one, stream);
    if (cuda.ok()) cuda.run(cudaEventRecord(begin, stream));
    if (cuda.ok()) cuda.run(cudaGraphLaunch(graph, stream));
    if (cuda.ok()) cuda.run(cudaEventRecord(end, stream));
    const double seconds = cuda.seconds(begin, end);
    if (round != 0) times.push_back(seconds);  // the first one loads the kernel
    if (cuda.ok() && (round == 0 || round == rounds)) right = all_right(cuda, there, batches);
  }
  if (graph != nullptr) cudaGraphExecDestroy(graph);
  if (!cuda.ok()) return row.kind + ": " + cuda.error();
  if (!right) return row.kind + ": the kernel's answers are not the CPU's";
  const auto items = static_cast<double>(batches[0].job.count) * batches.size();
  row.batch = batches[0].job.count;
  row.items_per_s = items / median(times);
  row.gbps = row.items_per_s * row.packet_bytes * 8e-9;
  row.checked = static_cast<uint64_t>(items) * 2;
  return "";
}

std::string time_copies(int gpu, unsigned rounds, std::vector<CopyTime>& rows) {
  constexpr size_t kMost = size_t{64} << 20;
  constexpr unsigned kCopies = 16;  // of a round, back to back
  Cuda cuda(gpu);
  char* here[2] = {cuda.pinned(kMost), cuda.pinned(kMost)};
  char* there[2] = {cuda.memory(kMost), cuda.memory(kMost)};
  const cudaStream_t down = cuda.stream();
  const cudaStream_t up = cuda.stream();
  cudaEvent_t begin = cuda.event(), end = cuda.event(), joined = cuda.event();
  const auto copy = [&](bool downwards, size_t bytes) {
    cuda.run(downwards ? cudaMemcpyAsync(there[0], here[0], bytes, cudaMemcpyHostToDevice, down)
                       : cudaMemcpyAsync(here[1], there[1], bytes, cudaMemcpyDeviceToHost, up));
  };
  for (size_t bytes = 4096; bytes <= kMost && cuda.ok(); bytes *= 4) {
    for (const char* direction : {"down", "up", "both"}) {
      const bool goes_down = direction[0] != 'u';
      const bool goes_up = direction[0] != 'd';
      std::vector<double> times;
      for (unsigned round = 0; round <= rounds && cuda.ok(); ++round) {
        cuda.run(cudaEventRecord(begin, down));
        cuda.run(cudaStreamWaitEvent(up, begin, 0));
        for (unsigned i = 0; i < kCopies; ++i) {
          if (goes_down) copy(true, bytes);
          if (goes_up) copy(false, bytes);
        }
        cuda.run(cudaEventRecord(joined, up));
        cuda.run(cudaStreamWaitEvent(down, joined, 0));
        cuda.run(cudaEventRecord(end, down));
        const double seconds = cuda.seconds(begin, end);
        if (round != 0) times.push_back(seconds);
      }
      const double moved = static_cast<double>(bytes) * kCopies * (goes_down + goes_up);
      if (cuda.ok()) rows.push_back({direction, bytes, moved / median(times) * 1e-9});
    }
  }
  return cuda.error();
}

std::string gpu_name(int gpu, std::string& name) {
  Cuda cuda(gpu);
  cudaDeviceProp properties{};
  int driver = 0;
  int runtime = 0;
  cuda.run(cudaGetDeviceProperties(&properties, gpu));
  cuda.run(cudaDriverGetVersion(&driver));
  cuda.run(cudaRuntimeGetVersion(&runtime));
  if (cuda.ok())
    name = std::string(properties.name) + ", CUDA driver " + std::to_string(driver) + ", runtime " +
           std::to_string(runtime);
  return cuda.error();
}

}  // namespace hecto::bench
