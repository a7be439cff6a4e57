// Quiescent-state reclamation for one writer and a few readers, as small as it can be.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lookup/memory.hpp"

namespace hecto::lookup {

class Qsbr final : public Reclaimer {
 public:
  explicit Qsbr(size_t readers = 1) : seen_(readers) {}

  // Writer.
  uint64_t start() noexcept override { return epoch_.fetch_add(1) + 1; }
  bool passed(uint64_t token) noexcept override {
    ++asked_;
    return std::all_of(seen_.begin(), seen_.end(),
                       [token](const auto& seen) { return seen.load() >= token; });
  }
  uint64_t asked() const { return asked_; }

  // Reader, between two batches; or whoever acts for it.
  void quiescent(size_t reader = 0) noexcept { seen_[reader].store(epoch_.load()); }

 private:
  std::atomic<uint64_t> epoch_{0};
  std::vector<std::atomic<uint64_t>> seen_;
  uint64_t asked_ = 0;
};

}  // namespace hecto::lookup
