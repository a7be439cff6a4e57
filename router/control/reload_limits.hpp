// What a reload may name. The file that started hectod was named by who started it, with his
// rights; a reload is asked for over a socket, and hectod's rights are not the asker's: so it reads
// files of that file's folder and those that the file at the start named itself, and takes no device
// that reads or writes files unless the file at the start had just that one.
//
// Constant once made; thread-safe.
#pragma once

#include <set>
#include <string>

#include "config/file/config.hpp"
#include "config/file/load.hpp"

namespace hecto::router {

class ReloadLimits {
 public:
  explicit ReloadLimits(const config::Config& started);

  // Why not, as a sentence's end; empty: it may. Links count as what they point at.
  std::string file(const std::string& path) const;
  std::string device(const std::string& device) const;
  config::LoadLimits of_load() const;  // this outlives what it gives

 private:
  std::string folder_;                     // without links
  std::set<std::string> devices_, files_;  // of the file at the start; files without links
};

}  // namespace hecto::router
