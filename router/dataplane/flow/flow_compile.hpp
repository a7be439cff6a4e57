// From an entry's words to keys, and back.
#pragma once

#include <functional>
#include <string>

#include "base/result.hpp"
#include "config/file/flows.hpp"
#include "router/dataplane/flow/flow_tables.hpp"

namespace hecto::router {

// The place of an interface; fails where there is none of that name.
using FlowPlaceOf = std::function<Result<FlowPlace>(const std::string& interface)>;
using FlowNameOf = std::function<std::string(FlowPlace)>;

// Of words that are right in themselves (config/file/flow_words.hpp).
Result<FlowOrder> compile_flow(const config::FlowConfig& flow, const FlowPlaceOf& place);
config::FlowConfig describe_flow(const FlowTables::Status& status, const FlowNameOf& name);

}  // namespace hecto::router
