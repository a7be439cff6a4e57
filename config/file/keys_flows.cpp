// The keys of `flows`.
#include <fmt/format.h>

#include "config/file/key_tables.hpp"

namespace hecto::config {
namespace {

using namespace row;     // integer, text, structure
using namespace tables;  // what all tables have in common

std::string flow_interfaces_text(const FlowsConfig& flows) {
  std::vector<std::string> names;
  for (const std::string& name : flows.interfaces) names.push_back(quoted(name));
  return fmt::format("[{}]", fmt::join(names, ", "));
}

// clang-format off
constexpr Key<FlowsConfig> kFlows[] = {
  structure<FlowsConfig>("interfaces", "list", "[]",
      {0, kMostInterfaces, "ports, PORT.ID or PORT.OUTER.ID"}, kReload,
      "Packets that come in by these are looked up in the flow table; none: it is off.")
      .printed(flow_interfaces_text),
  integer<&FlowsConfig::entries>("entries", {1, kMostFlows}, kReload,
      "Room for entries, both families together. Changed, the table begins empty."),
  text<&FlowsConfig::miss>("miss", {0, 0, "route, drop, or an interface"}, kReload,
      "What becomes of packets without an entry: routed, dropped, or out by that interface as they are."),
};
// clang-format on

}  // namespace

constinit const Section<FlowsConfig> flow_keys = section<kFlows>("flows");

}  // namespace hecto::config
