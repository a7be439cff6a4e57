#include "router/dataplane/ports/port.hpp"

#include <fmt/format.h>
#include <linux/bpf.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

#include "config/file/words.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/ports/bond.hpp"
#include "router/dataplane/ports/eal.hpp"

namespace hecto::router {
namespace {

constexpr std::chrono::milliseconds kLastAlarm{30};  // net_bonding's comes each 10 ms
constexpr uint32_t kAfXdpFill = 2048;  // mbufs that net_af_xdp gives to a socket that it makes

bool carries_ports(const rte_device* device) {
  uint16_t id = 0;
  RTE_ETH_FOREACH_DEV(id) {
    rte_eth_dev_info other{};
    if (rte_eth_dev_info_get(id, &other) == 0 && other.device == device) return true;
  }
  return false;
}

}  // namespace

Result<void> Port::configure(const PortSetup& setup) {
  rte_eth_dev_info device{};
  if (const int code = rte_eth_dev_info_get(id_, &device); code != 0)
    return fail(fmt::format("port {} ({}): the driver {} does not describe it: {}", config_.name,
                            config_.device, driver_, dpdk_error(code)),
                -code);
  const uint16_t most_rx = std::max<uint16_t>(device.max_rx_queues, 1);
  const uint16_t most_tx = std::max<uint16_t>(device.max_tx_queues, 1);
  rx_queues_ = std::min(setup.rx_queues, most_rx);
  tx_queues_ = std::min(setup.tx_queues, most_tx);
  if (rx_queues_ < setup.rx_queues)
    refuse(fmt::format("{} receive queues: the driver {} has {}; using {}", setup.rx_queues,
                       driver_, most_rx, rx_queues_));
  if (tx_queues_ < setup.tx_queues)
    refuse(
        fmt::format("{} transmit queues: the driver {} has {}; threads without one of their own "
                    "hand packets to the owner",
                    setup.tx_queues, driver_, most_tx));
  pool_ = setup.pool;

  rte_eth_conf conf{};
  PortSetup actual = setup;
  actual.rx_queues = rx_queues_;
  // Its sockets share what comes, also those that nobody reads.
  if (driver_ == "net_af_packet" && rx_queues_ < max_rx_queues_)
    refuse(
        fmt::format("{} of {} receive queues are polled, and what the others get is lost: say "
                    "queues: {}",
                    rx_queues_, max_rx_queues_, max_rx_queues_));
  choose_offloads(conf, device, actual);
  choose_interrupts(conf, device, setup);
  const bool kernel = kernel_ || (bond_ && bond_->has_kernel());
  // net_bonding gives it to members; what is above 1500 AF_PACKET's driver refuses.
  if (!kernel || (bond_ && config_.mtu < RTE_ETHER_MTU)) conf.rxmode.mtu = config_.mtu;
  int code = rte_eth_dev_configure(id_, rx_queues_, tx_queues_, &conf);
  if (code != 0 && conf.rxmode.mtu != 0) {
    conf.rxmode.mtu = 0;
    code = rte_eth_dev_configure(id_, rx_queues_, tx_queues_, &conf);
    if (code == 0)
      refuse(fmt::format("MTU {} at configuration: the driver {} allows {} to {}", config_.mtu,
                         driver_, device.min_mtu, device.max_mtu));
  }
  if (code != 0)
    return fail(fmt::format("port {} ({}): the driver {} refused {} receive and {} transmit "
                            "queues: {}; {}",
                            config_.name, config_.device, driver_, rx_queues_, tx_queues_,
                            dpdk_error(code), Eal::last_complaint()),
                -code);
  if (auto done = set_up_queues(setup, device); !done) return done;
  if (bond_) mtu_ = config_.mtu;
  if (!kernel) {
    mtu_ = config_.mtu;
    uint16_t now = 0;
    rte_eth_dev_get_mtu(id_, &now);
    if (now != config_.mtu) {
      code = rte_eth_dev_set_mtu(id_, config_.mtu);
      // Memory drivers carry what their mbufs hold, whatever MTU they report.
      if (code != 0 && (bond_ || config_.kind == config::DeviceKind::kPci)) {
        mtu_ = now;
        refuse(fmt::format("MTU {}: the driver {} says {}; using {}", config_.mtu, driver_,
                           dpdk_error(code), now));
      }
    }
  }
  if (config_.mac && !bond_) {
    rte_ether_addr address;
    std::memcpy(address.addr_bytes, config_.mac->data(), 6);
    code = rte_eth_dev_default_mac_addr_set(id_, &address);
    want("mac", code == 0, fmt::format("it says {}, and its own goes on", dpdk_error(code)));
  }
  return {};
}

Result<void> Port::set_up_queues(const PortSetup& setup, const rte_eth_dev_info& device) {
  uint16_t rx = config_.rx_descriptors;
  uint16_t tx = config_.tx_descriptors;
  rte_eth_dev_adjust_nb_rx_tx_desc(id_, &rx, &tx);
  if (rx != config_.rx_descriptors || tx != config_.tx_descriptors)
    refuse(fmt::format("{}/{} descriptors: the driver {} takes {}/{}", config_.rx_descriptors,
                       config_.tx_descriptors, driver_, rx, tx));
  const auto where = static_cast<unsigned>(rte_eth_dev_socket_id(id_));
  const std::vector<AfXdpSocket> before = af_xdp() ? af_xdp_sockets() : std::vector<AfXdpSocket>{};
  const std::vector<BpfFile> bpf_before = af_xdp() ? bpf_files() : std::vector<BpfFile>{};
  int code = 0;
  wakeups_.clear();
  for (uint16_t q = 0; q < rx_queues_ && code == 0; ++q) {
    const std::vector<int> sockets = af_xdp() ? open_sockets(AF_XDP) : std::vector<int>{};
    code = rte_eth_rx_queue_setup(id_, q, rx, where, nullptr, setup.pool);
    if (af_xdp()) wakeups_.push_back(open_sockets_since(sockets, AF_XDP));
  }
  for (uint16_t q = 0; q < tx_queues_ && code == 0; ++q) {
    rte_eth_txconf one = device.default_txconf;
    if (plain_[q] && plain_by_queue_) one.offloads |= RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
    code = rte_eth_tx_queue_setup(id_, q, tx, where, plain_by_queue_ ? &one : nullptr);
  }
  if (af_xdp()) {
    sockets_ = std::make_unique<AfXdpSockets>(before);
    keep_bpf_files(bpf_before);
    // What the driver had filled in for a socket that it did not get it does not take back.
    if (code != 0) lost_mbufs_ += kAfXdpFill;
  }
  if (code != 0)
    return fail(fmt::format("port {} ({}): the driver {} refused a queue: {}; {}", config_.name,
                            config_.device, driver_, dpdk_error(code), Eal::last_complaint()),
                -code);
  return {};
}

// Routing protocols and neighbor discovery come as multicast.
void Port::accept_multicast() {
  const bool all = rte_eth_allmulticast_enable(id_) == 0;
  bool promiscuous = false;
  if (config_.promiscuous || !all || always_promiscuous()) {
    promiscuous = rte_eth_promiscuous_enable(id_) == 0;
    if (config_.promiscuous || kernel_)
      want("promiscuous", promiscuous, "what is for other MAC addresses may not come in");
  }
  const bool memory = config_.kind == config::DeviceKind::kVdev;  // takes all that it is sent
  want("all_multicast", all,
       promiscuous ? "promiscuous mode takes its place"
       : memory    ? "what its other end sends comes in"
                   : "routing protocols may not be heard");
}

Result<void> Port::start() {
  const std::vector<BpfFile> before = af_xdp() ? bpf_files() : std::vector<BpfFile>{};
  const int code = rte_eth_dev_start(id_);
  if (af_xdp()) keep_bpf_files(before);
  if (code != 0)
    return fail(fmt::format("port {} ({}): the driver {} did not start: {}; {}", config_.name,
                            config_.device, driver_, dpdk_error(code), Eal::last_complaint()),
                -code);
  started_ = true;
  accept_multicast();
  if (bond_) {
    if (std::string sentence = bond_->started(pool_); !sentence.empty())
      refuse(std::move(sentence));
    mtu_ = std::min(mtu_, bond_->mtu());
  }
  name_packets(true);
  find_wakeups();
  find_paths();
  return {};
}

// Those that came since belong to this port: the driver does not close all of them.
void Port::keep_bpf_files(const std::vector<BpfFile>& before) {
  for (BpfFile& file : bpf_files_since(before, bpf_files())) bpf_files_.push_back(std::move(file));
}

void Port::stop() {
  if (started_ && bond_) bond_->stopping();
  if (started_) rte_eth_dev_stop(id_);
  if (started_) name_packets(false);
  // Its alarm that looks at links is not called off: it ends by itself, and must not find it closed.
  if (started_ && bond_) std::this_thread::sleep_for(kLastAlarm);
  started_ = false;
  wakeups_.clear();
}

Port::Port(const config::PortConfig& config) : config_(config) {}

Port::~Port() {
  close();
}

void Port::close(bool reopens) {
  if (!attached_) {
    give_mac_back();  // its driver refused it behind take_bond_mac()
    return;
  }
  attached_ = false;
  stop();
  watch_events(false);
  rte_eth_dev_info info{};
  if (rte_eth_dev_info_get(id_, &info) != 0) info.device = nullptr;
  const std::vector<BpfFile> before = af_xdp() ? bpf_files() : std::vector<BpfFile>{};
  rte_eth_dev_close(id_);
  if (af_xdp()) keep_bpf_files(before);  // it opens some to look whose program is there
  if (sockets_) lost_mbufs_ += sockets_->release(pool_, reopens);
  sockets_.reset();
  (void)close_bpf_files(std::exchange(bpf_files_, {}));  // the driver forgets them
  give_mac_back();
  // A device may carry other ports, and they theirs: the last one takes it off its bus.
  if (info.device != nullptr && !carries_ports(info.device))
    if (const int code = rte_dev_remove(info.device); code != 0)
      spdlog::warn("port {} ({}): DPDK keeps the device: {}", config_.name, device_words(config_),
                   dpdk_error(code));
  bond_.reset();
}

MacAddress Port::mac() const {
  rte_ether_addr address{};
  rte_eth_macaddr_get(id_, &address);
  MacAddress mac;
  std::memcpy(mac.data(), address.addr_bytes, 6);
  return mac;
}

bool Port::present() const {
  return !removed_.load(std::memory_order_relaxed) && (!kernel_ || kernel_->exists());
}

LinkState Port::link() const {
  if (!started_) return {};
  if (bond_) return bond_->link();
  rte_eth_link link{};
  if (rte_eth_link_get_nowait(id_, &link) != 0) return {};
  const bool known =
      link.link_speed != RTE_ETH_SPEED_NUM_NONE && link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN;
  // AF_PACKET and AF_XDP never report a lost carrier: ask the kernel.
  const bool up = kernel_ ? kernel_->carrier() : link.link_status == RTE_ETH_LINK_UP;
  return {up, known ? link.link_speed : 0};
}

namespace {

struct QueueCounter {
  const char* name;  // as rte_ethdev and drivers say it
  uint64_t QueueStatistics::*value;
};
constexpr QueueCounter kQueueCounters[] = {
    {"rx_q%zu_packets%n", &QueueStatistics::rx_packets},
    {"rx_q%zu_bytes%n", &QueueStatistics::rx_bytes},
    {"tx_q%zu_packets%n", &QueueStatistics::tx_packets},
    {"tx_q%zu_bytes%n", &QueueStatistics::tx_bytes},
};

// By extended statistics, for from DPDK 25.11 on rte_eth_stats has no queues. Drivers that leave
// theirs to rte_ethdev have 16 of each. One that leaves all at 0 does not tell them apart.
std::vector<QueueStatistics> queues_of(PortId port, size_t count) {
  std::vector<rte_eth_xstat> values(
      static_cast<size_t>(std::max(0, rte_eth_xstats_get(port, nullptr, 0))));
  std::vector<rte_eth_xstat_name> names(values.size());
  const auto size = static_cast<unsigned>(values.size());
  if (rte_eth_xstats_get(port, values.data(), size) != static_cast<int>(size) ||
      rte_eth_xstats_get_names(port, names.data(), size) != static_cast<int>(size))
    return {};
  std::vector<QueueStatistics> queues;
  bool counts = false;
  for (size_t i = 0; i < size; ++i)
    for (const QueueCounter& each : kQueueCounters) {
      size_t queue = 0;
      int end = 0;
      if (std::sscanf(names[i].name, each.name, &queue, &end) != 1 || names[i].name[end] != '\0' ||
          queue >= count)
        continue;
      queues.resize(std::max(queues.size(), queue + 1));
      queues[queue].*each.value = values[i].value;
      counts |= values[i].value > 0;
    }
  return counts ? queues : std::vector<QueueStatistics>{};
}

}  // namespace

PortStatistics Port::statistics() const {
  if (bond_) return bond_->statistics();
  rte_eth_stats s{};
  if (rte_eth_stats_get(id_, &s) != 0) return {};
  // The driver forgets those for which the socket's ring had no room.
  const uint64_t missed = sockets_ ? sockets_->missed() : s.imissed;
  return {missed, s.rx_nombuf, s.ierrors, s.oerrors,
          queues_of(id_, std::max(rx_queues(), tx_queues()))};
}

uint32_t Port::longest_frame() const {
  const bool kernel = kernel_ || driver_ == "net_af_packet" || af_xdp();
  return kernel ? mtu_ + kL2Overhead_bytes - RTE_ETHER_CRC_LEN : 0;
}

bool Port::hides_service_tags() const {
  const auto of_kernel = [](const config::BondMember& member) {
    return member.kind == config::DeviceKind::kKernel;
  };
  return driver_ == "net_af_packet" ||
         (config_.bond &&
          std::any_of(config_.bond->members.begin(), config_.bond->members.end(), of_kernel));
}

uint16_t Port::largest_mtu() const {
  const uint32_t headroom = RTE_PKTMBUF_HEADROOM + (af_xdp() ? XDP_PACKET_HEADROOM : 0);
  const uint32_t fits = rte_pktmbuf_data_room_size(pool_) - headroom - kL2Overhead_bytes;
  return static_cast<uint16_t>(std::min<uint32_t>({fits, most_mtu_, driver_mtu_}));
}

Result<void> Port::set_mtu(uint16_t mtu) {
  if (mtu > largest_mtu())
    return fail(
        fmt::format("port {}: MTU {} is above {}, the most that it takes as it was set up ({}, "
                    "mbufs of {} bytes); restart, or remove the port and add it again",
                    config_.name, mtu, largest_mtu(), driver_, rte_pktmbuf_data_room_size(pool_)));
  if (bond_) {
    if (auto done = bond_->set_mtu(mtu); !done) return done;
  } else if (kernel_) {
    if (auto done = kernel_->set_mtu(mtu); !done) return done;
  } else if (const int code = rte_eth_dev_set_mtu(id_, mtu);
             code != 0 && config_.kind == config::DeviceKind::kPci) {
    return fail(fmt::format("port {}: MTU {}: the driver {} says {}", config_.name, mtu, driver_,
                            dpdk_error(code)),
                -code);
  }
  mtu_ = mtu;
  return {};
}

Result<void> Port::set_mtu_stopped(uint16_t mtu) {
  const uint16_t before = mtu_;
  rte_eth_dev_stop(id_);
  started_ = false;
  wakeups_.clear();
  auto done = set_mtu(mtu);
  int code = rte_eth_dev_start(id_);
  if (code != 0 && done && mtu != before) {  // as it ran
    done = fail(fmt::format("port {}: the driver {} does not start with MTU {}: {}", config_.name,
                            driver_, mtu, dpdk_error(code)),
                -code);
    (void)set_mtu(before);
    code = rte_eth_dev_start(id_);
  }
  if (code != 0) {
    mtu_ = before;
    return fail(fmt::format("port {}: stopped for its MTU, the driver {} does not start it again: "
                            "{}; remove the port and add it again",
                            config_.name, driver_, dpdk_error(code)),
                -code);
  }
  started_ = true;
  find_wakeups();
  find_paths();
  return done;
}

bool Port::always_promiscuous() const {
  return kernel_ || (bond_ && bond_->has_kernel());
}

void Port::accept_macs(const std::vector<MacAddress>& wanted) {
  if (accepted_ == wanted || always_promiscuous()) return;
  const auto is_new = [](const auto& one, const auto& among) {
    return std::find(among.begin(), among.end(), one) == among.end();
  };
  const auto as_ether = [](const MacAddress& mac) {
    rte_ether_addr address;
    std::memcpy(address.addr_bytes, mac.data(), mac.size());
    return address;
  };
  for (const MacAddress& old : accepted_) {
    rte_ether_addr address = as_ether(old);
    if (is_new(old, wanted)) (void)rte_eth_dev_mac_addr_remove(id_, &address);
  }
  for (const MacAddress& mac : wanted) {
    rte_ether_addr address = as_ether(mac);
    if (!is_new(mac, accepted_)) continue;
    const int code = rte_eth_dev_mac_addr_add(id_, &address, 0);
    if (code == 0 || accepts_all_ || config_.promiscuous) continue;
    if (config_.kind == config::DeviceKind::kVdev) continue;  // takes all that it is sent
    accepts_all_ = rte_eth_promiscuous_enable(id_) == 0;
    std::string sentence = fmt::format(
        "MAC {}: the driver {} says {}; {}", to_string(mac), driver_, dpdk_error(code),
        accepts_all_ ? "promiscuous mode takes its place" : "what is for it does not come in");
    if (!is_new(sentence, refused_)) continue;  // VRRP's come and go
    spdlog::warn("port {}: {}", config_.name, sentence);
    refuse(std::move(sentence));
  }
  if (wanted.empty() && std::exchange(accepts_all_, false) && !config_.promiscuous && !bridged_)
    (void)rte_eth_promiscuous_disable(id_);
  accepted_ = wanted;
}

Result<void> Port::set_promiscuous(bool on) {
  bridged_ = on && !config_.promiscuous;
  if (always_promiscuous() || (!on && accepts_all_)) return {};
  const int code = on ? rte_eth_promiscuous_enable(id_) : rte_eth_promiscuous_disable(id_);
  if (code == 0) return {};
  return fail(fmt::format("port {}: promiscuous mode: the driver {} says {}", config_.name, driver_,
                          dpdk_error(code)),
              -code);
}

}  // namespace hecto::router
