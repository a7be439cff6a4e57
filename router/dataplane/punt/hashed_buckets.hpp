// A rate for each of very many senders in a fixed room: who falls into the same bucket shares it.
// The hash is seeded, so that nobody can choose whom to share with. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <random>

#include "router/dataplane/core/token_bucket.hpp"

namespace hecto::router {

template <size_t kBuckets>
class HashedBuckets {
  static_assert((kBuckets & (kBuckets - 1)) == 0);

 public:
  HashedBuckets() {
    std::random_device device;
    seed_ = uint64_t{device()} << 32 | device();
  }
  void configure(uint64_t ticks_per_second, uint32_t packets_per_second, uint32_t burst) noexcept {
    rate_.configure(ticks_per_second, packets_per_second, burst);
  }
  // The bucket of an address, IPv4 in the low word.
  uint64_t& bucket(uint64_t low, uint64_t high) noexcept {
    __extension__ using Wide = unsigned __int128;
    const auto product = static_cast<Wide>(low ^ seed_) * (high ^ ~seed_);
    const auto folded = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
    return due_[folded % kBuckets];
  }
  bool ready(uint64_t bucket, uint64_t now) const noexcept { return rate_.ready(bucket, now); }
  void spend(uint64_t& bucket, uint64_t now) const noexcept { rate_.spend(bucket, now); }

 private:
  TokenBucketRate rate_;
  uint64_t seed_;
  std::array<uint64_t, kBuckets> due_{};
};

}  // namespace hecto::router
