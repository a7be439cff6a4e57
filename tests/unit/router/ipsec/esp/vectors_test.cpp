// Published vectors: the engine opens them. (It chooses its own IVs, so that what it seals is held
// against OpenSSL instead.)
#include "tests/unit/router/ipsec/esp/openssl_esp.hpp"

namespace hecto::router::esp {
namespace {

using gpu_offload::crypto::hex;

class Vectors : public EspTest {
 protected:
  SaState state(const char* cipher, const char* integrity, const char* key) {
    SaState state = sa_state(transform_by_name(cipher, integrity).value(), random);
    const Bytes bytes = hex(key);
    EXPECT_EQ(bytes.size(), state.keys.cipher_bytes);
    std::copy(bytes.begin(), bytes.end(), state.keys.cipher.begin());
    return state;
  }
  // The text that `esp` holds when it has been through the engine, which says `reason`.
  Bytes opened(const SaState& state, const Bytes& esp, Reason reason) {
    const auto receiver = sa(state);
    Frame frame(with_outer(state, esp), receiver.get());
    uint8_t* text = frame.packet().ip + 20 + 8 + state.transform.iv_bytes();
    engine->inbound({&frame.packet(), 1}, 1);
    EXPECT_EQ(info(frame.packet().reason).name, info(reason).name);
    return {text, text + esp.size() - 8 - state.transform.iv_bytes() - state.transform.icv_bytes};
  }
};

TEST_P(Vectors, ChaCha20Poly1305OfRfc7634AppendixA) {
  SaState vector =
      state("chacha20-poly1305", "",
            "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3");
  vector.id.spi = 0x01020304;
  const Bytes esp = hex(
      "0102030400000005"
      "1011121314151617"
      "24039428b97f417e3c13753a4f05087b67c352e6a7fab1b982d466ef407ae5c614ee8099d52844eb61aa95dfab4c"
      "02f72aa71e7c4c4f64c9befe2facc638e8f3cbec163fac469b502773f6fb94e664da9165b82829f641e0"
      "76aaa8266b7fb0f7b11b369907e1ad43");
  const Bytes text = opened(vector, esp, Reason::kNone);
  EXPECT_EQ(text,
            hex("45000054a6f200004001e778c6336405c000020508005b7a3a080000553bec100007362708090a"
                "0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132"
                "333435363701020204"));
}

// Its next header is ICMP, not an IP packet: malformed, but only after the ICV was right.
TEST_P(Vectors, GcmWithEsnOfTheRfc4106Draft) {
  SaState vector = state("aes-128-gcm", "", "4c80cdefbb5d10da906ac73c3613a6342e443b68");
  vector.id.spi = 0x4321;
  vector.esn = true;
  vector.replay_sequence = 0x87654320ffffffff;
  const Bytes esp = hex(
      "0000432100000000"
      "4956ed7e3b244cfe"
      "fecf537e729d5b07dc30df528dd22b768d1b98736696a6fd348509fa13ceac34cfa2436f14a3f3cf65925bf1f4a1"
      "3c5d15b21e1884f5ff6247aeabb786b93bce61bc17d768fd9732"
      "459018148f6cbe722fd04796562dfdb4");
  EXPECT_EQ(opened(vector, esp, Reason::kEspMalformed),
            hex("45000048699a000080114db7c0a80102c0a801010a9bf15638d3010000010000"
                "00000000045f736970045f756470037369700963796265726369747902646b00"
                "0021000101020201"));
}

// The draft's "AES-GMAC" packet; as above.
TEST_P(Vectors, GmacOfTheRfc4543Draft) {
  SaState vector = state("aes-128-gmac", "", "4c80cdefbb5d10da906ac73c3613a63422433c64");
  vector.id.spi = 0x4321;
  const std::string text =
      "45000030da3a00008001df3bc0a80005c0a800010800c6cd02000700616263646566676869"
      "6a6b6c6d6e6f707172737401020201";
  const Bytes esp =
      hex("0000432100000007"
          "0000000000000000" +
          text + "f2a9a836e155106aa8dcd618e4099aaa");
  EXPECT_EQ(opened(vector, esp, Reason::kEspMalformed), hex(text));
}

// Bare ciphers; the ICV is OpenSSL's. "Single block msg" ends in no trailer.
TEST_P(Vectors, CbcOfRfc3602Case1) {
  const SaState vector = state("aes-128-cbc", "hmac-sha1", "06a9214036b8a15b512e03d534120006");
  const Bytes plain = gpu_offload::crypto::bytes_of("Single block msg");
  const Bytes esp = openssl_seal(vector, 1, hex("3dafba429d9eb430b422da802c9fac41"), plain);
  EXPECT_EQ(slice(esp, 24, 40), hex("e353779c1079aeb82708942dbe77181a"));
  EXPECT_EQ(opened(vector, esp, Reason::kEspMalformed), plain);
}

TEST_P(Vectors, CtrOfRfc3686Vector1) {
  const SaState vector =
      state("aes-128-ctr", "hmac-sha1", "ae6852f8121067cc4bf7a5765577f39e00000030");
  const Bytes plain = gpu_offload::crypto::bytes_of("Single block msg");
  const Bytes esp = openssl_seal(vector, 1, hex("0000000000000000"), plain);
  EXPECT_EQ(slice(esp, 16, 32), hex("e4095d4fb7a7b3792d6175a3261311b8"));
  EXPECT_EQ(opened(vector, esp, Reason::kEspMalformed), plain);
}

INSTANTIATE_TEST_SUITE_P(, Vectors, testing::ValuesIn(libraries()), library_name);

}  // namespace
}  // namespace hecto::router::esp
