// The section `sflow`.
#pragma once

#include <vector>

#include "config/file/loading.hpp"

namespace hecto::config {

// Behind `ports`.
void load_sflow(const Value& value, Loading& loading);

// Lists that `ipfix` has, too. `port`: where none is said.
void read_collectors(const Value& list, uint16_t port, std::vector<HttpEndpoint>& collectors);
void read_sampled_ports(const Value& value, const Config& config, std::vector<std::string>& ports);

}  // namespace hecto::config
