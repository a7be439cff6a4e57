#include "config/file/load_flows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "config/file/keys.hpp"

namespace hecto::config {
namespace {

std::set<std::string, std::less<>> interface_names(const Config& config) {
  std::set<std::string, std::less<>> names;
  for (const PortConfig& port : config.ports) {
    names.insert(port.name);
    for (const VlanConfig& vlan : port.vlans) names.insert(interface_name(port.name, vlan));
  }
  return names;
}

void refuse_interface(const Value& value, std::string_view word,
                      const std::set<std::string, std::less<>>& names) {
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string_view near = nearest(word, known);
  value.refuse(near.empty() ? std::string("is no interface; use a port, PORT.ID or PORT.OUTER.ID")
                            : fmt::format("is no interface; did you mean {}?", near));
}

}  // namespace

void load_flows(const Value& value, Loading& loading) {
  FlowsConfig& flows = loading.config.flows;
  Fields fields(value, flow_keys.names, "a map, as {interfaces: [wan0]}");
  const auto names = interface_names(loading.config);
  const auto interfaces = [&](const Value& list) {
    for (const Value& item :
         list.items("a list of interfaces, as [wan0]", flow_keys["interfaces"].range.high)) {
      const auto name = item.text("an interface, as wan0");
      if (!name) continue;
      if (!names.contains(*name))
        refuse_interface(item, *name, names);
      else if (std::find(flows.interfaces.begin(), flows.interfaces.end(), *name) !=
               flows.interfaces.end())
        item.refuse("is named twice; name it once");
      else
        flows.interfaces.push_back(*name);
    }
  };
  const auto miss = [&](const Value& word) {
    const auto text = word.text("route, drop, or an interface");
    if (!text) return;
    flows.miss = *text;
    if (flows.miss != kMissRoute && flows.miss != kMissDrop && !names.contains(flows.miss))
      word.refuse("is neither route nor drop, nor an interface; use one of these");
  };
  read_keys(fields, flow_keys, flows, {{"interfaces", interfaces}, {"miss", miss}});
}

}  // namespace hecto::config
