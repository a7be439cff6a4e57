// Fragmented ESP put together again (RFC 4303 §3.4.1), within a bound: a worker holds fragments of
// at most kMostPackets packets, of at most eight fragments each, for a second. DPDK's library does
// it.
//
// What is put together must fit the first fragment's buffer, for ESP is worked on in place.
#pragma once

#include <memory>

#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/core/dpdk.hpp"

struct rte_ip_frag_tbl;
struct rte_ip_frag_death_row;

namespace hecto::router {

class Reassembly {
 public:
  static constexpr unsigned kMostPackets = 1024;

  Reassembly();
  ~Reassembly();
  Reassembly(const Reassembly&) = delete;
  Reassembly& operator=(const Reassembly&) = delete;

  // Takes a fragment, with a header that classify has cleared. The whole packet when this was its
  // last one, in one segment; else null. What was given up, or was joined to another, is counted.
  rte_mbuf* take4(rte_mbuf* packet, unsigned l2_length, ReasonCounters& reasons) noexcept;
  rte_mbuf* take6(rte_mbuf* packet, unsigned l2_length, ReasonCounters& reasons) noexcept;
  void expire(ReasonCounters& reasons) noexcept;
  uint32_t held() const noexcept { return held_.load(std::memory_order_relaxed); }

 private:
  bool admit(rte_mbuf* packet, ReasonCounters& reasons) noexcept;
  rte_mbuf* finish_fragment(rte_mbuf* whole, ReasonCounters& reasons) noexcept;
  void free_given_up(ReasonCounters& reasons) noexcept;
  void hold(uint32_t count) noexcept { held_.store(count, std::memory_order_relaxed); }

  rte_ip_frag_tbl* table_ = nullptr;  // made with the first fragment
  std::unique_ptr<rte_ip_frag_death_row> given_up_;
  std::atomic<uint32_t> held_{0};  // fragments
  uint64_t expired_at_ = 0;
};

}  // namespace hecto::router
