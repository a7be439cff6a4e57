#include "config/capacity/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace hecto::config {
namespace {

using Kind = ClusterPart::Kind;

// A way: the nodes one after the other, two or three, or one for what stays at its edge.
struct Way {
  std::array<size_t, 3> nodes{};
  size_t count = 0;
};

class Loading {
 public:
  Loading(const Cluster& cluster, const std::vector<ClusterPart>& gone)
      : cluster_(cluster),
        nodes_(cluster.edges + cluster.spines),
        node_gone_(nodes_),
        link_gone_(nodes_ * nodes_),
        boxes_(nodes_),
        links_(nodes_ * nodes_),
        in_(cluster.edges),
        out_(cluster.edges) {
    for (const ClusterPart& part : gone) {
      if (part.kind == Kind::kBox) node_gone_[part.from] = true;
      if (part.kind == Kind::kLink)
        link_gone_[part.from * nodes_ + part.to] = link_gone_[part.to * nodes_ + part.from] = true;
    }
  }

  ClusterLoad run() {
    for (size_t i = 0; i < cluster_.edges; ++i)
      for (size_t j = 0; j < cluster_.edges; ++j) load(i, j);
    return result();
  }

 private:
  bool open(const Way& way) const {
    for (size_t k = 0; k < way.count; ++k) {
      if (node_gone_[way.nodes[k]]) return false;
      if (k > 0 && link_gone_[way.nodes[k - 1] * nodes_ + way.nodes[k]]) return false;
    }
    return true;
  }

  // Through each of them: where that is an end itself, straight on.
  std::vector<Way> through(size_t from, size_t to, size_t first, size_t last) const {
    std::vector<Way> ways;
    for (size_t k = first; k < last; ++k) {
      const Way way = k == from || k == to ? Way{{from, to}, 2} : Way{{from, k, to}, 3};
      if (open(way)) ways.push_back(way);
    }
    return ways;
  }

  std::vector<Way> ways(size_t from, size_t to) const {
    if (from == to) {
      const Way here{{from}, 1};
      return open(here) ? std::vector{here} : std::vector<Way>();
    }
    if (cluster_.design == ClusterDesign::kClos) return through(from, to, cluster_.edges, nodes_);
    if (cluster_.design == ClusterDesign::kValiant) return through(from, to, 0, cluster_.edges);
    const Way straight{{from, to}, 2};
    if (open(straight)) return {straight};
    return through(from, to, 0, cluster_.edges);
  }

  void load(size_t from, size_t to) {
    const double asked = cluster_.demand[from * cluster_.edges + to];
    if (asked <= 0) return;
    const std::vector<Way> all = ways(from, to);
    if (all.empty()) {
      cut_off_ += asked;
      return;
    }
    const double each = asked / static_cast<double>(all.size());
    for (const Way& way : all)
      for (size_t k = 0; k < way.count; ++k) {
        boxes_[way.nodes[k]] += each;
        if (k > 0) links_[way.nodes[k - 1] * nodes_ + way.nodes[k]] += each;
      }
    out_[from] += asked;
    in_[to] += asked;
    has_way_ += asked;
  }

  void take(ClusterLoad& result, const ClusterPart& part, double load, double limit) const {
    if (load <= 0) return;
    if (part.kind != Kind::kHosts) result.loads.emplace_back(part, load);
    if (limit <= 0 || limit / load >= result.factor) return;
    result.factor = limit / load;
    result.binds = part;
  }

  ClusterLoad result() const {
    ClusterLoad result;
    result.cut_off = cut_off_;
    if (has_way_ <= 0) return result;
    result.factor = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < nodes_; ++i)
      take(result, {Kind::kBox, i, 0}, boxes_[i],
           i < cluster_.edges ? cluster_.edge.gbit_s : cluster_.spine.gbit_s);
    for (size_t i = 0; i < nodes_ * nodes_; ++i)
      take(result, {Kind::kLink, i / nodes_, i % nodes_}, links_[i], cluster_.link_gbit_s);
    for (size_t i = 0; i < cluster_.edges; ++i)
      take(result, {Kind::kHosts, i, 0}, std::max(in_[i], out_[i]), cluster_.host_gbit_s);
    result.carried = has_way_ * result.factor;
    return result;
  }

  const Cluster& cluster_;
  const size_t nodes_;
  std::vector<bool> node_gone_, link_gone_;
  std::vector<double> boxes_, links_, in_, out_;
  double cut_off_ = 0, has_way_ = 0;
};

}  // namespace

std::string_view to_string(ClusterDesign design) noexcept {
  constexpr std::string_view kNames[] = {"clos", "mesh", "valiant"};
  return kNames[static_cast<size_t>(design)];
}

double Cluster::asked() const {
  return std::accumulate(demand.begin(), demand.end(), 0.0);
}

ClusterLoad cluster_load(const Cluster& cluster, const std::vector<ClusterPart>& gone) {
  return Loading(cluster, gone).run();
}

std::vector<ClusterFailure> cluster_failures(const Cluster& cluster) {
  std::vector<ClusterFailure> failures;
  const auto worst = [&](const std::string& what, const std::vector<ClusterPart>& each) {
    std::optional<ClusterLoad> found;
    for (const ClusterPart& part : each) {
      ClusterLoad left = cluster_load(cluster, {part});
      if (!found || left.carried < found->carried) found = std::move(left);
    }
    if (found) failures.push_back({what, std::move(*found)});
  };
  std::vector<ClusterPart> spines, edges, links;
  for (size_t i = 0; i < cluster.edges; ++i) edges.push_back({Kind::kBox, i, 0});
  const bool clos = cluster.design == ClusterDesign::kClos;
  // Spines are alike: the first stands for all, and so do its links.
  if (clos) spines.push_back({Kind::kBox, cluster.edges, 0});
  for (size_t i = 0; i < cluster.edges; ++i) {
    const size_t first = clos ? cluster.edges : i + 1;
    const size_t last = clos ? cluster.edges + 1 : cluster.edges;
    for (size_t j = first; j < last; ++j) links.push_back({Kind::kLink, i, j});
  }
  worst("a spine", spines);
  worst("a link", links);
  worst(clos ? "a leaf" : "a box", edges);
  return failures;
}

}  // namespace hecto::config
