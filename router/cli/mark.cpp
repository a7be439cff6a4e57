#include "router/cli/mark.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "router/cli/fields.hpp"

namespace hecto::cli {
namespace {

constexpr int64_t kClockSlack_s = 5;  // between the router's uptime and this clock

const char* const kDirection[] = {"packets", "bytes", "missed", "no_mbuf", "errors"};
const char* const kInterface[] = {"rx_packets", "rx_bytes", "tx_packets", "tx_bytes"};
const char* const kTotals[] = {"received",         "injected", "fragments", "copies", "transmitted",
                               "too_big_answered", "punted",   "dropped",   "missed", "no_mbuf"};

template <size_t N>
void subtract(json& now, const json& before, const char* const (&keys)[N]) {
  if (!now.is_object()) return;
  for (const char* key : keys) {
    const uint64_t was = whole(before, key), is = whole(now, key);
    if (now.contains(key) && is >= was) now[key] = is - was;
  }
}

// The rows of both by their name.
template <typename Work>
void each_row(json& now, const json& before, const char* rows, const char* name, Work work) {
  if (!now.contains(rows) || !now[rows].is_array()) return;
  for (json& row : now[rows])
    for (const json& old : list(before, rows))
      if (at(old, name) == at(row, name)) work(row, old);
}

void without_idle(json& answer, const char* rows) {
  if (!answer.contains(rows) || !answer[rows].is_array()) return;
  json& list = answer[rows];
  list.erase(std::remove_if(list.begin(), list.end(),
                            [](const json& row) { return whole(row, "packets") == 0; }),
             list.end());
}

void subtract_drops(json& answer, const json& marked) {
  static const char* const kPackets[] = {"packets"};
  for (const char* rows : {"drops", "punts"}) {
    each_row(answer, marked, rows, "reason", [](json& row, const json& old) {
      subtract(row, old, kPackets);
      each_row(row, old, "where", "interface", [](json& at_interface, const json& then) {
        subtract(at_interface, then, kPackets);
      });
    });
    without_idle(answer, rows);
  }
  if (!answer.contains("totals")) return;
  // What was in flight then came before the mark and went behind it.
  json before = at(marked, "totals");
  if (before.is_object())
    before["received"] =
        whole(before, "received") - std::min(whole(before, "received"), whole(before, "in_flight"));
  subtract(answer["totals"], before, kTotals);
}

}  // namespace

json since_mark(const std::string& noun, json answer, const json& marked) {
  static const char* const kClass[] = {"passed", "dropped"};
  static const char* const kDropped[] = {"dropped"};
  if (noun == "ports")
    each_row(answer, marked, "ports", "name", [](json& row, const json& old) {
      for (const char* way : {"rx", "tx"})
        if (row.contains(way)) subtract(row[way], at(old, way), kDirection);
    });
  if (noun == "interfaces")
    each_row(answer, marked, "interfaces", "name", [](json& row, const json& old) {
      if (row.contains("counters")) subtract(row["counters"], at(old, "counters"), kInterface);
    });
  if (noun == "punt")
    each_row(answer, marked, "classes", "class", [](json& row, const json& old) {
      subtract(row, old, kClass);
      each_row(row, old, "where", "interface", [](json& at_interface, const json& then) {
        subtract(at_interface, then, kDropped);
      });
    });
  if (noun == "drops") subtract_drops(answer, marked);
  return answer;
}

std::string mark_file(const std::string& socket) {
  const auto variable = [](const char* name) {
    const char* set = std::getenv(name);
    return std::string(set == nullptr ? "" : set);
  };
  std::string folder = variable("XDG_STATE_HOME");
  if (folder.empty() && !variable("HOME").empty()) folder = variable("HOME") + "/.local/state";
  if (folder.empty()) return {};
  std::string name = socket;
  std::replace(name.begin(), name.end(), '/', '_');
  return folder + "/hecto/clear" + name + ".json";
}

std::optional<json> read_mark(const std::string& file, const json& summary, int64_t now_unix_s) {
  std::ifstream stream(file);
  if (!stream) return std::nullopt;
  json mark = json::parse(stream, nullptr, false);
  const auto age = now_unix_s - static_cast<int64_t>(whole(mark, "at_unix_s"));
  const bool same = at(mark, "pid") == at(summary, "pid") &&
                    age <= static_cast<int64_t>(whole(summary, "uptime_s")) + kClockSlack_s;
  return same && mark.is_object() ? std::optional(std::move(mark)) : std::nullopt;
}

}  // namespace hecto::cli
