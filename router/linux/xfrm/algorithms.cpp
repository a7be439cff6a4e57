#include "router/linux/xfrm/algorithms.hpp"

#include <algorithm>
#include <string_view>

#include "router/linux/xfrm/fields.hpp"

namespace hecto::router::detail {
namespace {

using esp::Cipher;
using esp::Integrity;

// A struct xfrm_algo, _auth or _aead: name, key length, for the latter two another length, key.
struct Algorithm {
  std::string_view name;
  unsigned other_bits = 0;  // ICV
  Bytes key;
};

struct AeadRow {
  std::string_view name;
  Cipher cipher;
  bool short_icv;  // 64 and 96 bits as well as 128
  uint8_t key_bytes[3];
};
constexpr AeadRow kAeads[] = {
    {"rfc4106(gcm(aes))", Cipher::kAesGcm, true, {16, 24, 32}},
    {"rfc4543(gcm(aes))", Cipher::kAesGmac, false, {16, 24, 32}},
    {"rfc7539esp(chacha20,poly1305)", Cipher::kChaCha20Poly1305, false, {32, 32, 32}},
};

struct CipherRow {
  std::string_view name;
  Cipher cipher;
  uint8_t salt_bytes;
  uint8_t key_bytes[3];
};
constexpr CipherRow kCiphers[] = {
    {"cbc(aes)", Cipher::kAesCbc, 0, {16, 24, 32}},
    {"rfc3686(ctr(aes))", Cipher::kAesCtr, 4, {16, 24, 32}},
    {"ecb(cipher_null)", Cipher::kNull, 0, {0, 0, 0}},
};

struct IntegrityRow {
  std::string_view name;
  Integrity integrity;
  uint8_t key_bytes;
  uint8_t icv_bytes;
  uint8_t old_icv_bytes;  // what XFRMA_ALG_AUTH alone means
};
constexpr IntegrityRow kIntegrities[] = {
    {"hmac(sha1)", Integrity::kHmacSha1, 20, 12, 12},
    {"hmac(sha256)", Integrity::kHmacSha256, 32, 16, 12},
    {"hmac(sha384)", Integrity::kHmacSha384, 48, 24, 24},
    {"hmac(sha512)", Integrity::kHmacSha512, 64, 32, 32},
};

// `header`: sizeof the struct, whose flexible array keeps it out of std::optional.
std::optional<Algorithm> read_algorithm(Bytes payload, size_t header) {
  constexpr size_t kNameBytes = sizeof(xfrm_algo::alg_name);
  static_assert(sizeof(xfrm_algo) == kNameBytes + 4 && sizeof(xfrm_algo_aead) == kNameBytes + 8 &&
                sizeof(xfrm_algo_auth) == kNameBytes + 8);
  if (payload.size() < header) return std::nullopt;
  const Bytes name = payload.first(kNameBytes);
  const auto end = std::find(name.begin(), name.end(), uint8_t{0});
  const uint32_t key_bits = *read_pod<uint32_t>(payload.subspan(kNameBytes));
  const Bytes key = payload.subspan(header);
  if (end == name.end() || key_bits % 8 != 0 || key_bits / 8 > key.size()) return std::nullopt;
  Algorithm result;
  result.name = {reinterpret_cast<const char*>(name.data()),
                 static_cast<size_t>(end - name.begin())};
  result.key = key.first(key_bits / 8);
  if (header > kNameBytes + 4) {
    result.other_bits = *read_pod<uint32_t>(payload.subspan(kNameBytes + 4));
  }
  return result;
}

template <typename Row, size_t n>
const Row* find_row(const Row (&rows)[n], std::string_view name) {
  const auto* row = std::find_if(rows, rows + n, [&](const Row& r) { return r.name == name; });
  return row == rows + n ? nullptr : row;
}

XfrmDecoded unknown(std::string& why, std::string_view name) {
  std::string text = "algorithm ";
  for (const char c : name) text += c > ' ' && c < 127 ? c : '?';
  return refuse(why, std::move(text));
}

// False where no such key length exists.
bool take_cipher_key(Bytes key, const uint8_t (&sizes)[3], unsigned salt_bytes, SaState& out) {
  if (key.size() < salt_bytes || key.size() > out.keys.cipher.size()) return false;
  const size_t own = key.size() - salt_bytes;
  if (std::find(std::begin(sizes), std::end(sizes), own) == std::end(sizes)) return false;
  std::copy(key.begin(), key.end(), out.keys.cipher.begin());
  out.keys.cipher_bytes = static_cast<uint8_t>(key.size());
  out.transform.key_bytes = static_cast<uint8_t>(own);
  return true;
}

// With lockdown=confidentiality the kernel shows keys as zeros (xfrm_redact()).
bool hidden(Bytes key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](uint8_t b) { return b == 0; });
}

XfrmDecoded read_aead(Bytes payload, SaState& out, std::string& why) {
  const auto algorithm = read_algorithm(payload, sizeof(xfrm_algo_aead));
  if (!algorithm) return XfrmDecoded::kMalformed;
  const AeadRow* row = find_row(kAeads, algorithm->name);
  if (row == nullptr) return unknown(why, algorithm->name);
  const unsigned icv = algorithm->other_bits;
  if (icv != 128 && !(row->short_icv && (icv == 64 || icv == 96))) {
    return refuse(why, std::string(row->name) + " with an ICV of " + std::to_string(icv) + " bits");
  }
  if (!take_cipher_key(algorithm->key, row->key_bytes, 4, out)) return XfrmDecoded::kMalformed;
  if (hidden(algorithm->key)) return refuse(why, "keys that the kernel does not show");
  out.transform.cipher = row->cipher;
  out.transform.icv_bytes = static_cast<uint8_t>(icv / 8);
  return XfrmDecoded::kEvent;
}

XfrmDecoded read_integrity(const XfrmAlgorithms& from, SaState& out, std::string& why) {
  const bool truncated = !from.truncated.empty();
  const auto algorithm = truncated ? read_algorithm(from.truncated, sizeof(xfrm_algo_auth))
                                   : read_algorithm(from.integrity, sizeof(xfrm_algo));
  if (!algorithm) return XfrmDecoded::kMalformed;
  if (algorithm->name == "digest_null") return refuse(why, "encryption without integrity");
  const IntegrityRow* row = find_row(kIntegrities, algorithm->name);
  if (row == nullptr) return unknown(why, algorithm->name);
  const unsigned icv = truncated ? algorithm->other_bits : row->old_icv_bytes * 8U;
  if (icv != row->icv_bytes * 8U && icv != row->old_icv_bytes * 8U) {
    return refuse(why, std::string(row->name) + " with an ICV of " + std::to_string(icv) + " bits");
  }
  // HMAC takes keys of any length; IKE makes none but these, and ESP's RFCs know no others.
  if (algorithm->key.size() != row->key_bytes) {
    return refuse(why, std::string(row->name) + " with a key of " +
                           std::to_string(algorithm->key.size()) + " bytes");
  }
  if (hidden(algorithm->key)) return refuse(why, "keys that the kernel does not show");
  std::copy(algorithm->key.begin(), algorithm->key.end(), out.keys.integrity.begin());
  out.keys.integrity_bytes = row->key_bytes;
  out.transform.integrity = row->integrity;
  out.transform.icv_bytes = static_cast<uint8_t>(icv / 8);
  return XfrmDecoded::kEvent;
}

}  // namespace

XfrmDecoded read_algorithms(const XfrmAlgorithms& from, SaState& out, std::string& why) {
  if (!from.aead.empty()) return read_aead(from.aead, out, why);
  const bool authenticated = !from.integrity.empty() || !from.truncated.empty();
  if (from.cipher.empty() && !authenticated) return XfrmDecoded::kIgnored;  // larval: ALLOCSPI
  if (from.cipher.empty()) return XfrmDecoded::kMalformed;  // the kernel wants at least NULL
  if (!authenticated) return refuse(why, "encryption without integrity");

  const auto algorithm = read_algorithm(from.cipher, sizeof(xfrm_algo));
  if (!algorithm) return XfrmDecoded::kMalformed;
  const CipherRow* row = find_row(kCiphers, algorithm->name);
  if (row == nullptr) return unknown(why, algorithm->name);
  if (!take_cipher_key(algorithm->key, row->key_bytes, row->salt_bytes, out)) {
    return XfrmDecoded::kMalformed;
  }
  if (hidden(algorithm->key)) return refuse(why, "keys that the kernel does not show");
  out.transform.cipher = row->cipher;
  return read_integrity(from, out, why);
}

}  // namespace hecto::router::detail
