// `hecto clear`: where the router's counters stood, and what they are since. A mark is this user's,
// of one router (its socket and process); the router knows nothing of it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace hecto::cli {

using nlohmann::json;

// What has counters that are marked: the nouns of `show`.
inline constexpr const char* kMarkedNouns[] = {"ports", "interfaces", "drops", "punt"};

// The answer of the noun, less what its counters were; a row that is new since is whole, and one of
// `drops` in which nothing happened goes. A counter that is below its mark began anew: it is whole.
json since_mark(const std::string& noun, json answer, const json& marked);

// In $XDG_STATE_HOME/hecto, or ~/.local/state/hecto; empty: there is no home.
std::string mark_file(const std::string& socket);
// None: there is none, or it is of another router than the one of this summary.
std::optional<json> read_mark(const std::string& file, const json& summary, int64_t now_unix_s);

}  // namespace hecto::cli
