// The machine's files: sysfs, procfs, devfs and /etc, under a root that tests keep elsewhere. Paths
// begin with a slash, below the root. Errors carry path and errno in words. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace hecto::config {

class MachineFiles {
 public:
  explicit MachineFiles(std::string root = {}) : root_(std::move(root)) {}
  virtual ~MachineFiles() = default;
  MachineFiles(const MachineFiles&) = delete;
  MachineFiles& operator=(const MachineFiles&) = delete;

  // Without the blanks at its end; nothing: it cannot be read.
  std::optional<std::string> text(const std::string& path) const;
  std::optional<uint64_t> number(const std::string& path) const;
  bool exists(const std::string& path) const;
  // The last word of a link's target; empty where there is no such link.
  std::string target(const std::string& path) const;
  std::vector<std::string> names(
      const std::string& folder) const;  // sorted; empty: none, or none to see

  // One write(2) into a file that is there, as sysfs and procfs take it.
  virtual Result<void> write(const std::string& path, const std::string& text);
  // The whole file, with its folders: after a crash the old one or the new one is there.
  Result<void> replace(const std::string& path, const std::string& text);

 private:
  std::string root_;
};

// Programs that run, by their names in /proc (15 characters at most).
bool runs(const MachineFiles& files, const std::string& program);

}  // namespace hecto::config
