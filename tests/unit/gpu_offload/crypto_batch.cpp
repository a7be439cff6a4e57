#include "tests/unit/gpu_offload/crypto_batch.hpp"

#include <algorithm>
#include <array>

#include "tests/unit/gpu_offload/crypto_openssl.hpp"

namespace hecto::gpu_offload::crypto {
namespace {

Bytes random_bytes(std::mt19937_64& random, size_t count) {
  Bytes bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

struct Sa {
  EspTransform transform;
  Bytes cipher_key;
  Bytes other;  // salt or HMAC key
};

std::vector<Sa> random_sas(std::mt19937_64& random, bool gcm) {
  std::vector<Sa> sas;
  for (size_t key_bytes : {16, 24, 32}) {
    auto add = [&](EspTransform transform, size_t other_bytes) {
      sas.push_back(
          {transform, random_bytes(random, key_bytes), random_bytes(random, other_bytes)});
    };
    if (gcm) {
      add(EspTransform::kGcm, 4);
    } else {
      add(EspTransform::kCbcSha1, 20);
      add(EspTransform::kCbcSha256, 32);
    }
  }
  return sas;
}

EspKey prepared(const Sa& sa) {
  EspKey key;
  bool fits = sa.transform == EspTransform::kGcm ? prepare_gcm(key, sa.cipher_key, sa.other)
              : sa.transform == EspTransform::kCbcSha1
                  ? prepare_cbc_sha1(key, sa.cipher_key, sa.other)
                  : prepare_cbc_sha256(key, sa.cipher_key, sa.other);
  if (!fits) throw std::runtime_error("a key is refused");
  return key;
}

Sealed seal(const Sa& sa, const EspPacket& packet, const Bytes& plain) {
  Bytes aad(packet.aad, packet.aad + packet.aad_length);
  if (sa.transform == EspTransform::kGcm) {
    Bytes nonce = sa.other;
    nonce.insert(nonce.end(), packet.iv, packet.iv + 8);
    return openssl_gcm(sa.cipher_key, nonce, aad, plain);
  }
  // RFC 4303: SPI, low half of the sequence number, IV, ciphertext, high half
  Bytes iv(packet.iv, packet.iv + 16);
  Bytes ciphertext = openssl_cbc(sa.cipher_key, iv, plain);
  Bytes message(aad.begin(), aad.begin() + 4);
  message.insert(message.end(), aad.end() - 4, aad.end());
  message.insert(message.end(), iv.begin(), iv.end());
  message.insert(message.end(), ciphertext.begin(), ciphertext.end());
  if (aad.size() == 12) message.insert(message.end(), aad.begin() + 4, aad.begin() + 8);
  bool sha1 = sa.transform == EspTransform::kCbcSha1;
  return {ciphertext,
          openssl_hmac(sha1 ? EVP_sha1() : EVP_sha256(), sa.other, message, sha1 ? 12 : 16)};
}

}  // namespace

Batch random_batch(std::mt19937_64& random, bool gcm, const std::vector<uint16_t>& lengths) {
  Batch batch;
  batch.gcm = gcm;
  std::vector<Sa> sas = random_sas(random, gcm);
  for (const Sa& sa : sas) batch.keys.push_back(prepared(sa));
  uint64_t end = 0;
  for (uint16_t length : lengths) {
    EspPacket packet{};
    for (uint8_t& byte : packet.iv) byte = static_cast<uint8_t>(random());
    packet.aad_length = random() % 2 == 0 ? 8 : 12;
    for (uint32_t i = 0; i < packet.aad_length; ++i) {
      packet.aad[i] = static_cast<uint8_t>(random());
    }
    packet.key = static_cast<uint32_t>(random() % sas.size());
    packet.payload = end + random() % 32;
    packet.length = length;
    packet.icv = static_cast<uint16_t>(length + (random() % 2 == 0 ? 0 : random() % 32));
    end = packet.payload + packet.icv + 16;
    batch.packets.push_back(packet);
  }
  batch.plain = random_bytes(random, end);
  batch.sealed = batch.plain;
  for (const EspPacket& packet : batch.packets) {
    auto from = batch.plain.begin() + static_cast<ptrdiff_t>(packet.payload);
    auto to = batch.sealed.begin() + static_cast<ptrdiff_t>(packet.payload);
    Sealed sealed = seal(sas[packet.key], packet, Bytes(from, from + packet.length));
    std::copy(sealed.ciphertext.begin(), sealed.ciphertext.end(), to);
    std::copy(sealed.icv.begin(), sealed.icv.end(), to + packet.icv);
  }
  return batch;
}

}  // namespace hecto::gpu_offload::crypto
