// The keys of `ipsec`, as keys.cpp has all others.
#include <fmt/format.h>

#include "config/file/key_tables.hpp"

namespace hecto::config {
namespace {

using namespace row;
using namespace tables;

constexpr std::string_view kUnicast = "a unicast address";
constexpr uint64_t kMost62 = uint64_t{1} << 62;
constexpr uint64_t kMostSeconds = 1'000'000'000;

std::string address_text(const lookup::IpAddress& address) {
  return quoted(address.to_string());
}
std::string spi_or_empty(Spi spi) {
  return spi == 0 ? std::string() : to_string(spi);
}

// clang-format off
constexpr Key<IpsecConfig> kIpsec[] = {
  word<&IpsecConfig::crypto>("crypto", kRestart,
      "What encrypts. auto: ipsec-mb where the CPU has AES-NI, else OpenSSL, which is slower."),
  word<&IpsecConfig::nic>("nic", kRestart,
      "Whether NICs that can do so encrypt AES-GCM of their ports. never: no key is brought to a NIC."),
  integer<&IpsecConfig::max_sas>("max_sas", {1, 1'000'000}, kRestart,
      "Most SAs, those of Linux and the API with them."),
  integer<&IpsecConfig::max_policies>("max_policies", {1, 1'000'000}, kRestart,
      "Most policies, likewise."),
  boolean<&IpsecConfig::export_keys>("export_keys", kRestart,
      "Root may read the keys of SAs (`hecto capture --esp-keys`): who has them reads the traffic."),
  structure<IpsecConfig>("sas", "list", "[]", {0, 0, "SAs, each a map with the keys below"}, kReload,
      "Security associations, each of one way."),
  structure<IpsecConfig>("policies", "list", "[]",
      {0, 0, "policies, each a map with the keys below"}, kReload,
      "What is protected, passes as it is, or is dropped; the lowest priority number wins."),
};

constexpr Key<IpsecSaConfig> kSas[] = {
  structure<IpsecSaConfig>("source", "text", "none", {0, 0, kUnicast}, kReload,
      "The end that sends.")
      .printed([](const IpsecSaConfig& sa) { return address_text(sa.source); }),
  structure<IpsecSaConfig>("destination", "text", "none",
      {0, 0, "a unicast address of the same family"}, kReload,
      "The end that receives.")
      .printed([](const IpsecSaConfig& sa) { return address_text(sa.destination); }),
  structure<IpsecSaConfig>("spi", "integer", "none", {0x100, kMost32, "0x100 to 0xffffffff"}, kReload,
      "With the destination, what packets name the SA by.")
      .printed([](const IpsecSaConfig& sa) { return to_string(sa.spi); }),
  word<&IpsecSaConfig::mode>("mode", kReload,
      "Whether whole packets or their payloads are protected."),
  integer<&IpsecSaConfig::reqid>("reqid", {0, kMost32}, kReload,
      "What a policy's `protect` asks for.").if_changed(),
  integer<&IpsecSaConfig::if_id>("if_id", {0, kMost32}, kReload,
      "Of a route-based tunnel: the number of its interface.").if_changed(),
  structure<IpsecSaConfig>("cipher", "word", "none", {0, 0,
      "null, aes-{128,192,256}-{cbc,ctr,gcm,gmac}, chacha20-poly1305; gcm also with -12 or -8"},
      kReload, "What encrypts; the number behind gcm is the ICV's length in bytes.")
      .printed([](const IpsecSaConfig& sa) { return sa.cipher; }),
  structure<IpsecSaConfig>("integrity", "word", "none",
      {0, 0, "hmac-sha1, hmac-sha2-256, hmac-sha2-256-96, hmac-sha2-384, hmac-sha2-512"}, kReload,
      "Of null, cbc and ctr: what protects integrity.")
      .printed([](const IpsecSaConfig& sa) { return sa.integrity; }),
  structure<IpsecSaConfig>("key", "text", "none",
      {0, 0, "0x and hex digits: the cipher's key, then its salt"}, kReload,
      "Never shown.")
      .printed([](const IpsecSaConfig& sa) {
        return std::string(sa.key_file.empty() && sa.cipher_key.size() != 0 ? "set" : "");
      }),
  structure<IpsecSaConfig>("integrity_key", "text", "none", {0, 0, "0x and hex digits"}, kReload,
      "Never shown.")
      .printed([](const IpsecSaConfig& sa) {
        return std::string(sa.key_file.empty() && sa.integrity_key.size() != 0 ? "set" : "");
      }),
  structure<IpsecSaConfig>("key_file", "text", "none", {0, 0, "a file that nobody else may read"},
      kReload, "Instead of both: holds the cipher's key, then that of integrity, as above.")
      .printed([](const IpsecSaConfig& sa) {
        return sa.key_file.empty() ? std::string() : quoted(sa.key_file);
      }),
  integer<&IpsecSaConfig::replay_window>("replay_window", {0, 4096}, kReload,
      "Packets that may come late; 0: no anti-replay."),
  boolean<&IpsecSaConfig::esn>("esn", kReload, "Sequence numbers of 64 bits."),
  structure<IpsecSaConfig>("encapsulation", "map", "none", {0, 0, kKeysBelow}, kReload,
      "ESP in UDP, through NAT (RFC 3948).")
      .printed([](const IpsecSaConfig& sa) {
        return sa.encapsulation ? flow_map(encapsulation_keys, *sa.encapsulation) : std::string();
      }),
  structure<IpsecSaConfig>("lifetime", "map", "no limits", {0, 0, kKeysBelow}, kReload,
      "How long it lives. Past a soft limit another SA is taken where there is one; past a hard one "
      "it is dropped.")
      .printed([](const IpsecSaConfig& sa) {
        return sa.lifetime == IpsecLifetime{} ? std::string() : flow_map(lifetime_keys, sa.lifetime);
      }),
  boolean<&IpsecSaConfig::copy_dscp>("copy_dscp", kReload,
      "The outer header takes the inner one's DSCP.").if_changed(),
  boolean<&IpsecSaConfig::copy_dont_fragment>("copy_dont_fragment", kReload,
      "The outer header takes the inner one's DF.").if_changed(),
  boolean<&IpsecSaConfig::ecn>("ecn", kReload,
      "ECN goes through the tunnel (RFC 6040).").if_changed(),
  integer<&IpsecSaConfig::tfc_pad>("tfc_pad", {0, 65535}, kReload,
      "Bytes that payloads are padded to (RFC 4303 §2.7).").if_changed(),
};

constexpr Key<UdpEncapsulation> kEncapsulation[] = {
  integer<&UdpEncapsulation::source_port>("source_port", {1, 65535}, kReload,
      "UDP port of the end that sends."),
  integer<&UdpEncapsulation::destination_port>("destination_port", {1, 65535}, kReload,
      "UDP port of the end that receives."),
};

constexpr Key<IpsecLifetime> kLifetime[] = {
  size<&IpsecLifetime::soft_bytes>("soft_bytes", {1, kMost62}, kReload, "Bytes."),
  size<&IpsecLifetime::hard_bytes>("hard_bytes", {1, kMost62}, kReload, "Bytes."),
  integer<&IpsecLifetime::soft_packets>("soft_packets", {1, kMost62}, kReload, "Packets."),
  integer<&IpsecLifetime::hard_packets>("hard_packets", {1, kMost62}, kReload, "Packets."),
  integer<&IpsecLifetime::soft_add_s>("soft_add_s", {1, kMostSeconds}, kReload,
      "Seconds since it was added."),
  integer<&IpsecLifetime::hard_add_s>("hard_add_s", {1, kMostSeconds}, kReload,
      "Seconds since it was added."),
  integer<&IpsecLifetime::soft_use_s>("soft_use_s", {1, kMostSeconds}, kReload,
      "Seconds since its first packet."),
  integer<&IpsecLifetime::hard_use_s>("hard_use_s", {1, kMostSeconds}, kReload,
      "Seconds since its first packet."),
};

constexpr Key<IpsecPolicyConfig> kPolicies[] = {
  word<&IpsecPolicyConfig::direction>("direction", kReload,
      "Packets that leave, come to the router itself, or are forwarded.").otherwise("none"),
  structure<IpsecPolicyConfig>("source", "text", "everything", {0, 0, "a prefix"}, kReload,
      "Source addresses of the packets.")
      .printed([](const IpsecPolicyConfig& p) { return quoted(p.source.to_string()); }),
  structure<IpsecPolicyConfig>("destination", "text", "everything",
      {0, 0, "a prefix of the same family"}, kReload,
      "Destination addresses of the packets.")
      .printed([](const IpsecPolicyConfig& p) { return quoted(p.destination.to_string()); }),
  structure<IpsecPolicyConfig>("protocol", "word or integer", "any",
      {1, 255, "tcp, udp, sctp, icmp, gre, ... or {low} to {high}"}, kReload,
      "The packets' protocol.")
      .printed([](const IpsecPolicyConfig& p) {
        return p.protocol == 0 ? std::string() : protocol_text(p.protocol);
      }),
  integer<&IpsecPolicyConfig::source_port>("source_port", {0, 65535}, kReload,
      "Of tcp, udp, sctp, dccp, udplite.").otherwise("any"),
  integer<&IpsecPolicyConfig::destination_port>("destination_port", {0, 65535}, kReload,
      "Likewise.").otherwise("any"),
  integer<&IpsecPolicyConfig::priority>("priority", {0, kMost32}, kReload,
      "The lowest wins, then the older."),
  integer<&IpsecPolicyConfig::if_id>("if_id", {0, kMost32}, kReload,
      "Packets of this interface number only.").if_changed(),
  word<&IpsecPolicyConfig::action>("action", kReload, "What becomes of the packets."),
  structure<IpsecPolicyConfig>("protect", "map", "none", {0, 0, kKeysBelow}, kReload,
      "The SA that protects: the newest that fits.")
      .printed([](const IpsecPolicyConfig& p) {
        return p.protect ? flow_map(template_keys, *p.protect) : std::string();
      }),
};

constexpr Key<IpsecTemplateConfig> kTemplates[] = {
  structure<IpsecTemplateConfig>("source", "text", "none", {0, 0, kUnicast}, kReload,
      "Its source; without, in transport mode, that of the packets.")
      .printed([](const IpsecTemplateConfig& t) {
        return t.source ? address_text(*t.source) : std::string();
      }),
  structure<IpsecTemplateConfig>("destination", "text", "none", {0, 0, kUnicast}, kReload,
      "Its destination, likewise.")
      .printed([](const IpsecTemplateConfig& t) {
        return t.destination ? address_text(*t.destination) : std::string();
      }),
  integer<&IpsecTemplateConfig::reqid>("reqid", {0, kMost32}, kReload, "Its reqid; 0: any."),
  structure<IpsecTemplateConfig>("spi", "integer", "any", {0x100, kMost32, "0x100 to 0xffffffff"},
      kReload, "Its SPI.")
      .printed([](const IpsecTemplateConfig& t) { return spi_or_empty(t.spi); }),
  word<&IpsecTemplateConfig::mode>("mode", kReload, "Its mode."),
  boolean<&IpsecTemplateConfig::optional>("optional", kReload,
      "Packets may also come in without.").if_changed(),
};
// clang-format on

}  // namespace

constinit const Section<IpsecConfig> ipsec_keys = section<kIpsec>("ipsec");
constinit const Section<IpsecSaConfig> sa_keys = section<kSas>("ipsec.sas.*");
constinit const Section<UdpEncapsulation> encapsulation_keys =
    section<kEncapsulation>("ipsec.sas.*.encapsulation");
constinit const Section<IpsecLifetime> lifetime_keys = section<kLifetime>("ipsec.sas.*.lifetime");
constinit const Section<IpsecPolicyConfig> policy_keys = section<kPolicies>("ipsec.policies.*");
constinit const Section<IpsecTemplateConfig> template_keys =
    section<kTemplates>("ipsec.policies.*.protect");

}  // namespace hecto::config
