// The netlink mirror: tells a LinuxEvents what a namespace's links, addresses, next-hop objects,
// routes and neighbors are, first all of them, then every change (mirror_base.hpp), and reads them
// again shortly after what the kernel does without telling (see README.md).
//
// Control thread only: process() and everything that it calls.
#pragma once

#include <memory>
#include <unordered_map>

#include "router/linux/decode_bridge.hpp"
#include "router/linux/decode_labels.hpp"
#include "router/linux/decode_rule.hpp"
#include "router/linux/mirror_base.hpp"

namespace hecto::router {

class NetlinkMirror final : public MirrorBase {
 public:
  // `space` and `events` must outlive the mirror. The first resync starts with the first process().
  static Result<std::unique_ptr<NetlinkMirror>> open(const NetworkNamespace& space,
                                                     LinuxEvents& events,
                                                     const MirrorOptions& options = {});

  // Soon, and with no more than a resync of one device reads.
  void read_labels(const std::string& why) { resync_soon(why, kLoopback); }

 private:
  static constexpr int kLoopback = 1;  // in every namespace
  struct LinkState {
    bool up;
    bool carrier;
    bool operator==(const LinkState&) const = default;
  };

  NetlinkMirror(const NetworkNamespace& space, LinuxEvents& events, const MirrorOptions& options,
                Sockets&& sockets);
  static Result<Sockets> open_sockets(const NetworkNamespace& space, uint32_t buffer_bytes);

  MessageKind kind(const Message& message) const noexcept override { return kind_of(message); }
  bool removes(const Message& message) const noexcept override { return is_removal(message); }
  void deliver(const Message& message, bool live) override;
  void deliver_link(bool live);
  void deliver_nexthop(bool live);
  void on_resync_begin(const std::string& why) override { events_.resync_begin(why); }
  std::vector<DumpPhase> device_plan(int device) override;
  void on_device_resync_begin(int device, const std::string& why) override {
    events_.device_resync_begin(device, why);
  }
  void on_resync_end() override { events_.resync_end(); }
  void phase_begins(MessageKind kind) override;
  void dump_was_read(DumpConsistency& consistency) override;

  bool reads(const DumpPhase& phase) const override;

  const NetworkNamespace& space_;
  LinuxEvents& events_;
  const bool filtered_;  // the kernel picks what a dump holds
  std::unordered_map<int, LinkState> links_;
  LinkEvent link_;
  AddressEvent address_;
  NeighborEvent neighbor_;
  BridgePortEvent bridge_port_;
  BridgeVlansEvent bridge_vlans_;
  FdbEvent fdb_;
  NextHopEvent nexthop_;
  RuleEvent rule_;
  RouteEvent route_;
  LabelRouteEvent label_route_;
};

}  // namespace hecto::router
