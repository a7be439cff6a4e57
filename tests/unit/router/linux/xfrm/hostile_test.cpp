// Truncated and mutated XFRM messages: no read past the end (run under ASan), and what is still
// called an event keeps the promises of its type.
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "tests/beds/seed.hpp"
#include "tests/unit/router/linux/xfrm/builder.hpp"

namespace hecto::router {
namespace {

std::vector<std::vector<uint8_t>> xfrm_samples() {
  std::vector<std::vector<uint8_t>> all;
  auto full = gcm_message(sa_info("2001:db8::1", "2001:db8::2"));
  full.with(XFRMA_REPLAY_ESN_VAL, wide_replay(5, 6, 128, 4));
  full.put(XFRMA_IF_ID, 42U)
      .put(XFRMA_TFCPAD, 64U)
      .put(XFRMA_MARK, xfrm_mark{0, 1})
      .put(XFRMA_SA_EXTRA_FLAGS, 1U)
      .put(XFRMA_ENCAP, xfrm_encap_tmpl{UDP_ENCAP_ESPINUDP, htons(4500), htons(4500), {}});
  all.push_back(full.bytes());
  all.push_back(sa_message(sa_info(), XFRM_MSG_UPDSA)
                    .with(XFRMA_ALG_AUTH, algorithm("hmac(sha512)", 64))
                    .with(XFRMA_ALG_AUTH_TRUNC, algorithm("hmac(sha512)", 64, 256))
                    .with(XFRMA_ALG_CRYPT, algorithm("rfc3686(ctr(aes))", 36))
                    .put(XFRMA_REPLAY_VAL, xfrm_replay_state{1, 2, 3})
                    .bytes());
  all.push_back(XfrmBuilder(XFRM_MSG_DELSA)
                    .head(xfrm_usersa_id{xfrm_of("192.0.2.2"), 1, AF_INET, IPPROTO_ESP})
                    .put(XFRMA_MARK, xfrm_mark{0, 0})
                    .bytes());
  all.push_back(XfrmBuilder(XFRM_MSG_EXPIRE).head(xfrm_user_expire{sa_info(), 1}).bytes());
  all.push_back(XfrmBuilder(XFRM_MSG_FLUSHSA).head(xfrm_usersa_flush{IPPROTO_ESP}).bytes());
  auto policy = policy_message(policy_info(), {esp_template()});
  policy.put(XFRMA_POLICY_TYPE, xfrm_userpolicy_type{}).put(XFRMA_IF_ID, 1U);
  all.push_back(policy.bytes());
  all.push_back(XfrmBuilder(XFRM_MSG_DELPOLICY)
                    .head(xfrm_userpolicy_id{{}, 9, XFRM_POLICY_IN})
                    .put(XFRMA_POLICY, policy_info(XFRM_POLICY_IN))
                    .bytes());
  all.push_back(
      XfrmBuilder(XFRM_MSG_POLEXPIRE).head(xfrm_user_polexpire{policy_info(), 1}).bytes());
  xfrm_aevent_id progress{};
  progress.sa_id = {xfrm_of("192.0.2.2"), 1, AF_INET, IPPROTO_ESP};
  const auto replay = wide_replay(7, 8, 64, 2);
  all.push_back(XfrmBuilder(XFRM_MSG_NEWAE)
                    .head(progress)
                    .put(XFRMA_LTIME_VAL, xfrm_lifetime_cur{1, 2, 3, 4})
                    .raw(XFRMA_REPLAY_ESN_VAL, replay.data(), replay.size())
                    .bytes());
  return all;
}

void expect_sound(const IpsecSelector& selector) {
  for (const IpPrefix& prefix : {selector.source, selector.destination}) {
    ASSERT_EQ(prefix.address.family, selector.family);
    ASSERT_LE(prefix.length, prefix.address.size() * 8);
    ASSERT_EQ(prefix, prefix.network());
  }
  ASSERT_EQ(selector.source_port & ~selector.source_port_mask, 0);
  ASSERT_EQ(selector.destination_port & ~selector.destination_port_mask, 0);
}

void expect_sound(const SaState& state) {
  ASSERT_NE(state.id.spi, 0U);
  ASSERT_EQ(state.source.family, state.id.destination.family);
  ASSERT_LE(state.replay_window, 4096U);
  ASSERT_EQ(state.keys.cipher_bytes, state.transform.key_bytes + state.transform.salt_bytes());
  ASSERT_EQ(state.keys.integrity_bytes, state.transform.integrity_key_bytes());
  if (!state.esn) {
    ASSERT_LE(state.sequence, 0xffffffffU);
  }
  expect_sound(state.selector);
}

// From a heap block of exactly the message's size, so that ASan sees one byte too many.
void decode_xfrm_every_way(const std::vector<uint8_t>& bytes) {
  const auto exact = std::make_unique<uint8_t[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), exact.get());
  MessageWalker walker({exact.get(), bytes.size()});
  Message message;
  SaState state;
  SaId id;
  IpsecPolicy policy;
  SaProgress progress;
  std::string why;
  while (walker.next(message)) {
    const XfrmDecoded sa = decode_sa(message, state, why);
    if (sa == XfrmDecoded::kEvent) expect_sound(state);
    if (sa == XfrmDecoded::kUnsupported) {
      ASSERT_FALSE(why.empty());
    }
    const XfrmDecoded decoded = decode_policy(message, policy, why);
    if (decoded == XfrmDecoded::kEvent || decoded == XfrmDecoded::kStandIn) {
      expect_sound(policy.selector);
      ASSERT_EQ(policy.protection.has_value(), policy.action == PolicyAction::kProtect);
    }
    if (decode_policy_removed(message, policy) == XfrmDecoded::kEvent) {
      expect_sound(policy.selector);
    }
    static_cast<void>(decode_sa_removed(message, id));
    static_cast<void>(decode_sas_flushed(message));
    static_cast<void>(decode_policies_flushed(message));
    if (decode_progress(message, progress) == XfrmDecoded::kEvent) {
      ASSERT_LE(progress.bitmap_words, 128U);
    }
  }
}

TEST(XfrmHostile, SurvivesEveryTruncation) {
  for (const auto& sample : xfrm_samples()) {
    for (size_t size = 0; size < sample.size(); ++size) {
      std::vector<uint8_t> shorter(sample.begin(), sample.begin() + static_cast<long>(size));
      decode_xfrm_every_way(shorter);  // the header's length lies
      if (size < sizeof(nlmsghdr)) continue;
      const auto length = static_cast<uint32_t>(size);
      std::memcpy(shorter.data(), &length, sizeof length);
      decode_xfrm_every_way(shorter);  // the attributes' lengths lie
    }
  }
}

TEST(XfrmHostile, SurvivesRandomMutations) {
  const auto seed = static_cast<unsigned>(test_seed());
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto originals = xfrm_samples();
  for (int round = 0; round < 40000; ++round) {
    auto bytes = originals[random() % originals.size()];
    const size_t mutations = 1 + random() % 4;
    for (size_t i = 0; i < mutations; ++i) {
      bytes[random() % bytes.size()] = static_cast<uint8_t>(
          random() % 2 == 0 ? random() : (random() % 2 == 0 ? 0xff : random() % 48));
    }
    decode_xfrm_every_way(bytes);
    if (HasFatalFailure()) return;
  }
}

TEST(XfrmHostile, ShorterAttributesThanTheirTypesAreRefused) {
  const std::pair<uint16_t, size_t> sizes[] = {{XFRMA_ENCAP, sizeof(xfrm_encap_tmpl)},
                                               {XFRMA_MARK, sizeof(xfrm_mark)},
                                               {XFRMA_REPLAY_VAL, sizeof(xfrm_replay_state)},
                                               {XFRMA_REPLAY_ESN_VAL, 24},
                                               {XFRMA_IF_ID, 4},
                                               {XFRMA_TFCPAD, 4},
                                               {XFRMA_SA_EXTRA_FLAGS, 4},
                                               {XFRMA_ALG_AEAD, sizeof(xfrm_algo_aead)}};
  for (const auto& [type, size] : sizes) {
    for (size_t shorter = 0; shorter < size; ++shorter) {
      auto builder = gcm_message();
      builder.with(type, std::vector<uint8_t>(shorter));
      const auto bytes = builder.bytes();
      SaState state;
      std::string why;
      EXPECT_EQ(decode_sa(message_of(bytes), state, why), XfrmDecoded::kMalformed)
          << type << " of " << shorter;
    }
  }
}

}  // namespace
}  // namespace hecto::router
