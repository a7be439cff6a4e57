// Reading a cluster's file.
#include <fmt/format.h>

#include "config/capacity/cluster.hpp"
#include "config/file/load.hpp"
#include "config/file/reader.hpp"

namespace hecto::config {
namespace {

constexpr std::string_view kClusterKeys[] = {"design", "leaves", "spines", "boxes", "leaf",
                                             "spine",  "box",    "links",  "hosts", "traffic"};
constexpr std::string_view kKindKeys[] = {"gbit_s", "box"};
constexpr std::string_view kLinkKeys[] = {"gbit_s", "each"};
constexpr std::string_view kHostKeys[] = {"gbit_s"};
constexpr std::string_view kTrafficKeys[] = {"each_gbit_s", "matrix"};
constexpr std::string_view kDesigns[] = {"clos", "mesh", "valiant"};
constexpr double kMostGbit = 1e6;

class ClusterReading {
 public:
  ClusterReading(const Value& file, Cluster& cluster)
      : fields_(file, kClusterKeys, "design, links, traffic"), cluster_(cluster) {}

  void run() {
    if (const Value* design = fields_.need("design", "clos, mesh or valiant"))
      cluster_.design = static_cast<ClusterDesign>(design->one_of(kDesigns).value_or(0));
    const bool clos = cluster_.design == ClusterDesign::kClos;
    cluster_.edges = number(clos ? "leaves" : "boxes", clos ? kMostEdges : kMostMeshed);
    refuse_other(clos ? "boxes" : "leaves");
    refuse_other(clos ? "box" : "leaf");
    kind(clos ? "leaf" : "box", cluster_.edge);
    if (clos) {
      cluster_.spines = number("spines", kMostSpines);
      kind("spine", cluster_.spine);
    } else {
      refuse_other("spines");
      refuse_other("spine");
    }
    if (const Value* links = fields_.need("links", "as {gbit_s: 100}")) {
      const Fields of(*links, kLinkKeys, "as {gbit_s: 100, each: 2}");
      const double wires = count_of(of.get("each"));
      cluster_.link_gbit_s = wires * gigabits(of.need("gbit_s", "of one wire, as gbit_s: 100"));
    }
    if (const Value* hosts = fields_.get("hosts")) {
      const Fields of(*hosts, kHostKeys, "as {gbit_s: 400}");
      cluster_.host_gbit_s = gigabits(of.need("gbit_s", "of all hosts of an edge together"));
    }
    if (const Value* traffic = fields_.need("traffic", "as {each_gbit_s: 100}")) demand(*traffic);
  }

 private:
  size_t number(std::string_view key, size_t most) {
    const Value* value = fields_.need(key, "how many there are");
    return value == nullptr ? 0 : value->integer(key == "spines" ? 1 : 2, most).value_or(0);
  }
  static double count_of(const Value* value) {
    return value == nullptr ? 1 : static_cast<double>(value->integer(1, 64).value_or(1));
  }
  static double gigabits(const Value* value) {
    return value == nullptr ? 0 : value->number(0.001, kMostGbit).value_or(0);
  }
  void refuse_other(std::string_view key) {
    if (const Value* value = fields_.get(key))
      value->complain(fmt::format("does not go with design: {}", to_string(cluster_.design)));
  }

  // {gbit_s: 180}, or {box: server.yaml}: what that box forwards.
  void kind(std::string_view key, ClusterKind& kind) {
    const Value* value = fields_.need(key, "as {gbit_s: 200}, or {box: server.yaml}");
    if (value == nullptr) return;
    const Fields of(*value, kKindKeys, "as {gbit_s: 200}, or {box: server.yaml}");
    const Value* given = of.get("gbit_s");
    const Value* box = of.get("box");
    if ((given == nullptr) == (box == nullptr)) {
      value->complain("has to name what it carries (gbit_s) or a box's file (box), one of them");
      return;
    }
    kind.gbit_s = gigabits(given);
    if (box != nullptr) kind.box = box->text("the name of a box's file").value_or("");
    kind.line = value->line();
  }

  void demand(const Value& traffic) {
    const size_t n = cluster_.edges;
    cluster_.demand.assign(n * n, 0);
    const Fields of(traffic, kTrafficKeys,
                    "as {each_gbit_s: 100}, or {matrix: [[0, 10], [10, 0]]}");
    const Value* each = of.get("each_gbit_s");
    const Value* matrix = of.get("matrix");
    if ((each == nullptr) == (matrix == nullptr)) {
      traffic.complain("has to say each_gbit_s (of each edge, to all others alike) or matrix");
      return;
    }
    if (each != nullptr) {
      const double one = gigabits(each) / static_cast<double>(n > 1 ? n - 1 : 1);
      for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < n; ++j)
          if (i != j) cluster_.demand[i * n + j] = one;
      return;
    }
    const std::vector<Value> rows = matrix->items("a list for each edge, what it sends to each");
    if (rows.size() != n) {
      matrix->complain(fmt::format("has {} rows where there are {} edges", rows.size(), n));
      return;
    }
    for (size_t i = 0; i < n; ++i) {
      const std::vector<Value> cells = rows[i].items("Gb/s to each edge");
      if (cells.size() != n) {
        rows[i].complain(fmt::format("has {} numbers where there are {} edges", cells.size(), n));
        return;
      }
      for (size_t j = 0; j < n; ++j)
        cluster_.demand[i * n + j] = cells[j].number(0, kMostGbit).value_or(0);
    }
    if (cluster_.asked() <= 0) matrix->complain("asks for nothing");
  }

  const Fields fields_;
  Cluster& cluster_;
};

}  // namespace

tl::expected<Cluster, Problems> parse_cluster(std::string_view yaml, const std::string& file_name) {
  Cluster cluster;
  cluster.source = file_name;
  const auto read = read_yaml(yaml, file_name, "begin with design: clos, leaves: 4, spines: 2",
                              [&](const Value& file) { ClusterReading(file, cluster).run(); });
  if (!read) return tl::unexpected(read.error());
  return cluster;
}

}  // namespace hecto::config
