// What a kernel interface's driver tells and takes by ethtool's requests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace hecto::config {

struct InterfaceFacts {
  std::string driver, version, firmware;  // empty: not told
  std::optional<bool> gro, lro, pause_rx, pause_tx;
  std::optional<unsigned> receive_queues;  // "combined" and "rx" channels together
  std::vector<uint8_t> rss_key;            // empty: not told
};

enum class InterfaceFeature : uint8_t { kGro, kLro };
std::string to_string(InterfaceFeature feature);  // "gro"

// Tests have one of their own. Of interfaces in the network namespace of this process.
class Ethtool {
 public:
  Ethtool() = default;
  virtual ~Ethtool() = default;
  Ethtool(const Ethtool&) = delete;
  Ethtool& operator=(const Ethtool&) = delete;
  virtual InterfaceFacts facts(const std::string& interface) const;
  virtual Result<void> set(const std::string& interface, InterfaceFeature feature, bool on);
};

}  // namespace hecto::config
