// How long threads were ready to run and had no CPU (schedstat's run delay): a generator or a worker
// that waited measures the machine and not what it should.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace hecto::bench {

class CpuWait {
 public:
  explicit CpuWait(std::vector<pid_t> processes);  // from now on
  // A line for each thread that waited for more than kTold of the time since.
  std::vector<std::string> lines() const;
  static constexpr double kTold = 0.02;

 private:
  struct Thread {
    std::string name;
    double waited_s = 0;  // since it began
  };
  std::map<pid_t, Thread> read() const;  // by thread; empty where the kernel does not tell

  std::vector<pid_t> processes_;
  std::chrono::steady_clock::time_point since_;
  std::map<pid_t, Thread> before_;
};

}  // namespace hecto::bench
