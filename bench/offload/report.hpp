// The result of offload as a table and as JSON. Needs no libraries, as device.sh has none.
#pragma once

#include <string>

#include "bench/offload/offload.hpp"

namespace hecto::bench {

std::string offload_text(const OffloadResult& result);  // for people
std::string offload_json(const OffloadResult& result);
std::string json_string(const std::string& text);  // in quotes

}  // namespace hecto::bench
