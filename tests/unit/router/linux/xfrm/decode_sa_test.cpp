#include <gtest/gtest.h>

#include "tests/unit/router/linux/xfrm/builder.hpp"

namespace hecto::router {
namespace {

using esp::Cipher;
using esp::Integrity;

struct Outcome {
  XfrmDecoded decoded;
  SaState state;
  std::string why;
};

Outcome sa_of(XfrmBuilder builder) {
  Outcome result;
  const auto bytes = builder.bytes();
  result.decoded = decode_sa(message_of(bytes), result.state, result.why);
  return result;
}

// Keys are 1, 2, 3, ...
template <size_t n>
void expect_key(const std::array<uint8_t, n>& key, unsigned length) {
  for (unsigned i = 0; i < n; ++i) {
    ASSERT_EQ(key[i], i < length ? i + 1 : 0) << i;
  }
}

TEST(XfrmDecodeSa, ReadsEachAeadWithItsKeyAndIcv) {
  struct Case {
    const char* name;
    unsigned key_bytes, icv_bits;
    Cipher cipher;
  };
  std::vector<Case> cases{{"rfc7539esp(chacha20,poly1305)", 36, 128, Cipher::kChaCha20Poly1305}};
  for (const unsigned key : {20U, 28U, 36U}) {
    cases.push_back({"rfc4543(gcm(aes))", key, 128, Cipher::kAesGmac});
    for (const unsigned icv : {64U, 96U, 128U}) {
      cases.push_back({"rfc4106(gcm(aes))", key, icv, Cipher::kAesGcm});
    }
  }
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.name) + " " + std::to_string(c.key_bytes));
    const auto outcome = sa_of(
        sa_message(sa_info()).with(XFRMA_ALG_AEAD, algorithm(c.name, c.key_bytes, c.icv_bits)));
    ASSERT_EQ(outcome.decoded, XfrmDecoded::kEvent) << outcome.why;
    const esp::Transform expected{c.cipher, Integrity::kNone, static_cast<uint8_t>(c.key_bytes - 4),
                                  static_cast<uint8_t>(c.icv_bits / 8)};
    EXPECT_EQ(outcome.state.transform, expected);
    EXPECT_EQ(outcome.state.keys.cipher_bytes, c.key_bytes);
    EXPECT_EQ(outcome.state.keys.integrity_bytes, 0);
    expect_key(outcome.state.keys.cipher, c.key_bytes);
    EXPECT_TRUE(esp::check(outcome.state.transform, outcome.state.keys));
  }
}

TEST(XfrmDecodeSa, ReadsEachCipherWithEachIntegrity) {
  struct CipherCase {
    const char* name;
    unsigned key_bytes, salt;
    Cipher cipher;
  };
  struct IntegrityCase {
    const char* name;
    unsigned key_bytes, icv_bits;
    Integrity integrity;
  };
  const CipherCase ciphers[] = {
      {"cbc(aes)", 16, 0, Cipher::kAesCbc},          {"cbc(aes)", 24, 0, Cipher::kAesCbc},
      {"cbc(aes)", 32, 0, Cipher::kAesCbc},          {"rfc3686(ctr(aes))", 20, 4, Cipher::kAesCtr},
      {"rfc3686(ctr(aes))", 28, 4, Cipher::kAesCtr}, {"rfc3686(ctr(aes))", 36, 4, Cipher::kAesCtr},
      {"ecb(cipher_null)", 0, 0, Cipher::kNull}};
  const IntegrityCase integrities[] = {{"hmac(sha1)", 20, 96, Integrity::kHmacSha1},
                                       {"hmac(sha256)", 32, 128, Integrity::kHmacSha256},
                                       {"hmac(sha256)", 32, 96, Integrity::kHmacSha256},
                                       {"hmac(sha384)", 48, 192, Integrity::kHmacSha384},
                                       {"hmac(sha512)", 64, 256, Integrity::kHmacSha512}};
  for (const CipherCase& c : ciphers) {
    for (const IntegrityCase& i : integrities) {
      SCOPED_TRACE(std::string(c.name) + " " + i.name);
      // The kernel sends the old form beside the new one.
      const auto outcome =
          sa_of(sa_message(sa_info())
                    .with(XFRMA_ALG_AUTH, algorithm(i.name, i.key_bytes))
                    .with(XFRMA_ALG_AUTH_TRUNC, algorithm(i.name, i.key_bytes, i.icv_bits))
                    .with(XFRMA_ALG_CRYPT, algorithm(c.name, c.key_bytes)));
      ASSERT_EQ(outcome.decoded, XfrmDecoded::kEvent) << outcome.why;
      const esp::Transform expected{c.cipher, i.integrity,
                                    static_cast<uint8_t>(c.key_bytes - c.salt),
                                    static_cast<uint8_t>(i.icv_bits / 8)};
      EXPECT_EQ(outcome.state.transform, expected);
      expect_key(outcome.state.keys.cipher, c.key_bytes);
      expect_key(outcome.state.keys.integrity, i.key_bytes);
      EXPECT_EQ(outcome.state.keys.integrity_bytes, i.key_bytes);
      EXPECT_TRUE(esp::check(outcome.state.transform, outcome.state.keys));
    }
  }
}

TEST(XfrmDecodeSa, TheOldFormOfIntegrityMeansTheOldLengths) {
  const auto outcome = sa_of(sa_message(sa_info())
                                 .with(XFRMA_ALG_AUTH, algorithm("hmac(sha256)", 32))
                                 .with(XFRMA_ALG_CRYPT, algorithm("cbc(aes)", 16)));
  ASSERT_EQ(outcome.decoded, XfrmDecoded::kEvent);
  EXPECT_EQ(outcome.state.transform.icv_bytes, 12);  // Linux before 2.6.33, and still without TRUNC
}

TEST(XfrmDecodeSa, ReadsAddressesFlagsAndNumbers) {
  auto info = sa_info("2001:db8::1", "2001:db8::2", 0xc0ffee01);
  info.flags = XFRM_STATE_ESN | XFRM_STATE_NOECN | XFRM_STATE_NOPMTUDISC | XFRM_STATE_AF_UNSPEC;
  info.lft = {1000, 2000, 10, 20, 30, 40, 50, 60};
  auto builder = gcm_message(info);
  builder.with(XFRMA_REPLAY_ESN_VAL, wide_replay(0x500000003, 0x600000004, 512, 16));
  builder.put(XFRMA_IF_ID, 42U)
      .put(XFRMA_TFCPAD, 1400U)
      .put(XFRMA_SA_EXTRA_FLAGS, uint32_t{XFRM_SA_XFLAG_DONT_ENCAP_DSCP})
      .put(XFRMA_ENCAP, xfrm_encap_tmpl{UDP_ENCAP_ESPINUDP, htons(4500), htons(31000), {}})
      .put(XFRMA_OFFLOAD_DEV, xfrm_user_offload{3, 0})
      .put(uint16_t{33}, uint8_t{2});  // XFRMA_SA_DIR
  const auto outcome = sa_of(builder);
  ASSERT_EQ(outcome.decoded, XfrmDecoded::kEvent) << outcome.why;
  const SaState& state = outcome.state;
  EXPECT_EQ(state.id.spi, 0xc0ffee01U);
  EXPECT_EQ(state.id.destination.to_string(), "2001:db8::2");
  EXPECT_EQ(state.source.to_string(), "2001:db8::1");
  EXPECT_EQ(state.mode, IpsecMode::kTunnel);
  EXPECT_EQ(state.reqid, 7U);
  EXPECT_EQ(state.if_id, 42U);
  EXPECT_EQ(state.tfc_pad, 1400U);
  EXPECT_TRUE(state.esn);
  EXPECT_FALSE(state.ecn);
  EXPECT_FALSE(state.copy_dont_fragment);
  EXPECT_FALSE(state.copy_dscp);
  EXPECT_EQ(state.replay_window, 512U);
  EXPECT_EQ(state.sequence, 0x500000003U);
  EXPECT_EQ(state.replay_sequence, 0x600000004U);
  ASSERT_TRUE(state.encapsulation);
  EXPECT_EQ(*state.encapsulation, (UdpEncapsulation{4500, 31000}));
  EXPECT_EQ(state.lifetime, (SaLifetime{1000, 2000, 10, 20, 30, 40, 50, 60}));
}

TEST(XfrmDecodeSa, DefaultsAreThoseOfAPlainState) {
  auto builder = gcm_message();
  builder.put(XFRMA_REPLAY_VAL, xfrm_replay_state{9, 8, 0});
  const auto outcome = sa_of(builder);
  ASSERT_EQ(outcome.decoded, XfrmDecoded::kEvent);
  EXPECT_FALSE(outcome.state.esn);
  EXPECT_TRUE(outcome.state.ecn && outcome.state.copy_dont_fragment && outcome.state.copy_dscp);
  EXPECT_EQ(outcome.state.replay_window, 32U);
  EXPECT_EQ(outcome.state.sequence, 9U);
  EXPECT_EQ(outcome.state.replay_sequence, 8U);
  EXPECT_EQ(outcome.state.lifetime, SaLifetime{});
  EXPECT_FALSE(outcome.state.encapsulation);
}

TEST(XfrmDecodeSa, WithoutEsnTheHighHalvesMeanNothing) {
  const auto outcome =
      sa_of(gcm_message().with(XFRMA_REPLAY_ESN_VAL, wide_replay(0x500000003, 0x600000004, 64, 2)));
  ASSERT_EQ(outcome.decoded, XfrmDecoded::kEvent);
  EXPECT_EQ(outcome.state.sequence, 3U);
  EXPECT_EQ(outcome.state.replay_sequence, 4U);
}

TEST(XfrmDecodeSa, TransportModeKeepsItsSelector) {
  auto info = sa_info();
  info.mode = XFRM_MODE_TRANSPORT;
  info.sel = selector("192.0.2.1", 32, "192.0.2.2", 32);
  info.sel.proto = IPPROTO_UDP;
  info.sel.dport = htons(1701);
  info.sel.dport_mask = 0xffff;
  const auto outcome = sa_of(gcm_message(info));
  ASSERT_EQ(outcome.decoded, XfrmDecoded::kEvent);
  EXPECT_EQ(outcome.state.mode, IpsecMode::kTransport);
  EXPECT_EQ(outcome.state.selector.protocol, IPPROTO_UDP);
  EXPECT_EQ(outcome.state.selector.destination_port, 1701);
  EXPECT_EQ(outcome.state.selector.destination_port_mask, 0xffff);
  EXPECT_EQ(outcome.state.selector.source.to_string(), "192.0.2.1/32");
}

TEST(XfrmDecodeSa, AStateWithoutKeysIsNotYetOne) {
  EXPECT_EQ(sa_of(sa_message(sa_info())).decoded, XfrmDecoded::kIgnored);
}

TEST(XfrmDecodeSa, NamesWhatItCannotDo) {
  struct Case {
    XfrmBuilder builder;
    std::string why;
  };
  const auto with_protocol = [](uint8_t protocol) {
    auto info = sa_info();
    info.id.proto = protocol;
    return gcm_message(info);
  };
  auto beet = sa_info();
  beet.mode = XFRM_MODE_BEET;
  auto marked = gcm_message();
  marked.put(XFRMA_MARK, xfrm_mark{5, 0xff});
  auto labelled = gcm_message();
  labelled.put(XFRMA_SEC_CTX, xfrm_user_sec_ctx{});
  auto tcp = gcm_message();
  tcp.put(XFRMA_ENCAP, xfrm_encap_tmpl{7, htons(4500), htons(4500), {}});
  std::vector<uint8_t> zeros = algorithm("rfc4106(gcm(aes))", 20, 128);
  std::fill(zeros.begin() + 72, zeros.end(), uint8_t{0});
  const auto aead = [](const std::string& name, unsigned key, unsigned icv) {
    return sa_message(sa_info()).with(XFRMA_ALG_AEAD, algorithm(name, key, icv));
  };
  const auto hmac = [](const std::string& name, unsigned key, unsigned icv) {
    return sa_message(sa_info())
        .with(XFRMA_ALG_AUTH_TRUNC, algorithm(name, key, icv))
        .with(XFRMA_ALG_CRYPT, algorithm("cbc(aes)", 16));
  };
  const std::vector<Case> cases{
      {with_protocol(IPPROTO_AH), "AH"},
      {with_protocol(IPPROTO_COMP), "IPComp"},
      {gcm_message(beet), "a mode other than tunnel and transport"},
      {marked, "a mark"},
      {labelled, "a security label"},
      {tcp, "an encapsulation other than ESP in UDP"},
      {aead("rfc4309(ccm(aes))", 19, 128), "algorithm rfc4309(ccm(aes))"},
      {aead("rfc4543(gcm(aes))", 20, 96), "rfc4543(gcm(aes)) with an ICV of 96 bits"},
      {sa_message(sa_info()).with(XFRMA_ALG_AEAD, zeros), "keys that the kernel does not show"},
      {hmac("hmac(md5)", 16, 96), "algorithm hmac(md5)"},
      {hmac("hmac(sha1)", 20, 160), "hmac(sha1) with an ICV of 160 bits"},
      {hmac("hmac(sha256)", 20, 128), "hmac(sha256) with a key of 20 bytes"},
      {hmac("digest_null", 0, 0), "encryption without integrity"},
      {sa_message(sa_info()).with(XFRMA_ALG_CRYPT, algorithm("cbc(aes)", 16)),
       "encryption without integrity"},
      {sa_message(sa_info())
           .with(XFRMA_ALG_AUTH, algorithm("hmac(sha1)", 20))
           .with(XFRMA_ALG_CRYPT, algorithm("cbc(des3_ede)", 24)),
       "algorithm cbc(des3_ede)"}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.why);
    const auto outcome = sa_of(c.builder);
    EXPECT_EQ(outcome.decoded, XfrmDecoded::kUnsupported);
    EXPECT_EQ(outcome.why, c.why);
    EXPECT_EQ(outcome.state.id.spi, 0x1001U);  // so that an older one of this name can go
  }
}

TEST(XfrmDecodeSa, AMarkThatUnmarkedPacketsFitIsNone) {
  auto builder = gcm_message();
  builder.put(XFRMA_MARK, xfrm_mark{0, 0xff});
  EXPECT_EQ(sa_of(builder).decoded, XfrmDecoded::kEvent);
}

TEST(XfrmDecodeSa, RefusesLies) {
  auto family = sa_info();
  family.family = AF_UNIX;
  EXPECT_EQ(sa_of(gcm_message(family)).decoded, XfrmDecoded::kMalformed);
  EXPECT_EQ(sa_of(gcm_message(sa_info("192.0.2.1", "192.0.2.2", 0))).decoded,
            XfrmDecoded::kMalformed);
  auto prefix = sa_info();
  prefix.sel.prefixlen_s = 33;
  EXPECT_EQ(sa_of(gcm_message(prefix)).decoded, XfrmDecoded::kMalformed);
  // A key that is longer than the attribute, no such key, half a byte, a name without its end.
  auto longer = algorithm("rfc4106(gcm(aes))", 20, 128);
  longer.pop_back();
  EXPECT_EQ(sa_of(sa_message(sa_info()).with(XFRMA_ALG_AEAD, longer)).decoded,
            XfrmDecoded::kMalformed);
  EXPECT_EQ(
      sa_of(sa_message(sa_info()).with(XFRMA_ALG_AEAD, algorithm("rfc4106(gcm(aes))", 21, 128)))
          .decoded,
      XfrmDecoded::kMalformed);
  EXPECT_EQ(
      sa_of(sa_message(sa_info()).with(XFRMA_ALG_AEAD, algorithm("rfc4106(gcm(aes))", 200, 128)))
          .decoded,
      XfrmDecoded::kMalformed);
  auto half = algorithm("rfc4106(gcm(aes))", 20, 128);
  half[64] = 157;
  EXPECT_EQ(sa_of(sa_message(sa_info()).with(XFRMA_ALG_AEAD, half)).decoded,
            XfrmDecoded::kMalformed);
  EXPECT_EQ(
      sa_of(sa_message(sa_info()).with(XFRMA_ALG_AEAD, algorithm(std::string(64, 'x'), 20, 128)))
          .decoded,
      XfrmDecoded::kMalformed);
  EXPECT_EQ(sa_of(sa_message(sa_info()).with(XFRMA_ALG_AUTH, algorithm("hmac(sha1)", 20))).decoded,
            XfrmDecoded::kMalformed);
  // Windows that their bitmaps cannot hold.
  for (const auto& replay :
       {wide_replay(0, 0, 65, 2), wide_replay(0, 0, 8192, 256), wide_replay(0, 0, 64, 0)}) {
    EXPECT_EQ(sa_of(gcm_message().with(XFRMA_REPLAY_ESN_VAL, replay)).decoded,
              XfrmDecoded::kMalformed);
  }
  auto cut = wide_replay(0, 0, 64, 2);
  cut.pop_back();
  EXPECT_EQ(sa_of(gcm_message().with(XFRMA_REPLAY_ESN_VAL, cut)).decoded, XfrmDecoded::kMalformed);
}

TEST(XfrmDecodeSa, RemovalsAndFlushes) {
  SaId id;
  XfrmBuilder removed(XFRM_MSG_DELSA);
  removed.head(xfrm_usersa_id{xfrm_of("2001:db8::2"), htonl(0x77), AF_INET6, IPPROTO_ESP});
  auto bytes = removed.bytes();
  ASSERT_EQ(decode_sa_removed(message_of(bytes), id), XfrmDecoded::kEvent);
  EXPECT_EQ(id.spi, 0x77U);
  EXPECT_EQ(id.destination.to_string(), "2001:db8::2");
  removed.put(XFRMA_MARK, xfrm_mark{1, 1});  // one that was never mirrored
  bytes = removed.bytes();
  EXPECT_EQ(decode_sa_removed(message_of(bytes), id), XfrmDecoded::kIgnored);

  for (const uint8_t hard : {0, 1}) {
    XfrmBuilder expired(XFRM_MSG_EXPIRE);
    expired.head(xfrm_user_expire{sa_info(), hard});
    bytes = expired.bytes();
    EXPECT_EQ(decode_sa_removed(message_of(bytes), id),
              hard != 0 ? XfrmDecoded::kEvent : XfrmDecoded::kIgnored);
    EXPECT_EQ(id.spi, 0x1001U);
  }
  for (const auto& [protocol, expected] :
       {std::pair{0, XfrmDecoded::kEvent}, std::pair{IPPROTO_ESP + 0, XfrmDecoded::kEvent},
        std::pair{255, XfrmDecoded::kEvent}, std::pair{IPPROTO_AH + 0, XfrmDecoded::kIgnored}}) {
    XfrmBuilder flushed(XFRM_MSG_FLUSHSA);
    flushed.head(xfrm_usersa_flush{static_cast<uint8_t>(protocol)});
    bytes = flushed.bytes();
    EXPECT_EQ(decode_sas_flushed(message_of(bytes)), expected) << protocol;
  }
}

TEST(XfrmDecodeProgress, ReadsLifetimesAndNumbers) {
  XfrmBuilder builder(XFRM_MSG_NEWAE);
  xfrm_aevent_id id{};
  id.sa_id = {xfrm_of("192.0.2.2"), htonl(0x1001), AF_INET, IPPROTO_ESP};
  builder.head(id)
      .put(XFRMA_LTIME_VAL, xfrm_lifetime_cur{100, 2, 1700000000, 1700000005})
      .raw(XFRMA_REPLAY_ESN_VAL, wide_replay(0x100000001, 0x200000002, 64, 2).data(), 32);
  const auto bytes = builder.bytes();
  SaProgress progress;
  ASSERT_EQ(decode_progress(message_of(bytes), progress), XfrmDecoded::kEvent);
  EXPECT_EQ(progress.id.spi, 0x1001U);
  EXPECT_EQ(progress.bytes, 100U);
  EXPECT_EQ(progress.packets, 2U);
  EXPECT_EQ(progress.added_s, 1700000000U);
  EXPECT_EQ(progress.first_used_s, 1700000005U);
  EXPECT_EQ(progress.sequence, 0x100000001U);
  EXPECT_EQ(progress.replay_sequence, 0x200000002U);
  EXPECT_TRUE(progress.wide);
  EXPECT_EQ(progress.bitmap_words, 2U);
  EXPECT_EQ(progress.replay_window, 64U);
}

}  // namespace
}  // namespace hecto::router
