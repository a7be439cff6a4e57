#include "router/ipsec/esp/policy.hpp"

#include <fmt/format.h>

#include <mutex>
#include <utility>

#include "lookup/memory.hpp"

namespace hecto::router {

std::string to_string(const IpsecPolicy& policy) {
  return fmt::format("{} {}", to_string(policy.direction), to_string(policy.selector));
}

}  // namespace hecto::router

namespace hecto::router::esp {
namespace {

// Among the heap's small pages nearly every packet of thousands of tunnels would wait for a page
// walk as well. Slabs stay mapped until the process ends.
class PolicyPool {
 public:
  void* take() {
    const std::lock_guard lock(mutex_);
    if (free_ == nullptr) grow();
    return std::exchange(free_, free_->next);
  }
  void give_back(void* memory) noexcept {
    const std::lock_guard lock(mutex_);
    free_ = new (memory) Free{free_};
  }

 private:
  struct Free {
    Free* next;
  };
  static constexpr size_t kSlabBytes = size_t{2} << 20;

  void grow() {
    auto* slab = static_cast<std::byte*>(lookup::Memory::system().allocate(kSlabBytes, 0));
    if (slab == nullptr) throw std::bad_alloc();
    for (size_t at = kSlabBytes / sizeof(Policy); at-- > 0;)
      free_ = new (slab + at * sizeof(Policy)) Free{free_};
  }

  std::mutex mutex_;
  Free* free_ = nullptr;
};

PolicyPool& pool() {
  static auto* all = new PolicyPool;  // outlives every policy, whatever the order of exits
  return *all;
}

}  // namespace

void* Policy::operator new(size_t /*bytes*/, std::align_val_t) {
  return pool().take();
}

void Policy::operator delete(void* memory, std::align_val_t) noexcept {
  if (memory != nullptr) pool().give_back(memory);
}

}  // namespace hecto::router::esp
