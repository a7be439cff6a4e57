// How many ICMP errors of our own go out (RFC 4443 §2.4(f), RFC 1812 §4.3.2.8): so many to one
// source, so many for what comes in by one interface, so many in all. Neither a source nor an
// interface takes the answers of the others. Tokens are taken only where all three have one. One
// thread.
#pragma once

#include <array>

#include "base/bytes.hpp"
#include "base/net.hpp"
#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/punt/hashed_buckets.hpp"

namespace hecto::router {

class AnswerLimit {
 public:
  static constexpr uint32_t kSourcePps = 10, kSourceBurst = 20;
  static constexpr uint32_t kInterfaceShare = 4;  // of all: one in so many

  // `all_pps`: 0 answers nobody.
  void configure(uint64_t ticks_per_second, uint32_t all_pps, uint32_t source_pps = kSourcePps,
                 uint32_t source_burst = kSourceBurst) noexcept {
    if (all_pps == all_pps_ && ticks_per_second == ticks_per_second_) return;
    all_pps_ = all_pps;
    ticks_per_second_ = ticks_per_second;
    const uint32_t share = (all_pps + kInterfaceShare - 1) / kInterfaceShare;
    all_.configure(ticks_per_second, all_pps, punt_burst(all_pps));
    by_interface_.configure(ticks_per_second, share, punt_burst(share));
    sources_.configure(ticks_per_second, source_pps, source_burst);
  }

  // `ip`: the whole header of the packet that is answered.
  bool take(const uint8_t* ip, InterfaceId interface, uint64_t now) noexcept {
    const bool v4 = ip[0] >> 4 == 4;
    uint64_t& source = v4 ? sources_.bucket(load32_native(ip + 12), 0)
                          : sources_.bucket(load64_native(ip + 8), load64_native(ip + 16));
    uint64_t& of_interface = due_[std::min<size_t>(interface, kMaxInterfaces)];
    if (!sources_.ready(source, now) || !by_interface_.ready(of_interface, now) || !all_.take(now))
      return false;
    sources_.spend(source, now);
    by_interface_.spend(of_interface, now);
    return true;
  }

 private:
  uint32_t all_pps_ = 0;
  uint64_t ticks_per_second_ = 0;
  TokenBucket all_;
  TokenBucketRate by_interface_;
  std::array<uint64_t, kMaxInterfaces + 1> due_{};
  HashedBuckets<4096> sources_;
};

}  // namespace hecto::router
