#include "config/cycles.hpp"

#include <algorithm>

namespace hecto::config {
namespace {

using enum Constant;

constexpr double kEthernetAndFcs_bytes = 18;

}  // namespace

// The headers, IV, trailer and ICV that a tunnel adds are counted with the packet.
double esp_bytes(double frame_bytes) {
  return std::max(0.0, frame_bytes - kEthernetAndFcs_bytes);
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
  add(kCopyByteCycles, work.copied_bytes);
  if (work.crossing) add(kRemoteAccessCycles);
  if (work.work != Work::kForward) return out;

  const bool ipv6 = work.traffic == Traffic::kIpv6;
  add(kLoopCycles);
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
