// What the sections of the file are read into, with what the checks across them need.
#pragma once

#include <string>
#include <vector>

#include "config/file/config.hpp"
#include "config/file/reader.hpp"

namespace hecto::config {

struct AddressUse {
  std::string interface;
  IpPrefix prefix;
  Value value;
};

// Of a next hop or a neighbor.
struct InterfaceUse {
  IpAddress address;
  std::string interface;  // empty: to be found
  bool is_neighbor;
  size_t index;  // in Config::neighbors
  Value value;
};

struct Loading {
  Config config;
  Report& report;
  std::vector<AddressUse> addresses;
  std::vector<InterfaceUse> interface_uses;
};

}  // namespace hecto::config
