// Against OpenSSL, both ways: every algorithm × mode × families × ESN × NAT-T.
#include "router/ipsec/esp/headers.hpp"
#include "tests/unit/router/ipsec/esp/openssl_esp.hpp"

namespace hecto::router::esp {
namespace {

// All SAs of one algorithm.
std::vector<SaState> variants(const Transform& transform, std::mt19937_64& random) {
  std::vector<SaState> all;
  for (const Family outer : kFamilies) {
    for (const IpsecMode mode : {IpsecMode::kTunnel, IpsecMode::kTransport}) {
      for (const bool esn : {false, true}) {
        for (const bool nat : {false, true}) {
          SaState state = sa_state(transform, random, outer, mode);
          state.esn = esn;
          if (nat) state.encapsulation = UdpEncapsulation{4500, 61234};
          state.sequence = esn ? 0x1234fffffffc : random() % 1000;
          state.replay_sequence = state.sequence;
          all.push_back(state);
        }
      }
    }
  }
  return all;
}

std::string words(const SaState& state, Family inner, size_t bytes) {
  return to_string(state.transform) +
         (state.mode == IpsecMode::kTunnel ? " tunnel" : " transport") + (state.esn ? " esn" : "") +
         (state.encapsulation ? " udp" : "") + " over " + state.source.to_string() + " family " +
         std::to_string(static_cast<int>(inner)) + " " + std::to_string(bytes) + " bytes";
}

class Interop : public EspTest {
 protected:
  // Lengths around the blocks, each padding of one, and some at random.
  std::vector<size_t> lengths(Family family) {
    const size_t least = family == Family::kIpv4 ? 20 : 40;
    std::vector<size_t> all = {least, least + 1, 576};
    for (size_t bytes = 64; bytes < 80; ++bytes) all.push_back(bytes);
    for (int i = 0; i < 3; ++i) all.push_back(least + random() % 1460);
    return all;
  }
  static bool transport(const SaState& state) { return state.mode == IpsecMode::kTransport; }
  static size_t header(const SaState& state) {
    return state.id.destination.family == Family::kIpv4 ? 20 : 40;
  }
  void seals_as_openssl(const SaState& state, Family inner);
  void opens_what_openssl_seals(const SaState& state, Family inner);
};

void Interop::seals_as_openssl(const SaState& state, Family inner) {
  const auto sender = sa(state);
  uint64_t number = state.sequence;
  for (const size_t bytes : lengths(inner)) {
    SCOPED_TRACE(words(state, inner, bytes));
    const Bytes packet = ip_packet(random, inner, bytes);
    const Bytes sent = out(*sender, packet);
    ASSERT_EQ(sent.size(), sender->outer_bytes(static_cast<uint32_t>(bytes)));
    const size_t front = header(state) + (state.encapsulation ? 8 : 0);
    const size_t iv_end = front + 8 + state.transform.iv_bytes();
    const Bytes iv = slice(sent, front + 8, iv_end);
    const Bytes plain =
        with_trailer(state.transform, slice(packet, transport(state) ? header(state) : 0, bytes),
                     transport(state)         ? 17
                     : inner == Family::kIpv4 ? 4
                                              : 41);
    ASSERT_EQ(slice(sent, front, sent.size()), openssl_seal(state, ++number, iv, plain));
    ASSERT_EQ(ip_bytes(sent.data(), static_cast<uint32_t>(sent.size())), sent.size());
  }
}

void Interop::opens_what_openssl_seals(const SaState& state, Family inner) {
  const auto receiver = sa(state);
  uint64_t number = state.sequence;
  for (const size_t bytes : lengths(inner)) {
    SCOPED_TRACE(words(state, inner, bytes));
    const Bytes packet = ip_packet(random, inner, bytes);
    const Bytes iv = random_bytes(random, state.transform.iv_bytes());
    const Bytes plain =
        with_trailer(state.transform, slice(packet, transport(state) ? header(state) : 0, bytes),
                     transport(state)         ? 17
                     : inner == Family::kIpv4 ? 4
                                              : 41,
                     random() % 3);
    Bytes sent = with_outer(state, openssl_seal(state, ++number, iv, plain));
    Bytes expected = packet;
    if (transport(state)) {  // the packet's headers are those that ESP came with
      std::copy_n(sent.begin(), header(state), expected.begin());
      uint8_t* ip = expected.data();
      if (inner == Family::kIpv4) {
        ip[9] = 17;
        store16_be(ip + 2, static_cast<uint32_t>(bytes));
        store16_be(ip + 10, 0);
        store16_be(ip + 10, ipv4_checksum(ip, 20));
      } else {
        ip[6] = 17;
        store16_be(ip + 4, static_cast<uint32_t>(bytes) - 40);
      }
    }
    ASSERT_EQ(in(*receiver, sent), expected);
    in(*receiver, sent, Reason::kEspReplay);
  }
  EXPECT_EQ(receiver->replay.top(), number);
}

TEST_P(Interop, SealsAsOpenSslDoes) {
  for (const Transform& transform : all_transforms()) {
    for (const SaState& state : variants(transform, random)) {
      for (const Family inner : kFamilies) {
        if (transport(state) && inner != state.id.destination.family) continue;
        seals_as_openssl(state, inner);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(Interop, OpensWhatOpenSslSealed) {
  for (const Transform& transform : all_transforms()) {
    for (const SaState& state : variants(transform, random)) {
      for (const Family inner : kFamilies) {
        if (transport(state) && inner != state.id.destination.family) continue;
        opens_what_openssl_seals(state, inner);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Everything at once in one batch: packets keep their places.
TEST_P(Interop, MixedBatchesGoThereAndBack) {
  std::vector<std::unique_ptr<Sa>> senders, receivers;
  for (const Transform& transform : all_transforms()) {
    for (const SaState& state : variants(transform, random)) {
      senders.push_back(sa(state));
      receivers.push_back(sa(state));
    }
  }
  for (int round = 0; round < 20; ++round) {
    std::vector<Frame> frames;
    std::vector<Bytes> before;
    std::vector<Packet> packets;
    std::vector<Sa*> back;
    const size_t count = 1 + random() % Engine::kMaxBatch;
    while (frames.size() < count) {
      const size_t which = random() % senders.size();
      const Family outer = senders[which]->id.destination.family;
      for (size_t run = 1 + random() % 4; run > 0 && frames.size() < count; --run) {
        before.push_back(ip_packet(random, outer, 40 + random() % 1460));
        frames.emplace_back(before.back(), senders[which].get());
        packets.push_back(frames.back().packet());
        back.push_back(receivers[which].get());
      }
    }
    engine->outbound(packets, 1, 64);
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(packets[i].reason, Reason::kNone);
      packets[i].sa = back[i];
    }
    engine->inbound(packets, 1);
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(packets[i].reason, Reason::kNone) << to_string(packets[i].sa->transform);
      ASSERT_EQ(Bytes(packets[i].ip, packets[i].ip + packets[i].bytes), before[i]);
    }
  }
}

// What one library seals the other opens, with its own reading of the keys.
TEST_P(Interop, EachLibraryOpensWhatTheOtherSealed) {
  for (const CryptoLibrary other : libraries()) {
    const auto far_end = Engine::create(other).value();
    for (const Transform& transform : all_transforms()) {
      for (const SaState& state : variants(transform, random)) {
        const auto sender = sa(state);
        const auto receiver = Sa::create(state, other).value();
        for (size_t bytes : {64, 1400}) {
          const Family inner = state.id.destination.family;
          SCOPED_TRACE(words(state, inner, bytes) + " for " + describe(other));
          const Bytes packet = ip_packet(random, inner, bytes);
          Frame frame(out(*sender, packet), receiver.get());
          far_end->inbound({&frame.packet(), 1}, 1);
          ASSERT_EQ(frame.packet().reason, Reason::kNone);
          ASSERT_EQ(frame.bytes(), packet);
        }
      }
    }
  }
}

TEST(Library, IsOpenSslOnlyWhereIpsecMbDoesNotRun) {
  const bool aes_ni = __builtin_cpu_supports("aes") != 0;
  EXPECT_EQ(usable(CryptoLibrary::kIpsecMb).has_value(), aes_ni);
  EXPECT_TRUE(usable(CryptoLibrary::kOpenSsl));
  EXPECT_EQ(best_crypto(), aes_ni ? CryptoLibrary::kIpsecMb : CryptoLibrary::kOpenSsl);
  EXPECT_EQ(describe(CryptoLibrary::kOpenSsl).ends_with(", no AES-NI: slower"), !aes_ni);
  if (aes_ni) return;
  EXPECT_EQ(Engine::create(CryptoLibrary::kIpsecMb).error().message,
            describe(CryptoLibrary::kIpsecMb));
}

INSTANTIATE_TEST_SUITE_P(, Interop, testing::ValuesIn(libraries()), library_name);

}  // namespace
}  // namespace hecto::router::esp
