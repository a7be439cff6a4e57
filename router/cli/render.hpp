// The answers of the API as text for people. Pure functions of the JSON that docs/api.md describes;
// a key that is missing (an older or newer router) shows as "-" and never fails.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "router/cli/table.hpp"

namespace hecto::cli {

using nlohmann::json;

std::string render_summary(const json& answer, Style style);
std::string render_ports(const json& answer, Style style);
std::string render_bonds(const json& answer, Style style);
std::string render_filters(const json& answer, Style style);
std::string render_nat(const json& answer, Style style);
std::string render_bridges(const json& answer, Style style);
std::string render_flows(const json& answer, Style style);
std::string render_interfaces(const json& answer, Style style);
std::string render_neighbors(const json& answer, Style style);
std::string render_rules(const json& answer, Style style);
std::string render_labels(const json& answer, Style style);
std::string render_tables(const json& answer, Style style);
std::string render_nexthops(const json& answer, Style style);
std::string render_workers(const json& answer, Style style);
std::string render_mtu(const json& answer, Style style);
std::string render_ipsec(const json& answer, Style style);
std::string render_offload(const json& answer, Style style);
std::string render_drops(const json& answer, Style style);
std::string render_punt(const json& answer, Style style);
std::string render_sflow(const json& answer, Style style);
std::string render_ipfix(const json& answer, Style style);
std::string render_top_flows(const json& answer, Style style);  // of /v1/flows/top
std::string render_pools(const json& answer, Style style);
std::string render_config(const json& answer, Style style);
std::string render_plan(const json& answer, Style style);

// The line of counts above a walk, and one page of it.
std::string render_route_counts(const json& answer, Style style);
std::string render_route_page(const json& answer, Style style);
std::string render_explanation(const json& answer, Style style);
std::string render_trace(const json& trace, Style style);  // one of `traces`

}  // namespace hecto::cli
