#include "bench/bed/expected.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/ether.hpp"

namespace hecto::bench {
namespace {

constexpr size_t kIp = kEthernetBytes;
constexpr size_t kTtl = kIp + 8, kChecksum = kIp + 10, kDestination4 = kIp + 16;
constexpr size_t kHopLimit = kIp + 7, kDestination6 = kIp + 24;

bool is_ipv4(std::span<const uint8_t> frame) {
  return frame[kIp] >> 4 == 4;
}

// The same everywhere: a table has a prefix but once.
template <typename Family>
void sort_out(std::vector<Route<Family>>& routes) {
  const auto before = [](const auto& a, const auto& b) { return a.prefix < b.prefix; };
  const auto same = [](const auto& a, const auto& b) { return a.prefix == b.prefix; };
  std::stable_sort(routes.begin(), routes.end(), before);
  routes.erase(std::unique(routes.begin(), routes.end(), same), routes.end());
}

std::string mac_at(std::span<const uint8_t> frame, size_t at) {
  std::string text;
  for (size_t i = 0; i < 6; ++i) text += fmt::format("{}{:02x}", i == 0 ? "" : ":", frame[at + i]);
  return text;
}

}  // namespace

ExpectedHops::ExpectedHops(const router::RouteTable& table,
                           const std::vector<config::NeighborConfig>& neighbors) {
  std::map<lookup::IpAddress, ExpectedHop> known;
  for (const config::NeighborConfig& neighbor : neighbors)
    known[neighbor.address] = {static_cast<unsigned>(neighbor.interface.back() - '0'),
                               neighbor.mac};
  for (const auto& set : table.next_hop_sets) {
    const auto hop = set.size() == 1 && set[0].gateway ? known.find(*set[0].gateway) : known.end();
    hops_.push_back(hop == known.end() ? ExpectedHop{~0u, {}} : hop->second);
  }
  for (const auto& entry : table.entries) {
    const auto group = static_cast<lookup::GroupId>(entry.next_hop_set + 1);
    if (entry.prefix.address.family == lookup::Family::kIpv4)
      routes4_.push_back({entry.prefix.v4(), group});
    else
      routes6_.push_back({entry.prefix.v6(), group});
  }
  sort_out(routes4_);
  sort_out(routes6_);
  reference4_.emplace(routes4_);
  reference6_.emplace(routes6_);
}

std::optional<ExpectedHop> ExpectedHops::find(std::span<const uint8_t> frame) const {
  lookup::GroupId group = 0;
  if (is_ipv4(frame)) {
    uint32_t address = 0;
    for (size_t i = 0; i < 4; ++i) address = address << 8 | frame[kDestination4 + i];
    group = reference4_->find(address);
  } else {
    lookup::Ipv6Address address;
    std::memcpy(address.bytes.data(), &frame[kDestination6], address.bytes.size());
    group = reference6_->find(address);
  }
  if (group == lookup::kNoRoute || hops_[group - 1u].side == ~0u) return std::nullopt;
  return hops_[group - 1u];
}

uint16_t checksum_by_definition(std::span<const uint8_t> header) {
  uint32_t sum = 0;
  for (size_t i = 0; i + 1 < header.size(); i += 2)
    sum += static_cast<uint32_t>(header[i] << 8 | header[i + 1]);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

std::vector<uint8_t> forwarded(std::span<const uint8_t> frame, const MacAddress& to,
                               const MacAddress& from) {
  std::vector<uint8_t> out(frame.begin(), frame.end());
  std::memcpy(out.data(), to.data(), to.size());
  std::memcpy(out.data() + to.size(), from.data(), from.size());
  if (!is_ipv4(frame)) {
    --out[kHopLimit];
    return out;
  }
  --out[kTtl];
  out[kChecksum] = out[kChecksum + 1] = 0;
  const uint16_t sum =
      checksum_by_definition(std::span(out).subspan(kIp, (out[kIp] & 0xfu) * size_t{4}));
  out[kChecksum] = static_cast<uint8_t>(sum >> 8);
  out[kChecksum + 1] = static_cast<uint8_t>(sum);
  return out;
}

std::optional<std::string> difference(std::span<const uint8_t> got,
                                      std::span<const uint8_t> right) {
  if (got.size() != right.size())
    return fmt::format("has {} bytes, not {}", got.size(), right.size());
  const auto differs = [&](size_t at, size_t bytes) {
    return std::memcmp(&got[at], &right[at], bytes) != 0;
  };
  if (differs(0, 6)) return fmt::format("goes to MAC {}, not {}", mac_at(got, 0), mac_at(right, 0));
  if (differs(6, 6))
    return fmt::format("comes from MAC {}, not {}", mac_at(got, 6), mac_at(right, 6));
  const bool v4 = is_ipv4(right);
  const size_t ttl = v4 ? kTtl : kHopLimit;
  if (differs(ttl, 1))
    return fmt::format("has {} {}, not {}", v4 ? "TTL" : "hop limit", got[ttl], right[ttl]);
  if (v4 && differs(kChecksum, 2))
    return fmt::format("has checksum 0x{:02x}{:02x}, not 0x{:02x}{:02x}", got[kChecksum],
                       got[kChecksum + 1], right[kChecksum], right[kChecksum + 1]);
  const auto wrong = std::mismatch(got.begin(), got.end(), right.begin());
  if (wrong.first == got.end()) return std::nullopt;
  const auto at = static_cast<size_t>(wrong.first - got.begin());
  const size_t header = kIp + (v4 ? (right[kIp] & 0xfu) * size_t{4} : 40);
  return fmt::format("differs in {} byte {}: 0x{:02x}, not 0x{:02x}",
                     at < header ? "header" : "payload", at < header ? at - kIp : at - header,
                     *wrong.first, *wrong.second);
}

}  // namespace hecto::bench
