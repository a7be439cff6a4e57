#include "router/ipsec/wireshark_keys.hpp"

#include <fmt/format.h>

#include <span>

namespace hecto::router {
namespace {

using esp::Cipher;
using esp::Integrity;

// Wireshark's words (epan/dissectors/packet-ipsec.c); empty: it has none.
std::string_view cipher_name(const esp::Transform& transform) {
  switch (transform.cipher) {
    case Cipher::kNull:
      return "NULL";
    case Cipher::kAesCbc:
      return "AES-CBC [RFC3602]";
    case Cipher::kAesCtr:
      return "AES-CTR [RFC3686]";
    case Cipher::kAesGcm:
      return transform.icv_bytes == 8    ? "AES-GCM with 8 octet ICV [RFC4106]"
             : transform.icv_bytes == 12 ? "AES-GCM with 12 octet ICV [RFC4106]"
                                         : "AES-GCM with 16 octet ICV [RFC4106]";
    case Cipher::kChaCha20Poly1305:
      return "ChaCha20 with Poly1305 [RFC7634]";
    case Cipher::kAesGmac:
      break;
  }
  return {};
}

std::string_view integrity_name(const esp::Transform& transform) {
  switch (transform.integrity) {
    case Integrity::kNone:
      break;
    case Integrity::kHmacSha1:
      return "HMAC-SHA-1-96 [RFC2404]";
    case Integrity::kHmacSha256:
      return transform.icv_bytes == 12 ? "HMAC-SHA-256-96 [draft-ietf-ipsec-ciph-sha-256-00]"
                                       : "HMAC-SHA-256-128 [RFC4868]";
    case Integrity::kHmacSha384:
      return "HMAC-SHA-384-192 [RFC4868]";
    case Integrity::kHmacSha512:
      return "HMAC-SHA-512-256 [RFC4868]";
  }
  return "NULL";
}

void append(std::string_view text, SecretBytes& out) {
  out.insert(out.end(), text.begin(), text.end());
}

// Digit by digit: no copy of a key is left elsewhere.
void append_hex(std::span<const uint8_t> key, SecretBytes& out) {
  if (key.empty()) return;
  append("0x", out);
  for (const uint8_t byte : key) {
    out.push_back(static_cast<uint8_t>("0123456789abcdef"[byte >> 4]));
    out.push_back(static_cast<uint8_t>("0123456789abcdef"[byte & 0xf]));
  }
}

}  // namespace

void append_esp_sa(const SaState& sa, const esp::Keys& keys, SecretBytes& out) {
  const std::string_view cipher = cipher_name(sa.transform);
  if (cipher.empty()) {
    append(fmt::format("# {} {}: Wireshark does not know {}\n", sa.id.destination.to_string(),
                       to_string(sa.id.spi), to_string(sa.transform)),
           out);
    return;
  }
  append(fmt::format(R"("{}","{}","{}","{}","{}",")",
                     sa.id.destination.family == Family::kIpv4 ? "IPv4" : "IPv6",
                     sa.source.to_string(), sa.id.destination.to_string(), to_string(sa.id.spi),
                     cipher),
         out);
  append_hex({keys.cipher.data(), keys.cipher_bytes}, out);
  append(fmt::format(R"(","{}",")", integrity_name(sa.transform)), out);
  append_hex({keys.integrity.data(), keys.integrity_bytes}, out);
  // Wireshark 4.0 passes over these two fields, newer ones take numbers of 32 bits without them.
  append(sa.esn ? "\",\"64-bit\",\"0\"\n" : "\"\n", out);
}

}  // namespace hecto::router
