// Two gateways without a router around them: tables, SAs, policies, and the pipeline, whose ports
// are rings.
//
//   host 10.<side>.0.1, fd00:<side>::1 ── port 0  gateway  port 1 ── 192.0.2.<side>,
//   2001:db8::<side>
#pragma once

#include <memory>
#include <string>

#include "router/dataplane/nic_crypto/sessions.hpp"
#include "router/dataplane/offload/offload.hpp"
#include "router/dataplane/pipeline.hpp"
#include "router/dataplane/stages/classify.hpp"
#include "router/dataplane/stages/ipsec_stages.hpp"
#include "router/dataplane/tables/tables.hpp"
#include "router/ipsec/ipsec.hpp"
#include "tests/beds/packets.hpp"

namespace hecto::router::test {

inline constexpr uint32_t kSpi = 0x1000;  // of what comes to side 1; 0x2000: to side 2

// Of a gateway's port.
inline MacAddress own_mac(PortId port) {
  return {0x02, 0, 0, 0, static_cast<uint8_t>(port), 0x01};
}

// Of both SAs of a tunnel.
struct Algorithm {
  const char* cipher = "aes-128-gcm";
  const char* integrity = "";
  bool esn = false;
  bool in_udp = false;
  uint32_t if_id = 0;
};

class Gateway final : RefusedSink {
 public:
  // With devices, all ESP goes there that they can do, once tick() has brought them up; it stays in
  // flight until settle().
  explicit Gateway(unsigned side, uint16_t outer_mtu = 1500, Offload::Devices devices = {});

  unsigned side() const { return side_; }
  Ipsec& ipsec() { return *ipsec_; }
  Routing& routing() { return tables_->routing(); }
  // Both SAs and the policies of a tunnel between the two sides' networks of `inner`.
  void tunnel(Family inner = Family::kIpv4, Family outer = Family::kIpv4,
              IpsecMode mode = IpsecMode::kTunnel, const Algorithm& algorithm = {});
  void policy(PolicyDirection direction, PolicyAction action, const std::string& source,
              const std::string& destination, std::optional<PolicyTemplate> protection = {},
              uint32_t priority = 100, uint32_t if_id = 0);

  // Through the pipeline, from classify to transmit. Owned by the gateway until taken.
  void run(const std::vector<rte_mbuf*>& packets, PortId port);
  void send_own(rte_mbuf* packet);           // as Linux does, of IPv4
  std::vector<rte_mbuf*> sent(PortId port);  // takes them
  std::vector<Reason> refused();             // frees those
  // Beside it: what the last run() refused, as it was, and by which interface.
  const std::vector<std::pair<InterfaceId, Frame>>& refused_frames() const { return frames_; }
  uint64_t dropped(Reason reason) const {
    return pipeline_->counters().reasons.dropped[static_cast<size_t>(reason)].get();
  }
  IpsecStages& stages() { return *stages_; }
  Pipeline& pipeline() { return *pipeline_; }
  TableViews tables() const { return tables_->views(0); }

  // A port's NIC does what it can of the SAs, those that come later too.
  void plug(const NicSessions::Port& port);
  void unplug(PortId port);
  NicSessions& nic() { return *nic_; }

  // Of the devices: control's turn, all that is to do; a worker's; and until nothing is in flight.
  void tick();
  void poll() { pipeline_->poll_offload(); }
  void poll_opened() { pipeline_->poll_decapped(); }
  void settle() { pipeline_->drain(); }
  Offload& offload() { return *offload_; }
  WorkerOffload& device() { return *offload_->worker(0); }
  esp::Sa& sa(unsigned to);  // of the tunnel over IPv4
  ReasonCounters& reasons() { return pipeline_->counters().reasons; }
  Snapshot& snapshot() { return snapshot_; }  // with a capture, run() shows it the packets
  std::atomic<uint32_t> now_s{1};

 private:
  void make_tables(uint16_t outer_mtu);
  void make_offload(Offload::Devices devices);
  void take_refused(Chunk& chunk) noexcept override;
  // Packets in flight hold SAs as they do in a worker.
  class InFlight final : public lookup::Reclaimer {
   public:
    explicit InFlight(Gateway& gateway) : gateway_(gateway) {}
    uint64_t start() noexcept override;
    bool passed(uint64_t token) noexcept override;

   private:
    Gateway& gateway_;
    uint64_t token_ = 0;
  };
  InFlight in_flight_{*this};
  unsigned side_;
  std::unique_ptr<Tables> tables_;
  std::unique_ptr<Offload> offload_;  // null without devices
  std::unique_ptr<NicSessions> nic_;
  std::unique_ptr<Ipsec> ipsec_;
  std::unique_ptr<IpsecStages> stages_;
  Snapshot snapshot_;
  std::unique_ptr<Pipeline> pipeline_;
  std::unique_ptr<Chunk> chunk_ = std::make_unique<Chunk>();
  // What is transmitted, by port.
  std::array<std::unique_ptr<rte_ring, void (*)(rte_ring*)>, 2> rings_;
  std::array<TransmitPath, kMaxPorts> transmit_{};
  std::vector<Reason> refused_;
  std::vector<std::pair<InterfaceId, Frame>> frames_;
};

}  // namespace hecto::router::test
