// The bytes of bodies that all connections hold together. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>

namespace hecto::router {

class UploadBudget {
 public:
  explicit UploadBudget(size_t bytes) : left_(static_cast<long long>(bytes)) {}
  bool take(size_t bytes) {
    const auto wanted = static_cast<long long>(bytes);
    if (left_.fetch_sub(wanted, std::memory_order_relaxed) >= wanted) return true;
    give(bytes);
    return false;
  }
  void give(size_t bytes) {
    left_.fetch_add(static_cast<long long>(bytes), std::memory_order_relaxed);
  }

 private:
  std::atomic<long long> left_;
};

}  // namespace hecto::router
