// A cluster's capacity in words, for a terminal of 100 columns.
#include <fmt/format.h>

#include "config/capacity/cluster.hpp"

namespace hecto::config {
namespace {

std::string gigabits(double gbit_s) {
  return gbit_s < 10'000 ? fmt::format("{:.0f} Gb/s", gbit_s)
                         : fmt::format("{:.1f} Tb/s", gbit_s / 1000);
}

std::string kind_words(const ClusterKind& kind) {
  return fmt::format("{} ({})", gigabits(kind.gbit_s),
                     kind.box.empty() ? std::string("given") : kind.box);
}

std::string node_name(const Cluster& cluster, size_t node) {
  const bool clos = cluster.design == ClusterDesign::kClos;
  if (node >= cluster.edges) return fmt::format("spine{}", node - cluster.edges + 1);
  return fmt::format("{}{}", clos ? "leaf" : "box", node + 1);
}

std::string row(const Cluster& cluster, std::string_view what, const ClusterLoad& load,
                const ClusterLoad& whole) {
  const double of = whole.carried > 0 ? 100 * load.carried / whole.carried : 0;
  return fmt::format("{:<10} {:>12} {:>6.0f}% {:>12}  {}\n", what, gigabits(load.carried), of,
                     load.cut_off > 0 ? gigabits(load.cut_off) : "-",
                     load.carried > 0 ? name_of(cluster, load.binds) : "nothing has a way");
}

}  // namespace

std::string name_of(const Cluster& cluster, const ClusterPart& part) {
  const std::string from = node_name(cluster, part.from);
  if (part.kind == ClusterPart::Kind::kBox) return from;
  if (part.kind == ClusterPart::Kind::kHosts) return "the hosts of " + from;
  return "the link from " + from + " to " + node_name(cluster, part.to);
}

std::string describe(const Cluster& cluster) {
  const bool clos = cluster.design == ClusterDesign::kClos;
  std::string out =
      clos ? fmt::format("{} spines of {}, {} leaves of {}\n", cluster.spines,
                         kind_words(cluster.spine), cluster.edges, kind_words(cluster.edge))
           : fmt::format("{} boxes of {}, {}\n", cluster.edges, kind_words(cluster.edge),
                         cluster.design == ClusterDesign::kMesh
                             ? "each with a link to each other"
                             : "each with a link to each other, by any third (Valiant)");
  out += fmt::format("links of {}{}\n\n", gigabits(cluster.link_gbit_s),
                     cluster.host_gbit_s > 0
                         ? ", hosts of " + gigabits(cluster.host_gbit_s) + " at each edge"
                         : std::string());
  const ClusterLoad whole = cluster_load(cluster);
  out += fmt::format("{:<10} {:>12} {:>7} {:>12}  {}\n", "without", "carries", "of all", "cut off",
                     "full first");
  out += row(cluster, "nothing", whole, whole);
  for (const ClusterFailure& failure : cluster_failures(cluster))
    out += row(cluster, failure.what, failure.left, whole);
  const double asked = cluster.asked();
  const std::string_view verdict =
      whole.factor >= 1 ? "it fits" : "it does not fit; what is full first says where to add";
  return out + fmt::format("\n{}asked for are {}, {:.0f}% of what it carries: {}.\n",
                           whole.factor >= 1 ? "" : "! ", gigabits(asked),
                           whole.carried > 0 ? 100 * asked / whole.carried : 0, verdict);
}

}  // namespace hecto::config
