// ARP (RFC 826) and neighbor discovery (RFC 4861) as far as a generator needs them: answers for the
// addresses of its ports, and asks for the MAC address of a gateway. Frames may carry one VLAN tag.
// Frames that come in are not trusted. Pure functions, thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "config/file/config.hpp"
#include "lookup/prefix.hpp"

namespace hecto::bench {

struct PortAddresses {
  MacAddress mac{};
  std::vector<lookup::IpAddress> addresses;
};

// Turns a request for one of the addresses into its answer, in place; its length stays or shrinks
// to what is returned. 0: it was none, and is as it was.
size_t answer_neighbor(std::span<uint8_t> frame, const PortAddresses& own);

// Who has `target`? `from` is of the same family.
std::vector<uint8_t> ask_neighbor(const MacAddress& mac, const lookup::IpAddress& from,
                                  const lookup::IpAddress& target, std::optional<uint16_t> vlan);

// The MAC address that a frame tells of `target`, in an answer or a request of its own.
std::optional<MacAddress> told_mac(std::span<const uint8_t> frame, const lookup::IpAddress& target);

}  // namespace hecto::bench
