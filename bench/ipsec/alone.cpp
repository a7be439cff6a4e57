#include "bench/ipsec/alone.hpp"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/ether.hpp"
#include "router/dataplane/core/dpdk_security.hpp"
#include "router/ipsec/esp/engine.hpp"
#include "router/ipsec/esp/sa.hpp"
// After dpdk.hpp, which knows what has to come first.
#include <rte_cryptodev.h>
#include <rte_ip.h>
#include <rte_ipsec_sa.h>
#include <rte_mbuf.h>
// Its functions are C, which it does not say from DPDK 24.11 on.
extern "C" {
#include <rte_ipsec.h>
}

namespace hecto::bench {

using namespace router;
using esp::Cipher;
using esp::Integrity;

namespace {

constexpr uint16_t kHeadroom = RTE_PKTMBUF_HEADROOM;  // in front of the inner packet

class OwnEngine final : public EspAlone {
 public:
  OwnEngine(std::unique_ptr<esp::Engine> engine, std::unique_ptr<esp::Sa> sa)
      : engine_(std::move(engine)), sa_(std::move(sa)) {}

  unsigned encap(std::vector<rte_mbuf*>& packets) override {
    work_.clear();
    for (rte_mbuf* packet : packets)
      work_.push_back({rte_pktmbuf_mtod(packet, uint8_t*), packet->data_len, kHeadroom,
                       rte_pktmbuf_tailroom(packet), sa_.get(), Reason::kNone});
    engine_->outbound(work_, 1, 64);
    unsigned done = 0;
    for (size_t i = 0; i < packets.size(); ++i) {
      rte_mbuf* packet = packets[i];
      packet->data_off = static_cast<uint16_t>(packet->data_off - kHeadroom + work_[i].headroom);
      packet->data_len = static_cast<uint16_t>(work_[i].bytes);
      packet->pkt_len = work_[i].bytes;
      done += work_[i].reason == Reason::kNone;
    }
    return done;
  }

 private:
  std::unique_ptr<esp::Engine> engine_;
  std::unique_ptr<esp::Sa> sa_;
  std::vector<esp::Packet> work_;
};

// A cryptodev with one queue pair, which the synchronous calls do not use. Stays until the program
// ends.
Result<uint8_t> open_cryptodev(const char* name) {
  if (const int known = rte_cryptodev_get_dev_id(name); known >= 0)
    return static_cast<uint8_t>(known);
  if (const int code = rte_eal_hotplug_add("vdev", name, ""); code != 0)
    return fail(fmt::format("{}: {}", name, dpdk_error(code)));
  const auto id = static_cast<uint8_t>(rte_cryptodev_get_dev_id(name));
  rte_cryptodev_config config{};
  config.socket_id = rte_cryptodev_socket_id(id);
  config.nb_queue_pairs = 1;
  rte_cryptodev_qp_conf queue{};
  queue.nb_descriptors = 1024;
  int code = rte_cryptodev_configure(id, &config);
  if (code == 0) code = rte_cryptodev_queue_pair_setup(id, 0, &queue, config.socket_id);
  if (code == 0) code = rte_cryptodev_start(id);
  if (code != 0) return fail(fmt::format("{}: {}", name, dpdk_error(code)));
  return id;
}

struct Transforms {
  rte_crypto_sym_xform first{}, second{};
};

void describe_aead(const SaState& sa, Transforms& to) {
  const bool gcm = sa.transform.cipher == Cipher::kAesGcm;
  to.first.type = RTE_CRYPTO_SYM_XFORM_AEAD;
  rte_crypto_aead_xform& aead = to.first.aead;
  aead.op = RTE_CRYPTO_AEAD_OP_ENCRYPT;
  aead.algo = gcm ? RTE_CRYPTO_AEAD_AES_GCM : RTE_CRYPTO_AEAD_CHACHA20_POLY1305;
  aead.key = {sa.keys.cipher.data(), sa.transform.key_bytes};
  aead.iv = {0, 12};
  aead.digest_length = sa.transform.icv_bytes;
  aead.aad_length = 8;
}

void describe_chain(const SaState& sa, Transforms& to) {
  to.first.type = RTE_CRYPTO_SYM_XFORM_CIPHER;
  to.first.next = &to.second;
  rte_crypto_cipher_xform& cipher = to.first.cipher;
  cipher.op = RTE_CRYPTO_CIPHER_OP_ENCRYPT;
  cipher.algo = RTE_CRYPTO_CIPHER_AES_CBC;
  cipher.key = {sa.keys.cipher.data(), sa.transform.key_bytes};
  cipher.iv = {0, 16};
  to.second.type = RTE_CRYPTO_SYM_XFORM_AUTH;
  rte_crypto_auth_xform& auth = to.second.auth;
  auth.op = RTE_CRYPTO_AUTH_OP_GENERATE;
  auth.algo = sa.transform.integrity == Integrity::kHmacSha1 ? RTE_CRYPTO_AUTH_SHA1_HMAC
                                                             : RTE_CRYPTO_AUTH_SHA256_HMAC;
  auth.key = {sa.keys.integrity.data(), static_cast<uint16_t>(sa.keys.integrity.size())};
  auth.digest_length = sa.transform.icv_bytes;
}

class LibrteIpsec final : public EspAlone {
 public:
  static Result<std::unique_ptr<EspAlone>> create(const SaState& sa) {
    std::unique_ptr<LibrteIpsec> made(new LibrteIpsec);
    if (auto done = made->set_up(sa); !done) return tl::unexpected(done.error());
    return made;
  }
  ~LibrteIpsec() override {
    if (session_.crypto.ses != nullptr)
      rte_cryptodev_sym_session_free(session_.crypto.dev_id, session_.crypto.ses);
    rte_mempool_free(sessions_);
  }

  unsigned encap(std::vector<rte_mbuf*>& packets) override {
    const auto count = static_cast<uint16_t>(packets.size());
    const uint16_t sealed = rte_ipsec_pkt_cpu_prepare(&session_, packets.data(), count);
    return rte_ipsec_pkt_process(&session_, packets.data(), sealed);
  }

 private:
  LibrteIpsec() = default;
  Result<void> set_up(const SaState& sa);

  rte_mempool* sessions_ = nullptr;
  std::vector<uint8_t> memory_;
  rte_ipsec_session session_{};
};

Result<void> LibrteIpsec::set_up(const SaState& sa) {
  const bool chain = sa.transform.cipher == Cipher::kAesCbc;
  const char* device =
      sa.transform.cipher == Cipher::kAesGcm ? "crypto_aesni_gcm" : "crypto_aesni_mb";
  auto id = open_cryptodev(device);
  if (!id) return tl::unexpected(id.error());
  Transforms transforms;
  chain ? describe_chain(sa, transforms) : describe_aead(sa, transforms);
  static unsigned serial = 0;
  sessions_ = rte_cryptodev_sym_session_pool_create(
      fmt::format("esp_sessions{}", serial++).c_str(), 4,
      rte_cryptodev_sym_get_private_session_size(*id), 0, 0, rte_cryptodev_socket_id(*id));
  if (sessions_ == nullptr) return fail("librte_ipsec: no memory for sessions");
  session_.type = RTE_SECURITY_ACTION_TYPE_CPU_CRYPTO;
  session_.crypto.dev_id = *id;
  session_.crypto.ses = static_cast<rte_cryptodev_sym_session*>(
      rte_cryptodev_sym_session_create(*id, &transforms.first, sessions_));
  if (session_.crypto.ses == nullptr)
    return fail(fmt::format("librte_ipsec: {} has not this algorithm", device));

  rte_ipv4_hdr outer{};
  outer.version_ihl = 0x45;
  outer.time_to_live = 64;
  outer.next_proto_id = IPPROTO_ESP;
  outer.src_addr = load32_native(sa.source.bytes.data());
  outer.dst_addr = load32_native(sa.id.destination.bytes.data());
  rte_ipsec_sa_prm say{};
  say.ipsec_xform.spi = sa.id.spi;
  if (!chain) std::memcpy(&say.ipsec_xform.salt, &sa.keys.cipher[sa.transform.key_bytes], 4);
  say.ipsec_xform.direction = RTE_SECURITY_IPSEC_SA_DIR_EGRESS;
  say.ipsec_xform.proto = RTE_SECURITY_IPSEC_SA_PROTO_ESP;
  say.ipsec_xform.mode = RTE_SECURITY_IPSEC_SA_MODE_TUNNEL;
  say.ipsec_xform.tunnel.type = RTE_SECURITY_IPSEC_TUNNEL_IPV4;
  say.ipsec_xform.options.copy_dscp = say.ipsec_xform.options.ecn = 1;
  say.crypto_xform = &transforms.first;
  say.tun.hdr = &outer;
  say.tun.hdr_len = sizeof outer;
  say.tun.next_proto = IPPROTO_IPIP;
  const int bytes = rte_ipsec_sa_size(&say);
  if (bytes < 0) return fail(fmt::format("librte_ipsec: {}", dpdk_error(bytes)));
  memory_.resize(static_cast<size_t>(bytes) + RTE_CACHE_LINE_SIZE);
  session_.sa = reinterpret_cast<rte_ipsec_sa*>(
      RTE_PTR_ALIGN(memory_.data(), static_cast<uintptr_t>(RTE_CACHE_LINE_SIZE)));
  int code = rte_ipsec_sa_init(session_.sa, &say, static_cast<uint32_t>(bytes));
  if (code > 0) code = rte_ipsec_session_prepare(&session_);
  if (code < 0) return fail(fmt::format("librte_ipsec: {}", dpdk_error(code)));
  return {};
}

}  // namespace

InnerBurst::InnerBurst(rte_mempool* pool, unsigned burst, const std::vector<uint16_t>& inner_bytes)
    : order_(burst), packets_(burst) {
  if (rte_pktmbuf_alloc_bulk(pool, order_.data(), burst) != 0)
    throw std::runtime_error("no mbufs for ESP alone");
  for (unsigned i = 0; i < burst; ++i) bytes_.push_back(inner_bytes[i % inner_bytes.size()]);
}

InnerBurst::~InnerBurst() {
  rte_pktmbuf_free_bulk(order_.data(), static_cast<unsigned>(order_.size()));
}

std::vector<rte_mbuf*>& InnerBurst::reset() {
  rte_ipv4_hdr header{};
  header.version_ihl = 0x45;
  header.time_to_live = 64;
  for (size_t i = 0; i < order_.size(); ++i) {
    rte_mbuf* packet = packets_[i] = order_[i];
    packet->data_off = kHeadroom;
    packet->data_len = bytes_[i];
    packet->pkt_len = bytes_[i];
    packet->l2_len = 0;
    packet->l3_len = kIpv4Bytes;
    header.total_length = __builtin_bswap16(bytes_[i]);
    std::memcpy(rte_pktmbuf_mtod(packet, void*), &header, sizeof header);
  }
  return packets_;
}

Result<std::unique_ptr<EspAlone>> own_engine(const SaState& state) {
  auto engine = esp::Engine::create();
  if (!engine) return tl::unexpected(engine.error());
  auto sa = esp::Sa::create(state);
  if (!sa) return tl::unexpected(sa.error());
  return std::make_unique<OwnEngine>(std::move(*engine), std::move(*sa));
}

Result<std::unique_ptr<EspAlone>> librte_ipsec(const SaState& sa) {
  return LibrteIpsec::create(sa);
}

}  // namespace hecto::bench
