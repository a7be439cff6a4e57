// A bond and its members, as they are told: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/file/config.hpp"
#include "router/dataplane/ports/lacp.hpp"

namespace hecto::router {

struct BondTraffic {
  uint64_t rx_packets = 0, tx_packets = 0, rx_bytes = 0, tx_bytes = 0;
  uint64_t lost = 0;  // by its driver, in either direction
};

struct BondMemberStatus {
  std::string device;
  bool present = true;      // the device is there
  bool carrier = false;     // it has a link
  bool active = false;      // carries packets: of LACP, it collects and distributes
  bool standby = false;     // of active-backup: active, and another one is used
  uint32_t speed_mbps = 0;  // 0: not known
  Lacp::Member lacp;        // of mode lacp
  BondTraffic traffic;
  uint64_t changes = 0;        // of `active`, but for the first
  uint64_t last_change_s = 0;  // seconds ago; 0 with no change
  std::vector<std::string> troubles;
};

struct BondStatus {
  std::string name;
  config::BondConfig config;
  MacAddress mac{};
  bool up = false;    // at least min_links members are active
  size_t active = 0;  // members
  std::vector<BondMemberStatus> members;
  std::vector<std::string> troubles;  // of the bond as a whole
};

}  // namespace hecto::router
