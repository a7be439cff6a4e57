// IPFIX of the file: which flows are told, and to whom. Values only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/file/endpoint.hpp"
#include "config/file/sflow.hpp"

namespace hecto::config {

inline constexpr uint16_t kIpfixPort = 4739;  // IANA's
inline constexpr uint32_t kLeastIpfixFlows = 16, kMostIpfixFlows = 1u << 20;

// Whose flows: those that samples tell of, or the entries of the flow table with all that they count.
enum class IpfixRecords : uint8_t { kSampled, kFlowTable };

struct IpfixConfig {
  std::vector<HttpEndpoint> collectors;  // in the file's order; empty: nothing is told
  SflowFrom from = SflowFrom::kRouter;
  IpfixRecords records = IpfixRecords::kSampled;
  uint32_t sampling = 1000;               // one packet in so many
  std::vector<std::string> ports;         // whose packets are sampled; empty: all
  uint32_t active_s = 60, idle_s = 15;    // when a flow is told that goes on, or rests
  uint32_t flows = 65'536;                // room for those that are not told yet
  uint32_t domain = 1, templates_s = 60;  // the observation domain; how often templates are sent
  bool operator==(const IpfixConfig&) const = default;
  bool samples() const { return !collectors.empty() && records == IpfixRecords::kSampled; }
};

const char* to_string(IpfixRecords records) noexcept;

}  // namespace hecto::config
