// `ipsec:`: what is read, what is refused, and that no key is ever told.
#include "config/file/ipsec.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "config/file/diff.hpp"
#include "config/file/document.hpp"
#include "config/file/load.hpp"
#include "config/file/load_ipsec.hpp"
#include "config/file/load_ipsec_policies.hpp"
#include "config/file/to_yaml.hpp"
#include "tests/unit/config/file/files.hpp"

namespace hecto::config {
namespace {

constexpr const char* kKey = "0x000102030405060708090a0b0c0d0e0fa0a1a2a3";
constexpr const char* kEnds = "source: 192.0.2.1, destination: 198.51.100.1, spi: 0x1001";

std::string file(const std::string& ipsec) {
  return std::string(kPort) + "ipsec: {" + ipsec + "}";
}
std::string one_sa(const std::string& rest) {
  return file("sas: [{" + rest + "}]");
}
std::string one_policy(const std::string& rest) {
  return file("policies: [{" + rest + "}]");
}

TEST(LoadIpsec, ADocumentIsWipedWholly) {
  auto document = read_document(fmt::format("sas: [{{key: \"{}\"}}, {{key: {}}}]", kKey, kKey));
  ASSERT_TRUE(document);
  size_t keys = 0;
  for (const DocumentNode& node : document->nodes) keys += node.text == kKey;
  EXPECT_EQ(keys, 2u);
  wipe(*document);
  for (const DocumentNode& node : document->nodes)
    EXPECT_EQ(node.text, std::string(node.text.size(), '\0'));
}

TEST(LoadIpsec, ReadsWhatEncrypts) {
  EXPECT_EQ(good(file("max_sas: 5")).ipsec.crypto, IpsecCrypto::kAuto);
  for (const auto crypto : {IpsecCrypto::kAuto, IpsecCrypto::kIpsecMb, IpsecCrypto::kOpenSsl})
    EXPECT_EQ(good(file(std::string("crypto: ") + to_string(crypto))).ipsec.crypto, crypto);
}

TEST(LoadIpsec, ReadsWhetherNicsEncrypt) {
  EXPECT_EQ(good(file("max_sas: 5")).ipsec.nic, IpsecNic::kAuto);
  EXPECT_EQ(good(file("nic: auto")).ipsec.nic, IpsecNic::kAuto);
  const Config never = good(file("nic: never"));
  EXPECT_EQ(never.ipsec.nic, IpsecNic::kNever);
  EXPECT_NE(to_yaml(never).find("  nic: never\n"), std::string::npos);
}

TEST(LoadIpsec, ReadsAnSaWithEverything) {
  const Config config =
      good(one_sa(std::string(kEnds) +
                  ", mode: transport, reqid: 7, if_id: 3, cipher: aes-128-gcm, key: " + kKey +
                  ", replay_window: 1024, esn: true, encapsulation: {source_port: 1024}, "
                  "lifetime: {soft_bytes: 90GB, hard_bytes: 100GB, soft_packets: 5, hard_add_s: "
                  "3600}, copy_dscp: false, ecn: false, tfc_pad: 1400"));
  ASSERT_EQ(config.ipsec.sas.size(), 1u);
  const IpsecSaConfig& sa = config.ipsec.sas[0];
  EXPECT_EQ(sa.destination, *IpAddress::parse("198.51.100.1"));
  EXPECT_EQ(sa.spi, 0x1001u);
  EXPECT_EQ(sa.mode, IpsecMode::kTransport);
  EXPECT_EQ(sa.reqid, 7u);
  EXPECT_EQ(sa.if_id, 3u);
  EXPECT_EQ(sa.cipher_key.size(), 20u);
  EXPECT_EQ(sa.cipher_key.bytes()[1], 1);
  EXPECT_EQ(sa.cipher_key.bytes()[19], 0xa3);
  EXPECT_EQ(sa.replay_window, 1024);
  EXPECT_TRUE(sa.esn);
  EXPECT_EQ(sa.encapsulation, (UdpEncapsulation{1024, 4500}));
  EXPECT_EQ(sa.lifetime.soft_bytes, 90'000'000'000u);
  EXPECT_EQ(sa.lifetime.hard_add_s, 3600u);
  EXPECT_FALSE(sa.lifetime.hard_packets);
  EXPECT_FALSE(sa.copy_dscp);
  EXPECT_TRUE(sa.copy_dont_fragment);
  EXPECT_FALSE(sa.ecn);
  EXPECT_EQ(sa.tfc_pad, 1400);
}

TEST(LoadIpsec, ReadsPolicies) {
  const Config config = good(file(
      "policies: [{direction: out, source: 10.1.0.0/16, destination: 10.2.0.0/16, protocol: udp, "
      "destination_port: 53, priority: 9, protect: {source: 192.0.2.1, destination: 198.51.100.1, "
      "reqid: 1, spi: 0x1001}}, {direction: in, source: \"2001:db8::/32\", action: bypass}, "
      "{direction: forward, destination: 10.0.0.0/8, protocol: 50, action: discard}]"));
  ASSERT_EQ(config.ipsec.policies.size(), 3u);
  const IpsecPolicyConfig& first = config.ipsec.policies[0];
  EXPECT_EQ(first.protocol, 17);
  EXPECT_EQ(first.destination_port, 53);
  EXPECT_EQ(first.priority, 9u);
  EXPECT_EQ(first.protect->spi, 0x1001u);
  const IpsecPolicyConfig& second = config.ipsec.policies[1];
  EXPECT_EQ(second.destination.to_string(), "::/0");
  EXPECT_EQ(second.action, PolicyAction::kBypass);
  EXPECT_EQ(config.ipsec.policies[2].source.to_string(), "0.0.0.0/0");
}

struct Refusal {
  std::string yaml;
  const char* problem;
};
void PrintTo(const Refusal& refusal, std::ostream* out) {
  *out << refusal.yaml;
}

class IpsecRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(IpsecRefuses, InALineWithoutKeys) {
  const std::string problem = only(GetParam().yaml);
  EXPECT_EQ(problem, std::string("t.yaml:2: ipsec") + GetParam().problem);
  EXPECT_EQ(problem.find("0001020304"), std::string::npos);
}

std::string keyed(const std::string& rest) {
  return one_sa(std::string(kEnds) + ", " + rest);
}
std::string gcm(const std::string& rest) {
  return keyed(std::string("cipher: aes-128-gcm, key: ") + kKey + ", " + rest);
}

INSTANTIATE_TEST_SUITE_P(
    Sas, IpsecRefuses,
    testing::Values(
        Refusal{file("crypto: aes-ni"),
                ".crypto: aes-ni is not known; use auto, ipsec-mb or openssl"},
        Refusal{file("nic: always"), ".nic: always is not known; use auto or never"},
        Refusal{file("max_sas: 0"), ".max_sas: 0 is out of range; use 1 to 1000000"},
        Refusal{file("sa: []"), ".sa: unknown key; did you mean sas?"},
        Refusal{gcm("sip: 1"), ".sas[0].sip: unknown key; did you mean spi?"},
        Refusal{one_sa(std::string("source: 192.0.2.1, spi: 0x1001, cipher: aes-128-gcm, key: ") +
                       kKey),
                ".sas[0]: has no destination; add the address of the receiving end"},
        Refusal{one_sa(std::string("source: 192.0.2.1, destination: \"2001:db8::1\", spi: 0x1001, "
                                   "cipher: aes-128-gcm, key: ") +
                       kKey),
                ".sas[0].destination: \"2001:db8::1\" is not of the family of source; use two "
                "addresses of one family"},
        Refusal{one_sa(std::string("source: 0.0.0.0, destination: 198.51.100.1, spi: 0x1001, "
                                   "cipher: aes-128-gcm, key: ") +
                       kKey),
                ".sas[0].source: 0.0.0.0 is no end of a tunnel; use a unicast address, as "
                "192.0.2.1"},
        Refusal{one_sa(std::string("source: 192.0.2.1, destination: 198.51.100.1, spi: 255, "
                                   "cipher: aes-128-gcm, key: ") +
                       kKey),
                ".sas[0].spi: 255 is no SPI; use 0x100 to 0xffffffff"},
        Refusal{one_sa(std::string("source: 192.0.2.1, destination: 198.51.100.1, spi: "
                                   "0x100000000, cipher: aes-128-gcm, key: ") +
                       kKey),
                ".sas[0].spi: 0x100000000 is no SPI; use 0x100 to 0xffffffff"},
        Refusal{keyed("key: 0x0001020304"), ".sas[0]: has no cipher; add one as aes-256-gcm"},
        Refusal{keyed("cipher: rot13, key: 0x0001020304"),
                ".sas[0].cipher: no algorithm that is known; use null, aes-128-cbc, aes-192-cbc, "
                "aes-256-cbc, aes-128-ctr, aes-192-ctr, aes-256-ctr, aes-128-gcm, aes-192-gcm, "
                "aes-256-gcm, aes-128-gcm-12, aes-192-gcm-12, aes-256-gcm-12, aes-128-gcm-8, "
                "aes-192-gcm-8, aes-256-gcm-8, aes-128-gmac, aes-192-gmac, aes-256-gmac, "
                "chacha20-poly1305"},
        Refusal{keyed("cipher: aes-128-gcm, key: 0x000102030405060708090a0b0c0d0e0f"),
                ".sas[0].key: a key of 16 bytes; aes-128-gcm takes 20 bytes: 0x and 40 hex digits"},
        Refusal{keyed("cipher: aes-128-gcm, key: 0x000102030405zz"),
                ".sas[0].key: not a key; aes-128-gcm takes 20 bytes: 0x and 40 hex digits"},
        Refusal{keyed("cipher: aes-128-gcm, key: \"0x0001020304\\x01\""),
                ".sas[0].key: not a key; aes-128-gcm takes 20 bytes: 0x and 40 hex digits"},
        Refusal{keyed("cipher: aes-128-gcm, key: [0x0001020304]"),
                ".sas[0].key: not a key; aes-128-gcm takes 20 bytes: 0x and 40 hex digits"},
        Refusal{keyed("cipher: aes-128-gcm, key: set"),
                ".sas[0].key: what stands for a key that is not shown; write the key, or use "
                "key_file"},
        Refusal{keyed("cipher: aes-128-gcm"), ".sas[0]: has no key; add it, or key_file"},
        Refusal{gcm("integrity: hmac-sha1"),
                ".sas[0].integrity: aes-128-gcm protects integrity itself; take it out"},
        Refusal{gcm("integrity_key: 0x0001020304"),
                ".sas[0].integrity_key: aes-128-gcm takes no key; take it out"},
        Refusal{keyed("cipher: aes-128-cbc, key: 0x000102030405060708090a0b0c0d0e0f"),
                ".sas[0]: has no integrity, and aes-128-cbc does not protect it; add one as "
                "hmac-sha2-256"},
        Refusal{keyed("cipher: \"null\", integrity: md5, key: 0x00"),
                ".sas[0].integrity: no algorithm that is known; use hmac-sha1, hmac-sha2-256, "
                "hmac-sha2-256-96, hmac-sha2-384, hmac-sha2-512"},
        Refusal{keyed("cipher: \"null\", integrity: hmac-sha1, integrity_key: 0x0001020304"),
                ".sas[0].integrity_key: a key of 5 bytes; hmac-sha1 takes 20 bytes: 0x and 40 hex "
                "digits"},
        Refusal{gcm("key_file: a"), ".sas[0].key_file: a key stands here as well; use one of both"},
        Refusal{keyed("cipher: aes-128-gcm, key_file: /nowhere/a.key"),
                ".sas[0].key_file: /nowhere/a.key cannot be opened: No such file or directory"},
        Refusal{keyed("cipher: aes-128-gcm, key_file: /dev/null"),
                ".sas[0].key_file: /dev/null cannot be read as a file"},
        Refusal{gcm("mode: beet"), ".sas[0].mode: beet is not known; use tunnel or transport"},
        Refusal{gcm("replay_window: 4097"),
                ".sas[0].replay_window: 4097 is out of range; use 0 to 4096"},
        Refusal{gcm("encapsulation: {source_port: 0}"),
                ".sas[0].encapsulation.source_port: 0 is out of range; use 1 to 65535"},
        Refusal{gcm("lifetime: {soft_packets: 9, hard_packets: 8}"),
                ".sas[0].lifetime.soft_packets: 9 is above hard_packets; use at most that"},
        Refusal{gcm("lifetime: {soft_bytes: many}"),
                ".sas[0].lifetime.soft_bytes: many is not a size; use 1B to 4294967296GiB"},
        Refusal{gcm("lifetime: {hard: 1}"),
                ".sas[0].lifetime.hard: unknown key; use soft_bytes, hard_bytes, soft_packets, "
                "hard_packets, soft_add_s, hard_add_s, soft_use_s, hard_use_s"},
        Refusal{gcm("tfc_pad: 65536"), ".sas[0].tfc_pad: 65536 is out of range; use 0 to 65535"},
        Refusal{file(std::string("sas: [{") + kEnds + ", cipher: aes-128-gcm, key: " + kKey +
                     "}, {" + kEnds + ", cipher: aes-128-gcm, key: " + kKey + "}]"),
                ".sas[1]: destination and SPI are those of line 2; use another SPI"}));

constexpr const char* kOut = "direction: out, source: 10.1.0.0/16, ";

INSTANTIATE_TEST_SUITE_P(
    Policies, IpsecRefuses,
    testing::Values(
        Refusal{one_policy("source: 10.1.0.0/16, action: bypass"),
                ".policies[0]: has no direction; add out, in or forward"},
        Refusal{one_policy("direction: fwd, source: 10.1.0.0/16, action: bypass"),
                ".policies[0].direction: fwd is not known; use out, in or forward"},
        Refusal{one_policy("direction: out, action: bypass"),
                ".policies[0]: has neither source nor destination; add one, as source: 0.0.0.0/0"},
        Refusal{one_policy("direction: out, source: 10.1.0.1/16, action: bypass"),
                ".policies[0].source: 10.1.0.1/16 has bits behind its length; use 10.1.0.0/16"},
        Refusal{
            one_policy("direction: out, source: ten, action: bypass"),
            ".policies[0].source: ten is not a prefix; use one as 10.1.0.0/16 or 2001:db8::/32"},
        Refusal{
            one_policy(std::string(kOut) + "destination: \"2001:db8::/32\", action: bypass"),
            ".policies[0].destination: \"2001:db8::/32\" is not of the family of source; use two "
            "prefixes of one family"},
        Refusal{one_policy("direction: out, source: 10.1.0.0/16"),
                ".policies[0]: has no action; add protect, or action: bypass or discard"},
        Refusal{one_policy(std::string(kOut) + "action: protect"),
                ".policies[0]: has no protect; say by which SA"},
        Refusal{one_policy(std::string(kOut) + "action: drop"),
                ".policies[0].action: drop is not known; use protect, bypass or discard"},
        Refusal{one_policy(std::string(kOut) + "action: discard, protect: {reqid: 1}"),
                ".policies[0].protect: the action is another; take one of both out"},
        Refusal{
            one_policy(std::string(kOut) + "action: bypass, protocol: everything"),
            ".policies[0].protocol: everything is no protocol; use tcp, udp, sctp, icmp, gre or "
            "another's number, 1 to 255"},
        Refusal{one_policy(std::string(kOut) + "action: bypass, source_port: 53"),
                ".policies[0].source_port: ports need a protocol that has them; add protocol: tcp, "
                "udp or sctp"},
        Refusal{one_policy(std::string(kOut) + "action: bypass, protocol: tcp, source_port: 65536"),
                ".policies[0].source_port: 65536 is out of range; use 0 to 65535"},
        Refusal{one_policy(std::string(kOut) + "protect: {reqid: 1, destination: 192.0.2.1}"),
                ".policies[0].protect: has no source; add the tunnel's end"},
        Refusal{
            one_policy(std::string(kOut) +
                       "protect: {source: \"2001:db8::1\", destination: 192.0.2.1}"),
            ".policies[0].protect.destination: 192.0.2.1 is not of the family of source; use two "
            "addresses of one family"},
        Refusal{one_policy(std::string(kOut) + "protect: {mode: transport, reqid: 1}"),
                ".policies[0].protect: transport mode without ends, but the selector is not one of "
                "hosts; name source and destination, or use prefixes of full length"},
        Refusal{one_policy(std::string(kOut) + "protect: {mode: transport, source: 192.0.2.1}"),
                ".policies[0].protect: has one end only; name both, or none"},
        Refusal{
            one_policy(std::string(kOut) + "protect: {mode: transport, source: \"2001:db8::1\", "
                                           "destination: \"2001:db8::2\"}"),
            ".policies[0].protect.source: \"2001:db8::1\" is not of the selector's family; "
            "transport mode keeps a packet's addresses"},
        Refusal{file(std::string("policies: [{") + kOut + "action: bypass}, {" + kOut +
                     "priority: 5, action: discard}]"),
                ".policies[1]: the direction and selector of line 2, which says bypass; keep one"},
        Refusal{file(std::string("max_policies: 1, policies: [{") + kOut +
                     "action: bypass}, {direction: in, source: 10.1.0.0/16, action: bypass}]"),
                ".policies: 2 policies; use at most 1, or a larger max_policies"}));

class KeyFile : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/hecto-key-XXXXXX";
    const int fd = mkstemp(name);
    ASSERT_GE(fd, 0);
    close(fd);
    path = name;
  }
  void TearDown() override { unlink(path.c_str()); }
  void write(const std::string& text, mode_t mode = 0600) {
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
  }
  std::string yaml(const std::string& algorithms = "cipher: aes-128-gcm") {
    return keyed(algorithms + ", key_file: " + path);
  }
  std::string path;
};

TEST_F(KeyFile, HoldsTheCiphersKeyThenThatOfIntegrity) {
  write("0x000102030405060708090a0b0c0d0e0f\n  0x" + std::string(40, 'a') + "\n");
  const Config config = good(yaml("cipher: aes-128-cbc, integrity: hmac-sha1"));
  ASSERT_EQ(config.ipsec.sas.size(), 1u);
  EXPECT_EQ(config.ipsec.sas[0].cipher_key.bytes()[15], 0x0f);
  EXPECT_EQ(config.ipsec.sas[0].integrity_key.bytes()[19], 0xaa);
  auto again = parse(to_yaml(config), "t.yaml");
  ASSERT_TRUE(again) << again.error()[0];
  EXPECT_EQ(again->ipsec, config.ipsec);
}

TEST_F(KeyFile, ThatOthersMayReadIsRefused) {
  write(kKey, 0640);
  EXPECT_EQ(only(yaml()), "t.yaml:2: ipsec.sas[0].key_file: " + path +
                              " is open to others (mode 0640); use chmod 600");
}

TEST_F(KeyFile, WithAnotherNumberOfKeysIsRefused) {
  write(std::string(kKey) + " " + kKey);
  EXPECT_EQ(only(yaml()),
            "t.yaml:2: ipsec.sas[0].key_file: " + path + " holds 2 keys; 1 wanted: the cipher's");
  write(std::string(5000, '0'));
  EXPECT_EQ(only(yaml()), "t.yaml:2: ipsec.sas[0].key_file: " + path +
                              " is no key file; write one or two keys, as 0x0123");
  write("0x0001020304");
  EXPECT_EQ(only(yaml()),
            "t.yaml:2: ipsec.sas[0].key_file: a key of 5 bytes; aes-128-gcm takes 20 bytes: 0x and "
            "40 hex digits");
}

TEST(IpsecKeys, AreNeitherInTheFileThatIsShownNorInDifferences) {
  const Config one = good(gcm("reqid: 1"));
  Config other = good(gcm("reqid: 2"));
  EXPECT_NE(to_yaml(one).find("key: set"), std::string::npos);
  EXPECT_EQ(to_yaml(one).find("0001020304"), std::string::npos);
  auto difference = diff(one, other);
  ASSERT_TRUE(difference);
  ASSERT_EQ(difference->lines.size(), 2u);
  for (const std::string& line : difference->lines)
    EXPECT_EQ(line.find("0001020304"), std::string::npos) << line;
  EXPECT_EQ(difference->ipsec_sas_added.size(), 1u);
  EXPECT_EQ(difference->ipsec_sas_removed.size(), 1u);
}

TEST(IpsecKeys, AnotherKeyIsADifference) {
  const Config one = good(gcm("reqid: 1"));
  const Config other = good(keyed("cipher: aes-128-gcm, reqid: 1, key: 0x" + std::string(40, 'b')));
  auto difference = diff(one, other);
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->ipsec_sas_added.size(), 1u);
}

TEST(IpsecDiff, LimitsNeedARestartAndPoliciesDoNot) {
  const Config one = good(one_policy(std::string(kOut) + "action: bypass"));
  const Config other = good(one_policy(std::string(kOut) + "action: discard"));
  auto difference = diff(one, other);
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->lines,
            (std::vector<std::string>{
                "- ipsec policy {direction: out, source: 10.1.0.0/16, destination: 0.0.0.0/0, "
                "priority: 0, action: bypass}",
                "+ ipsec policy {direction: out, source: 10.1.0.0/16, destination: 0.0.0.0/0, "
                "priority: 0, action: discard}"}));
  auto refused = diff(one, good(file("max_sas: 5")));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error()[0],
            "ipsec.max_sas: 16384 runs, 5 is wanted, and this cannot change while running; restart "
            "hectod");
}

TEST(IpsecBody, OneSaOrPolicyAsJson) {
  auto sa = parse_ipsec_sa(std::string("{\"source\": \"192.0.2.1\", \"destination\": "
                                       "\"198.51.100.1\", \"spi\": 4097, \"cipher\": "
                                       "\"aes-128-gcm\", \"key\": \"") +
                               kKey + "\"}",
                           "body");
  ASSERT_TRUE(sa) << sa.error()[0];
  EXPECT_EQ(sa->spi, 4097u);
  auto policy = parse_ipsec_policy("{\"direction\": \"out\"}", "body");
  ASSERT_FALSE(policy);
  EXPECT_EQ(policy.error()[0],
            "body:1: has neither source nor destination; add one, as source: 0.0.0.0/0");
}

}  // namespace
}  // namespace hecto::config
