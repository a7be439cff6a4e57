// ESP's cryptography by OpenSSL's libcrypto: one packet after the other, on any CPU.
//
// Without AES-NI libcrypto has AES in SSSE3 code that reads no table by what is secret. An engine
// has one context of libcrypto for each algorithm. libcrypto keeps such contexts in ordinary heap
// memory: they hold keys only within a batch, and are wiped at its end.
#pragma once

#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "router/ipsec/esp/crypto.hpp"

namespace hecto::router::esp {

// The keys of an SA as libcrypto takes them: as they are.
struct PlainKeys {
  PlainKeys(const Transform& transform, const Keys& keys);
  uint8_t cipher[32];
  uint8_t integrity[Keys::kMaxIntegrity];
};

class OpenSsl final : public Crypto {
 public:
  static Result<std::unique_ptr<Crypto>> create();

  void seal(std::span<Work> batch) noexcept override { run<true>(batch); }
  void open(std::span<Work> batch) noexcept override { run<false>(batch); }
  void drain() noexcept override;
  const uint8_t* random_ivs(unsigned count) noexcept override;

  static Result<void> usable();
  static std::string describe();

  static constexpr size_t kCiphers = 10;  // AES-CBC, CTR, GCM with three lengths; ChaCha20
  static constexpr size_t kHashes = 4;

 private:
  OpenSsl() = default;
  template <bool kSeal>
  void run(std::span<Work> batch) noexcept;
  template <bool kSeal>
  bool aead(Work& work, const Shape& shape) noexcept;
  template <bool kSeal>
  bool crypt(const Work& work, const Shape& shape) noexcept;
  bool hmac(const Work& work, const Shape& shape, uint8_t* icv) noexcept;
  EVP_CIPHER_CTX* keyed_cipher(const Work& work, const uint8_t* iv, bool seal) noexcept;
  EVP_MAC_CTX* keyed_hash(const Work& work, const Shape& shape) noexcept;

  template <typename Context, void (*kFree)(Context*)>
  struct Slot {
    struct Free {
      void operator()(Context* context) const noexcept { kFree(context); }
    };
    std::unique_ptr<Context, Free> context;
    const Sa* keyed = nullptr;  // whose key it holds, within a batch
  };
  std::array<Slot<EVP_CIPHER_CTX, EVP_CIPHER_CTX_free>, kCiphers> ciphers_;
  std::array<Slot<EVP_MAC_CTX, EVP_MAC_CTX_free>, kHashes> hashes_;
  std::array<uint8_t, 16 * kMostIvs> ivs_;
};

}  // namespace hecto::router::esp
