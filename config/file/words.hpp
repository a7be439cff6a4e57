// Values as the file writes them, for to_yaml and for the lines of a difference.
#pragma once

#include <string>
#include <vector>

#include "config/file/config.hpp"

namespace hecto::config {

const char* to_string(IdleMode mode) noexcept;
const char* to_string(Ipv4Engine engine) noexcept;
const char* to_string(OffloadMode mode) noexcept;
std::string to_string(const RouteConfig& route);        // {to: 203.0.113.0/24, via: 192.0.2.9}
std::string to_string(const NeighborConfig& neighbor);  // {address: ..., interface: ..., mac: ...}
// [2-5, 8]
std::string core_list(const std::vector<unsigned>& cores);
// auto, or {0: [2-5], 1: [18-21]}
std::string workers_text(const std::map<int, std::vector<unsigned>>& workers);
// off, or {namespace: hecto, mirror: [addresses, routes, neighbors, ipsec]}
std::string linux_text(const LinuxConfig& linux_side);
std::string offload_devices_text(const OffloadConfig& offload);  // auto, or [cuda:0, cuda:1]
// {device: cuda:0, lookup: auto, shader: false, latency_bound_us: 50, deadline_us: 2000, batch:
// 1024}
std::string offload_text(const OffloadConfig& offload);
std::string addresses_text(const std::vector<IpPrefix>& addresses);
// The text, in quotes where YAML would take it for something else.
std::string quoted(const std::string& text);

}  // namespace hecto::config
