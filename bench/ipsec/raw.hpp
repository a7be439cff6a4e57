// ipsec-mb alone: the limit of what ESP can do with an algorithm on this core. One key, nonce and
// lengths as ESP has them, on mbufs of the same pool as the router's, burst after burst; what goes
// by jobs is never flushed, so that its lanes are always full.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "router/ipsec/esp/ipsec_mb.hpp"

struct rte_mbuf;
struct rte_mempool;

namespace hecto::bench {

class RawCrypto {
 public:
  RawCrypto(rte_mempool* pool, unsigned burst);
  ~RawCrypto();
  RawCrypto(const RawCrypto&) = delete;
  RawCrypto& operator=(const RawCrypto&) = delete;

  // From now on with this SA's key, inner packets of these sizes in turn.
  void use(const router::esp::Sa& sa, const std::vector<uint16_t>& inner_bytes);
  unsigned seal() { return run(packets_, IMB_DIR_ENCRYPT); }  // a burst: how many
  unsigned open() { return run(packets_, IMB_DIR_DECRYPT); }
  // The same on what `port` receives, of at least those sizes, and frees.
  unsigned run_received(uint16_t port, IMB_CIPHER_DIRECTION direction);

 private:
  unsigned run(std::span<rte_mbuf* const> packets, IMB_CIPHER_DIRECTION direction);
  void gcm(uint8_t* esp, uint32_t text_bytes, IMB_CIPHER_DIRECTION direction);
  void submit(uint8_t* esp, uint32_t text_bytes, IMB_CIPHER_DIRECTION direction);

  using Manager = std::unique_ptr<IMB_MGR, void (*)(IMB_MGR*)>;
  Manager best_, sse_;  // as ipsec-mb chooses, and for what SSE with SHA-NI is faster at
  IMB_MGR* manager_ = nullptr;
  std::vector<rte_mbuf*> packets_;
  const router::esp::Sa* sa_ = nullptr;
  std::vector<uint32_t> text_bytes_;
  size_t next_ = 0;
  uint64_t number_ = 0;
  alignas(16) uint8_t iv_[16] = {};
  alignas(16) uint8_t aad_[16] = {};
};

}  // namespace hecto::bench
