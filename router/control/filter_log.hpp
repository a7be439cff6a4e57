// What rules of `log: true` hold for, as lines of the log.
//
//   FilterLogTap of each worker ─► ring ─► write(): a line a flow ─► log
//
//   filter edge rule spoofed: drop tcp 192.0.2.9:4000 -> 203.0.113.5:22 on wan0 (12 packets)
//
// Of one rule at most kLinesOfARule a second are written, of all kLinesASecond: what floods one rule does not
// hide the others. What is more, and what found no room before it came here, is counted, and told of each rule
// in a line each kSummary as long as there is some. What is written is bounded whatever comes.
//
// Control only.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "router/dataplane/observe/filter_log.hpp"

namespace hecto::router {

class FilterLog {
 public:
  using Clock = std::chrono::steady_clock;
  using Write = std::function<void(const std::string& line)>;
  static constexpr unsigned kLinesOfARule = 20, kLinesASecond = 60;
  static constexpr unsigned kMostRead = 1024;     // records of a call
  static constexpr unsigned kMostSummarized = 8;  // rules
  static constexpr std::chrono::seconds kSummary{10};

  FilterLog();  // into hectod's
  explicit FilterLog(Write write) : write_(std::move(write)) {}

  // Of all threads; those that there are, or made now.
  std::shared_ptr<const FilterLogTaps> taps(unsigned threads);

  struct Names {
    std::map<uint32_t, std::string> rules;  // by slot of their counters: filter edge rule spoofed
    std::map<uint16_t, std::string> interfaces;  // by number
  };
  // From now on; those of before are known as long as these are, for what workers still tell by them.
  void use(Names names);

  void write(Clock::time_point now);  // some records; what is more stays for the next call

  struct Counts {
    uint64_t lines = 0;
    // That no line tells of. Packets also such as were of no flow that a worker could follow.
    uint64_t untold_flows = 0, untold_packets = 0;
  };
  Counts counts() const;

 private:
  struct Suppressed {
    uint64_t flows = 0, packets = 0;
  };
  struct Lost {  // by workers
    uint64_t flows = 0, packets = 0;
  };
  void tell(const FilterLogRecord& record);
  void begin_second(Clock::time_point now);
  void summarize();
  Lost lost() const;
  std::string rule_of(uint32_t slot) const;
  std::string line_of(const FilterLogRecord& record) const;

  const Write write_;
  std::shared_ptr<FilterLogTaps> taps_;  // null: no rule has been told in the log yet
  Names names_, before_;
  Clock::time_point second_{}, summary_{};
  unsigned lines_of_second_ = 0;
  std::map<uint32_t, unsigned> lines_of_rules_;   // in this second
  std::map<std::string, Suppressed> suppressed_;  // since the last summary, by rule
  Lost told_lost_;                                // in summaries
  Counts counts_;                                 // of control's own
};

}  // namespace hecto::router
