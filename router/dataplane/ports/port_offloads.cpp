// What a driver is asked for, and which loops it took in return. Each offload that is asked for
// without need costs: i40e, ixgbe, ice and mlx5 transmit by their fast loops only as long as nobody
// wants packets of several mbufs.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/ports/pci_device.hpp"
#include "router/dataplane/ports/plain_mbufs.hpp"
#include "router/dataplane/ports/port.hpp"

namespace hecto::router {
namespace {

constexpr uint64_t kRssFields =
    RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_SCTP;

// They take each mbuf from their queue's pool. Not here: net_ring, which gives what somebody put in,
// net_bonding and net_vhost, and all that nobody has looked at.
constexpr std::array<std::string_view, 20> kPlain = {
    "net_af_packet", "net_af_xdp", "net_e1000_em",    "net_e1000_igb", "net_e1000_igb_vf",
    "net_ena",       "net_i40e",   "net_i40e_vf",     "net_iavf",      "net_ice",
    "net_igc",       "net_ixgbe",  "net_ixgbe_vf",    "net_memif",     "net_null",
    "net_pcap",      "net_tap",    "net_virtio_user", "net_virtio",    "net_vmxnet3"};

constexpr std::array<std::string_view, 5> kTelling = {"mlx5_pci", "net_i40e", "net_ice",
                                                      "net_ixgbe", "net_virtio"};

}  // namespace

// mlx5 lends a part of a larger buffer where it was told to (MPRQ), and does not free fast then.
bool receives_plain_mbufs(std::string_view driver, uint64_t tx_offloads) noexcept {
  if (driver == "mlx5_pci") return (tx_offloads & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE) != 0;
  return std::find(kPlain.begin(), kPlain.end(), driver) != kPlain.end();
}

void Port::want(const char* what, bool given, const std::string& without) {
  asked_.emplace_back(what);
  if (given)
    given_.emplace_back(what);
  else
    refuse(fmt::format("{}: the driver {} does not give it; {}", what, driver_, without));
}

void Port::refuse(std::string sentence) {
  refused_.push_back(std::move(sentence));
}

bool Port::scatters(uint32_t data_room_bytes) const {
  return config_.mtu + kL2Overhead_bytes + RTE_PKTMBUF_HEADROOM > data_room_bytes;
}

void Port::choose_offloads(rte_eth_conf& conf, const rte_eth_dev_info& device,
                           const PortSetup& setup) {
  const auto rx = [&](const char* what, uint64_t flag, const std::string& without) {
    const bool given = (device.rx_offload_capa & flag) != 0;
    want(what, given, without);
    if (given) conf.rxmode.offloads |= flag;
  };
  if (setup.rx_queues > 1) {
    const uint64_t fields = kRssFields & device.flow_type_rss_offloads;
    want("rss", fields != 0,
         kernel_ ? "the kernel spreads over the queues" : "it spreads by its own rule");
    if (fields != 0) {
      conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
      conf.rx_adv_conf.rss_conf.rss_hf = fields;
      rx("rss_hash", RTE_ETH_RX_OFFLOAD_RSS_HASH, "flows are hashed in software");
    }
  }
  if (scatters(setup.data_room_bytes))
    rx("scatter", RTE_ETH_RX_OFFLOAD_SCATTER,
       fmt::format("packets above {} bytes do not fit one mbuf and are lost",
                   setup.data_room_bytes - RTE_PKTMBUF_HEADROOM - kL2Overhead_bytes));
  choose_checksums(conf, device);
  choose_segments(conf, device, setup);
  choose_fast_free(conf, device, setup);
  crypto_ = {};
  if (setup.nic_crypto && !forgoes_crypto_) choose_crypto(conf, device);
}

// Of a tunnel's packet the flag means the inner header, and another one the outer. mlx5 does not say
// which it means, net_tap reckons itself, over the whole packet, and some pass on what members say.
void Port::choose_checksums(rte_eth_conf& conf, const rte_eth_dev_info& device) {
  constexpr uint64_t kInner = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM;
  constexpr uint64_t kOuter = RTE_ETH_RX_OFFLOAD_OUTER_IPV4_CKSUM;
  constexpr std::string_view kUnclear[] = {"mlx5_pci",    "net_mlx4",     "net_tap",
                                           "net_bonding", "net_failsafe", "net_netvsc"};
  const bool unclear =
      std::find(std::begin(kUnclear), std::end(kUnclear), driver_) != std::end(kUnclear);
  checks_ipv4_ = (device.rx_offload_capa & kInner) != 0 && !unclear;
  if (!checks_ipv4_) return;
  want("rx_ipv4_cksum", true, "");
  conf.rxmode.offloads |= device.rx_offload_capa & (kInner | kOuter);
}

// Where nobody's packets come so: what a driver gives in several mbufs all the same is copied.
void Port::choose_segments(rte_eth_conf& conf, const rte_eth_dev_info& device,
                           const PortSetup& setup) {
  sends_segments_ = false;
  if (!setup.segments) return;
  sends_segments_ = (device.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0;
  want("multi_segments", sends_segments_, "a packet in several mbufs is copied into one");
  if (sends_segments_) conf.txmode.offloads |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
}

// For the whole port, or where the driver can and only some queues are plain, for these.
void Port::choose_fast_free(rte_eth_conf& conf, const rte_eth_dev_info& device,
                            const PortSetup& setup) {
  constexpr uint64_t kFlag = RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
  plain_.assign(tx_queues_, false);
  plain_by_queue_ = false;
  if ((device.tx_offload_capa & kFlag) == 0 || setup.plain_queues.empty()) return;
  std::vector<bool> plain = setup.plain_queues;
  plain.resize(tx_queues_, false);
  const auto count = std::count(plain.begin(), plain.end(), true);
  const bool all = count == tx_queues_;
  plain_by_queue_ = !all && count > 0 && (device.tx_queue_offload_capa & kFlag) != 0;
  if (sends_segments_ || (!all && !plain_by_queue_)) {
    plain_by_queue_ = false;
    refuse(fmt::format(
        "fast_free is not asked for, and {} looks at each buffer that it frees: {}", driver_,
        sends_segments_ ? "packets in several mbufs leave here"
                        : "buffers of more than one pool, or lent ones, leave here"));
    return;
  }
  want("fast_free", true, "");
  if (plain_by_queue_)
    refuse(
        fmt::format("fast_free: asked for {} of {} transmit queues; buffers of more than one "
                    "pool leave by the others",
                    count, tx_queues_));
  else
    conf.txmode.offloads |= kFlag;
  plain_ = std::move(plain);
}

void Port::choose_crypto(rte_eth_conf& conf, const rte_eth_dev_info& device) {
  void* context = rte_eth_dev_get_sec_ctx(id_);
  crypto_.opens = context != nullptr && (device.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SECURITY) != 0;
  crypto_.seals = context != nullptr && (device.tx_offload_capa & RTE_ETH_TX_OFFLOAD_SECURITY) != 0;
  want("rx_esp", crypto_.opens, "a CPU opens ESP that comes in here");
  want("tx_esp", crypto_.seals, "a CPU seals ESP that leaves here");
  if (crypto_.opens) conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_SECURITY;
  if (crypto_.seals) conf.txmode.offloads |= RTE_ETH_TX_OFFLOAD_SECURITY;
  if (crypto_.opens || crypto_.seals) crypto_.context = context;
}

bool Port::forgo_crypto(const std::string& why) {
  if (crypto_.context == nullptr) return false;
  forgoes_crypto_ = true;
  crypto_ = {};
  asked_.clear();
  given_.clear();
  refused_.clear();
  refuse("inline crypto of ESP: " + why);
  return true;
}

// A driver that is asked to tell of its link is not looked at any more: DPDK gives what it told last. So
// only those are asked that do tell; net_e1000_em and net_vmxnet3 say so, and did not (tried with VFIO
// in QEMU). A device of UIO has one interrupt, which is the queues' where they have asked.
void Port::choose_interrupts(rte_eth_conf& conf, const rte_eth_dev_info& device,
                             const PortSetup& setup) {
  asks_interrupts_ = setup.interrupts;
  const bool may_ask = !forgoes_interrupts_ && !kernel_ && !bond_;
  conf.intr_conf.rxq = setup.interrupts && may_ask ? 1 : 0;
  const bool tells = (*device.dev_flags & RTE_ETH_DEV_INTR_LSC) != 0 &&
                     std::find(kTelling.begin(), kTelling.end(), driver_) != kTelling.end();
  const bool taken = conf.intr_conf.rxq != 0 && has_one_interrupt(config_.device);
  link_interrupts_ = tells && may_ask && !taken;
  conf.intr_conf.lsc = link_interrupts_ ? 1 : 0;
}

// By queue 0: drivers choose for the port.
void Port::find_paths() {
  rte_eth_burst_mode rx{}, tx{};
  receive_path_ = rte_eth_rx_burst_mode_get(id_, 0, &rx) == 0 ? rx.info : "";
  transmit_path_ = rte_eth_tx_burst_mode_get(id_, 0, &tx) == 0 ? tx.info : "";
}

}  // namespace hecto::router
