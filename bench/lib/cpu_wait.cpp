#include "bench/lib/cpu_wait.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

namespace hecto::bench {

CpuWait::CpuWait(std::vector<pid_t> processes)
    : processes_(std::move(processes)), since_(std::chrono::steady_clock::now()), before_(read()) {}

std::map<pid_t, CpuWait::Thread> CpuWait::read() const {
  std::map<pid_t, Thread> threads;
  for (const pid_t process : processes_) {
    std::error_code gone;
    for (const auto& task :
         std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), gone)) {
      Thread thread;
      uint64_t ran_ns = 0, waited_ns = 0;
      if (!(std::ifstream(task.path() / "schedstat") >> ran_ns >> waited_ns)) continue;
      std::getline(std::ifstream(task.path() / "comm"), thread.name);
      thread.waited_s = static_cast<double>(waited_ns) / 1e9;
      threads.emplace(std::stoi(task.path().filename().string()), std::move(thread));
    }
  }
  return threads;
}

std::vector<std::string> CpuWait::lines() const {
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - since_).count();
  std::vector<std::string> lines;
  for (const auto& [id, thread] : read()) {
    const auto was = before_.find(id);
    const double waited = thread.waited_s - (was == before_.end() ? 0 : was->second.waited_s);
    if (waited <= seconds * kTold) continue;
    lines.push_back(
        fmt::format("thread {} ({}) waited for its CPU {:.1f} of {:.1f} s: other work took it",
                    thread.name, id, waited, seconds));
  }
  return lines;
}

}  // namespace hecto::bench
