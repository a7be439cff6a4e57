// How many neighbors Linux keeps: net.ipv4.neigh.default.gc_thresh1 to 3 and those of IPv6, which
// hold for all namespaces of the machine together and are seen in its first one alone. The kernel's
// own (128, 512, 1024) let go of hosts of a LAN of a thousand. Control thread only.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/result.hpp"
#include "lookup/prefix.hpp"

namespace hecto::router {

class NeighborLimits {
 public:
  // Below the first nothing is let go; above the third nothing new comes in.
  static constexpr std::array<uint32_t, 3> kWanted = {65536, 98304, 131072};

  NeighborLimits();

  // Raises what is lower than kWanted; never lowers. Lines of what could not be done.
  std::vector<std::string> raise() const;

  struct Use {
    uint64_t entries = 0;  // of all namespaces
    uint64_t limit = 0;    // gc_thresh3
    uint64_t refused = 0;  // for want of room, since the machine started
  };
  // Nothing: this process cannot see it.
  std::optional<Use> use(lookup::Family family) const;

 private:
  Result<void> run(const std::function<Result<void>()>& task) const;

  bool here_ = false;     // this process is in the machine's first namespace
  FileDescriptor first_;  // else that one, where it may be opened
};

namespace neighbor_limits {
// Entries and table_fulls of /proc/net/stat/arp_cache and its like: a line of names, then one of
// hexadecimal numbers a CPU, the first being the same in each.
std::optional<NeighborLimits::Use> parse_statistics(const std::string& text);
}  // namespace neighbor_limits

}  // namespace hecto::router
