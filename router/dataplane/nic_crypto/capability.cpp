#include "router/dataplane/nic_crypto/capability.hpp"

#include "router/dataplane/core/dpdk_security.hpp"

namespace hecto::router {
namespace {

constexpr uint8_t kIcvBytes = 16;

// An increment of 0 means one size (rte_cryptodev.h).
bool within(const rte_crypto_param_range& range, unsigned bytes) {
  if (bytes < range.min || bytes > range.max) return false;
  return range.increment == 0 ? bytes == range.min : (bytes - range.min) % range.increment == 0;
}

bool has_gcm(const rte_cryptodev_capabilities* of, unsigned key_bytes) {
  if (of == nullptr) return false;
  for (; of->op != RTE_CRYPTO_OP_TYPE_UNDEFINED; ++of) {
    if (of->op == RTE_CRYPTO_OP_TYPE_SYMMETRIC && of->sym.xform_type == RTE_CRYPTO_SYM_XFORM_AEAD &&
        of->sym.aead.algo == RTE_CRYPTO_AEAD_AES_GCM && within(of->sym.aead.key_size, key_bytes) &&
        within(of->sym.aead.digest_size, kIcvBytes))
      return true;
  }
  return false;
}

bool fits(const rte_security_capability& offer, const esp::Sa& sa, bool inbound) {
  if (offer.action != RTE_SECURITY_ACTION_TYPE_INLINE_CRYPTO ||
      offer.protocol != RTE_SECURITY_PROTOCOL_IPSEC ||
      offer.ipsec.proto != RTE_SECURITY_IPSEC_SA_PROTO_ESP)
    return false;
  const esp::Shape& shape = sa.shape();
  const auto mode =
      shape.tunnel ? RTE_SECURITY_IPSEC_SA_MODE_TUNNEL : RTE_SECURITY_IPSEC_SA_MODE_TRANSPORT;
  const auto direction =
      inbound ? RTE_SECURITY_IPSEC_SA_DIR_INGRESS : RTE_SECURITY_IPSEC_SA_DIR_EGRESS;
  constexpr uint32_t kTrailers =
      RTE_SECURITY_TX_HW_TRAILER_OFFLOAD | RTE_SECURITY_RX_HW_TRAILER_OFFLOAD;
  return offer.ipsec.mode == mode && offer.ipsec.direction == direction &&
         (offer.ol_flags & kTrailers) == 0 && (!shape.esn || offer.ipsec.options.esn != 0) &&
         (shape.udp_bytes == 0 || offer.ipsec.options.udp_encap != 0) &&
         has_gcm(offer.crypto_capabilities, sa.transform.key_bytes);
}

}  // namespace

const rte_security_capability* fitting(const rte_security_capability* all, const esp::Sa& sa,
                                       bool inbound) {
  const esp::Shape& shape = sa.shape();
  if (all == nullptr || shape.cipher != esp::Cipher::kAesGcm || shape.icv_bytes != kIcvBytes ||
      (inbound && shape.esn) || (shape.udp_bytes != 0 && !shape.outer_ipv4))
    return nullptr;
  for (; all->action != RTE_SECURITY_ACTION_TYPE_NONE; ++all)
    if (fits(*all, sa, inbound)) return all;
  return nullptr;
}

}  // namespace hecto::router
