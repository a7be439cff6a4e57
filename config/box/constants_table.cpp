#include <algorithm>

#include "config/box/constants.hpp"

namespace hecto::config {
namespace {

using enum Constant;

// Where a source says "reference VM": Intel Sapphire Rapids, 2 cores of a virtual machine, see
// docs/benchmarks.md.
constexpr double kMany = 1e9;

// clang-format off
constexpr ConstantInfo kTable[] = {
  {kTscGhz, "tsc_ghz", 2.6, 100, "GHz", "clock",
   "the clock that the cycles below were counted in: time-stamp counter of the reference VM"},
  {kCoreGhz, "core_ghz", 3.85, 100, "GHz", "clock",
   "the clock of the core while they were counted: reference VM"},
  {kWorkerEfficiency, "worker_efficiency", 0.9, 1, "share", "clock",
   "share of a worker's time for packets when none may be lost: bursts, interrupts, control (e)"},
  {kSmtGain, "smt_gain", 0.25, 1, "share", "clock",
   "what the second thread of a core adds to the first (e)"},
  {kL1Kbyte, "l1_kbyte", 48, kMany, "KiB", "clock",
   "a core's first-level data cache: reference VM"},
  {kL2Kbyte, "l2_kbyte", 2048, kMany, "KiB", "clock",
   "a core's second-level cache: reference VM"},

  {kMemoryRxCycles, "memory_rx_cycles", 14, kMany, "cycles/packet", "ports",
   "receive from an in-memory port (net_null with written packets): forward's floor, reference VM"},
  {kMemoryTxCycles, "memory_tx_cycles", 10, kMany, "cycles/packet", "ports",
   "transmit to an in-memory port that drops: forward's floor, reference VM"},
  {kCopyPacketCycles, "copy_packet_cycles", 6, kMany, "cycles/packet", "ports",
   "each copy of a packet by a memory port, besides its bytes (e)"},
  {kCopyByteCycles, "copy_byte_cycles", 0.04, kMany, "cycles/byte", "ports",
   "each byte that a memory port copies, frames of a burst in the first-level cache (e)"},
  {kCopyByteL2Cycles, "copy_byte_l2_cycles", 0.05, kMany, "cycles/byte", "ports",
   "the same, frames of a burst in the second-level cache (e)"},
  {kCopyByteL3Cycles, "copy_byte_l3_cycles", 0.1, kMany, "cycles/byte", "ports",
   "the same, frames of a burst in neither (e)"},
  {kRefillPortCycles, "refill_port_cycles", 10, kMany, "cycles/packet", "ports",
   "more to receive and transmit where copies drive mbufs out of the first-level cache (e)"},
  {kRefillStageCycles, "refill_stage_cycles", 15, kMany, "cycles/packet", "ports",
   "more for the stages between, likewise (e)"},
  {kNicRxCycles, "nic_rx_cycles", 22, kMany, "cycles/packet", "ports",
   "receive from a NIC, vector driver, descriptors of 16 bytes, with refill (e)"},
  {kNicTxCycles, "nic_tx_cycles", 18, kMany, "cycles/packet", "ports",
   "transmit to a NIC, vector driver, with the release of sent mbufs (e)"},

  {kLoopCycles, "loop_cycles", 1, kMany, "cycles/packet", "stages",
   "the worker's loop around the stages, burst 64: forward less its stages, reference VM"},
  {kClassifyIpv4Cycles, "classify_ipv4_cycles", 12.1, kMany, "cycles/packet", "stages",
   "parse and check Ethernet and IPv4, to router or through it: reference VM"},
  {kClassifyIpv6Cycles, "classify_ipv6_cycles", 12.5, kMany, "cycles/packet", "stages",
   "the same for IPv6: reference VM"},
  {kLookupIpv4Cycles, "lookup_ipv4_cycles", 6.3, kMany, "cycles/packet", "stages",
   "look-up in a full table (901,899 routes) inside the pipeline: reference VM"},
  {kLookupIpv6Cycles, "lookup_ipv6_cycles", 14.2, kMany, "cycles/packet", "stages",
   "the same for IPv6 (160,147 routes): reference VM"},
  {kRewriteIpv4Cycles, "rewrite_ipv4_cycles", 10.4, kMany, "cycles/packet", "stages",
   "next hop, TTL, checksum, new Ethernet header, egress: reference VM"},
  {kRewriteIpv6Cycles, "rewrite_ipv6_cycles", 15.0, kMany, "cycles/packet", "stages",
   "the same for IPv6: reference VM"},
  {kEspPacketCycles, "esp_packet_cycles", 160, kMany, "cycles/packet", "stages",
   "ESP per packet: AES-128-GCM of ipsec-mb (98, reference VM) and SA, header, sequence number (e)"},
  {kEspByteCycles, "esp_byte_cycles", 0.13, kMany, "cycles/byte", "stages",
   "AES-128-GCM of ipsec-mb: 64 and 1400 bytes compared, reference VM"},

  {kRemoteAccessCycles, "remote_access_cycles", 40, kMany, "cycles/packet", "memory",
   "more per packet whose mbuf and frame lie on another socket, with prefetch (e)"},
  {kNodeAccessCycles, "node_access_cycles", 12, kMany, "cycles/packet", "memory",
   "the same on another NUMA node of the same package (SNC, NPS) (e)"},
  {kMemorySocketGbyteS, "memory_socket_gbyte_s", 60, kMany, "GB/s", "memory",
   "in use, of a socket whose channels the box does not tell (e): measure it"},
  {kMemoryBandwidthEfficiency, "memory_bandwidth_efficiency", 0.8, 1, "share", "memory",
   "of channels x MT/s x 8 that mixed reads and writes reach: 75 to 85%"},
  {kMemoryLatencyLocalNs, "memory_latency_local_ns", 95, kMany, "ns", "memory",
   "a dependent load from the own socket's memory (e)"},
  {kMemoryLatencyRemoteNs, "memory_latency_remote_ns", 160, kMany, "ns", "memory",
   "a dependent load from the other socket's memory (e)"},
  {kMemoryColdPerByte, "memory_cold_bytes_per_byte", 4, kMany, "bytes/byte", "memory",
   "memory traffic of a forwarded byte when DMA goes to memory: written, read, written, read"},
  {kMemoryColdPacketBytes, "memory_cold_packet_bytes", 300, kMany, "bytes/packet", "memory",
   "besides, of descriptors and mbuf headers, when they go to memory"},
  {kMemoryWarmPerByte, "memory_warm_bytes_per_byte", 2, kMany, "bytes/byte", "memory",
   "with DMA into the cache (DDIO): 0 to 2, at worst each byte evicted and fetched once"},

  {kIntersocketGbyteS, "intersocket_gbyte_s", 20.8, kMany, "GB/s", "sockets",
   "each direction of a link between sockets that the box does not tell: one UPI of 10.4 GT/s (e)"},
  {kIntersocketOverhead, "intersocket_overhead", 1.2, kMany, "bytes/byte", "sockets",
   "bytes on the link for each byte of a packet that crosses: headers, snoops"},
  {kIntersocketUse, "intersocket_use", 0.75, 1, "share", "sockets",
   "of the link's bandwidth that packets may take"},

  {kPcieLinkEfficiency, "pcie_link_efficiency", 0.91, 1, "share", "pcie",
   "of the coded bit rate that is left to TLPs: DLLPs, skips (Neugebauer et al., SIGCOMM 2018)"},
  {kPcieWriteHeaderBytes, "pcie_write_header_bytes", 24, 256, "bytes", "pcie",
   "framing, sequence number, 64-bit header and LCRC of a memory write (the same)"},
  {kPcieReadHeaderBytes, "pcie_read_header_bytes", 24, 256, "bytes", "pcie",
   "of a memory read request (the same)"},
  {kPcieCompletionHeaderBytes, "pcie_completion_header_bytes", 20, 256, "bytes", "pcie",
   "of a completion with data (the same)"},
  {kPcieMaxPayloadBytes, "pcie_max_payload_bytes", 256, 4096, "bytes", "pcie",
   "MPS: most data in a TLP, as servers set it; lspci -vv tells it"},
  {kPcieMaxReadRequestBytes, "pcie_max_read_request_bytes", 512, 4096, "bytes", "pcie",
   "MRRS: most data that a device asks for at once; lspci -vv tells it"},
  {kPcieDescriptorBytes, "pcie_descriptor_bytes", 16, 4096, "bytes", "pcie",
   "a receive or transmit descriptor (Intel; mlx5 takes 64 to transmit)"},
  {kPcieDescriptorFetchBatch, "pcie_descriptor_fetch_batch", 40, 4096, "packets", "pcie",
   "descriptors that the NIC fetches at once (Intel 82599, as modelled by Neugebauer et al.)"},
  {kPcieRxWritebackBatch, "pcie_rx_writeback_batch", 1, 4096, "packets", "pcie",
   "receive descriptors that it writes back at once: one, for latency"},
  {kPcieTxWritebackBatch, "pcie_tx_writeback_batch", 8, 4096, "packets", "pcie",
   "transmit descriptors that it writes back at once"},
  {kPcieDoorbellBytes, "pcie_doorbell_bytes", 4, 4096, "bytes", "pcie",
   "a ring's tail pointer, written by the driver"},
  {kPcieDoorbellBatch, "pcie_doorbell_batch", 32, 4096, "packets", "pcie",
   "packets for each of them: a burst"},

  {kHubToMemoryGbitS, "hub_to_memory_gbit_s", 54, kMany, "Gb/s", "hub",
   "cache lines written by devices, all hubs together: PacketShader's RX, 53 to 60 Gb/s on two (e)"},
  {kHubFromMemoryGbitS, "hub_from_memory_gbit_s", 44, kMany, "Gb/s", "hub",
   "cache lines read by devices, each hub: at least PacketShader's TX, 80 Gb/s on two (e)"},
  {kHubBothGbitS, "hub_both_gbit_s", 86, kMany, "Gb/s", "hub",
   "both directions added, all hubs together: PacketShader's forwarding, 40 to 41 Gb/s on two (e)"},

  {kGpuLinkEfficiency, "gpu_link_efficiency", 0.8, 1, "share", "gpu",
   "of the link's bit rate that large copies reach (e): a Gen4 x16 link copies 25 of 31.5 GB/s"},
  {kGpuLaunchUs, "gpu_launch_us", 12, kMany, "us", "gpu",
   "copy down, kernel, copy up, of a small job (e)"},
  {kGpuLookupIpv4Mpps, "gpu_lookup_ipv4_mpps", 2000, kMany, "Mpps", "gpu",
   "look-ups of one GPU, data already there (e)"},
  {kGpuLookupIpv6Mpps, "gpu_lookup_ipv6_mpps", 1000, kMany, "Mpps", "gpu",
   "the same for IPv6 (e)"},
  {kGpuEspGbitS, "gpu_esp_gbit_s", 380, kMany, "Gb/s", "gpu",
   "AES-GCM of one GPU, data already there (e)"},
  {kGpuEspMpps, "gpu_esp_mpps", 150, kMany, "Mpps", "gpu",
   "ESP packets of one GPU, however short (e)"},
  {kGpuGatherCycles, "gpu_gather_cycles", 8, kMany, "cycles/packet", "gpu",
   "gather the key and scatter the answer, on the CPU: 6 to 10 (e)"},
};
// clang-format on

constexpr bool in_order() {
  size_t i = 0;
  for (const ConstantInfo& row : kTable)
    if (static_cast<size_t>(row.id) != i++ || row.value <= 0 || row.value > row.most) return false;
  return i == kConstants;
}
static_assert(in_order(), "one row a constant, in the order of the enumeration");

}  // namespace

std::span<const ConstantInfo> constants_table() noexcept {
  return kTable;
}

const ConstantInfo& info(Constant constant) noexcept {
  return kTable[static_cast<size_t>(constant)];
}

std::optional<Constant> find_constant(std::string_view name) noexcept {
  const auto* row = std::find_if(std::begin(kTable), std::end(kTable),
                                 [&](const ConstantInfo& each) { return each.name == name; });
  if (row == std::end(kTable)) return std::nullopt;
  return row->id;
}

}  // namespace hecto::config
