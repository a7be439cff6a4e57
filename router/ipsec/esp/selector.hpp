// Traffic selectors of SAs and policies (RFC 4301 §4.4.1.1), as XFRM has them. Values only.
#pragma once

#include <cstdint>
#include <string>

#include "lookup/prefix.hpp"

namespace hecto::router {

using lookup::Family;
using lookup::IpAddress;
using lookup::IpPrefix;

// What a packet must look like. A prefix of length 0 and a mask of 0 fit everything.
struct IpsecSelector {
  Family family = Family::kIpv4;  // of source and destination
  IpPrefix source, destination;
  uint8_t protocol = 0;  // 0: any
  uint16_t source_port = 0, source_port_mask = 0;
  uint16_t destination_port = 0, destination_port_mask = 0;  // ICMP: type and code stand in ports
  bool operator==(const IpsecSelector&) const = default;
};

// "10.1.0.0/16 -> 10.2.0.0/16 protocol 6 port 1:443", as messages name it.
std::string to_string(const IpsecSelector& selector);

}  // namespace hecto::router
