// All that a worker has on its device: look-ups of both families, and ESP; either may be missing.
//
//   open ─► look-up ─► seal     a packet may pass all three: each delivers into the next, at once
//
// Control makes it; then the worker's thread alone calls it. Counters and explanations may be read
// from any thread.
#pragma once

#include <memory>

#include "router/dataplane/offload/esp_offload.hpp"
#include "router/dataplane/offload/lookup_offload.hpp"

namespace hecto::router {

class WorkerOffload {
 public:
  struct Lookups {
    Lookups(std::unique_ptr<gpu_offload::Stage> stage4, std::unique_ptr<gpu_offload::Stage> stage6,
            const gpu_offload::DecisionOptions& options)
        : v4(std::move(stage4), options), v6(std::move(stage6), options) {}
    LookupOffload<uint32_t> v4;
    LookupOffload<lookup::Ipv6Address> v6;
  };
  WorkerOffload(std::unique_ptr<Lookups> lookups, std::unique_ptr<EspOffload> esp)
      : lookups_(std::move(lookups)), esp_(std::move(esp)) {}

  bool has_lookups() const noexcept { return lookups_ != nullptr; }
  LookupOffload<uint32_t>& of(const Lane4&) noexcept { return lookups_->v4; }
  LookupOffload<lookup::Ipv6Address>& of(const Lane6&) noexcept { return lookups_->v6; }
  const Lookups* lookups() const noexcept { return lookups_.get(); }
  EspOffload* esp() noexcept { return esp_.get(); }
  const EspOffload* esp() const noexcept { return esp_.get(); }

  bool empty() const noexcept {
    return (!lookups_ || (lookups_->v4.empty() && lookups_->v6.empty())) &&
           (!esp_ || (esp_->opening().empty() && esp_->sealing().empty()));
  }
  uint32_t held() const noexcept {
    return (lookups_ ? lookups_->v4.held() + lookups_->v6.held() : 0) +
           (esp_ ? esp_->opening().held() + esp_->sealing().held() : 0);
  }

  // A moment: everything taken before it has left the device for good once passed() says so. What
  // one kind of work delivers goes into the next, so each is waited for after the one before it.
  void mark() noexcept;
  bool passed() noexcept;

  // What comes back is put together here: one for each kind of work, as one may deliver while
  // another does.
  Chunk& opened_chunk() noexcept { return opened_; }
  Chunk& chunk() noexcept { return chunk_; }
  Chunk& sealed_chunk() noexcept { return sealed_; }

  // The clock of all of it, in nanoseconds.
  uint64_t operator()() const noexcept { return clock_(); }

 private:
  struct Marks {
    uint64_t slots[2];
  };
  Marks slots(bool delivered) const noexcept;  // of the phase

  OffloadClock clock_;
  std::unique_ptr<Lookups> lookups_;
  std::unique_ptr<EspOffload> esp_;
  static constexpr unsigned kPhases = 3;
  unsigned phase_ = kPhases;  // that is waited for: opening, look-ups, sealing
  Marks marked_{};
  Chunk opened_, chunk_, sealed_;
};

}  // namespace hecto::router
