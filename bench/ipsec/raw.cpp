#include "bench/ipsec/raw.hpp"

#include <cstring>
#include <stdexcept>

#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::bench {

using namespace router;
using esp::Cipher;
using esp::Integrity;
using esp::Shape;

RawCrypto::RawCrypto(rte_mempool* pool, unsigned burst)
    : best_(alloc_mb_mgr(0), free_mb_mgr), sse_(alloc_mb_mgr(0), free_mb_mgr), packets_(burst) {
  IMB_ARCH arch = IMB_ARCH_NONE;
  if (best_ != nullptr) init_mb_mgr_auto(best_.get(), &arch);
  if (sse_ != nullptr) init_mb_mgr_sse(sse_.get());
  manager_ = best_.get();
  if (arch == IMB_ARCH_NONE || sse_ == nullptr)
    throw std::runtime_error("ipsec-mb does not run on this CPU");
  if (rte_pktmbuf_alloc_bulk(pool, packets_.data(), burst) != 0)
    throw std::runtime_error("no mbufs for raw ipsec-mb");
}

RawCrypto::~RawCrypto() {
  rte_pktmbuf_free_bulk(packets_.data(), static_cast<unsigned>(packets_.size()));
}

void RawCrypto::use(const esp::Sa& sa, const std::vector<uint16_t>& inner_bytes) {
  while (IMB_FLUSH_JOB(manager_) != nullptr) {
  }
  const bool sse = sa.transform.integrity == Integrity::kHmacSha256 && esp::sse_for_sha256(*best_);
  manager_ = sse ? sse_.get() : best_.get();
  sa_ = &sa;
  text_bytes_.clear();
  for (const uint16_t bytes : inner_bytes) text_bytes_.push_back(sa.shape().text_bytes(bytes));
  next_ = 0;
}

unsigned RawCrypto::run(std::span<rte_mbuf* const> packets, IMB_CIPHER_DIRECTION direction) {
  const bool direct = sa_->shape().cipher == Cipher::kAesGcm;
  for (rte_mbuf* packet : packets) {
    // Where a received frame's ESP header stands, behind Ethernet and IPv4.
    uint8_t* esp = rte_pktmbuf_mtod_offset(packet, uint8_t*, 34);
    const uint32_t text_bytes = text_bytes_[next_];
    next_ = next_ + 1 == text_bytes_.size() ? 0 : next_ + 1;
    std::memcpy(iv_ + 4, &++number_, sizeof number_);
    direct ? gcm(esp, text_bytes, direction) : submit(esp, text_bytes, direction);
  }
  return static_cast<unsigned>(packets.size());
}

unsigned RawCrypto::run_received(uint16_t port, IMB_CIPHER_DIRECTION direction) {
  rte_mbuf* packets[kChunkSize];
  const auto burst = static_cast<uint16_t>(packets_.size());
  const uint16_t count = rte_eth_rx_burst(port, 0, packets, burst);
  run({packets, count}, direction);
  rte_pktmbuf_free_bulk(packets, count);
  return count;
}

void RawCrypto::gcm(uint8_t* esp, uint32_t text_bytes, IMB_CIPHER_DIRECTION direction) {
  const Shape& shape = sa_->shape();
  const IMB_MGR& calls = *manager_;
  const bool seal = direction == IMB_DIR_ENCRYPT;
  const auto call = shape.key_index == 0   ? (seal ? calls.gcm128_enc : calls.gcm128_dec)
                    : shape.key_index == 1 ? (seal ? calls.gcm192_enc : calls.gcm192_dec)
                                           : (seal ? calls.gcm256_enc : calls.gcm256_dec);
  gcm_context_data context;
  uint8_t* text = esp + 8 + shape.iv_bytes;
  call(&esp::keys_of(*sa_).gcm, &context, text, text, text_bytes, iv_, aad_, 8, text + text_bytes,
       shape.icv_bytes);
}

void RawCrypto::submit(uint8_t* esp, uint32_t text_bytes, IMB_CIPHER_DIRECTION direction) {
  const Shape& shape = sa_->shape();
  const esp::ExpandedKeys::Rounds& keys = esp::keys_of(*sa_).rounds;
  const uint32_t front = 8U + shape.iv_bytes;
  const bool chacha = shape.cipher == Cipher::kChaCha20Poly1305;
  IMB_JOB* job = IMB_GET_NEXT_JOB(manager_);
  job->src = esp;
  job->dst = esp + front;
  job->enc_keys = keys.encrypt;
  job->dec_keys = chacha ? keys.encrypt : keys.decrypt;
  job->key_len_in_bytes = chacha ? 32U : 16U + 8U * shape.key_index;
  job->cipher_start_src_offset_in_bytes = front;
  job->msg_len_to_cipher_in_bytes = text_bytes;
  job->hash_start_src_offset_in_bytes = chacha ? front : 0;
  job->msg_len_to_hash_in_bytes = chacha ? text_bytes : front + text_bytes;
  job->iv = iv_;
  job->iv_len_in_bytes = shape.cipher == Cipher::kAesCbc ? 16 : 12;
  job->auth_tag_output = esp + front + text_bytes;
  job->auth_tag_output_len_in_bytes = shape.icv_bytes;
  job->cipher_direction = direction;
  job->chain_order = direction == IMB_DIR_ENCRYPT ? IMB_ORDER_CIPHER_HASH : IMB_ORDER_HASH_CIPHER;
  job->cipher_mode = chacha                            ? IMB_CIPHER_CHACHA20_POLY1305
                     : shape.cipher == Cipher::kAesCbc ? IMB_CIPHER_CBC
                                                       : IMB_CIPHER_CNTR;
  job->hash_alg = chacha ? IMB_AUTH_CHACHA20_POLY1305 : esp::hash_of(shape.integrity);
  if (chacha) {
    job->u.CHACHA20_POLY1305.aad = aad_;
    job->u.CHACHA20_POLY1305.aad_len_in_bytes = 8;
  } else {
    job->u.HMAC._hashed_auth_key_xor_ipad = keys.inner;
    job->u.HMAC._hashed_auth_key_xor_opad = keys.outer;
  }
  IMB_SUBMIT_JOB_NOCHECK(manager_);
}

}  // namespace hecto::bench
