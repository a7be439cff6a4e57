// ESP's cryptography by ipsec-mb: many packets at once, on CPUs with AES-NI.
//
// GCM and GMAC by direct calls, everything else as jobs of the multi-buffer manager, which are
// flushed at the end of a batch.
#pragma once

#define NO_COMPAT_IMB_API_053  // its old names are as short as GCM and CBC
#include <intel-ipsec-mb.h>

#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>

#include "router/ipsec/esp/crypto.hpp"

namespace hecto::router::esp {

// The keys of an SA as ipsec-mb reads them. GMAC uses `gcm`, ChaCha20-Poly1305 `encrypt` as it is.
struct alignas(64) ExpandedKeys {
  struct Rounds {
    alignas(16) uint8_t encrypt[16 * 15];
    alignas(16) uint8_t decrypt[16 * 15];
    alignas(16) uint8_t inner[64], outer[64];  // HMAC's state behind key ^ ipad, key ^ opad
  };
  union {
    gcm_key_data gcm;
    Rounds rounds;
  };
};

inline const ExpandedKeys& keys_of(const Sa& sa) noexcept {
  return *std::launder(reinterpret_cast<const ExpandedKeys*>(sa.keys()));
}

IMB_HASH_ALG hash_of(Integrity integrity) noexcept;  // IMB_AUTH_NULL: an AEAD's own

// Whether SHA-256 is better done by the SSE code with SHA-NI than by this manager's own, which
// would be AVX2 without it: 1.4 times as fast with CBC on Zen 3.
bool sse_for_sha256(const IMB_MGR& manager) noexcept;

// Into zeroed key memory.
void expand(const Transform& transform, const Keys& keys, ExpandedKeys& expanded);

struct ManagerDeleter {
  void operator()(IMB_MGR* manager) const noexcept;
};
using Manager = std::unique_ptr<IMB_MGR, ManagerDeleter>;  // in key memory

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
};

}  // namespace hecto::router::esp
