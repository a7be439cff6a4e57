// What the tests of answers show: two ports, routes of each kind, and a second of their counters.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "router/api/show/show.hpp"
#include "router/control/persist_control.hpp"
#include "tests/beds/control.hpp"

namespace hecto::router::test {

using nlohmann::json;

inline constexpr const char* kBase = R"(
workers: {0: [1, 2]}
ports:
  wan0: {device: eth1, addresses: [192.0.2.1/24], counters: true, urpf: strict, queues: 2,
         vlans: {7: {addresses: [10.7.0.1/24], mtu: 1400}}}
  lan0: {device: eth2, addresses: [10.1.0.1/24]}
routes:
  - {to: 203.0.113.0/24, via: [192.0.2.9, 10.1.0.9]}
  - {to: 198.51.100.0/24, via: 192.0.2.9}
  - {to: 198.18.0.0/15, type: blackhole}
neighbors: [{address: 192.0.2.9, interface: wan0, mac: "02:00:00:00:00:09"}]
)";

// That has a directory nowhere.
inline PersistControl nothing_kept(ControlBed& bed) {
  return PersistControl("/nowhere", "/s", bed.routes, bed.routing, bed.ipsec);
}

inline const json& row(const json& list, const std::string& key, const json& value) {
  for (const json& one : list)
    if (one[key] == value) return one;
  throw std::invalid_argument(key + " " + value.dump());
}

// A second goes by in which `change` happens.
template <typename Change>
void second(ControlBed& bed, Change change) {
  bed.totals.time = {};
  bed.sampler.sample();
  change(bed.totals);
  bed.totals.time += std::chrono::seconds(1);
  bed.sampler.sample();
}

}  // namespace hecto::router::test
