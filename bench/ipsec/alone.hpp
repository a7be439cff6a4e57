// ESP alone, without a router around it: esp::Engine, and DPDK's librte_ipsec with its synchronous
// CPU crypto (the cryptodevs of ipsec-mb). Both protect the same bursts, one SA, IPv4 in IPv4, on
// mbufs of one pool; the packets are set back to what is inside before each burst.
#pragma once

#include <memory>
#include <vector>

#include "base/result.hpp"
#include "router/ipsec/esp/sa_state.hpp"

struct rte_mbuf;
struct rte_mempool;

namespace hecto::bench {

// A burst of mbufs that hold IPv4 packets of these sizes in turn.
class InnerBurst {
 public:
  // Throws where the pool has none.
  InnerBurst(rte_mempool* pool, unsigned burst, const std::vector<uint16_t>& inner_bytes);
  ~InnerBurst();
  InnerBurst(const InnerBurst&) = delete;
  InnerBurst& operator=(const InnerBurst&) = delete;

  // As they were, for one more turn.
  std::vector<rte_mbuf*>& reset();

 private:
  std::vector<rte_mbuf*> order_;  // the first packet stays the first
  std::vector<rte_mbuf*> packets_;
  std::vector<uint16_t> bytes_;
};

// Protects bursts. One thread.
class EspAlone {
 public:
  virtual ~EspAlone() = default;
  virtual unsigned encap(std::vector<rte_mbuf*>& packets) = 0;  // how many
};

// Outbound SAs in tunnel mode over IPv4. Refused: what cannot be had here, with the reason.
Result<std::unique_ptr<EspAlone>> own_engine(const router::SaState& sa);
Result<std::unique_ptr<EspAlone>> librte_ipsec(const router::SaState& sa);

}  // namespace hecto::bench
