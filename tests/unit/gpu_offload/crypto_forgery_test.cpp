// Every bit that ESP authenticates counts: a packet with one of them flipped is told apart, and
// what it holds stays as it came.
#include <gtest/gtest.h>

#include "tests/beds/seed.hpp"
#include "tests/unit/gpu_offload/crypto_batch.hpp"
#include "tests/unit/gpu_offload/crypto_launchers.hpp"

namespace hecto::gpu_offload::crypto {
namespace {

class EspForgery : public testing::TestWithParam<Launcher> {
 protected:
  void SetUp() override {
    RecordProperty("seed", std::to_string(test_seed()));
    if (!GetParam().present()) GTEST_SKIP() << "no GPU here";
  }

  // Flips a bit of each packet, a different one each, and opens all.
  template <class Flip>
  void expect_all_forged(bool gcm, size_t count, Flip flip) {
    std::mt19937_64 random(test_seed());
    Batch batch = random_batch(random, gcm, std::vector<uint16_t>(count, 48));
    Bytes buffer = batch.sealed;
    for (uint32_t i = 0; i < count; ++i) flip(batch, buffer, i);
    Bytes before = buffer;
    ASSERT_EQ(GetParam().run(nullptr, batch.job(batch.open(), buffer)), 0);
    for (uint32_t i = 0; i < count; ++i) {
      EXPECT_EQ(batch.verdicts[i], EspVerdict::kForged) << "bit " << i;
    }
    EXPECT_EQ(buffer, before);
  }
};

void flip_bit(uint8_t* bytes, uint32_t bit) {
  bytes[bit / 8] = static_cast<uint8_t>(bytes[bit / 8] ^ 1 << bit % 8);
}

TEST_P(EspForgery, OfThePayload) {
  for (bool gcm : {true, false}) {
    expect_all_forged(gcm, 48 * 8, [](Batch& batch, Bytes& buffer, uint32_t bit) {
      flip_bit(&buffer[batch.packets[bit].payload], bit);
    });
  }
}

TEST_P(EspForgery, OfTheIcv) {
  for (bool gcm : {true, false}) {
    expect_all_forged(gcm, 16 * 8, [](Batch& batch, Bytes& buffer, uint32_t bit) {
      const EspPacket& packet = batch.packets[bit];
      flip_bit(&buffer[packet.payload + packet.icv], bit % (batch.keys[packet.key].icv_bytes * 8));
    });
  }
}

TEST_P(EspForgery, OfTheIv) {
  for (bool gcm : {true, false}) {
    expect_all_forged(gcm, gcm ? 64 : 128, [](Batch& batch, Bytes&, uint32_t bit) {
      flip_bit(batch.packets[bit].iv, bit);
    });
  }
}

// SPI and sequence number, its high half too.
TEST_P(EspForgery, OfTheAad) {
  for (bool gcm : {true, false}) {
    expect_all_forged(gcm, 2 * 12 * 8, [](Batch& batch, Bytes&, uint32_t bit) {
      EspPacket& packet = batch.packets[bit];
      flip_bit(packet.aad, bit % (packet.aad_length * 8));
    });
  }
}

TEST_P(EspForgery, OfItsLength) {
  for (bool gcm : {true, false}) {
    expect_all_forged(gcm, 8, [&](Batch& batch, Bytes&, uint32_t i) {
      batch.packets[i].length = gcm ? static_cast<uint16_t>(47 - i) : 32;
    });
  }
}

TEST_P(EspForgery, OfEsnForNone) {
  for (bool gcm : {true, false}) {
    expect_all_forged(gcm, 8, [](Batch& batch, Bytes&, uint32_t i) {
      EspPacket& packet = batch.packets[i];
      packet.aad_length = packet.aad_length == 8 ? 12 : 8;
    });
  }
}

TEST_P(EspForgery, WithAnotherSasKey) {
  for (bool gcm : {true, false}) {
    expect_all_forged(gcm, 12, [](Batch& batch, Bytes&, uint32_t i) {
      EspPacket& packet = batch.packets[i];
      packet.key = static_cast<uint32_t>((packet.key + 1) % batch.keys.size());
    });
  }
}

#ifdef HECTO_HAVE_CUDA
INSTANTIATE_TEST_SUITE_P(, EspForgery, testing::Values(kHost, kThreads, kCuda), LauncherName());
#else
INSTANTIATE_TEST_SUITE_P(, EspForgery, testing::Values(kHost, kThreads), LauncherName());
#endif

}  // namespace
}  // namespace hecto::gpu_offload::crypto
