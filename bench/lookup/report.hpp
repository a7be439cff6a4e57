// The result as JSON and as a readable table.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/result.hpp"
#include "bench/lookup/result.hpp"

namespace hecto::bench {

// {"machine", "table", "method", "rows", "load", "memory", "updates", "dead_next_hop", "skipped"};
// `rows` is a plain array of flat objects, those of state "warm" first.
nlohmann::json to_json(const LookupResult& result);
std::string to_text(const LookupResult& result);

// Why the benchmark fails though it has measured: a peer that this CPU runs was skipped, or routes
// of a dead next hop stayed.
Result<void> verdict(const LookupResult& result);

}  // namespace hecto::bench
