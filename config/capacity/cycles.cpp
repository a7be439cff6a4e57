#include "config/capacity/cycles.hpp"

#include <algorithm>

namespace hecto::config {
namespace {

using enum Constant;

constexpr double kEthernetAndFcs_bytes = 18;
constexpr double kMbuf_bytes = 128;

}  // namespace

// The headers, IV, trailer and ICV that a tunnel adds are counted with the packet.
double esp_bytes(double frame_bytes) {
  return std::max(0.0, frame_bytes - kEthernetAndFcs_bytes);
}

double share_beyond(double cache_kbyte, unsigned burst, double frame_bytes) {
  const double kbyte = burst * (kMbuf_bytes + frame_bytes) / 1024;
  return std::clamp((kbyte / cache_kbyte - 0.75) / 0.5, 0.0, 1.0);
}

PacketCycles cycles_per_packet(const Constants& constants, const PacketWork& work) {
  PacketCycles out;
  auto add = [&](Constant constant, double times = 1) {
    const double cycles = constants[constant] * times;
    if (times > 0) out.terms.push_back({constant, times, cycles});
    out.sum += cycles;
  };
  const bool memory = work.ports == PortKind::kMemory;
  if (work.work != Work::kTransmit) add(memory ? kMemoryRxCycles : kNicRxCycles);
  if (work.work != Work::kReceive) add(memory ? kMemoryTxCycles : kNicTxCycles);
  add(kCopyPacketCycles, work.copies);
  const double beyond_l1 = share_beyond(constants[kL1Kbyte], work.burst, work.frame_bytes);
  const double beyond_l2 = share_beyond(constants[kL2Kbyte], work.burst, work.frame_bytes);
  add(kCopyByteCycles, work.copied_bytes * (1 - beyond_l1));
  add(kCopyByteL2Cycles, work.copied_bytes * (beyond_l1 - beyond_l2));
  add(kCopyByteL3Cycles, work.copied_bytes * beyond_l2);
  // Half for each side that copies.
  add(kRefillPortCycles, beyond_l1 * work.copies / 2);
  if (work.crossing) add(work.near ? kNodeAccessCycles : kRemoteAccessCycles);
  if (work.work != Work::kForward) return out;

  const bool ipv6 = work.traffic == Traffic::kIpv6;
  add(kLoopCycles);
  if (work.copies > 0) add(kRefillStageCycles, beyond_l1);
  add(ipv6 ? kClassifyIpv6Cycles : kClassifyIpv4Cycles);
  add(ipv6 ? kLookupIpv6Cycles : kLookupIpv4Cycles);
  add(ipv6 ? kRewriteIpv6Cycles : kRewriteIpv4Cycles);
  if (work.traffic == Traffic::kIpsec) {
    add(kEspPacketCycles);
    add(kEspByteCycles, esp_bytes(work.frame_bytes));
  }
  return out;
}

double worker_mpps(const Constants& constants, double cycles) {
  return 1000 * constants[kTscGhz] / cycles;
}

double worker_mpps(const Constants& constants, double cycles, double ghz) {
  return worker_mpps(constants, cycles) * ghz / constants[kCoreGhz];
}

}  // namespace hecto::config
