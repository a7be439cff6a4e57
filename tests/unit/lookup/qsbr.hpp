// Quiescent-state reclamation for one writer and one reader, as small as it can be.
#pragma once

#include <atomic>
#include <cstdint>

#include "lookup/memory.hpp"

namespace hecto::lookup {

class Qsbr final : public Reclaimer {
 public:
  // Writer.
  uint64_t start() noexcept override { return epoch_.fetch_add(1) + 1; }
  bool passed(uint64_t token) noexcept override {
    ++asked_;
    return seen_.load() >= token;
  }
  uint64_t asked() const { return asked_; }

  // Reader, between two batches; or whoever acts for it.
  void quiescent() noexcept { seen_.store(epoch_.load()); }

 private:
  std::atomic<uint64_t> epoch_{0};
  std::atomic<uint64_t> seen_{0};
  uint64_t asked_ = 0;
};

}  // namespace hecto::lookup
