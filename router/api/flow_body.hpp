// Entries of the flow table in requests and answers: an object, or a text in the words of
// config/file/flow_words.hpp. docs/api.md.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/file/flow_words.hpp"
#include "router/api/backend.hpp"
#include "router/api/http/http.hpp"

namespace hecto::router {

inline constexpr size_t kMostFlowsARequest = 4096;
inline constexpr size_t kFlowsATurn = 1024;  // of a load: so many at once by control

// One, or a list. Errors name the place in the list.
config::FlowParsed<std::vector<config::FlowConfig>> parse_flows(const nlohmann::json& body,
                                                                bool needs_action);
nlohmann::json to_json(const config::FlowConfig& flow);

}  // namespace hecto::router
