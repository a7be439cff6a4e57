#define ALLOW_EXPERIMENTAL_API  // rte_security_set_pkt_metadata() of 22.11
#include "router/dataplane/nic_crypto/security.hpp"

#include <fmt/format.h>
#include <string.h>

#include "router/dataplane/core/dpdk_security.hpp"
#include "router/dataplane/ports/eal.hpp"

namespace hecto::router {
namespace {

// A context is an rte_security_ctx* for DPDK 22.11, a void* since 23.11.
struct Context {
  void* pointer;
  template <typename Type>
  operator Type*() const {
    return static_cast<Type*>(pointer);
  }
};

constexpr uint16_t kGcmIvBytes = 12;  // with the salt

rte_crypto_sym_xform xform_of(const esp::Sa& sa, const esp::Keys& keys, bool inbound) {
  rte_crypto_sym_xform xform{};
  xform.type = RTE_CRYPTO_SYM_XFORM_AEAD;
  xform.aead.op = inbound ? RTE_CRYPTO_AEAD_OP_DECRYPT : RTE_CRYPTO_AEAD_OP_ENCRYPT;
  xform.aead.algo = RTE_CRYPTO_AEAD_AES_GCM;
  xform.aead.key.data = keys.cipher.data();  // ixgbe reads the salt behind it
  xform.aead.key.length = sa.transform.key_bytes;
  xform.aead.iv.length = kGcmIvBytes;
  xform.aead.digest_length = sa.transform.icv_bytes;
  xform.aead.aad_length = sa.shape().esn ? 12 : 8;
  return xform;
}

void put_ends(const esp::Sa& sa, rte_security_ipsec_tunnel_param& tunnel) {
  if (sa.shape().outer_ipv4) {
    tunnel.type = RTE_SECURITY_IPSEC_TUNNEL_IPV4;
    memcpy(&tunnel.ipv4.src_ip, sa.source.bytes.data(), 4);
    memcpy(&tunnel.ipv4.dst_ip, sa.id.destination.bytes.data(), 4);
    return;
  }
  tunnel.type = RTE_SECURITY_IPSEC_TUNNEL_IPV6;
  memcpy(&tunnel.ipv6.src_addr, sa.source.bytes.data(), 16);
  memcpy(&tunnel.ipv6.dst_addr, sa.id.destination.bytes.data(), 16);
}

// Of ESP in UDP: the header as it stands in packets, with nothing but its ports.
rte_udp_hdr udp_of(const esp::Sa& sa) {
  rte_udp_hdr udp{};
  memcpy(&udp, sa.shape().header.data() + sa.shape().outer_bytes, 4);
  return udp;
}

void put_ipsec(const esp::Sa& sa, bool inbound, rte_security_ipsec_xform& ipsec) {
  ipsec.spi = sa.id.spi;
  memcpy(&ipsec.salt, sa.shape().salt.data(), sizeof ipsec.salt);
  ipsec.options.esn = sa.shape().esn;
  ipsec.direction = inbound ? RTE_SECURITY_IPSEC_SA_DIR_INGRESS : RTE_SECURITY_IPSEC_SA_DIR_EGRESS;
  ipsec.proto = RTE_SECURITY_IPSEC_SA_PROTO_ESP;
  ipsec.mode =
      sa.shape().tunnel ? RTE_SECURITY_IPSEC_SA_MODE_TUNNEL : RTE_SECURITY_IPSEC_SA_MODE_TRANSPORT;
  put_ends(sa, ipsec.tunnel);
  if (sa.shape().esn) ipsec.esn.value = sa.sequence.load(std::memory_order_relaxed);
  if (sa.shape().udp_bytes == 0) return;
  ipsec.options.udp_encap = 1;
  const rte_udp_hdr udp = udp_of(sa);
  ipsec.udp.sport = __builtin_bswap16(udp.src_port);
  ipsec.udp.dport = __builtin_bswap16(udp.dst_port);
}

}  // namespace

void* security_context(PortId port) {
  return rte_eth_dev_get_sec_ctx(port);
}

Result<std::unique_ptr<NicSecurity>> NicSecurity::open(void* context, const std::string& name) {
  const unsigned bytes = rte_security_session_get_size(Context{context});
  if (bytes == 0) return fail(fmt::format("port {}: its driver has no sessions", name));
  const std::string pool_name = fmt::format("esp_{:x}", reinterpret_cast<uintptr_t>(context));
  rte_mempool* pool =
      rte_mempool_create(pool_name.c_str(), kMostSessions, bytes, 0, 0, nullptr, nullptr, nullptr,
                         nullptr, SOCKET_ID_ANY, RTE_MEMPOOL_F_SP_PUT | RTE_MEMPOOL_F_SC_GET);
  if (pool == nullptr)
    return fail(fmt::format("port {}: no memory for {} sessions of {} bytes: {}", name,
                            kMostSessions, bytes, rte_strerror(rte_errno)),
                rte_errno);
  return std::unique_ptr<NicSecurity>(new NicSecurity(context, bytes, pool));
}

NicSecurity::~NicSecurity() {
  rte_mempool_free(pool_);
}

const rte_security_capability* NicSecurity::capabilities() const {
  return rte_security_capabilities_get(Context{context_});
}

Result<void*> NicSecurity::create(const esp::Sa& sa, const esp::Keys& keys, bool inbound) {
  rte_crypto_sym_xform xform = xform_of(sa, keys, inbound);
  rte_security_session_conf conf{};
  conf.action_type = RTE_SECURITY_ACTION_TYPE_INLINE_CRYPTO;
  conf.protocol = RTE_SECURITY_PROTOCOL_IPSEC;
  put_ipsec(sa, inbound, conf.ipsec);
  conf.crypto_xform = &xform;
  void* session = rte_security_session_create(Context{context_}, &conf, pool_);
  explicit_bzero(&conf.ipsec.salt, sizeof conf.ipsec.salt);
  if (session != nullptr) return session;
  const std::string said = Eal::last_complaint();
  return fail(said.empty() ? "the driver made no session" : said);
}

// The object is the pool's again, whose only user this is: what the driver left there goes.
Result<void> NicSecurity::destroy(void* session) {
  const int code = rte_security_session_destroy(Context{context_}, session);
  if (code != 0)
    return fail(fmt::format("the driver says {}; {}", dpdk_error(code), Eal::last_complaint()),
                -code);
  explicit_bzero(session, session_bytes_);
  return {};
}

const void* security_action(void* session) {
  static_assert(RTE_SECURITY_SESS_OPAQUE_DATA_OFF == 0 && sizeof(void*) == sizeof(uint64_t) &&
                offsetof(rte_flow_action_security, security_session) == 0);
  rte_security_session_opaque_data_set(session, reinterpret_cast<uint64_t>(session));
  return session;
}

Result<rte_flow*> create_security_rule(PortId port, const esp::Sa& sa, void* session) {
  rte_flow_attr attributes{};
  attributes.ingress = 1;
  rte_flow_item_ipv4 ipv4{}, ipv4_mask{};
  rte_flow_item_ipv6 ipv6{}, ipv6_mask{};
  rte_flow_item_udp udp{}, udp_mask{};
  rte_flow_item_esp esp{}, esp_mask{};
  std::array<rte_flow_item, 5> pattern{};
  pattern[0].type = RTE_FLOW_ITEM_TYPE_ETH;
  if (sa.shape().outer_ipv4) {
    memcpy(&ipv4.hdr.src_addr, sa.source.bytes.data(), 4);
    memcpy(&ipv4.hdr.dst_addr, sa.id.destination.bytes.data(), 4);
    ipv4_mask.hdr.src_addr = ipv4_mask.hdr.dst_addr = 0xffffffff;
    pattern[1] = {RTE_FLOW_ITEM_TYPE_IPV4, &ipv4, nullptr, &ipv4_mask};
  } else {
    memcpy(&ipv6.hdr.src_addr, sa.source.bytes.data(), 16);
    memcpy(&ipv6.hdr.dst_addr, sa.id.destination.bytes.data(), 16);
    memset(&ipv6_mask.hdr.src_addr, 0xff, 16);
    memset(&ipv6_mask.hdr.dst_addr, 0xff, 16);
    pattern[1] = {RTE_FLOW_ITEM_TYPE_IPV6, &ipv6, nullptr, &ipv6_mask};
  }
  size_t next = 2;
  if (sa.shape().udp_bytes != 0) {
    udp.hdr = udp_of(sa);
    udp_mask.hdr.dst_port = 0xffff;  // a NAT chooses the other one
    pattern[next++] = {RTE_FLOW_ITEM_TYPE_UDP, &udp, nullptr, &udp_mask};
  }
  esp.hdr.spi = __builtin_bswap32(sa.id.spi);
  esp_mask.hdr.spi = 0xffffffff;
  pattern[next++] = {RTE_FLOW_ITEM_TYPE_ESP, &esp, nullptr, &esp_mask};
  pattern[next].type = RTE_FLOW_ITEM_TYPE_END;
  const std::array<rte_flow_action, 2> actions{
      {{RTE_FLOW_ACTION_TYPE_SECURITY, security_action(session)},
       {RTE_FLOW_ACTION_TYPE_END, nullptr}}};
  rte_flow_error error{};
  rte_flow* rule = rte_flow_create(port, &attributes, pattern.data(), actions.data(), &error);
  if (rule != nullptr) return rule;
  if (rte_errno == ENOSYS) return nullptr;
  return fail(fmt::format("flow rule: {}: {}", rte_strerror(rte_errno),
                          error.message == nullptr ? "no cause told" : error.message),
              rte_errno);
}

void destroy_security_rule(PortId port, rte_flow* rule) {
  rte_flow_error error{};
  (void)rte_flow_destroy(port, rule, &error);
}

bool set_metadata(const NicSession& session, rte_mbuf* packet, uint64_t number) noexcept {
  if (!session.metadata) return true;
  return rte_security_set_pkt_metadata(Context{session.context}, session.session, packet,
                                       &number) == 0;
}

}  // namespace hecto::router
