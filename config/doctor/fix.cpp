#include "config/doctor/fix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "config/doctor/checks.hpp"

namespace hecto::config {
namespace {

constexpr std::string_view kSysctl = "/proc/sys/";

void switch_off(const Change& change, Ethtool& ethtool, bool persist, Fixes& fixes) {
  const std::string feature = to_string(change.feature);
  if (auto done = ethtool.set(change.interface, change.feature, false); !done) {
    fixes.failed.push_back(done.error().message);
    return;
  }
  fixes.done.push_back(
      {fmt::format("{} of {} is off{}", feature, change.interface,
                   persist ? ", which no file keeps: hectod does it at each start" : ""),
       fmt::format("ethtool -K {} {} on", change.interface, feature)});
}

bool write(const Change& change, MachineFiles& files, Fixes& fixes) {
  const std::string before = chosen(files.text(change.file).value_or(""));
  if (auto done = files.write(change.file, change.value); !done) {
    fixes.failed.push_back(done.error().message);
    return false;
  }
  fixes.done.push_back({fmt::format("{} is {}, was {}", change.file, change.value, before),
                        fmt::format("echo {} > {}", before, change.file)});
  // The kernel takes what it can of hugepages, and says nothing.
  const std::string now = chosen(files.text(change.file).value_or(""));
  if (now == change.value) return true;
  fixes.done.back().what = fmt::format("{} is {}, was {}", change.file, now, before);
  fixes.failed.push_back(
      fmt::format("{} is {} of {}: memory is too full, or in too many pieces; reserve at boot",
                  change.file, now, change.value));
  return true;
}

// `line` in place of the one that begins with `key`, or at the end.
void put(std::string& text, const std::string& key, const std::string& line) {
  std::istringstream lines(text);
  std::string out;
  for (std::string each; std::getline(lines, each);)
    if (!each.starts_with(key)) out += each + "\n";
  text = out + line + "\n";
}

struct Kept {
  const char* file;
  std::string before, now;
};

void keep(const std::vector<Change>& changes, MachineFiles& files, Fixes& fixes) {
  Kept kept[] = {{kSysctlFile, {}, {}}, {kTmpfilesFile, {}, {}}};
  for (Kept& each : kept) {
    each.now = each.before = files.text(each.file).value_or("");
    if (each.now.empty()) each.now = "# Written by hecto doctor --fix --persist.";
    each.now += "\n";
  }
  const std::string fresh[] = {kept[0].now, kept[1].now};
  for (const Change& change : changes) {
    if (change.file.starts_with(kSysctl)) {
      std::string key = change.file.substr(kSysctl.size());
      std::ranges::replace(key, '/', '.');
      put(kept[0].now, key + " =", key + " = " + change.value);
    } else {
      const std::string key = fmt::format("w {} ", change.file);
      put(kept[1].now, key, fmt::format("{}- - - - {}", key, change.value));
    }
  }
  for (size_t i = 0; i < std::size(kept); ++i) {
    if (kept[i].now == fresh[i] || kept[i].now == kept[i].before + "\n") continue;
    if (auto done = files.replace(kept[i].file, kept[i].now); !done)
      fixes.failed.push_back(done.error().message);
    else
      fixes.done.push_back({fmt::format("{} keeps it over restarts", kept[i].file),
                            fmt::format("rm {}", kept[i].file)});
  }
}

}  // namespace

Fixes fix(const Findings& findings, MachineFiles& files, Ethtool& ethtool, bool persist,
          const std::vector<Change>& right) {
  Fixes fixes;
  std::vector<Change> written;
  for (const Finding& finding : findings)
    for (const Change& change : finding.changes) {
      if (!change.interface.empty())
        switch_off(change, ethtool, persist, fixes);
      else if (write(change, files, fixes))
        written.push_back(change);
    }
  written.insert(written.end(), right.begin(), right.end());
  if (persist) keep(written, files, fixes);
  return fixes;
}

}  // namespace hecto::config
