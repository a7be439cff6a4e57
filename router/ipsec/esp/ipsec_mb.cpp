#include "router/ipsec/esp/ipsec_mb.hpp"

#include <fmt/format.h>
#include <string.h>
#include <sys/random.h>

#include <array>

#include "base/bytes.hpp"
#include "base/secret_memory.hpp"

namespace hecto::router::esp {
namespace {

constexpr size_t kAhead = 4;  // packets between the prefetch of a key and its use

bool has_vaes(const IMB_MGR& manager) {
  constexpr uint64_t kVaes = IMB_FEATURE_VAES | IMB_FEATURE_VPCLMULQDQ;
  // Version 1.3 has VAES code for AVX-512 alone, whatever else the CPU offers.
  return manager.used_arch == IMB_ARCH_AVX512 && (manager.features & kVaes) == kVaes;
}

void prefetch_lines(const std::byte* at, unsigned first, unsigned end) {
  for (unsigned i = first; i < end; ++i) __builtin_prefetch(at + 64 * i);
}

}  // namespace

IMB_HASH_ALG hash_of(Integrity integrity) noexcept {
  switch (integrity) {
    case Integrity::kHmacSha1:
      return IMB_AUTH_HMAC_SHA_1;
    case Integrity::kHmacSha256:
      return IMB_AUTH_HMAC_SHA_256;
    case Integrity::kHmacSha384:
      return IMB_AUTH_HMAC_SHA_384;
    case Integrity::kHmacSha512:
      return IMB_AUTH_HMAC_SHA_512;
    case Integrity::kNone:
      break;
  }
  return IMB_AUTH_NULL;
}

Result<void> IpsecMb::usable() {
  if (mb_functions() != nullptr) return {};
  return fail(describe());
}

Result<std::unique_ptr<Crypto>> IpsecMb::create() {
  if (auto runs = usable(); !runs) return tl::unexpected(runs.error());
  std::unique_ptr<IpsecMb> crypto(new IpsecMb);
  crypto->manager_ = make_best_manager();
  if (crypto->manager_ != nullptr && sse_for_sha256(*crypto->manager_)) {
    crypto->sha256_ = make_sse_manager();
    if (crypto->sha256_ == nullptr) return fail("no memory for ESP's keys", ENOMEM);
  }
  crypto->powers_end_key_ = crypto->manager_ != nullptr && has_vaes(*crypto->manager_);
  crypto->secrets_ = static_cast<Secrets*>(allocate_secret(sizeof(Secrets)));
  if (crypto->manager_ == nullptr || crypto->secrets_ == nullptr)
    return fail("no memory for ESP's keys", ENOMEM);
  uint8_t key[16];
  if (getrandom(key, sizeof key, 0) != sizeof key)
    return fail("the kernel gives no random numbers for IVs", errno);
  mb_functions()->gcm128_pre(key, &crypto->secrets_->key);
  wipe(key, sizeof key);
  return crypto;
}

IpsecMb::~IpsecMb() {
  release_secret(secrets_, sizeof(Secrets));
}

std::string IpsecMb::describe() {
  const IMB_MGR* manager = mb_functions();
  if (manager == nullptr)
    return fmt::format("ipsec-mb {} cannot run on this CPU: it needs SSE 4.2 and AES-NI",
                       imb_get_version_str());
  constexpr std::array<std::string_view, IMB_ARCH_NUM> kNames = {"",    "",     "SSE",
                                                                 "AVX", "AVX2", "AVX-512"};
  return fmt::format("ipsec-mb {}, {}{}", imb_get_version_str(), kNames[manager->used_arch],
                     has_vaes(*manager) ? " + VAES" : "");
}

// The next SA's keys, while this one's packet is worked on: 10,000 SAs do not fit the L2 cache.
// Powers of GHASH's key lie behind the rounds; VAES code has 48, in falling order up to the end, and
// uses the last ones of a short text: as many as that has blocks.
void IpsecMb::prefetch_keys(const Work& work) const noexcept {
  constexpr unsigned kKeyLines = (sizeof(gcm_key_data) + 63) / 64;
  constexpr uint32_t kPowers = 48;
  const Shape& shape = work.sa->shape();
  const std::byte* keys = work.sa->keys();
  if (shape.cipher != Cipher::kAesGcm) return prefetch_lines(keys, 0, 10);
  if (!powers_end_key_) return prefetch_lines(keys, 0, 6);
  prefetch_lines(keys, 0, shape.key_index == 0 ? 3 : 4);
  const uint32_t powers = std::min((work.text_bytes + 15) / 16, kPowers);
  prefetch_lines(keys, static_cast<unsigned>((sizeof(gcm_key_data) - 16 * powers) / 64), kKeyLines);
}

template <bool kSeal>
void IpsecMb::gcm(Work& work) noexcept {
  const Shape& shape = work.sa->shape();
  const auto call = [&] {
    if constexpr (kSeal) {
      return shape.key_index == 0   ? manager_->gcm128_enc
             : shape.key_index == 1 ? manager_->gcm192_enc
                                    : manager_->gcm256_enc;
    } else {
      return shape.key_index == 0   ? manager_->gcm128_dec
             : shape.key_index == 1 ? manager_->gcm192_dec
                                    : manager_->gcm256_dec;
    }
  }();
  gcm_context_data context;
  uint8_t* text = text_of(work, shape);
  call(&keys_of(*work.sa).gcm, &context, text, text, work.text_bytes, work.iv, aad_of(work, shape),
       shape.esn ? 12 : 8, kSeal ? text + work.text_bytes : work.icv, shape.icv_bytes);
}

// RFC 4543 §3.3: everything is additional data, and nothing is encrypted.
void IpsecMb::gmac(Work& work, uint8_t* icv) noexcept {
  const Shape& shape = work.sa->shape();
  const gcm_key_data* key = &keys_of(*work.sa).gcm;
  const auto with = [&](auto init, auto update, auto finalize) {
    gcm_context_data context;
    init(key, &context, work.iv, 12);
    update(key, &context, aad_of(work, shape), shape.esn ? 12 : 8);
    update(key, &context, work.esp + kEspHeaderBytes, shape.iv_bytes + work.text_bytes);
    finalize(key, &context, icv, shape.icv_bytes);
  };
  const IMB_MGR& calls = *manager_;
  if (shape.key_index == 0)
    return with(calls.gmac128_init, calls.gmac128_update, calls.gmac128_finalize);
  if (shape.key_index == 1)
    return with(calls.gmac192_init, calls.gmac192_update, calls.gmac192_finalize);
  with(calls.gmac256_init, calls.gmac256_update, calls.gmac256_finalize);
}

// An HMAC covers the ESP header up to the end of the ciphertext and, with ESN, the number's upper
// half behind it, which is not sent (RFC 4303 §2.2.1): it stands where the ICV goes.
template <bool kSeal>
void IpsecMb::submit(Work& work) noexcept {
  const Shape& shape = work.sa->shape();
  const ExpandedKeys::Rounds& keys = keys_of(*work.sa).rounds;
  uint8_t* icv = icv_of(work, shape);
  const bool chacha = shape.cipher == Cipher::kChaCha20Poly1305;
  IMB_MGR* manager = manager_for(shape);
  IMB_JOB* job = IMB_GET_NEXT_JOB(manager);
  job->src = work.esp;
  job->dst = text_of(work, shape);
  job->enc_keys = keys.encrypt;
  job->dec_keys = chacha ? keys.encrypt : keys.decrypt;
  job->cipher_start_src_offset_in_bytes = kEspHeaderBytes + shape.iv_bytes;
  job->msg_len_to_cipher_in_bytes = work.text_bytes;
  job->iv = work.iv;
  job->iv_len_in_bytes = shape.cipher == Cipher::kAesCbc ? 16 : 12;
  // HMAC-SHA-256 writes 16 bytes or all 32: those that an ICV of 12 has no room for stay beside.
  const bool shortened = shape.integrity == Integrity::kHmacSha256 && shape.icv_bytes < 16;
  job->auth_tag_output = kSeal && !shortened ? icv : work.icv;
  job->auth_tag_output_len_in_bytes = shortened ? 16 : shape.icv_bytes;
  job->cipher_direction = kSeal ? IMB_DIR_ENCRYPT : IMB_DIR_DECRYPT;
  job->chain_order = kSeal ? IMB_ORDER_CIPHER_HASH : IMB_ORDER_HASH_CIPHER;
  job->user_data = &work;
  if (chacha) {
    job->key_len_in_bytes = 32;
    job->cipher_mode = IMB_CIPHER_CHACHA20_POLY1305;
    job->hash_alg = IMB_AUTH_CHACHA20_POLY1305;
    job->hash_start_src_offset_in_bytes = kEspHeaderBytes + shape.iv_bytes;
    job->msg_len_to_hash_in_bytes = work.text_bytes;
    job->u.CHACHA20_POLY1305.aad = aad_of(work, shape);
    job->u.CHACHA20_POLY1305.aad_len_in_bytes = shape.esn ? 12 : 8;
  } else {
    if constexpr (!kSeal) memcpy(work.received, icv, shape.icv_bytes);
    if (shape.esn) store32_be(icv, static_cast<uint32_t>(work.number >> 32));
    job->key_len_in_bytes = 16U + 8U * shape.key_index;
    job->cipher_mode = shape.cipher == Cipher::kAesCbc   ? IMB_CIPHER_CBC
                       : shape.cipher == Cipher::kAesCtr ? IMB_CIPHER_CNTR
                                                         : IMB_CIPHER_NULL;
    job->hash_alg = hash_of(shape.integrity);
    job->hash_start_src_offset_in_bytes = 0;
    job->msg_len_to_hash_in_bytes =
        kEspHeaderBytes + shape.iv_bytes + work.text_bytes + (shape.esn ? 4 : 0);
    job->u.HMAC._hashed_auth_key_xor_ipad = keys.inner;
    job->u.HMAC._hashed_auth_key_xor_opad = keys.outer;
  }
  work.failed = true;  // until the job comes back
  finish(IMB_SUBMIT_JOB_NOCHECK(manager));
}

void IpsecMb::finish(const IMB_JOB* job) noexcept {
  if (job == nullptr || job->status != IMB_STATUS_COMPLETED) return;
  Work& work = *static_cast<Work*>(job->user_data);
  work.failed = false;
  if (job->cipher_direction != IMB_DIR_ENCRYPT || job->auth_tag_output != work.icv) return;
  const Shape& shape = work.sa->shape();
  memcpy(icv_of(work, shape), work.icv, shape.icv_bytes);
}

template <bool kSeal>
void IpsecMb::run(std::span<Work> batch) noexcept {
  for (size_t i = 0; i < batch.size(); ++i) {
    Work& work = batch[i];
    const size_t next = i + kAhead;
    if (next < batch.size() && batch[next].sa != work.sa) prefetch_keys(batch[next]);
    work.failed = false;
    switch (work.sa->shape().cipher) {
      case Cipher::kAesGcm:
        gcm<kSeal>(work);
        break;
      case Cipher::kAesGmac:
        gmac(work, kSeal ? icv_of(work, work.sa->shape()) : work.icv);
        break;
      default:
        submit<kSeal>(work);
    }
  }
}
template void IpsecMb::run<true>(std::span<Work>) noexcept;
template void IpsecMb::run<false>(std::span<Work>) noexcept;

void IpsecMb::drain() noexcept {
  for (IMB_MGR* manager : {manager_.get(), sha256_.get()})
    while (const IMB_JOB* job = manager == nullptr ? nullptr : IMB_FLUSH_JOB(manager)) finish(job);
}

// AES in counter mode (GCM's, without its ICV) under a key of this engine alone: blocks that nobody
// can foresee (RFC 3602 §3), and that do not repeat within 2^64 calls.
const uint8_t* IpsecMb::random_ivs(unsigned count) noexcept {
  Secrets& secrets = *secrets_;
  uint8_t nonce[12] = {}, unused[16];
  store64_be(nonce + 4, secrets.used++);
  memset(secrets.ivs, 0, size_t{16} * count);
  gcm_context_data context;
  manager_->gcm128_enc(&secrets.key, &context, secrets.ivs, secrets.ivs, uint64_t{16} * count,
                       nonce, nullptr, 0, unused, sizeof unused);
  return secrets.ivs;
}

}  // namespace hecto::router::esp
