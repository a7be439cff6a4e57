// The result as JSON, as a readable table, and as a picture.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "bench/lookup/result.hpp"

namespace hecto::bench {

// {"machine", "table", "method", "rows", "load", "memory", "updates", "dead_next_hop", "skipped"};
// `rows` is a plain array of flat objects, those of state "warm" first.
nlohmann::json to_json(const LookupResult& result);
std::string to_text(const LookupResult& result);
// Bars: cycles per look-up, warm, by destinations and engine, a panel for each family.
std::string to_svg(const LookupResult& result);

}  // namespace hecto::bench
