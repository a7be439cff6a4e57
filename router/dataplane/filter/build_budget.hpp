// How much memory DPDK's rte_acl may take while it builds. It has no bound of its own: 200 rules that ask for
// ten different things may take 6 GB, and the kernel's OOM killer then takes the router. It allocates by
// calloc(3), 8 MB or more at once, and takes a null as an error; so what is large and asked for by the thread
// that builds is counted there, and refused beyond the budget.
//
// With glibc alone, and without sanitizers; elsewhere there is no bound.
#pragma once

#include <cstdint>

namespace hecto::router {

class BuildBudget {
 public:
  static constexpr uint64_t kLarge = 1 << 20;  // what is smaller is not counted

  explicit BuildBudget(uint64_t bytes) noexcept;  // of this thread, till it goes
  ~BuildBudget();
  BuildBudget(const BuildBudget&) = delete;
  BuildBudget& operator=(const BuildBudget&) = delete;
  bool exceeded() const noexcept;
};

}  // namespace hecto::router
