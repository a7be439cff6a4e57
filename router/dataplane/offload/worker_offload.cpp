#include "router/dataplane/offload/worker_offload.hpp"

namespace hecto::router {

WorkerOffload::Marks WorkerOffload::slots(bool delivered) const noexcept {
  const auto of = [delivered](const auto& one, const auto& other) -> Marks {
    return delivered ? Marks{{one.delivered(), other.delivered()}}
                     : Marks{{one.opened(), other.opened()}};
  };
  if (phase_ == 1) return lookups_ ? of(lookups_->v4, lookups_->v6) : Marks{};
  if (!esp_ || phase_ == kPhases) return {};
  const EspDirection& direction = phase_ == 0 ? esp_->opening() : esp_->sealing();
  return of(direction.path(0), direction.path(1));
}

void WorkerOffload::mark() noexcept {
  phase_ = 0;
  marked_ = slots(false);
}

bool WorkerOffload::passed() noexcept {
  while (phase_ < kPhases) {
    const Marks done = slots(true);
    if (done.slots[0] < marked_.slots[0] || done.slots[1] < marked_.slots[1]) return false;
    ++phase_;
    marked_ = slots(false);
  }
  return true;
}

}  // namespace hecto::router
