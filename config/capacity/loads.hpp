// Part of capacity.cpp: what a packet asks of each resource.
#pragma once

#include <vector>

#include "config/box/pcie.hpp"
#include "config/capacity/capacity.hpp"

namespace hecto::config {

// Of one experiment, kind of traffic and size; GPUs in use or not.
struct Case {
  Experiment experiment = Experiment::kForwardLocal;
  Traffic traffic = Traffic::kIpv4;
  const PacketSize* size = nullptr;
  bool gpu = false;
};

// The resources of a box that a setup can use, and their loads in a case.
class Loads {
 public:
  Loads(const Box& box, const Setup& setup);

  const std::vector<Resource>& resources() const { return resources_; }
  // Share of each resource that 1 Mpps over all ports takes.
  std::vector<double> of(const Case& each) const;
  // Cores that this rate takes, by socket, rounded up.
  std::vector<unsigned> cores_for(const Case& each, double mpps) const;

 private:
  struct Packet;  // one way of a packet through the box, with its share of all packets

  size_t add(std::string name, ResourceKind kind, size_t place);
  std::vector<Packet> packets(const Case& each) const;
  void add_budget();
  void load_budget(const Packet& packet, double frame_bytes, std::vector<double>& loads) const;
  void forward_from(size_t in, double share, bool across, std::vector<Packet>& out) const;
  double core_us(const Case& each, const Packet& packet, double frame_bytes) const;
  void add_nic(const Packet& packet, double frame_bytes, std::vector<double>& loads) const;
  void add_hub(size_t slot, Directions bytes, std::vector<double>& loads) const;
  void add_memory(const Packet& packet, double frame_bytes, std::vector<double>& loads) const;
  void add_gpu(const Case& each, const Packet& packet, double frame_bytes,
               std::vector<double>& loads) const;
  void add_crossing(size_t from, size_t to, double bytes, std::vector<double>& loads) const;
  std::vector<size_t> gpus_near(size_t socket) const;

  const Box& box_;
  const Setup& setup_;
  const Constants& c_;
  std::vector<double> weights_;  // each port's share of all packets
  std::vector<Resource> resources_;
  // Positions in resources_, by socket, NIC, hub or GPU; intersocket_ by from * sockets + to, the
  // same for all sockets of two packages.
  struct Nic {
    size_t wire_in, wire_out, packets_in, packets_out, to_memory, from_memory;
  };
  struct Gpu {
    size_t to_memory, from_memory, work;
  };
  std::vector<size_t> cores_, memory_, intersocket_, hub_from_memory_;
  std::vector<Nic> nics_;
  std::vector<Gpu> gpus_;
  size_t hubs_to_memory_ = 0, hubs_both_ = 0;
  size_t budget_packets_, budget_both_, budget_in_, budget_out_;
};

}  // namespace hecto::config
