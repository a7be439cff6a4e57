// A program that runs beside this one, as a router under test or one point of an experiment. What
// it says goes into a file; its standard input is a pipe that stays open; it ends when we do, at
// the latest.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace hecto::bench {

struct ChildOptions {
  std::filesystem::path log;       // output and errors, from its beginning
  std::vector<unsigned> cpus;      // that it may use; empty: all that this machine lets us use
  int output = -1;                 // its standard output; -1: the log
  std::vector<int> descriptors{};  // its own from 3 on; here they have numbers above all of those
};

class Child {
 public:
  // `words[0]` is looked for in PATH. An error when there is no such program.
  static Result<std::unique_ptr<Child>> start(const std::vector<std::string>& words,
                                              const ChildOptions& options);
  ~Child();  // as stop()
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // The exit code, 128 + N when signal N ended it; nothing when it still runs after `seconds`.
  std::optional<int> wait(double seconds);
  bool running() { return !wait(0); }
  bool say(const std::string& text);  // to its standard input; false when it has gone
  // SIGTERM, and SIGKILL when that does not end it within `patience_s`. Gives what wait() gives.
  int stop(double patience_s = 5);
  pid_t pid() const { return pid_; }

 private:
  Child() = default;

  pid_t pid_ = -1;
  int input_ = -1;
  int pidfd_ = -1;
  std::optional<int> code_;
};

// "exit code 1", "signal 11 (Segmentation fault)".
std::string describe_exit(int code);
// The last `count` lines of a text file that are not empty; none when it cannot be read.
std::vector<std::string> last_lines(const std::filesystem::path& file, size_t count);
// The program of that name in PATH, as the shell would find it.
std::optional<std::string> find_program(const std::string& name);

}  // namespace hecto::bench
