// ESP's cryptography by ipsec-mb: many packets at once, on CPUs with AES-NI.
//
// GCM and GMAC by direct calls, everything else as jobs of the multi-buffer manager, which are
// flushed at the end of a batch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "router/ipsec/esp/crypto.hpp"
#include "router/ipsec/esp/expanded_keys.hpp"
#include "router/ipsec/esp/ipsec_mb_manager.hpp"

namespace hecto::router::esp {

IMB_HASH_ALG hash_of(Integrity integrity) noexcept;  // IMB_AUTH_NULL: an AEAD's own

class IpsecMb final : public Crypto {
 public:
  static Result<std::unique_ptr<Crypto>> create();
  ~IpsecMb() override;

  void seal(std::span<Work> batch) noexcept override { run<true>(batch); }
  void open(std::span<Work> batch) noexcept override { run<false>(batch); }
  void drain() noexcept override;
  const uint8_t* random_ivs(unsigned count) noexcept override;

  static Result<void> usable();  // asked before anything is expanded
  static std::string describe();

 private:
  IpsecMb() = default;
  template <bool kSeal>
  void run(std::span<Work> batch) noexcept;
  void prefetch_keys(const Work& work) const noexcept;
  template <bool kSeal>
  void gcm(Work& work) noexcept;
  void gmac(Work& work, uint8_t* icv) noexcept;
  template <bool kSeal>
  void submit(Work& work) noexcept;
  static void finish(const IMB_JOB* job) noexcept;
  IMB_MGR* manager_for(const Shape& shape) const noexcept {
    return shape.integrity == Integrity::kHmacSha256 && sha256_ != nullptr ? sha256_.get()
                                                                           : manager_.get();
  }

  struct Secrets {     // in key memory
    gcm_key_data key;  // of the CBC IVs
    uint64_t used;     // runs of random_ivs
    alignas(64) uint8_t ivs[16 * kMostIvs];
  };
  Manager manager_;
  Manager sha256_;  // null where manager_ is the better one
  Secrets* secrets_ = nullptr;
  bool powers_end_key_ = false;  // GHASH's, in gcm_key_data: of VAES code
};

}  // namespace hecto::router::esp
