// What boxes carry together: of a number of routers, the links between them and a traffic matrix the
// load of every link and box, what is full first, and what a failure leaves. Pure functions of plain
// values.
//
// A flow of packets from edge to edge divides evenly over all ways of its design:
//   clos      edge, spine, edge: a way for each spine (ECMP over leaves and spines)
//   mesh      edge, edge; where that link is down edge, any other edge, edge
//   valiant   edge, any edge, edge: what comes in goes anywhere first, so that no matrix of the same
//             sums is worse than another (Valiant 1982; RouteBricks, SOSP 2009, §3)
// Gb/s are those of the wire, in one direction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/box/box.hpp"

namespace hecto::config {

enum class ClusterDesign : uint8_t { kClos, kMesh, kValiant };
std::string_view to_string(ClusterDesign design) noexcept;  // "clos"

inline constexpr size_t kMostEdges = 64, kMostSpines = 64, kMostMeshed = 32;

struct ClusterKind {
  double gbit_s = 0;  // what one box carries, all its ports together
  std::string box;    // the file that says so; empty: given
  size_t line = 0;    // of that, in the cluster's file
};

struct Cluster {
  std::string source;
  ClusterDesign design = ClusterDesign::kClos;
  size_t edges = 0;   // boxes with hosts behind them: leaves
  size_t spines = 0;  // of clos
  ClusterKind edge, spine;
  double link_gbit_s = 0;      // of each link between two boxes, all its wires together
  double host_gbit_s = 0;      // of each edge's hosts, in and out; 0: no limit
  std::vector<double> demand;  // Gb/s from edge i to edge j at [i * edges + j]
  double asked() const;        // all of it
};

// A box, or a link; nodes are edges, then spines.
struct ClusterPart {
  enum class Kind : uint8_t { kBox, kLink, kHosts } kind = Kind::kBox;
  size_t from = 0, to = 0;  // a link's ends; of others `from`
  bool operator==(const ClusterPart&) const = default;
};

struct ClusterLoad {
  double carried =
      0;  // Gb/s: the matrix times the largest factor that fills nothing beyond its limit
  double factor = 0;   // that
  ClusterPart binds;   // what is full then
  double cut_off = 0;  // Gb/s of the matrix that have no way at all, and are not in `carried`
  std::vector<std::pair<ClusterPart, double>> loads;  // Gb/s of the whole matrix; what has any
};

struct ClusterFailure {
  std::string what;  // "a spine"
  ClusterLoad left;
};

// With these boxes and links gone. A link is named by its ends in either order.
ClusterLoad cluster_load(const Cluster& cluster, const std::vector<ClusterPart>& gone = {});
// Of each kind of part the loss that costs most.
std::vector<ClusterFailure> cluster_failures(const Cluster& cluster);

std::string name_of(const Cluster& cluster, const ClusterPart& part);  // "the link leaf1-spine2"
// For a terminal of 100 columns.
std::string describe(const Cluster& cluster);

// The boxes that it names are read by the caller: `edge.gbit_s` is 0 where a box says it.
tl::expected<Cluster, Problems> parse_cluster(std::string_view yaml, const std::string& file_name);

}  // namespace hecto::config
