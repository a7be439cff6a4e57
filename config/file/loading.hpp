// What the sections of the file are read into, with what the checks across them need.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/file/config.hpp"
#include "config/file/reader.hpp"

namespace hecto::config {

struct AddressUse {
  std::string interface;
  IpPrefix prefix;
  uint32_t vrf_table;  // 0: in no VRF
  Value value;
};

// Of a next hop or a neighbor.
struct InterfaceUse {
  IpAddress address;
  std::string interface;  // empty: to be found
  bool is_neighbor;
  size_t index;        // in Config::neighbors
  uint32_t vrf_table;  // a next hop's, of its route; 0: none
  Value value;
};

// What a file that is read while the router runs may name, and its reader may open: each returns why
// not, or nothing. Empty functions: all.
struct LoadLimits {
  std::function<std::string(const std::string& path)> file;
  std::function<std::string(const std::string& device)> device;
  bool running = false;  // Linux may have given the interfaces addresses that no file knows
};

struct Loading {
  Config config;
  Report& report;
  std::vector<AddressUse> addresses;
  std::vector<InterfaceUse> interface_uses;
  LoadLimits limits = {};
  bool static_mode = false;    // `linux: off`
  bool told_of_linux = false;  // that VRFs and rules are its own
};

}  // namespace hecto::config
