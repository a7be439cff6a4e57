// hecto plan: who polls what, and what the box can carry.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "config/capacity/capacity.hpp"
#include "router/api/capacity_json.hpp"
#include "router/api/plan_json.hpp"
#include "router/cli/commands.hpp"
#include "router/cli/local.hpp"
#include "router/cli/render.hpp"

namespace hecto::cli {
namespace {

struct Plan {
  config::Box box;
  config::Topology topology;
  config::Config config;
};

int told(const Session& session, const config::Problems& problems) {
  for (const std::string& problem : problems) session.note(problem);
  return kFailed;
}

// Of the NICs those that the configuration has: others have no part in the plan.
void keep_configured(const config::Config& config, config::Topology& topology) {
  std::erase_if(topology.nics, [&](const config::Nic& nic) {
    return std::ranges::none_of(config.ports, [&](const config::PortConfig& port) {
      return port.device == nic.pci || port.device == nic.interface;
    });
  });
}

// The box, from its file or its topology, with the calibration's constants.
tl::expected<Plan, int> read_box(const Session& session, config::Config config) {
  const Arguments& a = session.arguments();
  Plan plan;
  plan.config = std::move(config);
  if (!a.box.empty()) {
    auto box = config::read_box(a.box);
    if (!box) return tl::unexpected(told(session, box.error()));
    plan.box = std::move(*box);
    plan.topology = config::topology_of(plan.box);
  }
  config::Constants constants = plan.box.constants;
  if (!a.calibration.empty()) {
    auto read = config::read_calibration(a.calibration, constants);
    if (!read) return tl::unexpected(told(session, read.error()));
    constants = read->constants;
  }
  if (a.box.empty()) {
    auto topology =
        a.topology.empty() ? config::read_topology() : config::read_topology(a.topology);
    if (!topology) return tl::unexpected(session.fail(topology.error()));
    plan.topology = std::move(*topology);
    if (!a.object.empty()) keep_configured(plan.config, plan.topology);
    // A calibration is of this machine, and knows how fast its cores really run.
    if (a.topology.empty() && constants.is_set(config::Constant::kCoreGhz))
      plan.topology.ghz = constants[config::Constant::kCoreGhz];
    plan.box = config::box_of(plan.topology, constants);
  }
  plan.box.constants = std::move(constants);
  return plan;
}

std::string explained(const config::Constants& constants) {
  std::string out, section;
  for (const config::ConstantInfo& row : config::constants_table()) {
    if (row.section != section) {
      section = row.section;
      out += fmt::format("{}{}\n", out.empty() ? "" : "\n", section);
    }
    const std::string head =
        fmt::format("  {:<28}{:>8.4g} {:<14} ", row.name, constants[row.id], row.unit);
    out += paragraph(head, constants.source(row.id));
  }
  return out;
}

int explain(const Session& session, const config::Constants& constants) {
  if (session.arguments().json)
    session.out(json{{"constants", router::constants_json(constants)}}.dump() + "\n");
  else
    session.out(explained(constants));
  return kDone;
}

int draw(const Session& session, const Plan& plan, const config::Setup& setup,
         const config::Capacity& capacity, const config::Point* point) {
  if (point == nullptr) return session.fail("nothing to draw: no port in this plan");
  const std::string& file = session.arguments().svg;
  std::ofstream out(file);
  out << config::draw(plan.box, setup, capacity, *point);
  out.close();
  if (!out) return session.fail(fmt::format("{}: {}", file, std::strerror(errno)));
  return kDone;
}

}  // namespace

int plan(const Session& session) {
  const Arguments& a = session.arguments();
  if (!a.box.empty() && !a.topology.empty())
    return session.wrong_usage("--box and --topology both name a box; use one of them");
  config::Config config;
  if (!a.object.empty()) {
    auto loaded = load_config(session);
    if (!loaded) return loaded.error();
    config = std::move(*loaded);
  }
  auto plan = read_box(session, std::move(config));
  if (!plan) return plan.error();
  if (a.explain) return explain(session, plan->box.constants);

  if (a.object.empty()) {
    plan->config = config::default_config(plan->box);
    if (plan->config.ports.empty())
      return session.fail(plan->box.source +
                          " has no NIC; name a configuration file, or a box with --box");
  }
  const auto placement = config::place(plan->config, plan->topology);
  if (!placement) return session.fail(placement.error());

  const auto setup = config::setup_of(plan->box, plan->config, plan->topology, *placement);
  const auto capacity = config::capacity_of(plan->box, setup);
  size_t size = 0;
  while (config::packet_sizes()[size].name != a.size) ++size;
  auto traffic = config::Traffic::kIpv4;
  for (auto each : {config::Traffic::kIpv6, config::Traffic::kIpsec})
    if (config::name_of(each) == a.traffic) traffic = each;
  if (!a.svg.empty()) {
    const auto* point = capacity.find(config::Experiment::kForwardLocal, traffic, size);
    if (const int code = draw(session, *plan, setup, capacity, point); code != kDone) return code;
  }
  const std::string text = config::describe(*placement, plan->config, plan->topology) + "\n" +
                           config::describe(plan->box, setup, capacity, size, traffic);
  json answer = router::plan_json(*placement, text);
  answer["box"] = router::box_json(plan->box);
  answer["capacity"] = router::capacity_json(plan->box, setup, capacity);
  answer["constants"] = router::constants_json(plan->box.constants);
  return session.show(answer.dump(-1, ' ', false, json::error_handler_t::replace) + "\n",
                      render_plan);
}

}  // namespace hecto::cli
