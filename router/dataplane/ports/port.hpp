// A port: one DPDK ethdev, from the device that the operator named to running queues. Every refusal
// of a driver is survived where a router can live with it, and kept in words for
// `hecto show ports`.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ether.hpp"
#include "base/result.hpp"
#include "config/file/config.hpp"
#include "router/dataplane/ports/af_xdp.hpp"
#include "router/dataplane/ports/bpf_files.hpp"
#include "router/dataplane/ports/kernel_interface.hpp"

struct rte_mempool;
struct rte_eth_conf;
struct rte_eth_dev_info;
struct rte_eth_rxtx_callback;

namespace hecto::router {

struct PortSetup {
  uint16_t rx_queues = 1;
  uint16_t tx_queues = 1;  // workers + the slow path
  rte_mempool* pool = nullptr;
  uint32_t data_room_bytes = 0;  // of the pool, headroom included
  bool nic_crypto = false;       // asks for inline crypto of ESP
  bool interrupts = false;       // asks for receive interrupts: a worker may wait
  bool segments = false;         // packets in more than one mbuf will leave here
  // By transmit queue: what will leave by it is plain, each packet one direct mbuf of `pool` with
  // one reference. Empty: nobody looks after that.
  std::vector<bool> plain_queues;
};

// Bytes of a frame beyond its L3 packet: Ethernet header, two tags, FCS.
inline constexpr uint32_t kL2Overhead_bytes = 14 + 8 + 4;

// Inline crypto of ESP that the driver gave (rte_security); its context is there until the port is
// closed.
struct PortCrypto {
  void* context = nullptr;
  bool opens = false, seals = false;
};

// Of this process, in ascending order; those that were not there before.
std::vector<int> open_sockets(int domain);
std::vector<int> open_sockets_since(const std::vector<int>& before, int domain);

struct LinkState {
  bool up = false;
  uint32_t speed_mbps = 0;  // 0: not known
};

struct QueueStatistics {
  uint64_t rx_packets = 0, rx_bytes = 0;
  uint64_t tx_packets = 0, tx_bytes = 0;
};

struct PortStatistics {
  uint64_t missed = 0;   // the receive queue was full, AF_XDP: or the kernel had no buffer
  uint64_t no_mbuf = 0;  // the pool was empty
  uint64_t rx_errors = 0, tx_errors = 0;
  std::vector<QueueStatistics> queues = {};  // by number, as the driver counts; empty: it does not
};

class Bond;

class Port {
 public:
  // Finds or creates the device. Nothing is configured yet.
  static Result<std::unique_ptr<Port>> probe(const config::PortConfig& config);
  // As a member of a bond, with the bond's MAC, where that is known: found or created here, all else is
  // net_bonding's, but for the end. Its own MAC comes back then.
  static Result<std::unique_ptr<Port>> probe_member(const config::PortConfig& config);
  ~Port();  // closes
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  // A kernel interface whose AF_XDP socket the kernel refused goes on with AF_PACKET.
  bool can_fall_back() const;
  Result<void> fall_back(const std::string& why);
  // One whose driver gave inline crypto and did not start goes on without. False: that is not it.
  bool forgo_crypto(const std::string& why);
  bool forgo_interrupts(const std::string& why);  // likewise
  Result<void> configure(const PortSetup& setup);
  Result<void> start();
  void stop();
  // Stops, and gives the device back: to be found again it must be probed. Nobody uses it any more.
  // `reopens`: this process may want the device again.
  void close(bool reopens = true);

  PortId id() const { return id_; }
  const std::string& name() const { return config_.name; }
  const config::PortConfig& config() const { return config_; }
  const std::string& driver() const { return driver_; }
  const std::string& device() const { return device_; }  // what DPDK calls it
  int socket() const { return socket_; }                 // -1: none
  uint16_t max_rx_queues() const { return max_rx_queues_; }
  uint16_t max_tx_queues() const { return max_tx_queues_; }
  uint16_t rx_queues() const { return rx_queues_; }
  uint16_t tx_queues() const { return tx_queues_; }
  MacAddress mac() const;
  uint16_t mtu() const { return mtu_; }
  // Of a kernel interface: what is longer is no single frame, or of a larger MTU. 0: it is none.
  uint32_t longest_frame() const;
  bool kernel_interface() const { return kernel_.has_value(); }
  const std::optional<KernelInterface>& kernel() const { return kernel_; }
  const std::vector<int>& packet_sockets() const { return packet_sockets_; }  // AF_PACKET
  Bond* bond() const { return bond_.get(); }                                  // null: it is none
  // Its transmit queues are to be served at least each 100 ms, also with nothing to send.
  bool sends_lacp() const { return config_.bond && config_.bond->mode == config::BondMode::kLacp; }
  bool sends_segments() const { return sends_segments_; }  // a packet in more than one mbuf
  // The driver frees what it has sent as plain mbufs of the port's pool, unlooked at: nothing else
  // may be sent by that queue.
  bool promised_plain(QueueId queue) const { return queue < plain_.size() && plain_[queue]; }
  bool gives_plain_mbufs() const { return gives_plain_mbufs_; }  // receives into such
  // Packets of the port's MTU come in more than one mbuf of that room.
  bool scatters(uint32_t data_room_bytes) const;
  // While running: the loops that the driver took, in its words; empty where it does not say.
  const std::string& receive_path() const { return receive_path_; }
  const std::string& transmit_path() const { return transmit_path_; }
  // AF_PACKET tells the VLAN of a tag that the kernel has taken off, the driver puts one of 802.1Q there.
  bool hides_service_tags() const;
  // Of VLAN tags that frames may have beside the MTU, as far as driver or kernel say.
  uint16_t tag_bytes() const { return tag_bytes_; }
  bool link_interrupts() const { return link_interrupts_; }  // PortNews tells of the link
  bool checks_ipv4() const { return checks_ipv4_; }  // header checksums, and flags what it found
  const PortCrypto& crypto() const { return crypto_; }
  // By receive queue, while running: descriptors that become readable when packets come; of
  // interrupts() once the driver was asked for it. Empty: there are none, and no_wakeup() says why.
  const std::vector<std::vector<int>>& wakeups() const { return wakeups_; }
  bool interrupts() const { return interrupts_; }
  const std::string& no_wakeup() const { return no_wakeup_; }
  bool present() const;  // false once the device has gone
  bool running() const { return started_; }
  LinkState link() const;
  PortStatistics statistics() const;
  bool af_xdp() const { return driver_ == "net_af_xdp"; }
  // Buffers of its pool that a close or a refused start lost for good in driver and kernel.
  uint32_t lost_mbufs() const { return lost_mbufs_; }

  // While running: what its driver's frames and its mbufs hold. In those of AF_XDP the kernel keeps
  // a headroom of its own.
  uint16_t largest_mtu() const;
  uint16_t most_mtu() const { return most_mtu_; }  // that its driver's frames hold
  // While running. A refusal leaves the port as it was; EBUSY: the driver wants it stopped.
  Result<void> set_mtu(uint16_t mtu);
  // With nobody at its queues.
  Result<void> set_mtu_stopped(uint16_t mtu);
  Result<void> set_promiscuous(bool on);
  // Addresses beside its own that the NIC is to let in; those of before that are not among them go.
  // One that it has no room for makes it promiscuous, which refused() says.
  void accept_macs(const std::vector<MacAddress>& wanted);
  void update(const config::PortConfig& config) { config_ = config; }

  const std::vector<std::string>& asked() const { return asked_; }
  const std::vector<std::string>& given() const { return given_; }
  const std::vector<std::string>& refused() const { return refused_; }
  void refuse(std::string sentence);  // one more
  void find_wakeups();                // anew, once a bond has other members

 private:
  explicit Port(const config::PortConfig& config);
  Result<void> attach();
  Result<void> attach_kernel_interface();
  Result<void> attach_af_packet(const std::string& why);
  Result<void> attach_bond();
  void take_bond_mac();
  void give_mac_back();
  void name_packets(bool on);
  Result<void> describe();
  Result<void> create_vdev(const std::string& name, const std::string& arguments);
  void choose_crypto(rte_eth_conf& conf, const rte_eth_dev_info& device);
  void choose_offloads(rte_eth_conf& conf, const rte_eth_dev_info& device, const PortSetup& setup);
  void choose_checksums(rte_eth_conf& conf, const rte_eth_dev_info& device);
  void choose_segments(rte_eth_conf& conf, const rte_eth_dev_info& device, const PortSetup& setup);
  void choose_fast_free(rte_eth_conf& conf, const rte_eth_dev_info& device, const PortSetup& setup);
  void choose_interrupts(rte_eth_conf& conf, const rte_eth_dev_info& device,
                         const PortSetup& setup);
  Result<void> set_up_queues(const PortSetup& setup, const rte_eth_dev_info& device);
  void find_paths();
  void find_interrupts();
  void keep_bpf_files(const std::vector<BpfFile>& before);
  void accept_multicast();
  bool always_promiscuous() const;  // a kernel interface
  void watch_events(bool on);
  // `without`: what is done in its place.
  void want(const char* what, bool given, const std::string& without);

  config::PortConfig config_;
  PortId id_ = 0;
  bool attached_ = false;
  bool started_ = false;
  std::string device_;
  std::string driver_;
  int socket_ = -1;
  uint16_t max_rx_queues_ = 0, max_tx_queues_ = 0;
  uint16_t rx_queues_ = 0, tx_queues_ = 0;
  uint16_t mtu_ = 1500;
  uint16_t most_mtu_ = 65535;    // that the frames of a kernel interface's driver hold
  uint16_t driver_mtu_ = 65535;  // that the driver says is its largest
  uint16_t tag_bytes_ = 2 * kVlanTagBytes;
  bool sends_segments_ = false, checks_ipv4_ = false;
  std::vector<bool> plain_;      // by transmit queue: promised so
  bool plain_by_queue_ = false;  // each queue is told, not the port
  bool gives_plain_mbufs_ = false;
  std::string receive_path_, transmit_path_;
  bool link_interrupts_ = false;
  PortCrypto crypto_;
  bool forgoes_crypto_ = false;
  bool asks_interrupts_ = false, forgoes_interrupts_ = false, interrupts_ = false;
  std::vector<int> packet_sockets_;  // AF_PACKET
  std::vector<std::vector<int>> wakeups_;
  std::string no_wakeup_;
  rte_mempool* pool_ = nullptr;
  std::unique_ptr<AfXdpSockets> sockets_;
  std::vector<BpfFile> bpf_files_;  // that came with the sockets
  uint32_t lost_mbufs_ = 0;
  std::atomic<bool> removed_{false};  // set from DPDK's interrupt thread
  std::optional<KernelInterface> kernel_;
  bool member_ = false;                // of a bond
  std::optional<MacAddress> own_mac_;  // of a member that has the bond's
  std::vector<MacAddress> accepted_;   // accept_macs()
  bool accepts_all_ = false;           // for want of room for one of them
  bool bridged_ = false;               // promiscuous whatever the file says
  std::unique_ptr<Bond> bond_;
  std::vector<const rte_eth_rxtx_callback*> naming_;  // by receive queue
  std::vector<std::string> asked_, given_, refused_;
};

}  // namespace hecto::router
