// hecto plan --cluster: what boxes carry together.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "config/capacity/capacity.hpp"
#include "config/capacity/cluster.hpp"
#include "config/file/load.hpp"
#include "config/placement/placement.hpp"
#include "router/cli/commands.hpp"
#include "router/cli/fields.hpp"

namespace hecto::cli {
namespace {

using config::Cluster;
using config::ClusterLoad;
using nlohmann::json;

// What the box of a file forwards, at the size and traffic of the command line.
tl::expected<double, std::string> forwards(const Arguments& a, const std::string& file) {
  const auto box = config::read_box(file);
  if (!box) return tl::unexpected(box.error().front());
  const config::Topology topology = config::topology_of(*box);
  const config::Config config = config::default_config(*box);
  if (config.ports.empty()) return tl::unexpected(file + ": has no NIC");
  const auto placement = config::place(config, topology);
  if (!placement) return tl::unexpected(placement.error());
  const auto capacity =
      config::capacity_of(*box, config::setup_of(*box, config, topology, *placement));
  size_t size = 0;
  while (config::packet_sizes()[size].name != a.size) ++size;
  for (const auto& point : capacity.points)
    if (point.experiment == config::Experiment::kForwardLocal && point.size == size &&
        point.traffic && to_string(*point.traffic) == a.traffic)
      return point.gbit_s;
  return tl::unexpected(file + ": the model has no figure for it");
}

tl::expected<void, std::string> ask_boxes(const Arguments& a, Cluster& cluster) {
  const auto folder = std::filesystem::path(cluster.source).parent_path();
  for (config::ClusterKind* kind : {&cluster.edge, &cluster.spine}) {
    if (kind->box.empty()) continue;
    const auto gbit_s = forwards(a, (folder / kind->box).string());
    if (!gbit_s)
      return tl::unexpected(
          fmt::format("{}:{}: box: {}", cluster.source, kind->line, gbit_s.error()));
    kind->gbit_s = *gbit_s;
  }
  return {};
}

json load_json(const Cluster& cluster, const ClusterLoad& load) {
  json loads = json::array();
  for (const auto& [part, gbit_s] : load.loads)
    loads.push_back({{"part", name_of(cluster, part)}, {"gbit_s", gbit_s}});
  return {{"carried_gbit_s", load.carried},
          {"factor", load.factor},
          {"cut_off_gbit_s", load.cut_off},
          {"binds", load.carried > 0 ? json(name_of(cluster, load.binds)) : json()},
          {"loads", std::move(loads)}};
}

json cluster_json(const Cluster& cluster) {
  json failures = json::array();
  for (const config::ClusterFailure& failure : cluster_failures(cluster)) {
    json one = load_json(cluster, failure.left);
    one.erase("loads");
    one["without"] = failure.what;
    failures.push_back(std::move(one));
  }
  return {{"design", to_string(cluster.design)},
          {"asked_gbit_s", cluster.asked()},
          {"edge_gbit_s", cluster.edge.gbit_s},
          {"spine_gbit_s", cluster.spines > 0 ? json(cluster.spine.gbit_s) : json()},
          {"all", load_json(cluster, cluster_load(cluster))},
          {"failures", std::move(failures)}};
}

}  // namespace

int plan_cluster(const Session& session) {
  const Arguments& a = session.arguments();
  if (!a.object.empty() || !a.box.empty() || !a.topology.empty() || !a.against.empty() ||
      !a.what_if.empty() || !a.svg.empty() || !a.collect.empty())
    return session.wrong_usage(
        "--cluster goes with --size and --traffic alone; its file names boxes");
  const auto text = config::read_file(a.cluster);
  if (!text) return session.fail(text.error().front());
  auto cluster = config::parse_cluster(*text, a.cluster);
  if (!cluster) {
    for (const std::string& problem : cluster.error()) session.note(problem);
    return kFailed;
  }
  if (const auto asked = ask_boxes(a, *cluster); !asked) return session.fail(asked.error());
  session.out(a.json ? cluster_json(*cluster).dump(-1, ' ', false, json::error_handler_t::replace) +
                           "\n"
                     : describe(*cluster));
  return kDone;
}

}  // namespace hecto::cli
