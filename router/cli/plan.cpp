// hecto plan: who polls what, and what the box can carry.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "config/box/collected.hpp"
#include "config/box/what_if.hpp"
#include "config/capacity/capacity.hpp"
#include "config/file/load_ports.hpp"
#include "config/machine/collect.hpp"
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
  config::Placement placement;
  config::Setup setup;
  config::Capacity capacity;
  bool from_box = false;  // of a box file, which tells less of the topology
};

int told(const Session& session, const config::Problems& problems) {
  for (const std::string& problem : problems) session.note(problem);
  return kFailed;
}

// Of the NICs those that the configuration has: others have no part in the plan.
void keep_configured(const config::Config& config, config::Topology& topology) {
  std::erase_if(topology.nics, [&](const config::Nic& nic) {
    return std::ranges::none_of(config.ports, [&](const config::PortConfig& port) {
      return std::ranges::any_of(config::devices_of(port), [&](const std::string& device) {
        return device == nic.pci || device == nic.interface;
      });
    });
  });
}

bool is_xml(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '<';
}

// The box of a file of any of the three kinds; of a YAML one it is in `box`, of others `topology`.
tl::expected<void, int> read_file_box(const Session& session, const std::string& file, Plan& plan) {
  const auto text = config::read_file(file);
  if (!text) return tl::unexpected(session.fail(text.error().front()));
  if (is_xml(*text)) {
    auto topology = config::parse_topology(*text, file);
    if (!topology) return tl::unexpected(session.fail(topology.error()));
    plan.topology = std::move(*topology);
  } else if (config::looks_collected(*text)) {
    auto topology = config::parse_collected(*text, file);
    if (!topology) return tl::unexpected(told(session, topology.error()));
    plan.topology = std::move(*topology);
  } else {
    auto box = config::parse_box(*text, file);
    if (!box) return tl::unexpected(told(session, box.error()));
    plan.box = std::move(*box);
    plan.topology = config::topology_of(plan.box);
    plan.from_box = true;
  }
  return {};
}

// The box, from a file or this machine's topology, with the calibration's constants.
tl::expected<Plan, int> read_box(const Session& session, const std::string& file,
                                 config::Config config) {
  const Arguments& a = session.arguments();
  Plan plan;
  plan.config = std::move(config);
  if (file.empty()) {
    auto topology = config::read_topology();
    if (!topology) return tl::unexpected(session.fail(topology.error()));
    plan.topology = std::move(*topology);
  } else if (auto read = read_file_box(session, file, plan); !read) {
    return tl::unexpected(read.error());
  }
  config::Constants constants = plan.box.constants;
  if (!a.calibration.empty()) {
    auto read = config::read_calibration(a.calibration, constants);
    if (!read) return tl::unexpected(told(session, read.error()));
    constants = read->constants;
  }
  if (!plan.from_box) {
    if (!a.object.empty()) keep_configured(plan.config, plan.topology);
    // A calibration is of this machine, and knows how fast its cores really run.
    if (file.empty() && constants.is_set(config::Constant::kCoreGhz))
      plan.topology.ghz = constants[config::Constant::kCoreGhz];
    plan.box = config::box_of(plan.topology, constants);
  }
  plan.box.constants = std::move(constants);
  return plan;
}

// Placement and capacity of a plan; a message where there is none.
tl::expected<void, std::string> solve(const Arguments& a, Plan& plan) {
  if (a.object.empty()) {
    plan.config = config::default_config(plan.box);
    if (const std::string out = config::left_out(plan.box); !out.empty())
      plan.box.notes.push_back(
          fmt::format("This plan leaves out {}; a configuration that names them has them.", out));
    if (plan.config.ports.empty())
      return tl::unexpected(plan.box.source +
                            " has no NIC; name a configuration file, or a box with --box");
  }
  auto placement = config::place(plan.config, plan.topology);
  if (!placement) return tl::unexpected(placement.error());
  plan.placement = std::move(*placement);
  plan.setup = config::setup_of(plan.box, plan.config, plan.topology, plan.placement);
  plan.capacity = config::capacity_of(plan.box, plan.setup);
  return {};
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

int draw(const Session& session, const Plan& plan, const config::Point* point) {
  if (point == nullptr) return session.fail("nothing to draw: no port in this plan");
  const std::string& file = session.arguments().svg;
  std::ofstream out(file);
  out << config::draw(plan.box, plan.setup, plan.capacity, *point);
  out.close();
  if (!out) return session.fail(fmt::format("{}: {}", file, std::strerror(errno)));
  return kDone;
}

// The other of two boxes: one of another file, or this one before its changes. None: no comparison.
tl::expected<std::optional<Plan>, int> other_plan(const Session& session, Plan& plan) {
  const Arguments& a = session.arguments();
  std::optional<Plan> other;
  if (!a.against.empty()) {
    auto read = read_box(session, a.against, plan.config);
    if (!read) return tl::unexpected(read.error());
    other = std::move(*read);
  } else if (!a.what_if.empty()) {
    other = plan;
  } else {
    return other;
  }
  if (auto solved = solve(a, *other); !solved) return tl::unexpected(session.fail(solved.error()));
  return other;
}

tl::expected<void, int> change(const Session& session, Plan& plan) {
  for (const std::string& words : session.arguments().what_if)
    if (auto changed = config::apply_what_if(words, plan.box); !changed)
      return tl::unexpected(session.wrong_usage(changed.error()));
  // The cores of a changed box are numbered anew.
  if (!session.arguments().what_if.empty()) plan.topology = config::topology_of(plan.box);
  return {};
}

std::string compared(const Arguments& a, const Plan& plan, const Plan& other) {
  const bool changed = a.against.empty();
  return config::describe_both(
      {changed ? "as it is" : plan.box.source, changed ? &other.capacity : &plan.capacity},
      {changed ? "what if" : other.box.source, changed ? &plan.capacity : &other.capacity});
}

int collect(const Session& session) {
  const std::string& file = session.arguments().collect;
  const config::MachineFiles files;
  const auto collected = config::collect(files, config::Ethtool());
  if (!collected) return session.fail(collected.error());
  const std::string yaml = config::to_yaml(collected->facts);
  if (file == "-") {
    session.out(yaml);
  } else {
    std::ofstream out(file);
    out << yaml;
    out.close();
    if (!out) return session.fail(fmt::format("{}: {}", file, std::strerror(errno)));
    session.out(fmt::format("{}: {} NICs, {} memory modules. Elsewhere: hecto plan --box {}\n",
                            file, collected->facts.nics.size(), collected->facts.modules.size(),
                            file));
  }
  for (const std::string& note : collected->notes) session.note(note);
  return kDone;
}

}  // namespace

int plan(const Session& session) {
  const Arguments& a = session.arguments();
  if (!a.cluster.empty()) return plan_cluster(session);
  if (!a.box.empty() && !a.topology.empty())
    return session.wrong_usage("--box and --topology both name a box; use one of them");
  if (!a.against.empty() && !a.what_if.empty())
    return session.wrong_usage("--against and --what-if each compare two boxes; use one of them");
  if (!a.collect.empty()) return collect(session);
  config::Config config;
  if (!a.object.empty()) {
    auto loaded = load_config(session);
    if (!loaded) return loaded.error();
    config = std::move(*loaded);
  }
  auto plan = read_box(session, a.box.empty() ? a.topology : a.box, std::move(config));
  if (!plan) return plan.error();
  if (a.explain) return explain(session, plan->box.constants);
  const auto other = other_plan(session, *plan);
  if (!other) return other.error();
  if (auto changed = change(session, *plan); !changed) return changed.error();
  if (auto solved = solve(a, *plan); !solved) return session.fail(solved.error());

  size_t size = 0;
  while (config::packet_sizes()[size].name != a.size) ++size;
  auto traffic = config::Traffic::kIpv4;
  for (auto each : {config::Traffic::kIpv6, config::Traffic::kIpsec})
    if (to_string(each) == a.traffic) traffic = each;
  if (!a.svg.empty()) {
    const auto* point = plan->capacity.find(config::Experiment::kForwardLocal, traffic, size);
    if (const int code = draw(session, *plan, point); code != kDone) return code;
  }
  std::string text = config::describe(plan->placement, plan->config, plan->topology) + "\n" +
                     config::describe(plan->box, plan->setup, plan->capacity, size, traffic);
  if (*other) text += "\n" + compared(a, *plan, **other);
  json answer = router::plan_json(plan->placement, text);
  answer["box"] = router::box_json(plan->box);
  answer["capacity"] = router::capacity_json(plan->box, plan->setup, plan->capacity);
  if (*other)
    answer["compared"] = {
        {"box", router::box_json((*other)->box)},
        {"capacity", router::capacity_json((*other)->box, (*other)->setup, (*other)->capacity)}};
  answer["constants"] = router::constants_json(plan->box.constants);
  return session.show(answer.dump(-1, ' ', false, json::error_handler_t::replace) + "\n",
                      render_plan);
}

}  // namespace hecto::cli
