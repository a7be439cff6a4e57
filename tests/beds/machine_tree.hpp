// A machine's files for a test: sysfs, procfs and /etc in a folder of its own.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace hecto::config::test {

namespace fs = std::filesystem;

class MachineTree {
 public:
  MachineTree() {
    char name[] = "/tmp/hecto-machine-XXXXXX";
    root_ = ::mkdtemp(name);
  }
  ~MachineTree() { fs::remove_all(root_); }
  MachineTree(const MachineTree&) = delete;
  MachineTree& operator=(const MachineTree&) = delete;

  const std::string& root() const { return root_; }
  void folder(const std::string& path) const { fs::create_directories(root_ + path); }
  void file(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  void link(const std::string& path, const std::string& to) const {
    fs::create_directories(fs::path(root_ + path).parent_path());
    fs::remove(root_ + path);
    fs::create_symlink(to, root_ + path);
  }
  void remove(const std::string& path) const { fs::remove_all(root_ + path); }

 private:
  std::string root_;
};

}  // namespace hecto::config::test
