// Sealing and opening against OpenSSL: all lengths, all alignments, nothing written beside.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/beds/seed.hpp"
#include "tests/unit/gpu_offload/crypto_batch.hpp"
#include "tests/unit/gpu_offload/crypto_launchers.hpp"

namespace hecto::gpu_offload::crypto {
namespace {

class EspTransforms : public testing::TestWithParam<Launcher> {
 protected:
  void SetUp() override {
    RecordProperty("seed", std::to_string(test_seed()));
    if (!GetParam().present()) GTEST_SKIP() << "no GPU here";
  }

  // Runs the whole batch over `from` and wants `to`, where the ICVs' bytes of `from` stay if
  // opening.
  void expect(Batch& batch, EspKind kind, Bytes from, const Bytes& to) {
    EspJob job = batch.job(kind, from);
    ASSERT_EQ(GetParam().run(nullptr, job), 0);
    for (size_t i = 0; i < batch.packets.size(); ++i) {
      const EspPacket& packet = batch.packets[i];
      ASSERT_EQ(batch.verdicts[i], EspVerdict::kDone) << "length " << packet.length;
      auto first = static_cast<ptrdiff_t>(packet.payload);
      auto last = first + packet.icv + batch.keys[packet.key].icv_bytes;
      ASSERT_TRUE(std::equal(from.begin() + first, from.begin() + last, to.begin() + first))
          << "length " << packet.length << " at " << first % 16 << " of 16";
    }
    EXPECT_EQ(from, to) << "written beside the packets";
  }

  void seal_and_open(bool gcm, const std::vector<uint16_t>& lengths) {
    std::mt19937_64 random(test_seed());
    Batch batch = random_batch(random, gcm, lengths);
    expect(batch, batch.seal(), batch.plain, batch.sealed);
    Bytes opened = batch.plain;  // the payload as it was, the ICV as it came
    for (const EspPacket& packet : batch.packets) {
      auto icv = static_cast<ptrdiff_t>(packet.payload + packet.icv);
      std::copy_n(batch.sealed.begin() + icv, batch.keys[packet.key].icv_bytes,
                  opened.begin() + icv);
    }
    expect(batch, batch.open(), batch.sealed, opened);
  }
};

TEST_P(EspTransforms, GcmMatchesOpenSslAtEveryLength) {
  seal_and_open(true, lengths_up_to(2100, GetParam().run == launch_on_threads ? 53 : 1));
}

TEST_P(EspTransforms, CbcWithHmacMatchesOpenSslAtEveryLength) {
  std::vector<uint16_t> lengths =
      lengths_up_to(2112, GetParam().run == launch_on_threads ? 80 : 16);
  size_t once = lengths.size();
  for (size_t i = 0; i < 4 * once; ++i) lengths.push_back(lengths[i]);
  seal_and_open(false, lengths);
}

// A mean length under 256 bytes: 8 lanes a packet.
TEST_P(EspTransforms, SmallPacketsMatchOpenSsl) {
  seal_and_open(true, lengths_up_to(250, 1));
  seal_and_open(false, lengths_up_to(256, 16));
}

TEST_P(EspTransforms, TheLongestPacketMatchesOpenSsl) {
  seal_and_open(true, {65519});
  seal_and_open(false, {65504});
}

TEST_P(EspTransforms, AnEmptyJobIsDone) {
  Batch batch;
  Bytes none;
  EXPECT_EQ(GetParam().run(nullptr, batch.job(EspKind::kSealGcm, none)), 0);
}

// Each kind of mistake between two good packets, which are served.
TEST_P(EspTransforms, WhatDoesNotFitIsNotTouched) {
  std::mt19937_64 random(test_seed());
  for (bool gcm : {true, false}) {
    Batch batch = random_batch(random, gcm, std::vector<uint16_t>(10, 64));
    Bytes buffer = batch.plain;
    auto end = static_cast<uint64_t>(buffer.size());
    batch.keys.push_back(EspKey{});                                // never prepared
    batch.keys.push_back(random_batch(random, !gcm, {}).keys[0]);  // for the other kind
    batch.packets[1].key = static_cast<uint32_t>(batch.keys.size());
    batch.packets[2].key = static_cast<uint32_t>(batch.keys.size() - 2);
    batch.packets[3].key = static_cast<uint32_t>(batch.keys.size() - 1);
    batch.packets[4].aad_length = 13;
    batch.packets[5].icv = batch.packets[5].length - 1;
    batch.packets[6].payload = end - 70;  // the ICV would end behind the buffer
    batch.packets[7].payload = ~0ull - 10;
    if (!gcm) batch.packets[8].length = 63;
    ASSERT_EQ(GetParam().run(nullptr, batch.job(batch.seal(), buffer)), 0);
    std::vector<EspVerdict> expected(10, EspVerdict::kUnservable);
    expected[0] = expected[9] = EspVerdict::kDone;
    if (gcm) expected[8] = EspVerdict::kDone;
    EXPECT_EQ(batch.verdicts, expected);
    for (size_t i = 1; i <= 7; ++i) {  // but [7] and [6] where they were before
      auto gap = static_cast<ptrdiff_t>(batch.packets[i].payload);
      if (i == 6 || i == 7) continue;
      EXPECT_TRUE(
          std::equal(buffer.begin() + gap, buffer.begin() + gap + 64, batch.plain.begin() + gap))
          << "packet " << i;
    }
  }
}

#ifdef HECTO_HAVE_CUDA
INSTANTIATE_TEST_SUITE_P(, EspTransforms, testing::Values(kHost, kThreads, kCuda), LauncherName());
#else
INSTANTIATE_TEST_SUITE_P(, EspTransforms, testing::Values(kHost, kThreads), LauncherName());
#endif

}  // namespace
}  // namespace hecto::gpu_offload::crypto
