// Fragmented ESP put together again (RFC 4303 §3.4.1), within bounds: so many fragments of a worker,
// of at most eight a packet, for a second. DPDK's library does it.
//
// Senders that are some SA's source have a table of their own, which strangers cannot fill, and
// nobody holds more of a table than his share. What is beyond a share or a table is dropped as
// esp_fragment. What is put together must fit the first fragment's buffer, for ESP is worked on in
// place.
#pragma once

#include <array>
#include <memory>

#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/core/dpdk.hpp"

struct rte_ip_frag_tbl;
struct rte_ip_frag_death_row;

namespace hecto::router {

class Reassembly {
 public:
  // Fragments. config/placement/pools.cpp reserves buffers for as many.
  static constexpr uint32_t kMostOfKnown = 1024, kMostOfOthers = 256;
  static constexpr uint32_t kMostOfOneKnown = 128, kMostOfOneOther = 16;

  Reassembly();
  ~Reassembly();
  Reassembly(const Reassembly&) = delete;
  Reassembly& operator=(const Reassembly&) = delete;

  // Makes the tables, which the first fragments do otherwise: a worker may not have the memory for
  // them mapped. Control, before the worker runs.
  void prepare() noexcept;
  // Takes a fragment, with a header that classify has cleared; `known`: its source is that of an
  // SA. The whole packet when this was its last one, in one segment; else null. What was given up,
  // or was joined to another, is counted.
  rte_mbuf* take4(rte_mbuf* packet, unsigned l2_length, bool known,
                  ReasonCounters& reasons) noexcept;
  rte_mbuf* take6(rte_mbuf* packet, unsigned l2_length, bool known,
                  ReasonCounters& reasons) noexcept;
  void expire(ReasonCounters& reasons) noexcept;
  uint32_t held() const noexcept { return held_.load(std::memory_order_relaxed); }

 private:
  // Those of known senders, or those of others. Who shares a slot shares its share: the hash is
  // seeded, so that nobody can choose to.
  struct Part {
    rte_ip_frag_tbl* table = nullptr;  // made by prepare(), or with the first fragment
    uint32_t held = 0;
    std::array<uint16_t, 4096> by_source{};
  };

  void make_table(bool known) noexcept;
  bool admit(rte_mbuf* packet, unsigned l2_length, bool known, ReasonCounters& reasons) noexcept;
  uint16_t& share(Part& part, const rte_mbuf* packet) const noexcept;
  void let_go(Part& part, const rte_mbuf* packet, uint32_t fragments) noexcept;
  rte_mbuf* finish_fragment(Part& part, rte_mbuf* whole, ReasonCounters& reasons) noexcept;
  void free_given_up(Part& part, ReasonCounters& reasons) noexcept;
  void hold(uint32_t count) noexcept { held_.store(count, std::memory_order_relaxed); }
  Part& part(bool known) noexcept { return known ? known_ : others_; }

  Part known_, others_;
  std::unique_ptr<rte_ip_frag_death_row> given_up_;
  std::atomic<uint32_t> held_{0};  // fragments, of both
  std::array<uint64_t, 3> seed_;
  uint64_t expired_at_ = 0;
};

}  // namespace hecto::router
