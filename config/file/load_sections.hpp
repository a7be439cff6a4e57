// The parts of load.cpp: each reads one section of the file into the configuration, and keeps what
// the checks across sections need.
#pragma once

#include <bitset>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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
  std::span<const std::string_view> punt_reasons;
  std::vector<AddressUse> addresses;
  std::vector<InterfaceUse> interface_uses;
};

// The networks of the interfaces, for "which interface holds this address".
class Networks {
 public:
  void add(const IpPrefix& address, const std::string& interface);
  // Of the longest network that holds the address; null when none does.
  const std::string* find(const IpAddress& address) const;

 private:
  std::map<IpPrefix, std::string> by_network_;
  std::bitset<129> lengths_[2];
};

void load_workers(const Value& value, Loading& loading);
void load_ports(const Value& value, Loading& loading);
void load_linux(const Value& value, Loading& loading);
void load_routes(const Value& value, Loading& loading);
void load_route_files(const Value& value, Loading& loading);
void load_neighbors(const Value& value, Loading& loading);
void load_punt(const Value& value, Loading& loading);
void load_tables(const Value& value, Loading& loading);
void load_offload(const Value& value, Loading& loading);
void load_ipsec(const Value& value, Loading& loading);

// Checks that need the whole file.
void check_addresses(Loading& loading);
void check_interface_uses(Loading& loading);

void read_device(const Value& value, PortConfig& port);  // device and kind
std::optional<MacAddress> read_mac(const Value& value);
std::optional<IpPrefix> read_interface_address(const Value& value);
template <typename T>
T narrow(const T&, uint64_t number) {
  return static_cast<T>(number);
}
template <typename T>
std::optional<T> narrow(const std::optional<T>&, uint64_t number) {
  return static_cast<T>(number);
}

// Stores an integer within the bounds; leaves the target alone otherwise. Null values are skipped.
template <typename Target>
void read_integer(const Value* value, uint64_t low, uint64_t high, Target& target) {
  if (value == nullptr) return;
  if (auto number = value->integer(low, high)) target = narrow(target, *number);
}
// The same where `auto` is a value, too: it leaves the target alone.
template <typename Target>
void read_integer_or_auto(const Value* value, uint64_t low, uint64_t high, Target& target) {
  if (value != nullptr && !value->is_word("auto")) read_integer(value, low, high, target);
}

}  // namespace hecto::config
