// From the operator's word for a device to a DPDK port number.
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "base/ether.hpp"
#include "router/dataplane/core/dpdk_bonding.hpp"
#include "router/dataplane/ports/bond.hpp"
#include "router/dataplane/ports/eal.hpp"
#include "router/dataplane/ports/packet_fanout.hpp"
#include "router/dataplane/ports/pci_device.hpp"
#include "router/dataplane/ports/plain_mbufs.hpp"
#include "router/dataplane/ports/port.hpp"

namespace hecto::router {
namespace {

// net_af_xdp keeps a packet in one 4 KiB frame behind its headrooms.
constexpr uint16_t kAfXdpMaxMtu = 3400;
// Above this a packet of net_af_packet needs larger frames than its default of 2 KiB.
constexpr uint16_t kAfPacketDefaultMtu = 1900;
constexpr uint16_t kAfPacketMostMtu = 10000;  // of its largest frames here

// Of tags beside the MTU: what the driver's longest frame has more than a packet of its largest MTU,
// Ethernet header and FCS. Both are the general ones of DPDK where it does not know.
uint16_t room_for_tags(const rte_eth_dev_info& device) {
  constexpr uint32_t kUntagged = kEthernetBytes + RTE_ETHER_CRC_LEN;
  constexpr uint32_t kMost = 2 * kVlanTagBytes;
  const uint32_t overhead = device.max_rx_pktlen - device.max_mtu;
  const bool known = device.max_mtu != UINT16_MAX && device.max_rx_pktlen > device.max_mtu &&
                     overhead >= kUntagged;
  return static_cast<uint16_t>(known ? std::min(overhead - kUntagged, kMost) : kMost);
}

bool find_port(const std::string& name, PortId& id) {
  uint16_t number = 0;
  if (rte_eth_dev_get_port_by_name(name.c_str(), &number) != 0) return false;
  id = PortId(number);
  return true;
}

}  // namespace

Result<std::unique_ptr<Port>> Port::probe(const config::PortConfig& config) {
  std::unique_ptr<Port> port(new Port(config));
  if (auto done = port->attach(); !done) return tl::unexpected(done.error());
  if (auto done = port->describe(); !done) return tl::unexpected(done.error());
  return port;
}

Result<std::unique_ptr<Port>> Port::probe_member(const config::PortConfig& config) {
  std::unique_ptr<Port> port(new Port(config));
  port->member_ = true;
  if (auto done = port->attach(); !done) return tl::unexpected(done.error());
  if (auto done = port->describe(); !done) return tl::unexpected(done.error());
  port->take_bond_mac();
  if (port->kernel_) return port;
  port->mtu_ = std::min(config.mtu, port->driver_mtu_);
  if (port->mtu_ < config.mtu)
    port->refuse(fmt::format("MTU {}: the driver {} takes {} at most; using {}", config.mtu,
                             port->driver_, port->driver_mtu_, port->mtu_));
  return port;
}

Result<void> Port::describe() {
  rte_eth_dev_info device{};
  if (const int code = rte_eth_dev_info_get(id_, &device); code != 0)
    return fail(fmt::format("port {} ({}): the driver does not describe it: {}", config_.name,
                            config_.device, dpdk_error(code)),
                -code);
  driver_ = device.driver_name != nullptr ? device.driver_name : "unknown";
  max_rx_queues_ = device.max_rx_queues;
  max_tx_queues_ = device.max_tx_queues;
  // Memory drivers carry what their mbufs hold, whatever they say.
  const bool nic = config_.kind == config::DeviceKind::kPci;
  if (nic && device.max_mtu != 0) driver_mtu_ = device.max_mtu;
  if (nic) tag_bytes_ = room_for_tags(device);
  if (hides_service_tags()) tag_bytes_ = kVlanTagBytes;  // as the kernel has it (packet(7))
  gives_plain_mbufs_ = receives_plain_mbufs(driver_, device.tx_offload_capa);
  if (config_.kind == config::DeviceKind::kPci) socket_ = rte_eth_dev_socket_id(id_);
  if (kernel_) socket_ = kernel_->numa_node();
  if (bond_) {
    socket_ = bond_->socket();
    gives_plain_mbufs_ = bond_->gives_plain_mbufs();
    most_mtu_ = bond_->most_mtu();
  }
  watch_events(true);
  return {};
}

Result<void> Port::attach() {
  switch (config_.kind) {
    case config::DeviceKind::kKernel:
      return attach_kernel_interface();
    case config::DeviceKind::kBond:
      return attach_bond();
    case config::DeviceKind::kVdev: {
      const auto comma = config_.device.find(',');
      return create_vdev(config_.device.substr(0, comma),
                         comma == std::string::npos ? "" : config_.device.substr(comma + 1));
    }
    case config::DeviceKind::kPci:
      break;
  }
  device_ = config_.device;
  if (!find_port(device_, id_)) {
    Eal::last_complaint();
    const int code = rte_dev_probe(device_.c_str());
    if (code != 0 || !find_port(device_, id_))
      return fail(fmt::format("port {} ({}): {}", config_.name, config_.device,
                              why_no_port(config_.device, Eal::last_complaint())),
                  code < 0 ? -code : ENODEV);
  }
  attached_ = true;
  return {};
}

Result<void> Port::create_vdev(const std::string& name, const std::string& arguments) {
  if (name.starts_with("net_af_packet") && !fragments_stay_apart())
    refuse("the kernel joins IPv4 fragments before AF_PACKET: those of a datagram leave as one");
  Eal::last_complaint();
  const std::vector<BpfFile> before = bpf_files();
  const std::vector<int> sockets = open_sockets(AF_PACKET);
  const int code = rte_eal_hotplug_add("vdev", name.c_str(), arguments.c_str());
  keep_bpf_files(before);
  packet_sockets_ = open_sockets_since(sockets, AF_PACKET);
  if (code != 0 || !find_port(name, id_)) {
    if (code == 0) rte_eal_hotplug_remove("vdev", name.c_str());
    const std::string why = Eal::last_complaint();
    return fail(fmt::format("port {} ({}): DPDK could not create {} with \"{}\": {}{}{}",
                            config_.name, config_.device, name, arguments, dpdk_error(code),
                            why.empty() ? "" : "; ", why),
                code < 0 ? -code : EINVAL);
  }
  device_ = name;
  attached_ = true;
  return {};
}

Result<void> Port::attach_kernel_interface() {
  KernelInterface kernel(config_.device);
  if (!kernel.exists())
    return fail(fmt::format("port {} ({}): there is no such kernel interface here; `ip link` lists "
                            "those there are",
                            config_.name, config_.device),
                ENODEV);
  if (kernel.address_in_use())
    refuse(
        fmt::format("the kernel has an IPv4 address on {} and will answer beside hecto; remove "
                    "it (ip addr flush dev {})",
                    config_.device, config_.device));
  for (std::string& sentence : kernel.make_transparent()) refuse(std::move(sentence));
  if (auto done = kernel.set_mtu(config_.mtu); !done) {
    const uint16_t now = kernel.mtu().value_or(1500);
    refuse(fmt::format("MTU {}: {}; using {}", config_.mtu, done.error().message, now));
    config_.mtu = std::min(config_.mtu, now);
  }
  if (auto done = kernel.set_up(); !done) return done;
  kernel_ = kernel;
  mtu_ = config_.mtu;
  // The driver asks for it once, and AF_XDP's cannot be told another, as net_bonding wants.
  if (member_) take_bond_mac();

  std::string why_not;
  if (member_) {
    why_not = "a member of a bond has the bond's MAC";
  } else if (config_.mtu > kAfXdpMaxMtu) {
    why_not = fmt::format("MTU {} is above AF_XDP's {}", config_.mtu, kAfXdpMaxMtu);
  } else if (!config_.vlans.empty()) {
    why_not = "AF_XDP does not show VLAN tags that the kernel has taken off";
  } else {
    auto done = create_vdev("net_af_xdp_" + config_.name,
                            fmt::format("iface={},queue_count={},busy_budget=0", config_.device,
                                        config_.rx_queues.value_or(1)));
    if (done) {
      most_mtu_ = kAfXdpMaxMtu;
      return {};
    }
    why_not = done.error().message;
  }
  return attach_af_packet(why_not);
}

Result<void> Port::attach_af_packet(const std::string& why) {
  if (!member_)
    spdlog::info("port {}: AF_PACKET on {} instead of AF_XDP: {}", config_.name, config_.device,
                 why);
  refuse("AF_XDP: " + why);
  most_mtu_ = config_.mtu > kAfXdpMaxMtu          ? kAfPacketMostMtu
              : config_.mtu > kAfPacketDefaultMtu ? kAfXdpMaxMtu
                                                  : kAfPacketDefaultMtu;
  // A frame of the ring holds one packet behind its headers and must fit the port's mbufs.
  const char* frames = config_.mtu > kAfXdpMaxMtu ? ",blocksz=40960,framesz=10240,framecnt=1024"
                       : config_.mtu > kAfPacketDefaultMtu
                           ? ",blocksz=8192,framesz=3712,framecnt=1024"
                           : ",blocksz=8192,framesz=2048,framecnt=1024";
  return create_vdev(
      "net_af_packet_" + config_.name,
      fmt::format("iface={},qpairs={}{}", config_.device, config_.rx_queues.value_or(1), frames));
}

Result<void> Port::attach_bond() {
  auto bond = Bond::create(config_);
  if (!bond) return tl::unexpected(bond.error());
  bond_ = std::move(*bond);
  id_ = bond_->id();
  device_ = bond_->device();
  attached_ = true;
  config_.mtu = std::min(config_.mtu, bond_->mtu());
  for (std::string& sentence : bond_->refused()) refuse(std::move(sentence));
  return {};
}

// Of a kernel interface before its driver asks for it, of a NIC once that has it.
void Port::take_bond_mac() {
  if (!config_.mac || own_mac_) return;
  const auto own = kernel_ ? kernel_->mac() : Result<MacAddress>(mac());
  if (!own || *own == *config_.mac) return;
  own_mac_ = *own;
  if (kernel_) {
    if (auto done = kernel_->set_mac(*config_.mac); !done) refuse(done.error().message);
    return;
  }
  rte_ether_addr address;
  std::memcpy(address.addr_bytes, config_.mac->data(), 6);
  if (const int code = rte_eth_dev_default_mac_addr_set(id_, &address); code != 0)
    refuse(
        fmt::format("mac: the driver {} says {}: what is sent to the bond's may not come in here",
                    driver_, dpdk_error(code)));
}

void Port::give_mac_back() {
  if (own_mac_ && kernel_ && kernel_->exists()) (void)kernel_->set_mac(*own_mac_);
  own_mac_.reset();
}

namespace {

constexpr uint16_t kDrained = 64;  // a burst

uint16_t name_port(uint16_t port, uint16_t, rte_mbuf** packets, uint16_t count, uint16_t, void*) {
  for (uint16_t i = 0; i < count; ++i) packets[i]->port = port;
  return count;
}

// In active-backup the driver reads the member that it uses, and no other: what those hear would
// wait in their rings, and come in as new behind a failover. The worker that has the bond's queue
// has theirs of that number.
uint16_t name_and_drain(uint16_t port, uint16_t queue, rte_mbuf** packets, uint16_t count,
                        uint16_t most, void* user) {
  uint16_t members[RTE_MAX_ETHPORTS];
  const int used = rte_eth_bond_primary_get(port);
  const int active = used < 0 ? 0 : bond_active(port, members, RTE_MAX_ETHPORTS);
  for (int i = 0; i < active; ++i) {
    if (members[i] == used) continue;
    rte_mbuf* stale[kDrained];
    if (const uint16_t n = rte_eth_rx_burst(members[i], queue, stale, kDrained); n > 0)
      rte_pktmbuf_free_bulk(stale, n);
  }
  return name_port(port, queue, packets, count, most, user);
}

}  // namespace

// Packets of a bond come with the number of the member that they came in by.
void Port::name_packets(bool on) {
  if (!bond_) return;
  const auto callback =
      config_.bond->mode == config::BondMode::kActiveBackup ? name_and_drain : name_port;
  for (uint16_t queue = 0; on && queue < rx_queues_; ++queue)
    naming_.push_back(rte_eth_add_rx_callback(id_, queue, callback, nullptr));
  for (uint16_t queue = 0; !on && queue < naming_.size(); ++queue) {
    rte_eth_remove_rx_callback(id_, queue, naming_[queue]);
    rte_free(const_cast<rte_eth_rxtx_callback*>(naming_[queue]));  // no worker is in it
  }
  if (!on) naming_.clear();
}

// The kernel says only when the sockets are made whether AF_XDP works on the interface.
bool Port::can_fall_back() const {
  return af_xdp();
}

Result<void> Port::fall_back(const std::string& why) {
  close();
  asked_.clear();
  given_.clear();
  if (auto done = attach_af_packet(why); !done) return done;
  return describe();
}

}  // namespace hecto::router
