// SHA and HMAC: FIPS 180-4, RFC 2202, RFC 4231, RFC 4868.
#include <gtest/gtest.h>

#include "gpu_offload/crypto/hmac.hpp"
#include "tests/unit/gpu_offload/crypto_hex.hpp"

namespace hecto::gpu_offload::crypto {
namespace {

struct BytesMessage {
  const Bytes& text;
  uint32_t bytes() const { return static_cast<uint32_t>(text.size()); }
  uint32_t word(uint32_t i) const {
    uint32_t left = bytes() - 4 * i;
    return byte_swap(load_part(text.data() + 4 * i, left < 4 ? left : 4).word[0]);
  }
};

template <class State>
Bytes stored(const State& state) {
  Bytes bytes;
  for (uint32_t word : state.word) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      bytes.push_back(static_cast<uint8_t>(word >> shift));
    }
  }
  return bytes;
}

struct HashVector {
  std::string message;
  const char* sha1;
  const char* sha256;
};

TEST(EspHash, HashesTheMessagesOfFips180) {
  const HashVector vectors[] = {
      {"", "da39a3ee5e6b4b0d3255bfef95601890afd80709",
       "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "a9993e364706816aba3e25717850c26c9cd0d89d",
       "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {std::string(1000000, 'a'), "34aa973cd4c4daa4f61eeb2bdbad27316534016f",
       "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
  };
  for (const HashVector& vector : vectors) {
    Bytes text = bytes_of(vector.message);
    BytesMessage message{text};
    EXPECT_EQ(stored(hash_rest<Sha1>(Sha1::kInitial, 0, message)), hex(vector.sha1));
    EXPECT_EQ(stored(hash_rest<Sha256>(Sha256::kInitial, 0, message)), hex(vector.sha256));
  }
}

struct HmacVector {
  const char* name;
  Bytes key;  // shorter ones are HMAC's with zeros behind them, as long as they should be
  Bytes message;
  const char* digest;
};

Bytes counted(uint8_t last) {
  Bytes bytes;
  for (uint8_t byte = 1; byte <= last; ++byte) bytes.push_back(byte);
  return bytes;
}

TEST(EspHmac, MatchesRfc2202) {
  const HmacVector vectors[] = {
      {"case 1", Bytes(20, 0x0b), bytes_of("Hi There"), "b617318655057264e28bc0b6fb378c8ef146be00"},
      {"case 2", bytes_of("Jefe"), bytes_of("what do ya want for nothing?"),
       "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"},
      {"case 3", Bytes(20, 0xaa), Bytes(50, 0xdd), "125d7342b9ac11cd91a39af48aa17b4f63f175d3"},
      {"case 5", Bytes(20, 0x0c), bytes_of("Test With Truncation"),
       "4c1a03424b55e07fe7f27be1d58bb9324a9a5a04"},
  };
  for (HmacVector vector : vectors) {
    vector.key.resize(20);
    EspKey key;
    ASSERT_TRUE(prepare_cbc_sha1(key, Bytes(16), vector.key));
    EXPECT_EQ(stored(hmac<Sha1>(key.inner, key.outer, BytesMessage{vector.message})),
              hex(vector.digest))
        << vector.name;
  }
}

TEST(EspHmac, MatchesRfc4231AndRfc4868) {
  const HmacVector vectors[] = {
      {"RFC 4231 case 1", Bytes(20, 0x0b), bytes_of("Hi There"),
       "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
      {"RFC 4231 case 2", bytes_of("Jefe"), bytes_of("what do ya want for nothing?"),
       "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
      {"RFC 4231 case 3", Bytes(20, 0xaa), Bytes(50, 0xdd),
       "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
      {"RFC 4231 case 4", counted(25), Bytes(50, 0xcd),
       "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
      {"RFC 4868 AUTH256-1", Bytes(32, 0x0b), bytes_of("Hi There"),
       "198a607eb44bfbc69903a0f1cf2bbdc5ba0aa3f3d9ae3c1c7a3b1696a0b68cf7"},
      {"RFC 4868 AUTH256-2", bytes_of("JefeJefeJefeJefeJefeJefeJefeJefe"),
       bytes_of("what do ya want for nothing?"),
       "167f928588c5cc2eef8e3093caa0e87c9ff566a14794aa61648d81621a2a40c6"},
      {"RFC 4868 AUTH256-3", Bytes(32, 0xaa), Bytes(50, 0xdd),
       "cdcb1220d1ecccea91e53aba3092f962e549fe6ce9ed7fdc43191fbde45c30b0"},
      {"RFC 4868 AUTH256-4", counted(32), Bytes(50, 0xcd),
       "372efcf9b40b35c2115b1346903d2ef42fced46f0846e7257bb156d3d7b30d3f"},
  };
  for (HmacVector vector : vectors) {
    vector.key.resize(32);
    EspKey key;
    ASSERT_TRUE(prepare_cbc_sha256(key, Bytes(16), vector.key));
    EXPECT_EQ(stored(hmac<Sha256>(key.inner, key.outer, BytesMessage{vector.message})),
              hex(vector.digest))
        << vector.name;
  }
}

}  // namespace
}  // namespace hecto::gpu_offload::crypto
