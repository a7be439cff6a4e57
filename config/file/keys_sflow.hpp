// Lists that `sflow` and `ipfix` have, as text. For keys*.cpp alone.
#pragma once

#include <string>
#include <vector>

#include "config/file/endpoint.hpp"

namespace hecto::config {

std::string collectors_text(const std::vector<HttpEndpoint>& collectors);
std::string sampled_ports_text(const std::vector<std::string>& ports);

}  // namespace hecto::config
