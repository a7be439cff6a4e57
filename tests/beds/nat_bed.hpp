// Workers that translate, without a router around them: their pipelines, tables, and the rings
// between them. Ports are rings as well.
//
//   10.0.0.1-40 (pool), 10.1.0.0/24 (1:1) ── port 0  workers  port 1 ── 192.0.2.2, the world
//                                            10.0.0.254       192.0.2.1
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "router/dataplane/nat/tables.hpp"
#include "router/dataplane/pipeline.hpp"
#include "router/dataplane/tables/tables.hpp"
#include "tests/beds/packets.hpp"

namespace hecto::router::test {

// TCP, UDP or ICMP echo of that many bytes, all checksums right.
struct NatFrame {
  uint8_t protocol = 17;
  const char* source = "10.0.0.1";
  const char* destination = "8.8.8.8";
  uint16_t source_port = 4000, destination_port = 53;  // the first is an echo's id
  uint8_t flags = 0x10;                                // TCP's
  uint8_t icmp_type = 8;
  uint16_t payload = 20;
  uint8_t ttl = 64;
  uint16_t flags_and_offset = 0;
  uint16_t ip_id = 7;
};
Frame nat_frame(const NatFrame& what);
// An ICMP error of that type about a packet as it lies in a frame.
Frame nat_error(const char* source, const char* destination, const Frame& about, uint8_t type = 3,
                uint8_t code = 3, unsigned bytes = 1000);
// Header and transport checksums reckoned anew, embedded ones too.
bool checksums_hold(const Frame& frame);

struct Ends {
  std::string source, destination;
  uint16_t source_port = 0, destination_port = 0;  // of ICMP both are the id
  bool operator==(const Ends&) const = default;
};
Ends ends_of(const Frame& frame);

struct NatOutcome {
  std::vector<Frame> sent[2];  // by port
  std::vector<Reason> refused;
};

class NatBed {
 public:
  explicit NatBed(unsigned workers, const config::NatConfig& nat);
  ~NatBed();
  static config::NatConfig usual();  // what the picture says, and the pool 198.51.100.0/31

  NatOutcome receive(unsigned worker, PortId port, const std::vector<Frame>& frames);
  NatOutcome receive(unsigned worker, PortId port, const Frame& frame) {
    return receive(worker, port, std::vector<Frame>{frame});
  }
  // The only packet, from the other port; fails the test where there is none.
  Frame through(unsigned worker, PortId port, const Frame& frame);
  void reload(const config::NatConfig& nat);
  void set_time(uint32_t now_s);
  void expire();                                     // all that is over
  void clog(unsigned worker) { clogged_ = worker; }  // nothing is handed over to it any more
  unsigned workers() const { return static_cast<unsigned>(pipes_.size()); }
  NatTables& tables() { return *nat_; }
  nat::Share& share(unsigned worker, unsigned pool = 0) {
    return nat_->pools[pool].pool->share(worker);
  }
  uint64_t sessions() const;
  uint64_t handed() const { return handed_; }

 private:
  struct Sink final : RefusedSink {
    std::vector<Reason> reasons;
    void take_refused(Chunk& chunk) noexcept override;
  };
  using Ring = std::unique_ptr<rte_ring, void (*)(rte_ring*)>;
  void make_tables();
  void use();

  std::unique_ptr<Tables> tables_;
  std::shared_ptr<NatTables> nat_;
  Snapshot snapshot_;
  Sink sink_;
  std::vector<Ring> handover_, ports_;
  std::array<TransmitPath, kMaxPorts> transmit_{};
  std::vector<std::unique_ptr<Pipeline>> pipes_;
  std::unique_ptr<Chunk> chunk_ = std::make_unique<Chunk>();
  uint64_t handed_ = 0;
  unsigned clogged_ = UINT32_MAX;
  uint32_t now_s_ = 1000;
};

}  // namespace hecto::router::test
