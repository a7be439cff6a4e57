// Which SAs a NIC's capabilities fit.
#include <gtest/gtest.h>

#include "router/dataplane/nic_crypto/capability.hpp"
#include "tests/unit/router/dataplane/nic_crypto/scripted_nic.hpp"
#include "tests/unit/router/ipsec/ipsec_bed.hpp"

namespace hecto::router::test {
namespace {

SaState with_cipher(const std::string& cipher, const std::string& integrity = "") {
  SaState state = sa_state(0x100);
  state.transform = *esp::transform_by_name(cipher, integrity);
  state.keys.cipher_bytes =
      static_cast<uint8_t>(state.transform.key_bytes + state.transform.salt_bytes());
  state.keys.integrity_bytes = static_cast<uint8_t>(state.transform.integrity_key_bytes());
  return state;
}

SaState over_ipv6(SaState state) {
  state.id.destination = ip("2001:db8::2");
  state.source = ip("2001:db8::1");
  return state;
}

class NicCapability : public testing::Test {
 protected:
  bool fits(const SaState& state, bool inbound) const {
    const auto sa = esp::Sa::create(state);
    EXPECT_TRUE(sa) << (sa ? "" : sa.error().message);
    return fitting(nic_.offers.data(), **sa, inbound) != nullptr;
  }
  bool fits(const SaState& state) const { return fits(state, false) && fits(state, true); }
  bool never_fits(const SaState& state) const { return !fits(state, false) && !fits(state, true); }
  ScriptedNic nic_;
};

TEST_F(NicCapability, TakesAesGcmOfTheKeySizesOffered) {
  EXPECT_TRUE(fits(with_cipher("aes-128-gcm")));
  EXPECT_TRUE(fits(with_cipher("aes-256-gcm")));
  EXPECT_TRUE(never_fits(with_cipher("aes-192-gcm")));
  EXPECT_TRUE(fits(over_ipv6(with_cipher("aes-128-gcm"))));
}

TEST_F(NicCapability, AnIncrementOfNothingMeansOneSize) {
  auto crypto = *nic_.offers[0].crypto_capabilities;
  crypto.sym.aead.key_size = {16, 16, 0};
  const std::array<rte_cryptodev_capabilities, 2> only{crypto, {}};
  for (auto& offer : nic_.offers) offer.crypto_capabilities = only.data();
  EXPECT_TRUE(fits(with_cipher("aes-128-gcm")));
  EXPECT_TRUE(never_fits(with_cipher("aes-256-gcm")));
}

TEST_F(NicCapability, LeavesOtherAlgorithmsAndShorterIcvsToTheCpu) {
  for (const char* cipher :
       {"aes-128-gcm-12", "aes-128-gcm-8", "aes-128-gmac", "chacha20-poly1305"})
    EXPECT_TRUE(never_fits(with_cipher(cipher))) << cipher;
  EXPECT_TRUE(never_fits(with_cipher("aes-128-cbc", "hmac-sha2-256")));
}

TEST_F(NicCapability, ModeAndDirectionAreThoseOffered) {
  nic_.offer(true, true).action = RTE_SECURITY_ACTION_TYPE_INLINE_PROTOCOL;
  SaState transport = with_cipher("aes-128-gcm");
  transport.mode = IpsecMode::kTransport;
  EXPECT_TRUE(fits(transport));
  EXPECT_TRUE(fits(with_cipher("aes-128-gcm"), false));
  EXPECT_FALSE(fits(with_cipher("aes-128-gcm"), true));
  nic_.offer(false, false).ipsec.proto = RTE_SECURITY_IPSEC_SA_PROTO_AH;
  EXPECT_FALSE(fits(transport, false));
  nic_.offer(true, false).protocol = RTE_SECURITY_PROTOCOL_MACSEC;
  EXPECT_FALSE(fits(transport, true));
}

TEST_F(NicCapability, EsnOnlyOutboundAndWhereItIsOffered) {
  SaState state = with_cipher("aes-128-gcm");
  state.esn = true;
  EXPECT_TRUE(never_fits(state));
  for (auto& offer : nic_.offers) offer.ipsec.options.esn = 1;
  EXPECT_TRUE(fits(state, false));
  EXPECT_FALSE(fits(state, true));
}

TEST_F(NicCapability, EspInUdpOverIpv4OnlyAndWhereItIsOffered) {
  SaState state = with_cipher("aes-128-gcm");
  state.encapsulation.emplace();
  EXPECT_TRUE(never_fits(state));
  for (auto& offer : nic_.offers) offer.ipsec.options.udp_encap = 1;
  EXPECT_TRUE(fits(state));
  EXPECT_TRUE(never_fits(over_ipv6(state)));
}

TEST_F(NicCapability, TrailersStayWithTheWorker) {
  nic_.offer(false, true).ol_flags |= RTE_SECURITY_TX_HW_TRAILER_OFFLOAD;
  nic_.offer(true, true).ol_flags |= RTE_SECURITY_RX_HW_TRAILER_OFFLOAD;
  EXPECT_TRUE(never_fits(with_cipher("aes-128-gcm")));
}

TEST(NicCapabilityOfNone, FitsNothing) {
  const auto sa = esp::Sa::create(with_cipher("aes-128-gcm"));
  EXPECT_EQ(fitting(nullptr, **sa, false), nullptr);
  rte_security_capability bare{};
  EXPECT_EQ(fitting(&bare, **sa, false), nullptr);
  std::array<rte_security_capability, 2> without_crypto{};
  without_crypto[0].action = RTE_SECURITY_ACTION_TYPE_INLINE_CRYPTO;
  without_crypto[0].protocol = RTE_SECURITY_PROTOCOL_IPSEC;
  without_crypto[0].ipsec.mode = RTE_SECURITY_IPSEC_SA_MODE_TUNNEL;
  without_crypto[0].ipsec.proto = RTE_SECURITY_IPSEC_SA_PROTO_ESP;
  EXPECT_EQ(fitting(without_crypto.data(), **sa, false), nullptr);
}

}  // namespace
}  // namespace hecto::router::test
