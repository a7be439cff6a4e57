// SAs and policies of the file on their way into Ipsec.
#include "router/ipsec/ipsec_config.hpp"

#include <gtest/gtest.h>

#include <string>

#include "config/file/load.hpp"

namespace hecto::router {
namespace {

config::Config read(const std::string& ipsec) {
  auto config =
      config::parse("ports: {wan0: {device: eth1, addresses: [192.0.2.1/24]}}\n" + ipsec, "t.yaml");
  if (config) return *config;
  ADD_FAILURE() << config.error()[0];
  return {};
}

std::string sa_text(const std::string& spi, const std::string& rest = "reqid: 1") {
  return "{source: 192.0.2.1, destination: 198.51.100.1, spi: " + spi +
         ", cipher: aes-128-gcm, key: \"0x" + std::string(40, 'a') + "\", " + rest + "}";
}
std::string policy_text(const std::string& source, const std::string& rest) {
  return "{direction: out, source: " + source + ", " + rest + "}";
}
const char* const kProtect = "protect: {source: 192.0.2.1, destination: 198.51.100.1, reqid: 1}";

config::Difference difference(const config::Config& from, const config::Config& to) {
  auto difference = config::diff(from, to);
  if (difference) return *difference;
  ADD_FAILURE() << difference.error()[0];
  return {};
}

TEST(IpsecConfig, TheFilesAlgorithmsAreThoseOfEspWithTheirKeys) {
  for (const config::IpsecAlgorithm& cipher : config::ipsec_ciphers()) {
    for (const config::IpsecAlgorithm& integrity : config::ipsec_integrities()) {
      auto transform = esp::transform_by_name(cipher.name, cipher.aead ? "" : integrity.name);
      ASSERT_TRUE(transform) << transform.error().message;
      EXPECT_EQ(transform->aead(), cipher.aead) << cipher.name;
      EXPECT_EQ(transform->key_bytes + transform->salt_bytes(), cipher.key_bytes) << cipher.name;
      if (!cipher.aead) {
        EXPECT_EQ(transform->integrity_key_bytes(), integrity.key_bytes) << integrity.name;
      }
    }
  }
}

TEST(IpsecConfig, CarriesEveryPropertyOfAnSa) {
  const auto config = read("ipsec: {sas: [" +
                           sa_text("0x1001",
                                   "mode: transport, reqid: 7, if_id: 3, replay_window: 128, esn: "
                                   "true, encapsulation: {source_port: 1024}, tfc_pad: 100, ecn: "
                                   "false, copy_dscp: false, copy_dont_fragment: false, lifetime: "
                                   "{soft_bytes: 5, hard_packets: 6, soft_add_s: 7, hard_use_s: "
                                   "8}") +
                           "]}");
  auto state = sa_state(config.ipsec.sas.at(0), RouteOrigin::kFile);
  ASSERT_TRUE(state);
  EXPECT_EQ(to_string(state->id), "198.51.100.1 0x00001001");
  EXPECT_EQ(state->source.to_string(), "192.0.2.1");
  EXPECT_EQ(state->origin, RouteOrigin::kFile);
  EXPECT_EQ(state->mode, IpsecMode::kTransport);
  EXPECT_EQ(state->reqid, 7u);
  EXPECT_EQ(state->if_id, 3u);
  EXPECT_EQ(esp::to_string(state->transform), "aes-128-gcm");
  EXPECT_EQ(state->keys.cipher_bytes, 20);
  EXPECT_EQ(state->keys.cipher[19], 0xaa);
  EXPECT_EQ(state->replay_window, 128u);
  EXPECT_TRUE(state->esn);
  EXPECT_EQ(state->encapsulation, (UdpEncapsulation{1024, 4500}));
  EXPECT_EQ(state->lifetime,
            (SaLifetime{.soft_bytes = 5, .hard_packets = 6, .soft_add_s = 7, .hard_use_s = 8}));
  EXPECT_FALSE(state->ecn || state->copy_dscp || state->copy_dont_fragment);
  EXPECT_EQ(state->tfc_pad, 100u);
}

TEST(IpsecConfig, CarriesEveryPropertyOfAPolicy) {
  const auto config = read(
      "ipsec: {policies: [{direction: forward, source: 10.1.0.0/16, protocol: tcp, "
      "destination_port: 443, priority: 5, if_id: 2, protect: {source: 192.0.2.1, destination: "
      "198.51.100.1, reqid: 9, spi: 0x1001, optional: true}}]}");
  const IpsecPolicy policy = ipsec_policy(config.ipsec.policies.at(0), RouteOrigin::kApi);
  EXPECT_EQ(to_string(policy), "forward 10.1.0.0/16 -> 0.0.0.0/0 protocol 6 port any:443");
  EXPECT_EQ(policy.origin, RouteOrigin::kApi);
  EXPECT_EQ(policy.action, PolicyAction::kProtect);
  EXPECT_EQ(policy.priority, 5u);
  EXPECT_EQ(policy.if_id, 2u);
  ASSERT_TRUE(policy.protection);
  EXPECT_EQ(policy.protection->destination.to_string(), "198.51.100.1");
  EXPECT_EQ(policy.protection->reqid, 9u);
  EXPECT_EQ(policy.protection->spi, 0x1001u);
  EXPECT_TRUE(policy.protection->optional);
}

TEST(IpsecConfig, AReloadReplacesRekeysAndRemovesWithoutAGap) {
  const auto before =
      read("ipsec: {sas: [" + sa_text("0x1001") + ", " + sa_text("0x1002", "reqid: 2") +
           "], policies: [" + policy_text("10.1.0.0/16", kProtect) + ", " +
           policy_text("10.2.0.0/16", "action: bypass") + "]}");
  const auto after = read("ipsec: {sas: [" + sa_text("0x1003") + "], policies: [" +
                          policy_text("10.1.0.0/16", std::string("priority: 5, ") + kProtect) +
                          ", " + policy_text("10.3.0.0/16", "action: discard") + "]}");
  Ipsec ipsec;
  EXPECT_TRUE(apply_ipsec(ipsec, before.ipsec).empty());
  const config::Difference change = difference(before, after);
  EXPECT_TRUE(check_ipsec(ipsec, change).empty());
  EXPECT_TRUE(apply_ipsec(ipsec, change).empty());
  const auto policies = ipsec.policies();
  ASSERT_EQ(policies.size(), 2u);
  EXPECT_EQ(policies[0].policy.action, PolicyAction::kDiscard);
  EXPECT_EQ(policies[1].policy.priority, 5u);
  ASSERT_TRUE(policies[1].sa);
  EXPECT_EQ(policies[1].sa->spi, 0x1003u);
  EXPECT_EQ(ipsec.sas().size(), 1u);
}

TEST(IpsecConfig, AReloadIsCheckedBeforeAnythingChanges) {
  const auto none = read("ipsec: {}");
  const auto two = read("ipsec: {sas: [" + sa_text("0x1001") + ", " + sa_text("0x1002") + "]}");
  IpsecOptions options;
  options.max_sas = 1;
  Ipsec ipsec(std::move(options));
  auto of_linux = sa_state(two.ipsec.sas[0], RouteOrigin::kLinux);
  ASSERT_TRUE(of_linux);
  ipsec.sa(std::move(*of_linux));
  EXPECT_EQ(check_ipsec(ipsec, difference(none, two)),
            (std::vector<std::string>{
                "ipsec: SA 198.51.100.1 0x00001001 is there already, not from the file",
                "ipsec: 1 SAs more, but 1 of 1 are there"}));
}

}  // namespace
}  // namespace hecto::router
