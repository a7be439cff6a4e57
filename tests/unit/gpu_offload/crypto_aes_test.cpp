// AES and CBC: FIPS 197, SP 800-38A, RFC 3602.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "gpu_offload/crypto/bank_tables.hpp"
#include "gpu_offload/crypto/cbc.hpp"
#include "gpu_offload/crypto/lanes.hpp"
#include "tests/unit/gpu_offload/crypto_hex.hpp"

namespace hecto::gpu_offload::crypto {
namespace {

constexpr HostTables kTables;

Bytes stored(const Block& block) {
  Bytes bytes(kBlockBytes);
  store(bytes.data(), block);
  return bytes;
}

struct BlockVector {
  const char* name;
  const char* key;
  const char* ciphertext;  // of 00112233445566778899aabbccddeeff
};

// FIPS 197 appendix C
constexpr BlockVector kFips197[] = {
    {"AES-128", "000102030405060708090a0b0c0d0e0f", "69c4e0d86a7b0430d8cdb78070b4c55a"},
    {"AES-192", "000102030405060708090a0b0c0d0e0f1011121314151617",
     "dda97ca4864cdfe06eaf70a0ec0d7191"},
    {"AES-256", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
     "8ea2b7ca516745bfeafc49904b496089"},
};

TEST(EspAes, EncryptsAndDecryptsTheBlocksOfFips197) {
  Bytes plain = hex("00112233445566778899aabbccddeeff");
  for (const BlockVector& vector : kFips197) {
    SCOPED_TRACE(vector.name);
    EspKey key;
    ASSERT_TRUE(prepare_cbc_sha1(key, hex(vector.key), Bytes(20)));
    Block sealed = aes_encrypt(kTables, key.encrypt, key.rounds, load(plain.data()));
    EXPECT_EQ(stored(sealed), hex(vector.ciphertext));
    EXPECT_EQ(stored(aes_decrypt(kTables, key.decrypt, key.rounds, sealed)), plain);
  }
}

// FIPS 197 appendix A.1, A.2 and A.3: the last round key.
TEST(EspAes, ExpandsKeysAsFips197) {
  struct {
    const char* key;
    const char* last;
  } vectors[] = {
      {"2b7e151628aed2a6abf7158809cf4f3c", "d014f9a8c9ee2589e13f0cc8b6630ca6"},
      {"8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b", "e98ba06f448c773c8ecc720401002202"},
      {"603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
       "fe4890d1e6188d0b046df344706c631e"},
  };
  for (const auto& vector : vectors) {
    EspKey key;
    ASSERT_TRUE(prepare_gcm(key, hex(vector.key), Bytes(4)));
    EXPECT_EQ(stored(key.encrypt[key.rounds]), hex(vector.last)) << vector.key;
  }
}

struct CbcVector {
  const char* name;
  const char* key;
  const char* iv;
  const char* plain;
  const char* ciphertext;
};

constexpr CbcVector kCbc[] = {
    {"RFC 3602 case 1", "06a9214036b8a15b512e03d534120006", "3dafba429d9eb430b422da802c9fac41",
     "53696e676c6520626c6f636b206d7367", "e353779c1079aeb82708942dbe77181a"},
    {"RFC 3602 case 2", "c286696d887c9aa0611bbb3e2025a45a", "562e17996d093d28ddb3ba695a2e6f58",
     "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
     "d296cd94c2cccf8a3a863028b5e1dc0a7586602d253cfff91b8266bea6d61ab1"},
    {"RFC 3602 case 5, a ping in ESP", "90d382b410eeba7ad938c46cec1a82bf",
     "e96e8c08ab465763fd098d45dd3ff893",
     "08000ebda70a00008e9c083db95b070008090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
     "202122232425262728292a2b2c2d2e2f30313233343536370102030405060708090a0b0c0d0e0e01",
     "f663c25d325c18c6a9453e194e120849a4870b66cc6b9965330013b4898dc856a4699e523a55db08"
     "0b59ec3a8e4b7e52775b07d1db34ed9c538ab50c551b874aa269add047ad2d5913ac19b7cfbad4a6"},
    {"SP 800-38A F.2.5", "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
     "000102030405060708090a0b0c0d0e0f", "6bc1bee22e409f96e93d7e117393172a",
     "f58c4c04d6e5f1ba779eabfb5f7bfbd6"},
};

TEST(EspCbc, EncryptsAndDecryptsAsRfc3602) {
  for (const CbcVector& vector : kCbc) {
    SCOPED_TRACE(vector.name);
    EspKey key;
    ASSERT_TRUE(prepare_cbc_sha1(key, hex(vector.key), Bytes(20)));
    Bytes text = hex(vector.plain);
    EspPacket packet{};
    std::memcpy(packet.iv, hex(vector.iv).data(), 16);
    packet.length = static_cast<uint16_t>(text.size());
    Block before = load(packet.iv);
    cbc_encrypt(kTables, key, text.data(), 0, packet.length, before);
    EXPECT_EQ(text, hex(vector.ciphertext));
    cbc_decrypt(HostLanes<8>{}, kTables, key, packet, text.data());
    EXPECT_EQ(text, hex(vector.plain));
  }
}

// What a GPU reads, by each lane of a warp.
TEST(EspAes, HasTheSameTablesInEachBank) {
  auto encrypt = std::make_unique<EncryptBanks>();
  auto decrypt = std::make_unique<DecryptBanks>();
  for (uint32_t thread = 0; thread < 96; ++thread) {
    encrypt->fill(kAesTables, thread, 96);
    decrypt->fill(kAesTables, thread, 96);
  }
  for (uint32_t bank = 0; bank < kBanks; ++bank) {
    EncryptTables encrypting{*encrypt, 4 * bank};
    DecryptTables decrypting{*decrypt, 4 * bank};
    for (uint32_t byte = 0; byte < 256; ++byte) {
      for (uint32_t position = 0; position < 4; ++position) {
        uint32_t word = 0xa5a5a5a5 ^ (byte ^ 0xa5) << 8 * position;  // others around it
        ASSERT_EQ(encrypting.encrypt(word, position), kTables.encrypt(word, position));
        ASSERT_EQ(decrypting.decrypt(word, position), kTables.decrypt(word, position));
        ASSERT_EQ(decrypting.inverse(word, position), kTables.inverse(word, position));
      }
    }
  }
}

TEST(EspKeys, AreRefusedAndWipedWhenALengthIsWrong) {
  EspKey key;
  auto clean = [&] {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&key);
    return std::all_of(bytes, bytes + sizeof key, [](uint8_t byte) { return byte == 0; });
  };
  ASSERT_TRUE(prepare_gcm(key, Bytes(16), Bytes(4)));
  EXPECT_FALSE(clean());
  EXPECT_FALSE(prepare_gcm(key, Bytes(15), Bytes(4)));
  EXPECT_TRUE(clean());
  EXPECT_FALSE(prepare_gcm(key, Bytes(16), Bytes(3)));
  EXPECT_FALSE(prepare_gcm(key, Bytes(16), Bytes(8)));
  EXPECT_FALSE(prepare_cbc_sha1(key, Bytes(16), Bytes(32)));
  EXPECT_FALSE(prepare_cbc_sha256(key, Bytes(16), Bytes(20)));
  EXPECT_FALSE(prepare_cbc_sha256(key, Bytes(33), Bytes(32)));
  EXPECT_TRUE(clean());
  ASSERT_TRUE(prepare_cbc_sha256(key, Bytes(32), Bytes(32)));
  EXPECT_FALSE(clean());
  wipe(key);
  EXPECT_TRUE(clean());
}

}  // namespace
}  // namespace hecto::gpu_offload::crypto
