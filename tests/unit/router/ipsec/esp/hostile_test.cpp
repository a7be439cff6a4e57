// What comes in is hostile: tampered with, cut short, replayed, or sent by a peer that lies.
#include "tests/unit/router/ipsec/esp/openssl_esp.hpp"

namespace hecto::router::esp {
namespace {

class Hostile : public EspTest {
 protected:
  static constexpr size_t kOuter = 20;

  std::vector<SaState> one_of_each() {
    std::vector<SaState> all;
    for (const char* aead : {"aes-128-gcm", "aes-256-gcm-8", "aes-192-gmac", "chacha20-poly1305"}) {
      all.push_back(sa_state(transform_by_name(aead, "").value(), random));
    }
    for (const char* hash :
         {"hmac-sha1", "hmac-sha2-256", "hmac-sha2-256-96", "hmac-sha2-384", "hmac-sha2-512"}) {
      all.push_back(sa_state(transform_by_name("aes-128-cbc", hash).value(), random));
      all.push_back(sa_state(transform_by_name("aes-256-ctr", hash).value(), random));
      all.push_back(sa_state(transform_by_name("null", hash).value(), random));
    }
    for (SaState& state : all) state.esn = random() % 2 == 0;
    return all;
  }
  Bytes sealed(const SaState& state, uint64_t number, const Bytes& plain,
               uint8_t traffic_class = 0) {
    const Bytes iv = random_bytes(random, state.transform.iv_bytes());
    return with_outer(state, openssl_seal(state, number, iv, plain), traffic_class);
  }
  Bytes sealed_packet(const SaState& state, uint64_t number, const Bytes& packet) {
    return sealed(state, number, with_trailer(state.transform, packet, 4));
  }
  SaState gcm() { return sa_state(transform_by_name("aes-128-gcm", "").value(), random); }
};

TEST_P(Hostile, EveryBitOfEspIsProtectedAndNothingForgedMovesTheWindow) {
  for (const SaState& state : one_of_each()) {
    SCOPED_TRACE(to_string(state.transform));
    const auto receiver = sa(state);
    const Bytes packet = ip_packet(random, Family::kIpv4, 61);
    const Bytes good = sealed_packet(state, 40, packet);
    for (size_t at = kOuter; at < good.size(); ++at) {
      Bytes bad = good;
      bad[at] ^= static_cast<uint8_t>(1U << random() % 8);
      in(*receiver, bad, at < kOuter + 4 ? Reason::kEspMalformed : Reason::kEspBadIcv);
      ASSERT_EQ(receiver->replay.top(), 0U);
    }
    EXPECT_EQ(receiver->packets.load(), 0U);
    EXPECT_EQ(in(*receiver, good), packet);
  }
}

// In buffers of exactly their length: a sanitizer sees what is read beyond.
TEST_P(Hostile, EveryLengthIsRefused) {
  for (SaState state : one_of_each()) {
    for (const bool nat : {false, true}) {
      if (nat) state.encapsulation = UdpEncapsulation{};
      SCOPED_TRACE(to_string(state.transform));
      const auto receiver = sa(state);
      const Bytes good = sealed_packet(state, 40, ip_packet(random, Family::kIpv4, 61));
      for (size_t length = 0; length < good.size(); ++length) {
        for (const bool honest : {false, true}) {  // whether the headers say so too
          Bytes cut = slice(good, 0, length);
          if (honest && length >= 20) store16_be(cut.data() + 2, static_cast<uint32_t>(length));
          if (honest && nat && length >= 28)
            store16_be(cut.data() + 24, static_cast<uint32_t>(length - 20));
          Frame frame(cut, receiver.get(), 0, 0);
          engine->inbound({&frame.packet(), 1}, 1);
          ASSERT_NE(frame.packet().reason, Reason::kNone) << length;
        }
      }
      ASSERT_EQ(receiver->replay.top(), 0U);
    }
  }
}

TEST_P(Hostile, NoiseOfAnyShapeIsRefused) {
  for (const SaState& state : one_of_each()) {
    const auto receiver = sa(state);
    for (int i = 0; i < 2000; ++i) {
      Bytes noise = random_bytes(random, random() % 200);
      if (noise.size() >= 40 && random() % 2 == 0) {  // as far as a header that makes sense
        const bool v4 = random() % 2 == 0;
        noise[0] = v4 ? static_cast<uint8_t>(0x45 + random() % 3) : 0x60;
        store16_be(noise.data() + (v4 ? 2 : 4),
                   static_cast<uint32_t>(noise.size() - (v4 ? 0 : 40)));
        constexpr std::array<uint8_t, 6> kNext = {50, 17, 0, 43, 44, 60};
        noise[v4 ? 9 : 6] = kNext[random() % kNext.size()];
        if (v4) store16_be(noise.data() + 6, 0);
      }
      Frame frame(noise, receiver.get(), 0, 0);
      engine->inbound({&frame.packet(), 1}, 1);
      ASSERT_NE(frame.packet().reason, Reason::kNone);
    }
  }
}

TEST_P(Hostile, WhatIsNotAsTheSaSaysIsMalformed) {
  const SaState state = gcm();
  const auto receiver = sa(state);
  const Bytes good = sealed_packet(state, 1, ip_packet(random, Family::kIpv4, 100));
  const auto with = [&](size_t at, uint8_t value) {
    Bytes bad = good;
    bad[at] = value;
    return bad;
  };
  in(*receiver, with(9, 17), Reason::kEspMalformed);    // UDP for an SA without
  in(*receiver, with(9, 51), Reason::kEspMalformed);    // AH
  in(*receiver, with(0, 0x65), Reason::kEspMalformed);  // another version
  in(*receiver, with(0, 0x44), Reason::kEspMalformed);
  in(*receiver, with(6, 0x20), Reason::kEspFragment);  // more fragments
  in(*receiver, with(7, 1), Reason::kEspFragment);     // an offset
  Frame without(good);
  engine->inbound({&without.packet(), 1}, 1);
  EXPECT_EQ(without.packet().reason, Reason::kEspUnknownSpi);
  in(*receiver, good);
}

TEST_P(Hostile, PaddingCountsFromOne) {
  for (const char* cipher : {"null", "aes-128-cbc"}) {
    const SaState state = sa_state(transform_by_name(cipher, "hmac-sha1").value(), random);
    const auto receiver = sa(state);
    uint64_t number = 0;
    const auto padded = [&](const Bytes& packet, unsigned more) {
      const Bytes plain = with_trailer(state.transform, packet, 4, more);
      EXPECT_EQ(in(*receiver, sealed(state, ++number, plain)), packet);
      for (size_t at = packet.size(); at + 2 < plain.size(); ++at) {
        Bytes wrong = plain;
        wrong[at] ^= 1;
        in(*receiver, sealed(state, ++number, wrong), Reason::kEspMalformed);
      }
    };
    for (size_t bytes = 62; bytes <= 78; ++bytes)
      for (unsigned more : {0, 1, 3, 15}) padded(ip_packet(random, Family::kIpv4, bytes), more);
    const Bytes packet = ip_packet(random, Family::kIpv4, 78);
    Bytes beyond = with_trailer(state.transform, packet, 4);
    beyond[beyond.size() - 2] = static_cast<uint8_t>(beyond.size() - 1);
    in(*receiver, sealed(state, ++number, beyond), Reason::kEspMalformed);
    beyond[beyond.size() - 2] = 255;
    in(*receiver, sealed(state, ++number, beyond), Reason::kEspMalformed);
  }
}

TEST_P(Hostile, InnerHeadersThatLieAreMalformed) {
  const SaState state = gcm();
  const auto receiver = sa(state);
  uint64_t number = 0;
  const auto offer = [&](const Bytes& inner, uint8_t next, Reason reason) {
    return in(*receiver, sealed(state, ++number, with_trailer(state.transform, inner, next)),
              reason);
  };
  const Bytes v4 = ip_packet(random, Family::kIpv4, 90);
  const Bytes v6 = ip_packet(random, Family::kIpv6, 90);
  offer(v4, 41, Reason::kEspMalformed);
  offer(v6, 4, Reason::kEspMalformed);
  offer(v4, 17, Reason::kEspMalformed);
  offer({}, 4, Reason::kEspMalformed);
  offer(slice(v4, 0, 19), 4, Reason::kEspMalformed);
  offer(slice(v6, 0, 39), 41, Reason::kEspMalformed);
  for (const uint32_t length : {0U, 19U, 91U, 65535U}) {
    Bytes lie = v4;
    store16_be(lie.data() + 2, length);
    offer(lie, 4, Reason::kEspMalformed);
  }
  Bytes long_v6 = v6;
  store16_be(long_v6.data() + 4, 51);
  offer(long_v6, 41, Reason::kEspMalformed);
  Bytes header = v4;
  header[0] = 0x44;
  offer(header, 4, Reason::kEspMalformed);
  header[0] = 0x4f;
  store16_be(header.data() + 2, 59);  // shorter than its own header
  offer(header, 4, Reason::kEspMalformed);
  // Longer than it says is TFC padding.
  Bytes padded = v4;
  padded.resize(400, 0xaa);
  EXPECT_EQ(offer(padded, 4, Reason::kNone), v4);
  EXPECT_EQ(offer(v6, 41, Reason::kNone), v6);
}

TEST_P(Hostile, DummyPacketsEndAsSuch) {
  const SaState state = gcm();
  const auto receiver = sa(state);
  const Bytes dummy = with_trailer(state.transform, random_bytes(random, 500), 59);
  in(*receiver, sealed(state, 1, dummy), Reason::kEspDummy);
  in(*receiver, sealed(state, 1, dummy), Reason::kEspReplay);
  EXPECT_EQ(receiver->packets.load(), 1U);
}

TEST_P(Hostile, TwiceInOneBatchIsOnceAccepted) {
  for (const SaState& state : one_of_each()) {
    const auto receiver = sa(state);
    const Bytes good = sealed_packet(state, 9, ip_packet(random, Family::kIpv4, 100));
    std::vector<Frame> frames(8, Frame(good));
    std::vector<Packet> packets;
    for (Frame& frame : frames) {
      frame = Frame(good, receiver.get());
      packets.push_back(frame.packet());
    }
    engine->inbound(packets, 1);
    for (size_t i = 0; i < packets.size(); ++i)
      EXPECT_EQ(packets[i].reason, i == 0 ? Reason::kNone : Reason::kEspReplay);
  }
}

TEST_P(Hostile, WindowEdgesAreExactThroughTheEngine) {
  for (const uint32_t window : {64U, 128U, 1024U, 4096U}) {
    SaState state = gcm();
    state.replay_window = window;
    state.esn = true;
    state.replay_sequence = (uint64_t{1} << 32) - 10;
    const auto receiver = sa(state);
    const Bytes packet = ip_packet(random, Family::kIpv4, 64);
    const auto offer = [&](uint64_t number, Reason reason) {
      in(*receiver, sealed_packet(state, number, packet), reason);
    };
    const uint64_t top = (uint64_t{1} << 32) + window / 2;
    offer(top, Reason::kNone);
    offer(top - window + 1,
          top - window + 1 > state.replay_sequence ? Reason::kNone : Reason::kEspReplay);
    // One below the window has the number of the next subspace: another ICV.
    offer(top - window, Reason::kEspBadIcv);
    offer((uint64_t{1} << 32) - 1, Reason::kNone);
    offer((uint64_t{1} << 32) - 1, Reason::kEspReplay);
    offer(uint64_t{1} << 32, Reason::kNone);
    offer(top + 3000000000, Reason::kNone);  // a far jump
    offer(top + 1, Reason::kEspBadIcv);
    EXPECT_EQ(receiver->replay.top(), top + 3000000000);
  }
}

INSTANTIATE_TEST_SUITE_P(, Hostile, testing::ValuesIn(libraries()), library_name);

}  // namespace
}  // namespace hecto::router::esp
