#include "bench/traffic/verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <numeric>

namespace hecto::bench {
namespace {

struct Named {
  Verdict verdict;
  const char* name;
  const char* meaning;
};
constexpr Named kNamed[] = {
    {Verdict::kMisrouted, "misrouted",
     "by another port than the stream's `to`; check the device's routes, and the cables"},
    {Verdict::kReflected, "reflected",
     "by the port that sent them; check for a loop, or a route back to where they came from"},
    {Verdict::kUnchanged, "unchanged",
     "TTL as it was sent: a wire or a bridge, no router; expect: wire where that is right"},
    {Verdict::kHopLimit, "hop_limit",
     "TTL counted down by another number than expected; expect: {hops: N} where there are N "
     "routers"},
    {Verdict::kDestinationMac, "destination_mac",
     "for another MAC address than the next hop's; check the device's neighbors, or say "
     "expect: {destination_mac: MAC}"},
    {Verdict::kVlan, "vlan",
     "in another VLAN than expected, or none; check the device's interfaces, or say expect: "
     "{vlan: ID}"},
    {Verdict::kTruncated, "truncated",
     "shorter than they were sent; check the MTU and what else the device does to them"},
    {Verdict::kPadded, "padded", "longer than they were sent; the device adds bytes"},
    {Verdict::kChecksum, "checksum", "the IPv4 header's checksum is wrong; the device breaks it"},
    {Verdict::kCorrupted, "corrupted",
     "addresses, ports or payload are not those that were sent; the device, a NAT in it, or the "
     "wire changes them"}};
static_assert(std::size(kNamed) + 1 == kVerdicts);

}  // namespace

const char* to_string(Verdict verdict) {
  for (const Named& kind : kNamed)
    if (kind.verdict == verdict) return kind.name;
  return "right";
}

uint64_t WrongCounts::total() const {
  return std::accumulate(by_verdict.begin(), by_verdict.end(), uint64_t{0});
}

void WrongCounts::add(const WrongCounts& other) {
  for (size_t i = 0; i < kVerdicts; ++i) by_verdict[i] += other.by_verdict[i];
}

std::string WrongCounts::text() const {
  std::vector<std::string> parts;
  for (const Named& kind : kNamed)
    if (const uint64_t packets = (*this)[kind.verdict]; packets > 0)
      parts.push_back(fmt::format("{} {}", packets, kind.name));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<std::string> WrongCounts::lines() const {
  std::vector<std::string> lines;
  for (const Named& kind : kNamed)
    if (const uint64_t packets = (*this)[kind.verdict]; packets > 0)
      lines.push_back(fmt::format("{} packets came back {}: {}", packets, kind.name, kind.meaning));
  return lines;
}

nlohmann::json to_json(const WrongCounts& wrong) {
  nlohmann::json out = nlohmann::json::object();
  for (const Named& kind : kNamed)
    if (const uint64_t packets = wrong[kind.verdict]; packets > 0) out[kind.name] = packets;
  return out;
}

WrongCounts wrong_counts(const nlohmann::json& by_name) {
  WrongCounts counts;
  for (const Named& kind : kNamed) counts[kind.verdict] = by_name.value(kind.name, uint64_t{0});
  return counts;
}

}  // namespace hecto::bench
