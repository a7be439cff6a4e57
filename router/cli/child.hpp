// Another program, run with words that no shell looks at.
#pragma once

#include <chrono>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace hecto::cli {

struct ChildOutput {
  int code = 0;      // its exit code; 128 and more: ended by a signal
  std::string text;  // standard output and standard error together, at most 1 MiB of them
};

// Runs it without standard input, and ends it where it takes longer. The error is a line for the
// operator: it is not there, or was not ready in time.
tl::expected<ChildOutput, std::string> run_child(const std::vector<std::string>& words,
                                                 std::chrono::milliseconds within);

// Runs it with our own standard input, output and error, for as long as it takes; its exit code.
tl::expected<int, std::string> run_in_our_place(const std::vector<std::string>& words);

}  // namespace hecto::cli
