#include "router/dataplane/filter/build_budget.hpp"

#include <stdlib.h>

namespace hecto::router {
namespace {

struct Budget {
  bool active = false, exceeded = false;
  uint64_t left = 0;
};
thread_local constinit Budget t_budget;

[[gnu::noinline, maybe_unused]] bool refuses(uint64_t bytes) noexcept {
  if (bytes <= t_budget.left) {
    t_budget.left -= bytes;
    return false;
  }
  t_budget.exceeded = true;
  return true;
}

}  // namespace

BuildBudget::BuildBudget(uint64_t bytes) noexcept {
  t_budget = {true, false, bytes};
}

BuildBudget::~BuildBudget() {
  t_budget = {};
}

bool BuildBudget::exceeded() const noexcept {
  return t_budget.exceeded;
}

}  // namespace hecto::router

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define HECTO_SANITIZED
#endif
#endif
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(HECTO_SANITIZED)
extern "C" void* __libc_calloc(size_t count, size_t bytes) noexcept;

// In the place of the C library's, of which it is made: librte_acl finds the program's first.
extern "C" void* calloc(size_t count, size_t bytes) noexcept {
  using namespace hecto::router;
  if (t_budget.active && bytes >= BuildBudget::kLarge && refuses(bytes)) [[unlikely]]
    return nullptr;
  return __libc_calloc(count, bytes);
}
#endif
