// What a worker spends on one packet, as a sum of named terms: the model that `hecto plan` sizes
// cores with and that `hecto-bench compare-plan` holds against measurement.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "config/box/constants.hpp"

namespace hecto::config {

enum class Traffic : uint8_t { kIpv4, kIpv6, kIpsec };  // IPsec: IPv4 in ESP, AES-128-GCM, tunnel
enum class Work : uint8_t { kReceive, kTransmit, kForward };
enum class PortKind : uint8_t { kMemory, kNic };

struct PacketWork {
  Traffic traffic = Traffic::kIpv4;
  Work work = Work::kForward;
  PortKind ports = PortKind::kNic;
  double frame_bytes = 64;  // with FCS
  unsigned burst = 64;      // packets that are worked on together
  double copied_bytes = 0;  // by the memory ports that this work uses, all of them together
  unsigned copies = 0;      // and how often: 1 for a copy on receive alone, 2 for both
  bool crossing = false;    // the packet lies on another socket than the worker
  bool near = false;        // if so: on one of the same package
};

struct Term {
  Constant constant;
  double times;   // 1, or the bytes that the constant is per
  double cycles;  // value * times
};

struct PacketCycles {
  std::vector<Term> terms;
  double sum = 0;  // TSC ticks of the machine that was calibrated
};

// Which share of a burst's mbufs and frames is in a cache no more when it is visited again. None up
// to three quarters of the cache's size, all from five quarters on: other data lives there as well,
// and no cache drops exactly what is oldest.
double share_beyond(double cache_kbyte, unsigned burst, double frame_bytes);

// What ESP encrypts of a frame: all but its Ethernet header and FCS.
double esp_bytes(double frame_bytes);

PacketCycles cycles_per_packet(const Constants& constants, const PacketWork& work);

// Mpps of one worker that does nothing else, on a core of this clock. Without a clock: on the
// machine that was calibrated.
double worker_mpps(const Constants& constants, double cycles);
double worker_mpps(const Constants& constants, double cycles, double ghz);

}  // namespace hecto::config
