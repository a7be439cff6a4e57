// What `hecto-bench ipsec` says of its figures.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace hecto::bench {

// One way through the router with one algorithm. Nanoseconds a packet, medians of the rounds. Of
// several workers, on their own cores: `ns` of all of them together and `of_one_worker`, no others.
struct IpsecRow {
  std::string algorithm;
  std::string size;       // as asked for
  double bytes = 0;       // of the inner IP packet, on average
  std::string direction;  // encap, decap
  unsigned tunnels = 1;
  unsigned workers = 1;
  double ns = 0;                 // receive to transmit, without copy_ns
  double raw_ns = 0;             // ipsec-mb alone, one key, on the same burst of packets each time
  double streamed_ns = 0;        // the same on packets as they are received, less receiving them
  double floor_ns = 0;           // receive and transmit alone
  double copy_ns = 0;            // decap: whole frames copied into the mbufs, taken off ns
  double share_of_raw = 0;       // median of raw / whole way in the same round
  double share_of_streamed = 0;  // the same of streamed
  double of_one_worker = 0;      // rate of all by that of one of them, median of the rounds
  double spread = 0;             // of ns: the middle half over the median

  double mpps() const { return 1e3 / ns; }
  double gbps() const { return bytes * 8 / ns; }
};

// ESP alone, encap of bursts in mbufs, one SA: medians of nanoseconds a packet, slices in turn.
struct IpsecAlone {
  std::string algorithm;
  std::string size;
  double raw_ns = 0;     // ipsec-mb
  double own_ns = 0;     // router/esp
  double librte_ns = 0;  // librte_ipsec, CPU crypto
};

// IPv6 in the clear through a router whose tunnels are IPv4's: medians of nanoseconds a packet.
struct IpsecBeside {
  std::string size;
  unsigned tunnels = 0;
  double without_ns = 0;  // before there were any
  double ns = 0;
};

// Another program that does a part of the same.
struct IpsecPeer {
  std::string program;
  std::string algorithm;
  unsigned bytes = 0;
  double ns = 0;  // a packet
};

// Of control. SAs a second in a router that has 10,000 with a policy each.
struct IpsecControl {
  double sas_per_s = 0;          // each one committed alone, as an IKE daemon installs them
  double pairs_per_s = 0;        // SA and policy, committed in batches of 64
  double pairs_alone_per_s = 0;  // SA and policy, each pair committed alone
  double bulk_pairs_per_s = 0;   // the first 10,000, committed at once
  unsigned rekeys = 0;           // of a running tunnel, both directions
  bool own_core = false;         // on which the worker ran; else control and it took turns
  uint64_t sent = 0, lost = 0;   // packets meanwhile
  uint64_t leaked = 0;           // of those lost, what left in clear
};

struct IpsecReport {
  std::vector<IpsecRow> rows;
  uint64_t verified = 0;  // packets, before anything was timed
  std::vector<IpsecAlone> alone;
  std::vector<IpsecBeside> beside;
  std::vector<IpsecPeer> peers;
  std::optional<IpsecControl> control;
  std::vector<std::string> not_measured;  // one line each, with the reason
};

nlohmann::json to_json(const IpsecReport& report);
std::string to_text(const IpsecReport& report);

}  // namespace hecto::bench
