// A box as the capacity model sees it: places and limits, no measurements. Read from a short YAML
// file, made from a Topology (this machine, or an hwloc export), or by hand in a test.
//
//   name: "two sockets, 2 x 100G"
//   cpu: "AMD EPYC 7763"                          # as /proc/cpuinfo has it: its cycles differ
//   sockets: 2                                    # each with what the next lines say
//   nodes: 1                                      # NUMA nodes of a socket (SNC, NPS), default 1;
//                                                 # `socket:` below counts them
//   cores: 32
//   l3_cores: 8                                   # that share a last-level cache; default: all
//   threads: 2                                    # a core, default 1
//   ghz: 2.6                                      # that all cores hold under load
//   memory: {channels: 8, mt_s: 4800}
//   pcie_lanes: 80                                # of a socket, or of a hub where there are hubs
//   ddio: true                                    # DMA into the cache; default true
//   intersocket: {gbyte_s: 48, links: 3}          # each direction of each link
//   hubs: {ioh0: {socket: 0}}                     # chips between slots and socket, as in 2010
//   slots: {s1: {socket: 0, gen: 5, lanes: 16}}   # or {hub: ioh0, ...}
//   nics: {wan: {slot: s1, ports: 2, gbit_s: 100, mpps: 200}}   # or {socket: 0, ...}: no PCIe
//                                                 # also gen, lanes: of the card, if less than
//                                                 # the slot's; pci: [ADDRESS of each port];
//                                                 # id: "8086:1592": what it then need not say
//   budget: {mpps: 5, gbit_s: 50}                 # of a cloud, in and out together; in_gbit_s,
//                                                 # out_gbit_s: each way
//   gpus: {g0: {slot: s2}}
//   constants: {nic_rx_cycles: 30}                # of this box
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "config/box/constants.hpp"
#include "config/box/topology.hpp"
#include "config/file/config.hpp"
#include "config/file/reader.hpp"

namespace hecto::config {

struct BoxSocket {
  int id = 0;  // NUMA node
  unsigned cores = 0;
  unsigned threads = 1;                  // of a core
  double ghz = 0;                        // 0: not known; the constants' core_ghz is taken
  std::optional<double> memory_gbyte_s;  // channels x MT/s x 8
  int package = 0;                       // sockets of one package have no link between them
  unsigned l3_cores = 0;                 // that share a last-level cache; 0: all of them
};

struct BoxHub {
  std::string name;
  size_t socket = 0;  // position in Box::sockets
};

struct BoxSlot {
  std::string name;
  size_t socket = 0;
  std::optional<size_t> hub;    // position in Box::hubs; else the socket's own lanes
  unsigned gen = 0, lanes = 0;  // 0: not known
  double gbit_s = 0;            // each direction, coded
  std::string link;             // "PCIe 4.0 x16"
};

struct BoxNic {
  std::string name;
  size_t socket = 0;
  std::optional<size_t> slot;  // position in Box::slots; none: not on PCIe that anyone can see
  double link_gbit_s = 0;      // as slot and card agree
  std::string link;
  std::vector<std::string> pci;       // address of each port
  double gbit_s = 0;                  // of each port
  bool rate_known = true;             // else taken from the link
  std::optional<double> most_gbit_s;  // of all ports, each direction; else their wires' sum
  std::optional<double> mpps;         // of all ports, each direction
  std::optional<double> rx_descriptor_bytes, tx_descriptor_bytes;  // else the constants'
  bool ethernet = true;
};

// What a cloud lets an instance carry, whatever its interfaces are.
struct BoxBudget {
  std::optional<double> mpps, gbit_s;           // in and out together
  std::optional<double> in_gbit_s, out_gbit_s;  // each way
};

struct BoxGpu {
  std::string name;
  size_t slot = 0;
};

struct Box {
  std::string source;  // the file, or "this machine"
  std::string name;    // in words; may be empty
  std::string cpu;     // its model in words; empty: not known
  std::vector<BoxSocket> sockets;
  std::optional<double> intersocket_gbyte_s;  // each direction, all links
  std::vector<BoxHub> hubs;
  std::vector<BoxSlot> slots;
  std::vector<BoxNic> nics;
  std::vector<BoxGpu> gpus;
  BoxBudget budget;
  std::string cloud;  // the NIC that says that it is one's; empty: none does
  bool ddio = true;
  bool slots_known = true;         // the free ones, too
  Constants constants;             // with the box's own
  std::vector<std::string> notes;  // what had to be assumed, one line each
};

// Unknown keys and contradictions are refused, each with file, line, key and what would be right.
tl::expected<Box, Problems> read_box(const std::string& file);
tl::expected<Box, Problems> parse_box(std::string_view yaml, const std::string& file_name);

// Functions of a card become the ports of one NIC.
Box box_of(const Topology& topology, const Constants& constants = {});

// A box file as the placement sees it: cores numbered socket by socket, first threads first.
Topology topology_of(const Box& box);

// One port for each of the box's NICs' ports, everything else by default. Left out: what is no
// Ethernet, and ports of management, that is of 1 Gb/s and less beside ports of ten times that.
Config default_config(const Box& box);
// Names of the NICs that default_config leaves out, in words; empty: none.
std::string left_out(const Box& box);

}  // namespace hecto::config
