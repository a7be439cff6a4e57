// Filters of the file: lists of rules, and what they lean on: named sets of prefixes and policers.
// Values only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/file/rules.hpp"
#include "lookup/prefix.hpp"

namespace hecto::config {

inline constexpr size_t kMostPrefixSets = 32;  // a packet's are the bits of one word
inline constexpr size_t kMostFilters = 255;
inline constexpr size_t kMostFilterRules = 250'000;  // of all filters
inline constexpr size_t kMostSetPrefixes = 1'000'000;
inline constexpr size_t kMostPolicers = 4096;
inline constexpr size_t kMostPortSpans = 128;   // of sport, and of dport
inline constexpr size_t kMostPortPairs = 1024;  // of both: the engine has an entry for each
inline constexpr size_t kMostFilterName = 63;   // letters; also of a set, a policer and a rule
inline constexpr uint64_t kMostPolicerRate_bps = 400'000'000'000;
inline constexpr size_t kMostPolicedPrefixes =
    4'194'304;                                      // that have a bucket each, of all policers
inline constexpr size_t kMostPolicedSets = 65'535;  // of policers, the sets of each
// A bucket, and what finds it: measured of a million random /32 and /64, of which tables are the largest.
inline constexpr size_t kPolicedPrefix4_bytes = 192, kPolicedPrefix6_bytes = 768;

// Prefixes of both families by one name.
struct PrefixSetConfig {
  std::string name;
  std::vector<lookup::IpPrefix> prefixes;  // the file's own; those of `file` are beside it
  std::string file;                        // one prefix a line; empty: none
  // What stood in `file`, sorted and each once; null: there is none.
  std::shared_ptr<const std::vector<lookup::IpPrefix>> of_file;
  bool operator==(const PrefixSetConfig& other) const;
  size_t size() const;  // prefixes, of both
};

// RFC 2697 (rate, burst, excess), RFC 2698 (rate, burst, peak, peak_burst) or RFC 4115 (all but
// `peak`, with `excess_rate`), by the keys that are there; bytes of IP packets.
enum class Meter : uint8_t { kSingleRate, kTwoRate, kDifferentiated };
// Whose prefix has a bucket of its own: the longest one of a rule's set that the address is in.
enum class PoliceEach : uint8_t { kNone, kSource, kDestination };
struct PolicerConfig {
  std::string name;
  uint64_t rate_bps = 0;      // committed
  uint64_t burst_bytes = 0;   // of it
  uint64_t excess_bytes = 0;  // RFC 2697: excess burst; RFC 4115 too
  uint64_t peak_bps = 0;      // RFC 2698; 0: it is not one
  uint64_t peak_burst_bytes = 0;
  uint64_t excess_bps = 0;  // RFC 4115; 0: it is not one
  // Of what is over the committed rate and within the excess (yellow): a DSCP, or dropped as what
  // exceeds both (red) always is.
  std::optional<uint8_t> yellow_dscp;
  bool drops_yellow = false;
  // Held to it without a filter: what comes in, or leaves, by these interfaces; each has its own.
  std::vector<std::string> in, out;
  PoliceEach each = PoliceEach::kNone;
  Meter meter() const {
    return peak_bps != 0     ? Meter::kTwoRate
           : excess_bps != 0 ? Meter::kDifferentiated
                             : Meter::kSingleRate;
  }
  bool operator==(const PolicerConfig&) const = default;
};

enum class FilterVerdict : uint8_t { kAccept, kDrop, kReject };
enum class FragmentMatch : uint8_t {
  kAny,
  kNone,
  kFirst,
  kLater,
  kFragment
};  // kFragment: first or later

// An end of a packet: a prefix, a set, or anything.
struct FilterEnd {
  std::optional<lookup::IpPrefix> prefix;
  std::string set;  // empty: none
  bool operator==(const FilterEnd&) const = default;
  bool any() const { return !prefix && set.empty(); }
};

struct NumberSpan {
  uint32_t first = 0, last = 0;  // both included
  bool operator==(const NumberSpan&) const = default;
};

// What a rule asks of packets, all of it; and what becomes of those that it is the first to hold for.
struct FilterRuleConfig {
  std::string name;                       // empty: it has its number's
  RuleFamily family = RuleFamily::kAuto;  // that of prefixes, sets and protocol; else both
  FilterEnd from, to;
  uint8_t protocol = 0;  // 0: any. icmp is 1 in IPv4 and 58 in IPv6, so it stands for both: 1
  std::vector<PortSpan> sources, destinations;  // keys: sport, dport; empty: any
  // TCP flags (RFC 9293), FIN is bit 0: those of `mask` are as in `set`. Mask 0: any.
  uint8_t tcp_mask = 0, tcp_set = 0;
  std::optional<NumberSpan> icmp_type, icmp_code;
  // The type is a word that both families have: that of ICMPv4 is given (filter_words.hpp has the
  // other). Else the rule holds for one family, and the type is that one's.
  bool icmp_both = false;
  FragmentMatch fragments = FragmentMatch::kAny;
  std::optional<uint8_t> dscp;
  std::optional<NumberSpan> length;  // of the IP packet, bytes
  std::string iif;                   // the interface that it came in by; empty: any
  std::vector<PortSpan> vlans;       // key: vlan; its tag, the outer one of two; empty: any
  std::optional<uint32_t> mark;      // that an earlier filter gave it

  FilterVerdict verdict = FilterVerdict::kAccept;  // key: action
  std::string police;                              // a policer; empty: none
  std::optional<uint32_t> set_mark;
  std::optional<uint8_t> set_dscp;
  // Look it up there; 0: as always. That of `vrf`, too, but with a Linux side, which knows it.
  uint32_t table = 0;
  std::string vrf;
  bool log = false;
  uint32_t sample = 0;  // one in so many goes to sFlow; 0: none
  std::string mirror;   // a port that gets a copy; empty: none
  bool operator==(const FilterRuleConfig&) const = default;

  // Whether its packets may be of that family, by all but the sets that it names.
  bool holds_for(lookup::Family of) const;
  // Whether it asks for what stands behind the IP header, which fragments behind the first lack.
  bool asks_for_ports() const {
    return !sources.empty() || !destinations.empty() || tcp_mask != 0 || icmp_type || icmp_code;
  }
};

struct FilterConfig {
  std::string name;
  // Where: interfaces that packets come in or leave by, VRFs, and what reaches the router itself.
  std::vector<std::string> in, out, vrfs;
  bool local = false;
  FilterVerdict otherwise = FilterVerdict::kAccept;  // for what no rule holds
  std::vector<FilterRuleConfig> rules;
  bool operator==(const FilterConfig&) const = default;
};

// All of it; as one value it is compiled.
struct FiltersConfig {
  std::vector<PrefixSetConfig> sets;
  std::vector<PolicerConfig> policers;
  std::vector<FilterConfig> filters;
  bool operator==(const FiltersConfig&) const = default;
  bool empty() const;  // nothing is judged, and nothing held to a rate
};

// A policer with `each`, and a set whose prefixes rules hold to it; by their places in the lists.
struct PolicedSet {
  size_t policer = 0, set = 0;
  auto operator<=>(const PolicedSet&) const = default;
};
std::vector<PolicedSet> policed_sets(const FiltersConfig& filters);  // in order, each once
size_t policed_prefixes(const FiltersConfig& filters);               // that have a bucket each
uint64_t policed_bytes(const PrefixSetConfig& set);  // memory that they take at most
uint64_t policed_bytes(const FiltersConfig& filters);
// The set that says which prefixes those are; empty: none does.
const std::string& policed_end(const FilterRuleConfig& rule, PoliceEach each);
// Why there is no room for them; empty: there is.
std::string why_not_policed(const FiltersConfig& filters);

const char* to_string(FilterVerdict verdict) noexcept;
const char* to_string(FragmentMatch fragments) noexcept;
const char* to_string(PoliceEach each) noexcept;
std::string to_string(const FilterRuleConfig& rule);           // {from: bogons, action: drop}
std::string to_string(const PrefixSetConfig& set);             // [10.0.0.0/8], or {file: /x}
std::string to_string(const PolicerConfig& policer);           // {rate: 1Mbps, burst: 64000}
std::string name_of(const FilterConfig& filter, size_t rule);  // its own, or its number from 1

}  // namespace hecto::config
