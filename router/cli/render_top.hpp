// The screen of `hecto top`: a pure function of two answers of the router and what is looked at.
//
// Rates are those between both answers; without an earlier one, or of another run of the router,
// they are the router's own, of its last full second. Next hops have no counters: what is heaviest
// on the way out is told by interface, and by port where interfaces are not counted.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "router/cli/table.hpp"

namespace hecto::cli {

// What is asked for each picture, by its name in the API.
inline constexpr const char* kTopNouns[] = {"summary", "ports", "interfaces",
                                            "workers", "drops", "punt"};

// Besides, where flows are looked at: the router takes samples while it is asked.
inline constexpr const char* kTopFlows = "flows/top";

struct TopSample {
  nlohmann::json answers;  // by noun; null: none came yet
  double at_s = 0;         // of a clock that never goes back
};

enum class TopPane : uint8_t { kAll, kPorts, kWorkers, kDrops, kEgress, kPunt, kFlows };
inline constexpr unsigned kTopPanes = 7;

struct TopView {
  TopPane pane = TopPane::kAll;
  bool by_bits = false;  // what is sorted by, and stays when columns must go
  bool paused = false;
  bool help = false;
  size_t first = 0;  // row of a single pane that is on top
  double interval_s = 1;
  std::string clock;
  std::string trouble;  // why the answer is old; empty: it is not
  double age_s = 0;     // of the answer
  size_t rows = 0;      // 0: no screen, all of it
};

// At most `view.rows` lines of at most `style.width` columns.
std::vector<std::string> render_top(const TopSample& now, const TopSample& before,
                                    const TopView& view, Style style);

}  // namespace hecto::cli
