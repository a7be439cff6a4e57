// How every sub-command hands its figures to programs, and its errors to people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.hpp"

namespace hecto::bench {

// To `file`, its folder made where there is none, and a line that says so; "-" is standard output,
// an empty name nothing at all.
Result<void> write_json(const std::string& file, const nlohmann::json& value);

// The error on stderr; 1, the exit code.
int complain(const Error& error);

}  // namespace hecto::bench
