#include "router/control/filter_log.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "config/file/ipsec.hpp"
#include "lookup/prefix.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::router {
namespace {

constexpr size_t kMostSuppressed = 4096;  // rules that are told apart

bool is_icmp(uint8_t protocol) {
  return protocol == 1 || protocol == 58;
}

std::string address_text(const FilterLogKey& key, const std::array<uint8_t, 16>& bytes) {
  if ((key.bits & FilterLogKey::kSix) == 0)
    return lookup::IpAddress::from(lookup::Ipv4Address{load32_be(bytes.data())}).to_string();
  lookup::Ipv6Address address;
  std::memcpy(address.bytes.data(), bytes.data(), 16);
  return lookup::IpAddress::from(address).to_string();
}

std::string end_text(const FilterLogKey& key, const std::array<uint8_t, 16>& bytes, uint16_t port) {
  const std::string address = address_text(key, bytes);
  if ((key.bits & FilterLogKey::kPorts) == 0 || is_icmp(key.protocol)) return address;
  if ((key.bits & FilterLogKey::kSix) != 0) return fmt::format("[{}]:{}", address, port);
  return fmt::format("{}:{}", address, port);
}

std::string logged_verdict(Reason reason) {
  return reason == Reason::kNone             ? "accept"
         : reason == Reason::kFilterRejected ? "reject"
         : reason == Reason::kPoliced        ? "police"
                                             : "drop";
}

std::string counted(uint64_t number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

}  // namespace

FilterLog::FilterLog() : write_([](const std::string& line) { spdlog::info("{}", line); }) {}

std::shared_ptr<const FilterLogTaps> FilterLog::taps(unsigned threads) {
  if (!taps_) taps_ = std::make_shared<FilterLogTaps>(threads, rte_get_tsc_hz());
  return taps_;
}

void FilterLog::use(Names names) {
  if (names.rules == names_.rules) {
    names_.interfaces = std::move(names.interfaces);
    return;
  }
  before_ = std::exchange(names_, std::move(names));
}

std::string FilterLog::rule_of(uint32_t slot) const {
  for (const Names* names : {&names_, &before_})
    if (const auto found = names->rules.find(slot); found != names->rules.end())
      return found->second;
  return "filter rule that has gone";
}

std::string FilterLog::line_of(const FilterLogRecord& record) const {
  const FilterLogKey& key = record.key;
  std::string interface = fmt::format("interface {}", key.interface);
  if (const auto found = names_.interfaces.find(key.interface); found != names_.interfaces.end())
    interface = found->second;
  std::string more;
  if ((key.bits & FilterLogKey::kLater) != 0)
    more = " later fragment";
  else if ((key.bits & FilterLogKey::kPorts) != 0 && is_icmp(key.protocol))
    more = fmt::format(" type {} code {}", key.source_port >> 8, key.source_port & 0xff);
  return fmt::format("{}: {} {} {} -> {}{} on {}{} ({})", rule_of(key.slot),
                     logged_verdict(key.reason), config::protocol_text(key.protocol),
                     end_text(key, key.source, key.source_port),
                     end_text(key, key.destination, key.destination_port), more, interface,
                     key.place == FilterPlace::kIn ? "" : fmt::format(", {}", to_string(key.place)),
                     counted(record.packets, "packet"));
}

void FilterLog::tell(const FilterLogRecord& record) {
  unsigned& of_rule = lines_of_rules_[record.key.slot];
  if (of_rule < kLinesOfARule && lines_of_second_ < kLinesASecond) {
    ++of_rule;
    ++lines_of_second_;
    ++counts_.lines;
    write_(line_of(record));
    return;
  }
  ++counts_.untold_flows;
  counts_.untold_packets += record.packets;
  const bool room = suppressed_.size() < kMostSuppressed;
  Suppressed& suppressed = suppressed_[room ? rule_of(record.key.slot) : "filters: other rules"];
  ++suppressed.flows;
  suppressed.packets += record.packets;
}

void FilterLog::begin_second(Clock::time_point now) {
  if (now - second_ < std::chrono::seconds(1)) return;
  second_ = now;
  lines_of_second_ = 0;
  lines_of_rules_.clear();
}

FilterLog::Lost FilterLog::lost() const {
  Lost lost;
  for (size_t i = 0; taps_ && i < taps_->size(); ++i) {
    const FilterLogTap& tap = (*taps_)[i];
    lost.flows += tap.lost_flows().get();
    lost.packets += tap.lost_packets().get() + tap.untold().get();
  }
  return lost;
}

FilterLog::Counts FilterLog::counts() const {
  Counts counts = counts_;
  const Lost lost = this->lost();
  counts.untold_flows += lost.flows;
  counts.untold_packets += lost.packets;
  return counts;
}

// The most first; those for which there is no line together.
void FilterLog::summarize() {
  std::vector<std::pair<std::string, Suppressed>> rules(suppressed_.begin(), suppressed_.end());
  suppressed_.clear();
  std::ranges::stable_sort(
      rules, [](const auto& a, const auto& b) { return a.second.packets > b.second.packets; });
  Suppressed others;
  for (size_t i = 0; i < rules.size(); ++i) {
    const auto& [rule, sum] = rules[i];
    if (i < kMostSummarized) {
      write_(fmt::format("{}: {} more with {}, not told one by one", rule,
                         counted(sum.flows, "flow"), counted(sum.packets, "packet")));
      continue;
    }
    others.flows += sum.flows;
    others.packets += sum.packets;
  }
  if (others.flows > 0)
    write_(fmt::format("filters: {} more with {} of other rules, not told one by one",
                       counted(others.flows, "flow"), counted(others.packets, "packet")));
  const Lost lost = this->lost();
  if (lost.packets != told_lost_.packets)
    write_(fmt::format(
        "filters: {} more of rules with log, of too many flows at once to be told of which",
        counted(lost.packets - told_lost_.packets, "packet")));
  told_lost_ = lost;
}

void FilterLog::write(Clock::time_point now) {
  if (!taps_) return;
  begin_second(now);
  unsigned left = kMostRead;
  for (bool more = true; more && left > 0;) {
    more = false;
    for (size_t i = 0; i < taps_->size() && left > 0; ++i) {
      CaptureRing& ring = (*taps_)[i].ring();
      const std::span<const std::byte> entry = ring.front();
      if (entry.size() != sizeof(FilterLogRecord)) continue;
      FilterLogRecord record;
      std::memcpy(&record, entry.data(), sizeof record);
      ring.pop();
      tell(record);
      --left;
      more = true;
    }
  }
  if (now - summary_ < kSummary) return;
  summary_ = now;
  summarize();
}

}  // namespace hecto::router
