// Readers of addresses: what is no such address is refused with what would be right.
#pragma once

#include <optional>
#include <string_view>

#include "base/net.hpp"
#include "config/file/reader.hpp"
#include "lookup/prefix.hpp"

namespace hecto::config {

std::optional<MacAddress> read_mac(const Value& value);  // of one station
// An address with its length, as an interface has it; no network's own, no broadcast address.
std::optional<lookup::IpPrefix> read_interface_address(const Value& value);
// A neighbor's or gateway's.
std::optional<lookup::IpAddress> read_host(const Value& value, std::string_view example);
// A unicast address, as ends of tunnels have it.
std::optional<lookup::IpAddress> read_unicast(const Value& value);
// A network to route to; `default` is 0.0.0.0/0.
std::optional<lookup::IpPrefix> read_route_prefix(const Value& value);
// A network to select packets by.
std::optional<lookup::IpPrefix> read_selector(const Value& value);

}  // namespace hecto::config
