// hecto doctor: this machine, held against a configuration.
#include "config/doctor/doctor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "config/doctor/fix.hpp"
#include "router/cli/commands.hpp"
#include "router/cli/local.hpp"

namespace hecto::cli {
namespace {

using config::Finding;
using config::Findings;
using config::Severity;
using nlohmann::json;

constexpr const char* kDefaultFile = "/etc/hecto/hecto.yaml";

// What cannot be placed is a problem, and the rest is looked at all the same.
Findings look(config::Machine& machine, const config::Ethtool& ethtool) {
  Findings findings;
  if (machine.config) {
    auto placement = config::place(*machine.config, machine.topology);
    if (placement)
      machine.placement = std::move(*placement);
    else
      findings.push_back({Severity::kProblem,
                          "plan",
                          placement.error(),
                          "hectod does not start",
                          "hecto plan " + machine.config->file,
                          {}});
  }
  for (const std::string& interface : config::interfaces(machine))
    machine.facts[interface] = ethtool.facts(interface);
  Findings found = config::examine(machine);
  findings.insert(findings.end(), found.begin(), found.end());
  return findings;
}

std::string text_of(const Findings& findings, const config::Fixes& fixes, Style style) {
  std::string out;
  const auto add = [&](const char* mark, Paint paint, const std::string& line) {
    out += painted(mark, paint, style) + " " + printable(line) + "\n";
  };
  for (const config::Fixed& fixed : fixes.done)
    add("+", Paint::kGood, fmt::format("{} (undo: {})", fixed.what, fixed.undo));
  for (const std::string& line : fixes.failed) add("!", Paint::kBad, line);
  for (const Finding& finding : findings) {
    const bool problem = finding.severity == Severity::kProblem;
    add(problem ? "!" : "i", problem ? Paint::kBad : Paint::kDim,
        fmt::format("{}: {} → {}", finding.what, finding.costs, finding.mend));
  }
  return out;
}

json json_of(const config::Machine& machine, const Findings& findings, const config::Fixes& fixes,
             bool ok) {
  json answer = {{"ok", ok}, {"file", machine.config ? json(machine.config->file) : json()}};
  for (const char* list : {"findings", "fixed", "failed", "interfaces"})
    answer[list] = json::array();
  for (const Finding& each : findings)
    answer["findings"].push_back(
        {{"severity", each.severity == Severity::kProblem ? "problem" : "advice"},
         {"name", each.name},
         {"what", each.what},
         {"costs", each.costs},
         {"mend", each.mend},
         {"fix", !each.changes.empty()}});
  for (const config::Fixed& each : fixes.done)
    answer["fixed"].push_back({{"what", each.what}, {"undo", each.undo}});
  answer["failed"] = fixes.failed;
  for (const auto& [name, facts] : machine.facts)
    answer["interfaces"].push_back({{"name", name},
                                    {"driver", facts.driver},
                                    {"version", facts.version},
                                    {"firmware", facts.firmware}});
  return answer;
}

}  // namespace

int doctor(const Session& session) {
  config::MachineFiles files;
  config::Ethtool ethtool;
  config::Machine machine(files);
  auto topology = config::read_topology();
  if (!topology) return session.fail("topology: " + topology.error());
  machine.topology = std::move(*topology);
  const bool named = !session.arguments().object.empty();
  if (named || std::filesystem::exists(kDefaultFile)) {
    auto loaded = load_config(session, named ? session.arguments().object : kDefaultFile);
    if (!loaded) return loaded.error();
    machine.config = std::move(*loaded);
  }
  Findings findings = look(machine, ethtool);
  config::Fixes fixes;
  if (session.arguments().fix) {
    fixes = config::fix(findings, files, ethtool, session.arguments().persist,
                        config::right_settings(machine));
    findings = look(machine, ethtool);
  }
  const bool ok = fixes.failed.empty() && std::ranges::none_of(findings, [](const Finding& each) {
                    return each.severity == Severity::kProblem;
                  });
  if (session.arguments().json)
    session.out(
        json_of(machine, findings, fixes, ok).dump(-1, ' ', false, json::error_handler_t::replace) +
        "\n");
  else
    session.out(text_of(findings, fixes, session.style()));
  return ok ? kDone : kFailed;
}

}  // namespace hecto::cli
