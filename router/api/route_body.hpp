// Routes as the API's parameters and bodies write them, in the words of the configuration file.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "config/file/config.hpp"

namespace hecto::router {

// The error is one line for the client.
template <typename T>
using Parsed = tl::expected<T, std::string>;

// "192.0.2.1", "fe80::1%lan0", several with commas.
Parsed<std::vector<config::NextHopConfig>> parse_via(const std::string& text);
// {"to": ..., "via": ..., "type": ..., "metric": ..., "persist": ...}; the last goes into `persist`,
// where that is not null.
Parsed<config::RouteConfig> parse_route(const nlohmann::json& body, bool* persist = nullptr);

}  // namespace hecto::router
