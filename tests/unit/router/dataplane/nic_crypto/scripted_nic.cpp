#include "tests/unit/router/dataplane/nic_crypto/scripted_nic.hpp"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <algorithm>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/ether.hpp"

namespace hecto::router::test {
namespace {

constexpr uint32_t kIcvBytes = 16, kEspBytes = 8, kIvBytes = 8;

// In place. The ICV behind the text is made, or compared.
bool gcm(const ScriptedNic::Session& session, uint8_t* esp, uint32_t bytes, uint64_t number) {
  const int direction = session.inbound ? 0 : 1;
  uint8_t nonce[12], aad[12];
  std::memcpy(nonce, session.salt.data(), 4);
  std::memcpy(nonce + 4, esp + kEspBytes, kIvBytes);
  std::memcpy(aad, esp, 8);
  int aad_bytes = 8;
  if (session.esn) {
    const uint32_t high = __builtin_bswap32(static_cast<uint32_t>(number >> 32));
    std::memcpy(aad + 8, aad + 4, 4);
    std::memcpy(aad + 4, &high, 4);
    aad_bytes = 12;
  }
  uint8_t* text = esp + kEspBytes + kIvBytes;
  const auto text_bytes = static_cast<int>(bytes - kEspBytes - kIvBytes - kIcvBytes);
  EVP_CIPHER_CTX* cipher = EVP_CIPHER_CTX_new();
  int done = 0;
  EVP_CipherInit_ex(cipher, session.key.size() == 16 ? EVP_aes_128_gcm() : EVP_aes_256_gcm(),
                    nullptr, session.key.data(), nonce, direction);
  EVP_CipherUpdate(cipher, nullptr, &done, aad, aad_bytes);
  EVP_CipherUpdate(cipher, text, &done, text, text_bytes);
  if (session.inbound)
    EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, kIcvBytes, text + text_bytes);
  uint8_t rest[16];
  const bool right = EVP_CipherFinal_ex(cipher, rest, &done) == 1;
  if (!session.inbound)
    EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, kIcvBytes, text + text_bytes);
  EVP_CIPHER_CTX_free(cipher);
  return right;
}

}  // namespace

ScriptedNic::ScriptedNic(PortId port) : port_(port) {
  crypto_[0].op = RTE_CRYPTO_OP_TYPE_SYMMETRIC;
  crypto_[0].sym.xform_type = RTE_CRYPTO_SYM_XFORM_AEAD;
  crypto_[0].sym.aead.algo = RTE_CRYPTO_AEAD_AES_GCM;
  crypto_[0].sym.aead.key_size = {16, 32, 16};
  crypto_[0].sym.aead.digest_size = {16, 16, 0};
  crypto_[1].op = RTE_CRYPTO_OP_TYPE_UNDEFINED;
  for (const bool inbound : {false, true}) {
    for (const bool tunnel : {false, true}) {
      rte_security_capability one{};
      one.action = RTE_SECURITY_ACTION_TYPE_INLINE_CRYPTO;
      one.protocol = RTE_SECURITY_PROTOCOL_IPSEC;
      one.ipsec.proto = RTE_SECURITY_IPSEC_SA_PROTO_ESP;
      one.ipsec.mode =
          tunnel ? RTE_SECURITY_IPSEC_SA_MODE_TUNNEL : RTE_SECURITY_IPSEC_SA_MODE_TRANSPORT;
      one.ipsec.direction =
          inbound ? RTE_SECURITY_IPSEC_SA_DIR_INGRESS : RTE_SECURITY_IPSEC_SA_DIR_EGRESS;
      one.crypto_capabilities = crypto_.data();
      one.ol_flags = inbound ? 0 : RTE_SECURITY_TX_OLOAD_NEED_MDATA;
      offers.push_back(one);
    }
  }
  offers.push_back({});
  ops_.session_create = create;
  ops_.session_destroy = destroy;
  ops_.session_get_size = [](void*) -> unsigned { return 64; };
  ops_.set_pkt_metadata = set_metadata;
  ops_.capabilities_get = [](void* device) -> const rte_security_capability* {
    return of(device).offers.data();
  };
  context_.device = this;
  context_.ops = &ops_;
}

ScriptedNic::~ScriptedNic() {
  EXPECT_EQ(alive(), 0u) << "sessions that nobody ended";
}

rte_security_capability& ScriptedNic::offer(bool inbound, bool tunnel) {
  return offers[2 * inbound + tunnel];
}

NicSessions::Port ScriptedNic::port() {
  NicSessions::Port port;
  port.id = port_;
  port.name = "nic" + std::to_string(port_);
  port.context = &context_;
  port.opens = port.seals = true;
  port.link_up = [this] { return link_up; };
  port.rules.create = [this](PortId id, const esp::Sa&, void* session) {
    EXPECT_EQ(id, port_);
    return create_rule(session);
  };
  port.rules.destroy = [this](PortId, rte_flow* rule) { destroy_rule(rule); };
  return port;
}

int ScriptedNic::create(void* device, rte_security_session_conf* conf,
                        rte_security_session* session) {
  ScriptedNic& nic = of(device);
  if (nic.refuses_sessions) return -ENOTSUP;
  EXPECT_EQ(conf->action_type, RTE_SECURITY_ACTION_TYPE_INLINE_CRYPTO);
  EXPECT_EQ(conf->protocol, RTE_SECURITY_PROTOCOL_IPSEC);
  const auto& key = conf->crypto_xform->aead.key;
  Session made{};
  made.object = session;
  made.spi = Spi(conf->ipsec.spi);
  made.inbound = conf->ipsec.direction == RTE_SECURITY_IPSEC_SA_DIR_INGRESS;
  made.tunnel = conf->ipsec.mode == RTE_SECURITY_IPSEC_SA_MODE_TUNNEL;
  made.esn = conf->ipsec.options.esn != 0;
  made.udp = conf->ipsec.options.udp_encap != 0;
  made.key.assign(key.data, key.data + key.length);
  made.lent = key.data;
  std::memcpy(made.salt.data(), &conf->ipsec.salt, 4);
  EXPECT_EQ(std::memcmp(key.data + key.length, made.salt.data(), 4), 0) << "as ixgbe reads it";
  EXPECT_EQ(conf->crypto_xform->aead.op,
            made.inbound ? RTE_CRYPTO_AEAD_OP_DECRYPT : RTE_CRYPTO_AEAD_OP_ENCRYPT);
  // As drivers leave it.
  std::memcpy(session->driver_priv_data, key.data, key.length);
  nic.sessions.push_back(made);
  nic.calls.push_back("create");
  return 0;
}

int ScriptedNic::destroy(void* device, rte_security_session* session) {
  ScriptedNic& nic = of(device);
  Session* found = nic.find(session);
  EXPECT_NE(found, nullptr) << "a session is ended once";
  if (found == nullptr) return -EINVAL;
  EXPECT_EQ(found->rule, nullptr) << "the rule goes first";
  EXPECT_EQ(std::memcmp(found->lent, found->key.data(), found->key.size()), 0)
      << "the keys are there as long as the session";
  found->ended = true;
  nic.calls.push_back("destroy");
  return nic.refuses_to_end ? -EBUSY : 0;
}

int ScriptedNic::set_metadata(void* device, rte_security_session* session, rte_mbuf* packet,
                              void* parameters) {
  ScriptedNic& nic = of(device);
  Session* found = nic.find(session);
  EXPECT_NE(found, nullptr) << "metadata of a session that is no more";
  if (nic.on_metadata) nic.on_metadata();
  if (nic.refuses_metadata || found == nullptr) return -EINVAL;
  EXPECT_FALSE(found->inbound);
  nic.queued[packet] = found;
  nic.numbers[packet] = *static_cast<const uint64_t*>(parameters);
  return 0;
}

Result<rte_flow*> ScriptedNic::create_rule(void* session) {
  if (refuses_rules) return fail("flow rule: no room", ENOSPC);
  if (!has_rules) return nullptr;
  Session* found = find(session);
  EXPECT_TRUE(found != nullptr && found->inbound);
  rte_flow_action_security action;
  std::memcpy(&action, security_action(session), sizeof action);
  EXPECT_EQ(security_action(session), session);
  EXPECT_EQ(action.security_session, session);
  calls.push_back("rule");
  return found->rule = static_cast<rte_flow*>(session);
}

void ScriptedNic::destroy_rule(rte_flow* rule) {
  Session* found = find(rule);
  ASSERT_NE(found, nullptr);
  calls.push_back("unrule");
  found->rule = nullptr;
}

ScriptedNic::Session* ScriptedNic::find(const void* object) {
  for (Session& session : sessions)
    if (!session.ended && session.object == object) return &session;
  return nullptr;
}

unsigned ScriptedNic::alive() const {
  return static_cast<unsigned>(
      std::ranges::count_if(sessions, [](const Session& session) { return !session.ended; }));
}

const ScriptedNic::Session* ScriptedNic::alive(Spi spi) const {
  for (const Session& session : sessions)
    if (!session.ended && session.spi == spi) return &session;
  return nullptr;
}

bool ScriptedNic::seal(rte_mbuf* packet) {
  const auto found = queued.find(packet);
  if (found == queued.end() || (packet->ol_flags & RTE_MBUF_F_TX_SEC_OFFLOAD) == 0) return false;
  const auto front = static_cast<uint32_t>(packet->l2_len + packet->l3_len);
  gcm(*found->second, rte_pktmbuf_mtod_offset(packet, uint8_t*, front), packet->data_len - front,
      numbers[packet]);
  queued.erase(found);
  return true;
}

bool ScriptedNic::open(rte_mbuf* packet) {
  uint8_t* ip = rte_pktmbuf_mtod_offset(packet, uint8_t*, kEthernetBytes);
  const bool v4 = ip[0] >> 4 == 4;
  uint8_t* esp = ip + (v4 ? kIpv4Bytes : kIpv6Bytes);
  const Session* session = alive(Spi(load32_be(esp)));
  if (session == nullptr || !session->inbound) return false;
  const uint32_t bytes = v4 ? load16_be(ip + 2) - kIpv4Bytes : load16_be(ip + 4);
  const bool right = gcm(*session, esp, bytes, 0);
  packet->ol_flags |= RTE_MBUF_F_RX_SEC_OFFLOAD;
  if (!right) packet->ol_flags |= RTE_MBUF_F_RX_SEC_OFFLOAD_FAILED;
  return true;
}

}  // namespace hecto::router::test
