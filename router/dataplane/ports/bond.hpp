// The members of a port that is a bond, on DPDK's net_bonding: the driver shares packets out, who takes
// part is decided here.
//
//   LACPDUs of members ─ net_bonding ─► Lacp ─► which members collect and distribute ─► net_bonding
//   links of members (Linux's carrier, the driver's) ─► which are in the bond at all ──┘
//
// net_bonding's own LACP machine is not used: it takes members that lead to different systems into one
// aggregator, and cannot ask for fast LACPDUs. AF_PACKET's driver knows no link (22.11), and one that is
// stopped does not start again: a member without carrier is closed, and opened anew with it.
//
// Control only, but for LACP, which runs on DPDK's interrupt thread, each 100 ms.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "config/file/config.hpp"
#include "router/dataplane/ports/bond_status.hpp"

struct rte_mbuf;
struct rte_mempool;

namespace hecto::router {

class Port;
struct LinkState;
struct PortStatistics;

class Bond {
 public:
  // Finds the members, and makes the driver's port of them. Nothing is configured yet.
  static Result<std::unique_ptr<Bond>> create(const config::PortConfig& config);
  ~Bond();  // behind the driver's port, which must be closed before
  Bond(const Bond&) = delete;
  Bond& operator=(const Bond&) = delete;

  PortId id() const { return id_; }
  const std::string& device() const { return device_; }  // what DPDK calls it
  int socket() const;                                    // of its first member; -1: none
  bool has_kernel() const;                               // some member is a kernel interface
  bool all_kernel() const;                               // all are
  uint16_t most_mtu() const;                    // that all members hold as they were opened
  uint16_t mtu() const { return config_.mtu; }  // the least that a member was given
  std::vector<std::string> refused() const;     // by members, at the start

  // The driver's port runs. `pool`: of LACPDUs that are sent. Returns in words that a member refused
  // the MTU; empty: none did.
  std::string started(rte_mempool* pool);
  void stopping();
  Result<void> set_mtu(uint16_t mtu);  // of the members; refused, they have what they had
  // AF_PACKET sockets of all members, that become readable when packets have come.
  std::vector<int> sockets() const;

  // Members that have a link or a device again, brought in; and those that have none any more, taken
  // out of the bond and not closed before close_leavers(). True: some were. One member always stays:
  // the driver has no port without.
  bool follow();
  bool leaving() const { return !leavers_.empty(); }
  void close_leavers();            // no worker is within a burst of them any more
  bool gives_plain_mbufs() const;  // each member receives into such

  LinkState link() const;
  PortStatistics statistics() const;
  BondStatus status() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Member {
    config::BondMember config;
    std::unique_ptr<Port> port;  // null: it is out
    bool known = false;          // was active once
    bool active = false;
    bool linked = true;       // by Linux, of a kernel interface: its driver knows no link
    bool gone = false;        // out, as its device was
    uint32_t speed_mbps = 0;  // the last one that was known; 0: none was
    uint64_t changes = 0;
    Clock::time_point changed{};
    Clock::time_point next_try{};
    std::string refusal;              // why it could not be brought in
    BondTraffic before;               // of ports of it that are closed
    std::deque<BondTraffic> seconds;  // of the last ones, the newest behind
  };

  explicit Bond(const config::PortConfig& config);
  Result<void> make();
  Result<void> open_member(Member& member);
  Result<void> choose_mac();
  Result<void> settle_modes();
  Result<void> bring_in(Member& member);
  void take_out(Member& member);
  Result<void> give_mtu(const Member& member, uint16_t mtu) const;
  std::string settle_mtu();
  void follow_carrier(Member& member);
  void await_links();
  void deactivate(Member& member);
  static bool wanted(const Member& member);
  bool carrier(const Member& member) const;
  uint32_t speed_of(const Member& member) const;
  static void note_speed(Member& member, uint32_t mbps);
  void hear(const Member& member, bool on);
  bool one_way(const Member& member) const;
  BondTraffic traffic(const Member& member) const;
  size_t index_of(const Member& member) const;
  std::vector<bool> linked_members() const;
  bool lacp_mode() const { return config_.bond->mode == config::BondMode::kLacp; }
  bool note_activity(const std::vector<bool>& active);
  void sample();
  std::vector<std::string> troubles(const Member& member, const BondMemberStatus& status) const;

  static void on_alarm(void* bond);
  static void on_lacpdu(uint16_t member, rte_mbuf* packet);
  void tick();
  void send(const Member& member, const LacpFrame& frame);

  config::PortConfig config_;  // with the MAC that the bond has
  std::string device_;
  PortId id_ = 0;
  bool made_ = false, running_ = false;
  unsigned opened_ = 0;  // so far; names devices of members that are opened anew
  rte_mempool* pool_ = nullptr;
  mutable std::mutex mutex_;  // of what LACP's thread uses: members' ports, lacp_, activity
  std::vector<Member> members_;
  Clock::time_point sampled_{};
  std::vector<std::unique_ptr<Port>> leavers_;
  std::unique_ptr<Lacp> lacp_;
};

}  // namespace hecto::router
