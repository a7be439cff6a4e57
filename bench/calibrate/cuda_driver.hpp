// The few calls of CUDA's driver that measuring a link needs, found at run time: hecto-bench is
// built without the toolkit and runs without a GPU. Names and values as in NVIDIA's "CUDA Driver
// API" reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"

namespace hecto::bench {

class CudaDriver {
 public:
  using DevicePointer = unsigned long long;
  // An error when there is no driver, or no GPU; says which.
  static Result<std::unique_ptr<CudaDriver>> open();
  ~CudaDriver();
  CudaDriver(const CudaDriver&) = delete;
  CudaDriver& operator=(const CudaDriver&) = delete;

  const std::string& device_name() const { return device_name_; }
  const std::string& pci() const { return pci_; }

  // Of the first GPU, in a context of its own. Errors name the call.
  Result<void> prepare(size_t bytes);
  // Each waits until it is done. `bytes` up to what was prepared.
  Result<void> copy_down(size_t bytes);
  Result<void> copy_up(size_t bytes);
  // A small job's way: `bytes` down, an empty kernel, `bytes` up, all queued at once.
  Result<void> round_trip(size_t bytes);

 private:
  CudaDriver() = default;
  struct Calls;
  Result<void> check(int code, const char* call) const;

  void* library_ = nullptr;
  std::unique_ptr<Calls> calls_;
  std::string device_name_, pci_;
  void* context_ = nullptr;
  void* stream_ = nullptr;
  void* kernel_ = nullptr;
  void* host_ = nullptr;
  DevicePointer device_ = 0;
};

}  // namespace hecto::bench
