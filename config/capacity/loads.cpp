#include "config/capacity/loads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace hecto::config {
namespace {

using enum Constant;

constexpr double kFcs_bytes = 4;
constexpr double kWireOverhead_bytes = 20;
constexpr size_t kNone = SIZE_MAX;  // no such resource

// Mpps and bytes a packet as Gb/s and GB/s.
double gbit_s(double bytes) {
  return bytes * 8 / 1000;
}
double gbyte_s(double bytes) {
  return bytes / 1000;
}

// Keys down, answers of 2 bytes up; ESP takes the packet both ways.
Directions gpu_bytes(Traffic traffic, double frame_bytes) {
  switch (traffic) {
    case Traffic::kIpv4:
      return {2, 4};
    case Traffic::kIpv6:
      return {2, 16};
    case Traffic::kIpsec:
      break;
  }
  return {frame_bytes - kFcs_bytes, frame_bytes - kFcs_bytes};
}

}  // namespace

struct Loads::Packet {
  double share = 0;
  const UsedPort* in = nullptr;   // null: only transmitted
  const UsedPort* out = nullptr;  // null: only received
  size_t worker_socket = 0;
};

Loads::Loads(const Box& box, const Setup& setup) : box_(box), setup_(setup), c_(box.constants) {
  const size_t sockets = box.sockets.size();
  // A port without a wire counts as much as the others do on average.
  double rates = 0, sum = 0, wires = 0;
  for (const UsedPort& port : setup.ports)
    if (port.gbit_s > 0) rates += port.gbit_s, ++wires;
  for (const UsedPort& port : setup.ports)
    weights_.push_back(port.gbit_s > 0 ? port.gbit_s : wires > 0 ? rates / wires : 1);
  for (double weight : weights_) sum += weight;
  for (double& weight : weights_) weight /= sum;

  std::vector<bool> used(box.nics.size(), false);
  for (const UsedPort& port : setup.ports)
    if (port.nic) used[*port.nic] = true;

  for (size_t s = 0; s < sockets; ++s)
    cores_.push_back(
        add(fmt::format("cores of socket {}", box.sockets[s].id), ResourceKind::kCores, s));
  for (size_t n = 0; n < box.nics.size(); ++n) {
    Nic nic{kNone, kNone, kNone, kNone, kNone, kNone};
    const std::string& name = box.nics[n].name;
    if (used[n]) {
      nic.wire_in = add(name + " wire in", ResourceKind::kWire, n);
      nic.wire_out = add(name + " wire out", ResourceKind::kWire, n);
      if (box.nics[n].mpps) {
        nic.packets_in = add(name + " packets in", ResourceKind::kNicPackets, n);
        nic.packets_out = add(name + " packets out", ResourceKind::kNicPackets, n);
      }
      if (box.nics[n].slot) {
        nic.to_memory = add(name + " PCIe to memory", ResourceKind::kPcie, n);
        nic.from_memory = add(name + " PCIe from memory", ResourceKind::kPcie, n);
      }
    }
    nics_.push_back(nic);
  }
  if (!box.hubs.empty()) {
    hubs_to_memory_ = add("hubs to memory", ResourceKind::kHub, kAll);
    hubs_both_ = add("hubs both ways", ResourceKind::kHub, kAll);
  }
  for (size_t h = 0; h < box.hubs.size(); ++h)
    hub_from_memory_.push_back(add(box.hubs[h].name + " from memory", ResourceKind::kHub, h));
  for (size_t s = 0; s < sockets; ++s)
    memory_.push_back(
        add(fmt::format("memory of socket {}", box.sockets[s].id), ResourceKind::kMemory, s));
  std::map<std::pair<int, int>, size_t> links;  // by packages
  for (size_t from = 0; from < sockets; ++from)
    for (size_t to = 0; to < sockets; ++to) {
      const std::pair packages(box.sockets[from].package, box.sockets[to].package);
      if (packages.first == packages.second) {
        intersocket_.push_back(kNone);
        continue;
      }
      const auto [at, fresh] = links.emplace(packages, 0);
      if (fresh)
        at->second = add(fmt::format("link of socket {} to {}", packages.first, packages.second),
                         ResourceKind::kIntersocket, from);
      intersocket_.push_back(at->second);
    }
  add_budget();
  for (size_t g = 0; g < box.gpus.size(); ++g) {
    const std::string& name = box.gpus[g].name;
    gpus_.push_back({add(name + " PCIe to memory", ResourceKind::kGpuLink, g),
                     add(name + " PCIe from memory", ResourceKind::kGpuLink, g),
                     add(name + " itself", ResourceKind::kGpu, g)});
  }
}

// What the box does not have is kNone, as of NICs.
void Loads::add_budget() {
  auto added = [&](const std::optional<double>& limit, const char* name) {
    return limit ? add(name, ResourceKind::kBudget, kAll) : kNone;
  };
  budget_packets_ = added(box_.budget.mpps, "budget of packets");
  budget_both_ = added(box_.budget.gbit_s, "budget of bits");
  budget_in_ = added(box_.budget.in_gbit_s, "budget of bits in");
  budget_out_ = added(box_.budget.out_gbit_s, "budget of bits out");
}

void Loads::load_budget(const Packet& packet, double frame_bytes,
                        std::vector<double>& loads) const {
  // A cloud counts frames, without preamble and gap.
  const double gbit = packet.share * gbit_s(frame_bytes);
  auto load = [&](size_t resource, double amount, const std::optional<double>& limit) {
    if (limit) loads[resource] += amount / *limit;
  };
  for (const bool in : {true, false}) {
    if ((in ? packet.in : packet.out) == nullptr) continue;
    load(budget_packets_, packet.share, box_.budget.mpps);
    load(budget_both_, gbit, box_.budget.gbit_s);
    load(in ? budget_in_ : budget_out_, gbit, in ? box_.budget.in_gbit_s : box_.budget.out_gbit_s);
  }
}

size_t Loads::add(std::string name, ResourceKind kind, size_t place) {
  resources_.push_back({std::move(name), kind, place});
  return resources_.size() - 1;
}

// To the other ports of its package, or of all others, in proportion to their rates; back out of
// the only port where it has no neighbor.
void Loads::forward_from(size_t in, double share, bool across, std::vector<Packet>& out) const {
  const UsedPort& from = setup_.ports[in];
  double sum = 0;
  auto weight = [&](size_t i) {
    const UsedPort& to = setup_.ports[i];
    const bool crosses = box_.sockets[to.socket].package != box_.sockets[from.socket].package;
    return crosses == across ? weights_[i] : 0.0;
  };
  for (size_t i = 0; i < setup_.ports.size(); ++i) sum += weight(i);
  if (sum == 0) return;
  for (size_t i = 0; i < setup_.ports.size(); ++i)
    for (const UsedPort::Poller& poller : from.polled_from)
      if (weight(i) > 0)
        out.push_back(
            {share * poller.share * weight(i) / sum, &from, &setup_.ports[i], poller.socket});
}

std::vector<Loads::Packet> Loads::packets(const Case& each) const {
  std::vector<Packet> out;
  for (size_t i = 0; i < setup_.ports.size(); ++i) {
    const UsedPort& port = setup_.ports[i];
    const double share = weights_[i];
    const bool receive = each.experiment == Experiment::kReceive;
    if (receive || each.experiment == Experiment::kTransmit)
      for (const UsedPort::Poller& poller : port.polled_from)
        out.push_back({share * poller.share, receive ? &port : nullptr, receive ? nullptr : &port,
                       poller.socket});
    else
      forward_from(i, share, each.experiment == Experiment::kForwardAcross, out);
  }
  // Across, ports of a socket without others may have nowhere to send to.
  double kept = 0;
  for (const Packet& packet : out) kept += packet.share;
  for (Packet& packet : out) packet.share /= kept;
  return out;
}

double Loads::core_us(const Case& each, const Packet& packet, double frame_bytes) const {
  const UsedPort& port = packet.in != nullptr ? *packet.in : *packet.out;
  PacketWork work;
  work.traffic = each.traffic;
  work.frame_bytes = frame_bytes;
  work.ports = port.nic ? PortKind::kNic : PortKind::kMemory;
  work.work = each.experiment == Experiment::kReceive    ? Work::kReceive
              : each.experiment == Experiment::kTransmit ? Work::kTransmit
                                                         : Work::kForward;
  work.near = true;
  for (const UsedPort* at : {packet.in, packet.out}) {
    if (at == nullptr || at->socket == packet.worker_socket) continue;
    work.crossing = true;
    work.near &= box_.sockets[at->socket].package == box_.sockets[packet.worker_socket].package;
  }
  double cycles = cycles_per_packet(c_, work).sum;
  if (each.gpu) {
    if (each.traffic == Traffic::kIpsec)
      cycles -= c_[kEspPacketCycles] + c_[kEspByteCycles] * esp_bytes(frame_bytes);
    else
      cycles -= c_[each.traffic == Traffic::kIpv6 ? kLookupIpv6Cycles : kLookupIpv4Cycles];
    cycles += c_[kGpuGatherCycles];
  }
  const double ghz = box_.sockets[packet.worker_socket].ghz;
  const double mpps = worker_mpps(c_, cycles, ghz > 0 ? ghz : c_[kCoreGhz]);
  return 1 / (mpps * c_[kWorkerEfficiency]);
}

void Loads::add_hub(size_t slot, Directions bytes, std::vector<double>& loads) const {
  const auto hub = box_.slots[slot].hub;
  if (!hub) return;
  loads[hubs_to_memory_] += gbit_s(bytes.to_memory) / c_[kHubToMemoryGbitS];
  loads[hubs_both_] += gbit_s(bytes.to_memory + bytes.from_memory) / c_[kHubBothGbitS];
  loads[hub_from_memory_[*hub]] += gbit_s(bytes.from_memory) / c_[kHubFromMemoryGbitS];
}

void Loads::add_nic(const Packet& packet, double frame_bytes, std::vector<double>& loads) const {
  for (const bool in : {true, false}) {
    const UsedPort* port = in ? packet.in : packet.out;
    if (port == nullptr || !port->nic) continue;
    const BoxNic& nic = box_.nics[*port->nic];
    const Nic& at = nics_[*port->nic];
    // The wires of the NIC's ports in use; all are loaded alike.
    double wires = 0;
    for (const UsedPort& each : setup_.ports)
      if (each.nic == port->nic) wires += each.gbit_s;
    loads[in ? at.wire_in : at.wire_out] +=
        packet.share * gbit_s(frame_bytes + kWireOverhead_bytes) / wires;
    if (nic.mpps) loads[in ? at.packets_in : at.packets_out] += packet.share / *nic.mpps;
    if (!nic.slot) continue;
    const Directions bytes = in ? link_bytes_received(c_, frame_bytes, nic.rx_descriptor_bytes)
                                : link_bytes_transmitted(c_, frame_bytes, nic.tx_descriptor_bytes);
    const double link = nic.link_gbit_s * c_[kPcieLinkEfficiency];
    loads[at.to_memory] += packet.share * gbit_s(bytes.to_memory) / link;
    loads[at.from_memory] += packet.share * gbit_s(bytes.from_memory) / link;
    add_hub(*nic.slot,
            (in ? hub_bytes_received(c_, frame_bytes) : hub_bytes_transmitted(c_, frame_bytes)) *
                packet.share,
            loads);
  }
}

void Loads::add_crossing(size_t from, size_t to, double bytes, std::vector<double>& loads) const {
  const size_t at = intersocket_[from * box_.sockets.size() + to];
  if (at == kNone) return;
  const double link = box_.intersocket_gbyte_s.value_or(c_[kIntersocketGbyteS]);
  loads[at] += gbyte_s(bytes) * c_[kIntersocketOverhead] / (link * c_[kIntersocketUse]);
}

// Half of what forwarding costs falls to each of receive and transmit. Packets stay where they were
// received; what is read from elsewhere crosses.
void Loads::add_memory(const Packet& packet, double frame_bytes, std::vector<double>& loads) const {
  const UsedPort& home = packet.in != nullptr ? *packet.in : *packet.out;
  const double bytes = frame_bytes - kFcs_bytes;
  const double forwarded = box_.ddio ? c_[kMemoryWarmPerByte] * bytes
                                     : c_[kMemoryColdPerByte] * bytes + c_[kMemoryColdPacketBytes];
  const BoxSocket& socket = box_.sockets[home.socket];
  const double limit = socket.memory_gbyte_s
                           ? *socket.memory_gbyte_s * c_[kMemoryBandwidthEfficiency]
                           : c_[kMemorySocketGbyteS];
  for (const UsedPort* port : {packet.in, packet.out})
    if (port != nullptr && port->nic)
      loads[memory_[home.socket]] += packet.share * gbyte_s(forwarded / 2) / limit;
  if (packet.in != nullptr && packet.out != nullptr)
    add_crossing(packet.in->socket, packet.out->socket, packet.share * bytes, loads);
  // Descriptors and headers, which the worker reads and writes.
  for (const auto& [from, to] :
       {std::pair(home.socket, packet.worker_socket), std::pair(packet.worker_socket, home.socket)})
    add_crossing(from, to, packet.share * c_[kMemoryColdPacketBytes] / 2, loads);
}

// Those of the socket; all, where it has none.
std::vector<size_t> Loads::gpus_near(size_t socket) const {
  std::vector<size_t> near, all;
  for (size_t g = 0; g < box_.gpus.size(); ++g) {
    all.push_back(g);
    if (box_.slots[box_.gpus[g].slot].socket == socket) near.push_back(g);
  }
  return near.empty() ? all : near;
}

void Loads::add_gpu(const Case& each, const Packet& packet, double frame_bytes,
                    std::vector<double>& loads) const {
  const auto gpus = gpus_near(packet.worker_socket);
  const Directions bytes =
      gpu_bytes(each.traffic, frame_bytes) * (packet.share / static_cast<double>(gpus.size()));
  for (size_t g : gpus) {
    const BoxSlot& slot = box_.slots[box_.gpus[g].slot];
    const double link = slot.gbit_s * c_[kGpuLinkEfficiency];
    loads[gpus_[g].to_memory] += gbit_s(bytes.to_memory) / link;
    loads[gpus_[g].from_memory] += gbit_s(bytes.from_memory) / link;
    add_hub(box_.gpus[g].slot, bytes, loads);
    add_crossing(slot.socket, packet.worker_socket, bytes.to_memory, loads);
    add_crossing(packet.worker_socket, slot.socket, bytes.from_memory, loads);
    const double us =
        each.traffic == Traffic::kIpsec
            ? std::max(1 / c_[kGpuEspMpps], gbit_s(esp_bytes(frame_bytes)) / c_[kGpuEspGbitS])
            : 1 / c_[each.traffic == Traffic::kIpv6 ? kGpuLookupIpv6Mpps : kGpuLookupIpv4Mpps];
    loads[gpus_[g].work] += us * packet.share / static_cast<double>(gpus.size());
  }
}

std::vector<double> Loads::of(const Case& each) const {
  std::vector<double> loads(resources_.size(), 0);
  for (const PacketSize::Part& part : each.size->parts) {
    if (part.share == 0) continue;
    for (Packet packet : packets(each)) {
      packet.share *= part.share;
      loads[cores_[packet.worker_socket]] +=
          packet.share * core_us(each, packet, part.bytes) / setup_.cores[packet.worker_socket];
      add_nic(packet, part.bytes, loads);
      add_memory(packet, part.bytes, loads);
      load_budget(packet, part.bytes, loads);
      if (each.gpu) add_gpu(each, packet, part.bytes, loads);
    }
  }
  return loads;
}

std::vector<unsigned> Loads::cores_for(const Case& each, double mpps) const {
  std::vector<double> cores(box_.sockets.size(), 0);
  for (const PacketSize::Part& part : each.size->parts)
    if (part.share > 0)
      for (const Packet& packet : packets(each))
        cores[packet.worker_socket] +=
            mpps * packet.share * part.share * core_us(each, packet, part.bytes);
  std::vector<unsigned> out;
  // A whole number that rounding left a little above itself stays one.
  for (double socket : cores) out.push_back(static_cast<unsigned>(std::ceil(socket - 1e-9)));
  return out;
}

}  // namespace hecto::config
