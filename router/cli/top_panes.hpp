// The panes of `hecto top`, one table each. Pure.
#pragma once

#include <string>
#include <vector>

#include "router/cli/render_top.hpp"

namespace hecto::cli {

// What became of the counters between two answers.
class Growth {
 public:
  Growth(const TopSample& now, const TopSample& before);

  const nlohmann::json& now(const char* noun) const;
  // The row of the earlier answer whose `key` is the same; null where there is none.
  const nlohmann::json& earlier(const char* noun, const char* rows, const nlohmann::json& row,
                                const char* key) const;
  const nlohmann::json& earlier(const char* noun) const;
  // Per second; the router's own rate where the earlier answer does not have the counter.
  double rate(const nlohmann::json& row, const nlohmann::json& earlier, const char* counter,
              const char* own_rate) const;
  bool known() const { return seconds_ > 0; }  // there is an earlier answer of the same run

 private:
  const nlohmann::json& now_;
  const nlohmann::json& before_;
  double seconds_ = 0;
};

struct Rates {
  double pps = 0, bps = 0;
};
Rates rates_of(const Growth& growth, const nlohmann::json& way, const nlohmann::json& earlier);
// Lost before a worker saw them, by all ports.
double missed_pps(const Growth& growth, const nlohmann::json& port);

// The pane's lines, headings first; one line where there is nothing to show.
std::vector<std::string> top_pane(TopPane pane, const Growth& growth, bool by_bits, Style style);

}  // namespace hecto::cli
