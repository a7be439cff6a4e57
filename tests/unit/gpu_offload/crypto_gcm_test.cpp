// GCM: McGrew and Viega's specification, and their ESP packets (draft-mcgrew-gcm-test-01, RFC
// 4106).
#include <gtest/gtest.h>

#include <algorithm>

#include "gpu_offload/crypto/aes_tables.hpp"
#include "gpu_offload/crypto/gcm.hpp"
#include "gpu_offload/crypto/lanes.hpp"
#include "tests/unit/gpu_offload/crypto_hex.hpp"

namespace hecto::gpu_offload::crypto {
namespace {

// Test case 2 of the specification, step by step.
TEST(EspGhash, MultipliesAsTheSpecification) {
  auto element = [](const char* digits) { return to_element(load(hex(digits).data())); };
  Block h = element("66e94bd4ef8a2c3b884cfa59ca342b2e");
  Block x1 = multiply(element("0388dace60b6a392f328c2b971b2fe78"), h);
  EXPECT_TRUE(equal(x1, element("5e2ec746917062882c85b0685353deb7")));
  Block ghash = multiply(x1 ^ element("00000000000000000000000000000080"), h);
  EXPECT_TRUE(equal(ghash, element("f38cbb1ad69223dcc3457ae5b6b0f885")));
}

TEST(EspGhash, HasOneAndZero) {
  Block one = to_element(Block{{0x80, 0, 0, 0}});  // x^0 is the first bit on the wire
  Block any = to_element(load(hex("feedfacedeadbeeffeedfacedeadbeef").data()));
  EXPECT_TRUE(equal(multiply(one, any), any));
  EXPECT_TRUE(equal(multiply(any, one), any));
  EXPECT_TRUE(equal(multiply(any, Block{}), Block{}));
  Block all{{~0u, ~0u, ~0u, ~0u}};  // as many carries as there can be
  EXPECT_TRUE(equal(multiply(all, any) ^ multiply(all ^ one, any), any));
}

struct GcmVector {
  const char* key;
  const char* nonce;
  const char* aad;
  const char* plain;
  const char* ciphertext;
  const char* icv;
};

constexpr char kPlain64[] =
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b5"
    "25"
    "b16aedf5aa0de657ba637b391aafd255";

// The specification's cases without AAD and with a nonce of 96 bits: 1, 2, 3, 7, 8, 9, 13, 14, 15.
constexpr GcmVector kSpecification[] = {
    {"00000000000000000000000000000000", "000000000000000000000000", "", "", "",
     "58e2fccefa7e3061367f1d57a4e7455a"},
    {"00000000000000000000000000000000", "000000000000000000000000", "",
     "00000000000000000000000000000000", "0388dace60b6a392f328c2b971b2fe78",
     "ab6e47d42cec13bdf53a67b21257bddf"},
    {"feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888", "", kPlain64,
     "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84a"
     "a05"
     "1ba30b396a0aac973d58e091473f5985",
     "4d5c2af327cd64a62cf35abd2ba6fab4"},
    {"000000000000000000000000000000000000000000000000", "000000000000000000000000", "", "", "",
     "cd33b28ac773f74ba00ed1f312572435"},
    {"000000000000000000000000000000000000000000000000", "000000000000000000000000", "",
     "00000000000000000000000000000000", "98e7247c07f0fe411c267e4384b0f600",
     "2ff58d80033927ab8ef4d4587514f0fb"},
    {"feffe9928665731c6d6a8f9467308308feffe9928665731c", "cafebabefacedbaddecaf888", "", kPlain64,
     "3980ca0b3c00e841eb06fac4872a2757859e1ceaa6efd984628593b40ca1e19c7d773d00c144c525ac619d18c84a3"
     "f47"
     "18e2448b2fe324d9ccda2710acade256",
     "9924a7c8587336bfb118024db8674a14"},
    {"0000000000000000000000000000000000000000000000000000000000000000", "000000000000000000000000",
     "", "", "", "530f8afbc74536b9a963b4f1c4cb738b"},
    {"0000000000000000000000000000000000000000000000000000000000000000", "000000000000000000000000",
     "", "00000000000000000000000000000000", "cea7403d4d606b6e074ec5d3baf39d18",
     "d0d1c8a799996bf0265b98b5d48ab919"},
    {"feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
     "", kPlain64,
     "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828"
     "838"
     "c5f61e6393ba7a0abcc9f662898015ad",
     "b094dac5d93471bdec1a502270e3cc6c"},
};

// AAD of 8 bytes, and of 12 with extended sequence numbers; keys of 128, 192 and 256 bits.
constexpr GcmVector kEspPackets[] = {
    {"4c80cdefbb5d10da906ac73c3613a634", "2e443b684956ed7e3b244cfe", "000043218765432100000000",
     "45000048699a000080114db7c0a80102c0a801010a9bf15638d301000001000000000000045f7369"
     "70045f756470037369700963796265726369747902646b000021000101020201",
     "fecf537e729d5b07dc30df528dd22b768d1b98736696a6fd348509fa13ceac34cfa2436f14a3f3cf"
     "65925bf1f4a13c5d15b21e1884f5ff6247aeabb786b93bce61bc17d768fd9732",
     "459018148f6cbe722fd04796562dfdb4"},
    {"feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888", "0000a5f80000000a",
     "4500003e698f000080114dccc0a80102c0a801010a980035002a2343b2d001000001000000000000"
     "037369700963796265726369747902646b00000100010001",
     "deb22cd9b07c72c16e3a65beeb8df304a5a5897d33ae530f1ba76d5d114d2a5c3de81827c10e9a4f"
     "51330d0eec416642cfbb85a5b47e48a4ec3b9ba95d918bd1",
     "83b70d3aa8bc6ee4c309e9d85a41ad4a"},
    {"abbccddef00112233445566778899aababbccddef00112233445566778899aab", "112233440102030405060708",
     "4a2cbfe300000002",
     "4500003069a6400080062690c0a801029389155e0a9e008b2dc57ee0000000007002400020bf0000"
     "020405b40101040201020201",
     "ff425c9b724599df7a3bcd510194e00d6a78107f1b0b1cbf06efae9d65a5d763748a637985771d34"
     "7f0545659f14e99def842d8e",
     "b335f4eecfdbf831824b4c4915956c96"},
    {"3de09874b388e6491988d0c3607eae1f", "57690e434e280000a2fca1a3", "42f67e3f1010101010101010",
     "4500001c42a200008001441f406793b6e00000020a00f5ff01020201",
     "fba2ca845e5df9f0f22c3e6e86dd831e1fc65792cd1af9130e1379ed",
     "369f071f35e034be95f112e4e7d05d35"},
    {"feffe9928665731c6d6a8f9467308308feffe9928665731c", "cafebabefacedbaddecaf888",
     "0000a5f80000000a",
     "45000028a4ad4000400678800a01038f0a010612802306b8cb712602dd6bb03e501016d075680001",
     "a5b1f8066029aea40e598b8122de02420938b3ab33f828e687b8858b5bfbdbd0315b27452144cc77",
     "95457b9652037f5318027b5b4cd7a636"},
    {"abbccddef00112233445566778899aab", "decaf888cafedebaceface74", "000001000000000000000001",
     "4500004933ba00007f119106c3fb1d10c2b1d326c02831ce0035dd7b800302d500004e20001e8c18"
     "d75b81dc91baa0476b91b924b280389d92c963bac046ec959b6266c04722b14923010101",
     "18a6fd42f72cbf4ab2a2ea901f73d814e3e7f243d95412e1c349c1d2fbec168f9190feebaf2cb019"
     "84e65863965d7472b79da345e0e780191f0d2f0e0f496c226f2127b27db35724e7845d68",
     "651f57e65f354f75ff17015769623436"},
    {"abbccddef00112233445566778899aababbccddef00112233445566778899aab", "73616c74616e640169766563",
     "17405e67156f3126dd0db99b",
     "45080028732c00004006e9f90a0106120a01038f06b88023dd6bafbecb71260250101f646d540001",
     "f2d69ecdbd5a0d5b8d5ef38bad4da58d1f278fde98ef67549d524a3018d9a57ff4d3a31ce673119e",
     "451626c2415771e3b7eebca614c89b35"},
    {"7d773d00c144c525ac619d18c84a3f47", "d966426743457e9182443bc6", "335467aeffffffff", "01020201",
     "437f866b", "cb3f699fe9b0822bac961c4504bef270"},
    {"6c6567616c697a656d6172696a75616e61616e64646f69746265666f72656961", "7475726e333021696765746d",
     "796b6963ffffffffffffffff",
     "45000030da3a00008001df3bc0a80005c0a800010800c6cd020007006162636465666768696a6b6c"
     "6d6e6f707172737401020201",
     "f97ab2aa356d8edce17644ac8c78e25dd24dedbb29ebf1b64a274b39b49c3a864cd3d78ca4ae68a3"
     "2b42458fb57dbe821dcc63b9",
     "d0937ba2945f669368661a329fb4c053"},
};

void check(const GcmVector& vector) {
  SCOPED_TRACE(vector.icv);
  Bytes nonce = hex(vector.nonce);
  Bytes aad = hex(vector.aad);
  Bytes text = hex(vector.plain);
  Bytes sealed = hex(vector.ciphertext);
  Bytes icv = hex(vector.icv);
  EspKey key;
  ASSERT_TRUE(prepare_gcm(key, hex(vector.key), std::span(nonce).first(4)));
  EspPacket packet{};
  std::memcpy(packet.iv, &nonce[4], 8);
  std::copy(aad.begin(), aad.end(), packet.aad);
  packet.aad_length = static_cast<uint32_t>(aad.size());
  packet.length = packet.icv = static_cast<uint16_t>(text.size());

  sealed.insert(sealed.end(), icv.begin(), icv.end());
  Bytes buffer = text;
  buffer.resize(sealed.size());
  HostLanes<8> lanes;
  HostTables tables;
  Gcm<HostLanes<8>, HostTables> gcm{lanes, tables, key, packet, buffer.data()};
  gcm.seal();
  EXPECT_EQ(buffer, sealed);
  EXPECT_TRUE(gcm.open());
  buffer.resize(text.size());
  EXPECT_EQ(buffer, text);
}

TEST(EspGcm, SealsAndOpensAsTheSpecification) {
  for (const GcmVector& vector : kSpecification) check(vector);
}

TEST(EspGcm, SealsAndOpensThePacketsOfRfc4106) {
  for (const GcmVector& vector : kEspPackets) check(vector);
}

}  // namespace
}  // namespace hecto::gpu_offload::crypto
