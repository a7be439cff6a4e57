// What a box can carry, and what stops it: every resource has a load for each packet and a limit;
// the smallest quotient is the capacity, its resource the bottleneck, the others' quotients the
// headroom. Pure functions of plain values.
//
// Rates count all ports together. Gb/s are those of the wire: frame with FCS and 20 bytes of
// preamble and gap, so that a port's line rate is its name's. All ports receive (and transmit) in
// proportion to their line rates.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/box/box.hpp"
#include "config/capacity/cycles.hpp"
#include "config/placement/placement.hpp"

namespace hecto::config {

enum class Experiment : uint8_t { kReceive, kTransmit, kForwardLocal, kForwardAcross };
enum class ResourceKind : uint8_t {
  kCores,
  kWire,
  kNicPackets,
  kPcie,
  kHub,
  kMemory,
  kIntersocket,
  kGpuLink,
  kGpu,
  kBudget
};

std::string_view to_string(Experiment experiment) noexcept;  // "forward_local"
std::string_view to_string(Traffic traffic) noexcept;        // "ipv4"
std::string_view to_string(ResourceKind kind) noexcept;      // "PCIe links"

// Frames with FCS; IMIX as base/imix.hpp has it.
struct PacketSize {
  std::string_view name;
  struct Part {
    double share;
    double bytes;
  };
  std::array<Part, 3> parts;
  double mean_bytes() const;
  double wire_bits() const;  // of the mean packet
};
inline constexpr size_t kSizes = 8;
const std::array<PacketSize, kSizes>& packet_sizes() noexcept;
inline constexpr size_t k64 = 0, k512 = 3, k1518 = 5, kImixSize = 7;  // positions there

struct UsedPort {
  std::string name;
  std::optional<size_t> nic;  // position in Box::nics; none: a port in memory
  size_t socket = 0;          // position in Box::sockets where its packets lie
  // Where its workers are, with the share of its queues that they poll.
  struct Poller {
    size_t socket = 0;
    double share = 1;
  };
  std::vector<Poller> polled_from;
  double gbit_s = 0;    // 0: in memory, no wire
  bool kernel = false;  // through a kernel interface
};

struct Setup {
  std::vector<UsedPort> ports;
  // The worth of the workers that have a queue, by position in Box::sockets.
  std::vector<double> cores;
};

Setup setup_of(const Box& box, const Config& config, const Topology& topology,
               const Placement& placement);

inline constexpr size_t kAll = SIZE_MAX;  // the place of what all hubs share

struct Resource {
  std::string name;  // "PCIe of n0 to memory"
  ResourceKind kind;
  size_t place;  // socket, NIC, hub or GPU: a position in the box, or kAll
};

struct Point {
  Experiment experiment;
  std::optional<Traffic> traffic;  // none for receive and transmit, where it does not matter
  size_t size = 0;                 // position in packet_sizes()
  double mpps = 0;                 // likely; the CPU's range gives the next two
  double mpps_low = 0, mpps_high = 0;
  double gbit_s = 0;
  size_t bottleneck = 0;         // position in Capacity::resources
  std::vector<double> headroom;  // by resource: times `mpps` that it would carry; 0: not used
  double line_mpps = 0;          // all wires full; 0: there are none
  unsigned cores_needed = 0;     // for that
  std::vector<unsigned> cores_by_socket;
  bool gpu = false;  // look-up (IPv4, IPv6) or ESP on the GPUs
};

struct Capacity {
  std::vector<Resource> resources;
  std::vector<Point> points;  // experiments, then traffic, then sizes
  const Point* find(Experiment experiment, std::optional<Traffic> traffic, size_t size) const;
};

Capacity capacity_of(const Box& box, const Setup& setup);

// Whether the CPU's factor and range count: not where calibration or box tell all cycles.
bool cpu_counts(const Box& box);

// What to do about it, one line each.
std::vector<std::string> advice(const Box& box, const Setup& setup, const Capacity& capacity);

// For a terminal of 100 columns: a table of experiments and sizes, the headroom of one of them, and
// lines of advice behind "!".
std::string describe(const Box& box, const Setup& setup, const Capacity& capacity, size_t size,
                     Traffic traffic);

// One box beside another, a row for each experiment and some sizes; without their plans.
struct Compared {
  std::string name;  // heads a column
  const Capacity* capacity;
};
std::string describe_both(const Compared& one, const Compared& other);

// A picture of the box, each part coloured by its load at that point. Complete SVG.
std::string draw(const Box& box, const Setup& setup, const Capacity& capacity, const Point& point);

}  // namespace hecto::config
