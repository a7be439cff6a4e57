// `ports.*.bond`: several devices that carry one port.
#pragma once

#include <string_view>
#include <vector>

#include "config/file/config.hpp"
#include "config/file/reader.hpp"

namespace hecto::config {

// Whether a key of `bond` says anything in that mode.
bool belongs(std::string_view key, BondMode mode) noexcept;
// The port, or of a bond each member, with the port's name and what it is made of.
std::vector<PortConfig> parts_of(const PortConfig& port);
void read_bond(const Value& value, PortConfig& port);

}  // namespace hecto::config
