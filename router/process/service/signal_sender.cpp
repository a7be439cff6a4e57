#include "router/process/service/signal_sender.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cstring>
#include <fstream>

namespace hecto::router {
namespace {

// A process names itself as it likes: no byte of it may end a line or color a terminal.
std::string name_of(pid_t pid) {
  std::string name;
  std::getline(std::ifstream(fmt::format("/proc/{}/comm", pid)), name);
  for (char& c : name)
    if (std::isprint(static_cast<unsigned char>(c)) == 0) c = '?';
  return name;
}

}  // namespace

std::string signal_and_sender(const siginfo_t& info) {
  std::string text = fmt::format("SIG{}", sigabbrev_np(info.si_signo));
  const bool sent = info.si_code == SI_USER || info.si_code == SI_QUEUE || info.si_code == SI_TKILL;
  if (!sent) return text + " from the kernel";  // Ctrl-C on a terminal, an alarm
  // Of a process that this one's namespace of processes does not show.
  if (info.si_pid == 0) return text + fmt::format(" from outside, uid {}", info.si_uid);
  const std::string name = name_of(info.si_pid);
  return text + fmt::format(" from pid {}{}{}, uid {}", info.si_pid, name.empty() ? "" : " (",
                            name.empty() ? "" : name + ")", info.si_uid);
}

}  // namespace hecto::router
