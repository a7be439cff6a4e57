// What --fix does of the findings, and how each is undone. With `persist` what was done, and what is
// `right` already, stands in a file for sysctl or systemd-tmpfiles as well, and holds after a restart
// of the machine.
#pragma once

#include "config/doctor/doctor.hpp"

namespace hecto::config {

struct Fixed {
  std::string what;  // "wrote 70 to /sys/..., which said 0"
  std::string undo;  // a command
};

struct Fixes {
  std::vector<Fixed> done;
  std::vector<std::string> failed;  // a line each, also of what cannot be kept
};

inline constexpr const char* kSysctlFile = "/etc/sysctl.d/90-hecto.conf";
inline constexpr const char* kTmpfilesFile = "/etc/tmpfiles.d/hecto.conf";

Fixes fix(const Findings& findings, MachineFiles& files, Ethtool& ethtool, bool persist,
          const std::vector<Change>& right = {});

}  // namespace hecto::config
