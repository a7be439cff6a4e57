#include <fmt/format.h>

#include <algorithm>

#include "config/doctor/checks.hpp"

namespace hecto::config {
namespace {

struct Place {
  const std::string& interface;
  const InterfaceFacts& facts;
  const PortConfig*
      port;  // that polls it; none: a NIC that DPDK has by its driver, or no configuration
};

void check_merging(const Place& place, bool running, Findings& findings) {
  if (place.port == nullptr) return;
  const std::pair<InterfaceFeature, std::optional<bool>> features[] = {
      {InterfaceFeature::kGro, place.facts.gro}, {InterfaceFeature::kLro, place.facts.lro}};
  for (const auto& [feature, on] : features) {
    if (!on.value_or(false)) continue;
    const std::string name = to_string(feature);
    findings.push_back(
        {running ? Severity::kProblem : Severity::kAdvice,
         name,
         fmt::format("{}: {} is on", place.interface, name),
         running
             ? "packets are merged before hectod has them, and are longer than any MTU"
             : "hectod tries to switch it off at its start; where that fails packets are merged",
         fmt::format("ethtool -K {} {} off", place.interface, name),
         {{{}, {}, place.interface, feature}}});
  }
}

void check_pause(const Place& place, Findings& findings) {
  if (!place.facts.pause_rx.value_or(false) && !place.facts.pause_tx.value_or(false)) return;
  findings.push_back(
      {Severity::kAdvice,
       "flow_control",
       fmt::format("{}: Ethernet flow control is on", place.interface),
       "one slow receiver stops the whole link, and losses move to where nobody counts",
       fmt::format("ethtool -A {} autoneg off rx off tx off", place.interface),
       {}});
}

// AF_XDP takes the first queues; what the NIC spreads over others goes to the kernel.
void check_queues(const Place& place, const Machine& machine, Findings& findings) {
  if (place.port == nullptr || !machine.placement || !place.facts.receive_queues) return;
  for (const PortPlacement& port : machine.placement->ports) {
    if (port.port != place.port->name || *place.facts.receive_queues == port.rx_queues) continue;
    const bool lost = *place.facts.receive_queues > port.rx_queues;
    findings.push_back(
        {lost ? Severity::kProblem : Severity::kAdvice,
         "queues",
         fmt::format("{}: the NIC spreads over {} queues, {} polls {}", place.interface,
                     *place.facts.receive_queues, port.port, port.rx_queues),
         lost ? "with AF_XDP the kernel takes what comes in on the others, and hectod never sees it"
              : "AF_XDP is refused for queues that are not there",
         fmt::format("ethtool -L {} combined {}", place.interface, port.rx_queues),
         {}});
  }
}

void check_rss_key(const Place& place, Findings& findings) {
  const auto& key = place.facts.rss_key;
  if (key.empty() || std::ranges::any_of(key, [](uint8_t byte) { return byte != 0; })) return;
  findings.push_back({Severity::kProblem,
                      "rss_key",
                      fmt::format("{}: the RSS key is all zeros", place.interface),
                      "every flow goes to the same queue, and one worker does it all",
                      fmt::format("ethtool -X {} default", place.interface),
                      {}});
}

// The state files of the two, by the interface's index.
void check_owner(const Place& place, const Machine& machine, Findings& findings) {
  if (place.port == nullptr) return;
  const auto index =
      machine.files.number(fmt::format("/sys/class/net/{}/ifindex", place.interface));
  if (!index) return;
  const auto says = [&](const std::string& folder, const char* word) {
    const auto text = machine.files.text(fmt::format("{}/{}", folder, *index));
    return text && ("\n" + *text + "\n").find(std::string("\n") + word + "\n") != std::string::npos;
  };
  const char* costs = "it sets addresses, MTU and offloads of a port that is hectod's";
  if (says("/run/NetworkManager/devices", "managed=true"))
    findings.push_back({Severity::kProblem,
                        "network_manager",
                        fmt::format("{}: NetworkManager manages it", place.interface),
                        costs,
                        fmt::format("nmcli device set {} managed no", place.interface),
                        {}});
  if (says("/run/systemd/netif/links", "ADMIN_STATE=configured") ||
      says("/run/systemd/netif/links", "ADMIN_STATE=configuring"))
    findings.push_back({Severity::kProblem,
                        "networkd",
                        fmt::format("{}: systemd-networkd manages it", place.interface),
                        costs,
                        fmt::format("printf '[Match]\\nName={0}\\n[Link]\\nUnmanaged=yes\\n' > "
                                    "/etc/systemd/network/05-hecto-{0}.network; networkctl reload",
                                    place.interface),
                        {}});
}

}  // namespace

void check_interfaces(const Machine& machine, Findings& findings) {
  const bool running = runs(machine.files, "hectod");
  const std::vector<PortConfig> ports = devices(machine);
  for (const auto& [interface, facts] : machine.facts) {
    const PortConfig* port = nullptr;
    for (const PortConfig& each : ports)
      if (each.kind == DeviceKind::kKernel && each.device == interface) port = &each;
    const Place place{interface, facts, port};
    check_merging(place, running, findings);
    check_pause(place, findings);
    check_queues(place, machine, findings);
    check_rss_key(place, findings);
    check_owner(place, machine, findings);
  }
}

}  // namespace hecto::config
