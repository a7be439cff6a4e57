// Keys of SAs expanded, and managers of ipsec-mb: what control does, not workers.
#include <fmt/format.h>
#include <string.h>
#include <sys/random.h>

#include <array>

#include "base/secret_memory.hpp"
#include "router/ipsec/esp/ipsec_mb.hpp"

namespace hecto::router::esp {
namespace {

void init_best(IMB_MGR* manager) {
  IMB_ARCH arch = IMB_ARCH_NONE;
  init_mb_mgr_auto(manager, &arch);
}

Manager make_manager(void (*init)(IMB_MGR*)) {
  void* memory = allocate_secret(imb_get_mb_mgr_size());
  if (memory == nullptr) return nullptr;
  Manager manager(imb_set_pointers_mb_mgr(memory, 0, 1));
  if (manager != nullptr) init(manager.get());
  if (manager == nullptr || imb_get_errno(manager.get()) != 0) return nullptr;
  if (manager->used_arch <= IMB_ARCH_NOAESNI) return nullptr;  // its emulation of AES-NI
  return manager;
}

// For its functions only, which keep nothing in it. Lives as long as the process.
IMB_MGR* functions() {
  static IMB_MGR* manager = make_manager(init_best).release();
  return manager;
}

void hmac_states(Integrity integrity, const Keys& keys, ExpandedKeys::Rounds& rounds) {
  const auto& one_block = [&] {
    switch (integrity) {
      case Integrity::kHmacSha1:
        return functions()->sha1_one_block;
      case Integrity::kHmacSha256:
        return functions()->sha256_one_block;
      case Integrity::kHmacSha384:
        return functions()->sha384_one_block;
      default:
        return functions()->sha512_one_block;
    }
  }();
  uint8_t block[128];
  for (const auto& [pad, state] : {std::pair{uint8_t{0x36}, rounds.inner}, {0x5c, rounds.outer}}) {
    memset(block, pad, sizeof block);
    for (size_t i = 0; i < keys.integrity_bytes; ++i) block[i] ^= keys.integrity[i];
    one_block(block, state);
  }
  explicit_bzero(block, sizeof block);
}

void aes_rounds(const uint8_t* key, unsigned key_bytes, uint8_t* encrypt, uint8_t* decrypt) {
  const IMB_MGR& calls = *functions();
  const auto call = key_bytes == 16   ? calls.keyexp_128
                    : key_bytes == 24 ? calls.keyexp_192
                                      : calls.keyexp_256;
  call(key, encrypt, decrypt);
}

}  // namespace

void ManagerDeleter::operator()(IMB_MGR* manager) const noexcept {
  release_secret(manager, imb_get_mb_mgr_size());
}

bool sse_for_sha256(const IMB_MGR& manager) noexcept {
  return manager.used_arch == IMB_ARCH_AVX2 && (manager.features & IMB_FEATURE_SHANI) != 0;
}

Result<void> IpsecMb::usable() {
  if (functions() != nullptr) return {};
  return fail(describe());
}

void expand(const Transform& transform, const Keys& keys, ExpandedKeys& expanded) {
  const uint8_t* key = keys.cipher.data();
  const IMB_MGR& calls = *functions();
  switch (transform.cipher) {
    case Cipher::kNull:
      break;
    case Cipher::kAesCbc:
    case Cipher::kAesCtr:
      aes_rounds(key, transform.key_bytes, expanded.rounds.encrypt, expanded.rounds.decrypt);
      break;
    case Cipher::kAesGcm:
    case Cipher::kAesGmac:
      (transform.key_bytes == 16   ? calls.gcm128_pre
       : transform.key_bytes == 24 ? calls.gcm192_pre
                                   : calls.gcm256_pre)(key, &expanded.gcm);
      break;
    case Cipher::kChaCha20Poly1305:
      memcpy(expanded.rounds.encrypt, key, 32);
      break;
  }
  if (!transform.aead()) hmac_states(transform.integrity, keys, expanded.rounds);
}

Result<std::unique_ptr<Crypto>> IpsecMb::create() {
  if (auto runs = usable(); !runs) return tl::unexpected(runs.error());
  std::unique_ptr<IpsecMb> crypto(new IpsecMb);
  crypto->manager_ = make_manager(init_best);
  if (crypto->manager_ != nullptr && sse_for_sha256(*crypto->manager_)) {
    crypto->sha256_ = make_manager(init_mb_mgr_sse);
    if (crypto->sha256_ == nullptr) return fail("no memory for ESP's keys", ENOMEM);
  }
  crypto->secrets_ = static_cast<Secrets*>(allocate_secret(sizeof(Secrets)));
  if (crypto->manager_ == nullptr || crypto->secrets_ == nullptr)
    return fail("no memory for ESP's keys", ENOMEM);
  uint8_t key[16];
  if (getrandom(key, sizeof key, 0) != sizeof key)
    return fail("the kernel gives no random numbers for IVs", errno);
  functions()->gcm128_pre(key, &crypto->secrets_->key);
  explicit_bzero(key, sizeof key);
  return crypto;
}

IpsecMb::~IpsecMb() {
  release_secret(secrets_, sizeof(Secrets));
}

std::string IpsecMb::describe() {
  const IMB_MGR* manager = functions();
  if (manager == nullptr)
    return fmt::format("ipsec-mb {} cannot run on this CPU: it needs SSE 4.2 and AES-NI",
                       imb_get_version_str());
  constexpr std::array<std::string_view, IMB_ARCH_NUM> kNames = {"",    "",     "SSE",
                                                                 "AVX", "AVX2", "AVX-512"};
  constexpr uint64_t kVaes = IMB_FEATURE_VAES | IMB_FEATURE_VPCLMULQDQ;
  // Version 1.3 has VAES code for AVX-512 alone, whatever else the CPU offers.
  const bool vaes = manager->used_arch == IMB_ARCH_AVX512 && (manager->features & kVaes) == kVaes;
  return fmt::format("ipsec-mb {}, {}{}", imb_get_version_str(), kNames[manager->used_arch],
                     vaes ? " + VAES" : "");
}

}  // namespace hecto::router::esp
