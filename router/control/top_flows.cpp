#include "router/control/top_flows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/bytes.hpp"
#include "base/ether.hpp"
#include "base/frame_tags.hpp"
#include "router/ipsec/esp/flow_key.hpp"

namespace hecto::router {
namespace {

constexpr uint8_t kIcmp = 1, kIcmpV6 = 58;

int64_t second_of(TopFlows::Clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

std::optional<lookup::IpAddress> address_in(uint16_t ether_type,
                                            const std::array<uint8_t, 16>& bytes) {
  if (ether_type == __builtin_bswap16(kEtherIpv4))
    return lookup::IpAddress{lookup::Family::kIpv4, bytes};
  if (ether_type == __builtin_bswap16(kEtherIpv6))
    return lookup::IpAddress{lookup::Family::kIpv6, bytes};
  return std::nullopt;
}

uint64_t mixed(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

}  // namespace

std::optional<lookup::IpAddress> SampledFlow::source_address() const {
  return address_in(ether_type, source);
}

std::optional<lookup::IpAddress> SampledFlow::destination_address() const {
  return address_in(ether_type, destination);
}

SampledFlow flow_of(const FlowRecord& record, std::span<const std::byte> header) {
  SampledFlow flow;
  flow.fate = record.fate;
  flow.port = record.port;
  flow.egress = record.fate == SampleFate::kForwarded ? record.egress : PortId(0);
  flow.reason = record.reason;
  const auto* frame = reinterpret_cast<const uint8_t*>(header.data());
  if (header.size() < kEthernetBytes) return flow;
  const FrameTags l2 = read_frame_tags(frame, static_cast<uint32_t>(header.size()));
  flow.tags = l2.tags;
  flow.ether_type = __builtin_bswap16(l2.ether_type);
  const bool ipv4 = l2.ether_type == kEtherIpv4;
  const size_t bytes = header.size() - std::min<size_t>(header.size(), l2.l2_bytes);
  if ((!ipv4 && l2.ether_type != kEtherIpv6) || bytes < (ipv4 ? kIpv4Bytes : kIpv6Bytes))
    return flow;
  const esp::FlowKey key = esp::flow_key(ipv4 ? lookup::Family::kIpv4 : lookup::Family::kIpv6,
                                         frame + l2.l2_bytes, static_cast<uint32_t>(bytes));
  flow.source = key.source.bytes;
  flow.destination = key.destination.bytes;
  flow.protocol = key.protocol;
  if (key.protocol == kIcmp || key.protocol == kIcmpV6) return flow;
  flow.source_port = key.source_port;
  flow.destination_port = key.destination_port;
  return flow;
}

double FlowSum::error_percent() const {
  return samples == 0 ? 100 : 196 / std::sqrt(static_cast<double>(samples));
}

size_t TopFlows::Hash::operator()(const SampledFlow& flow) const noexcept {
  uint64_t words[4], hash = 0;
  std::memcpy(words, flow.source.data(), 16);
  std::memcpy(words + 2, flow.destination.data(), 16);
  for (const uint64_t word : words) hash = mixed(hash, word);
  hash = mixed(hash, uint64_t{flow.source_port} << 32 | uint64_t{flow.destination_port} << 16 |
                         flow.ether_type);
  return mixed(hash, uint64_t{flow.port} << 32 | uint64_t{flow.egress} << 16 |
                         uint64_t{flow.protocol} << 8 | static_cast<uint64_t>(flow.fate));
}

void TopFlows::clear() {
  for (Second& second : seconds_) second = {};
  first_ = -1;
}

void TopFlows::add(const FlowRecord& record, std::span<const std::byte> header,
                   Clock::time_point now) {
  const int64_t number = second_of(now);
  if (first_ < 0) first_ = number;
  Second& second = seconds_[static_cast<size_t>(number) % seconds_.size()];
  if (second.number != number) {
    second.flows.clear();
    second.all = {};
    second.number = number;
  }
  const FlowSum one{1, record.rate, uint64_t{record.rate} * record.length};
  second.all.add(one);
  const SampledFlow flow = flow_of(record, header);
  if (const auto found = second.flows.find(flow); found != second.flows.end())
    found->second.add(one);
  else if (second.flows.size() < kMostFlows)
    second.flows.emplace(flow, one);
}

TopFlows::Answer TopFlows::top(unsigned seconds, bool by_packets, size_t limit,
                               Clock::time_point now) const {
  Answer answer;
  if (first_ < 0) return answer;
  const int64_t running = second_of(now);
  // The first one that was begun was not whole.
  const int64_t from = std::max(running - static_cast<int64_t>(seconds), first_ + 1);
  if (from >= running) return answer;
  answer.seconds = static_cast<unsigned>(running - from);
  Flows sums;
  for (const Second& second : seconds_) {
    if (second.number < from || second.number >= running) continue;
    answer.all.add(second.all);
    for (const auto& [flow, sum] : second.flows) sums[flow].add(sum);
  }
  answer.known = sums.size();
  for (const auto& [flow, sum] : sums) answer.flows.push_back({flow, sum});
  const auto size = [by_packets](const Row& row) {
    return by_packets ? row.sum.packets : row.sum.bytes;
  };
  const size_t kept = std::min(limit, answer.flows.size());
  std::partial_sort(answer.flows.begin(), answer.flows.begin() + static_cast<ptrdiff_t>(kept),
                    answer.flows.end(),
                    [&](const Row& a, const Row& b) { return size(a) > size(b); });
  answer.flows.resize(kept);
  return answer;
}

}  // namespace hecto::router
