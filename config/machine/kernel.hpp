// What binding asks of the kernel besides files. Tests have one of their own.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace hecto::config {

class KernelCalls {
 public:
  KernelCalls() = default;
  virtual ~KernelCalls() = default;
  KernelCalls(const KernelCalls&) = delete;
  KernelCalls& operator=(const KernelCalls&) = delete;
  virtual Result<void> load_module(const std::string& module);
  virtual Result<void> rename(const std::string& interface, const std::string& name);
  // IP addresses without prefix lengths.
  virtual std::vector<std::string> addresses(const std::string& interface) const;
};

}  // namespace hecto::config
