#include "router/process/privileges/capabilities.hpp"

#include <fmt/format.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

namespace hecto::router {
namespace {

namespace fs = std::filesystem;

constexpr std::pair<int, const char*> kNames[] = {
    {CAP_NET_ADMIN, "net_admin"}, {CAP_NET_RAW, "net_raw"},
    {CAP_SYS_ADMIN, "sys_admin"}, {CAP_BPF, "bpf"},
    {CAP_IPC_LOCK, "ipc_lock"},   {CAP_PERFMON, "perfmon"},
    {CAP_SYS_RAWIO, "sys_rawio"}, {CAP_DAC_OVERRIDE, "dac_override"},
};
constexpr int kAttempts = 200;  // of 10 ms

int get_sets(std::array<__user_cap_data_struct, 2>& sets) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  return static_cast<int>(::syscall(SYS_capget, &header, sets.data()));
}

int set_sets(const std::array<__user_cap_data_struct, 2>& sets) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  return static_cast<int>(::syscall(SYS_capset, &header, sets.data()));
}

// In the thread that loses them; async-signal-safe.
void on_signal(int) {
  const int number = errno;
  set_sets({});
  errno = number;
}

// "CapPrm" and "CapEff" of a thread; a thread that has ended has none.
CapabilitySet of_thread(const fs::path& task) {
  std::ifstream status(task / "status");
  CapabilitySet set = 0;
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("CapPrm:") && !line.starts_with("CapEff:")) continue;
    const size_t digits = line.find_first_of("0123456789abcdef", 7);
    CapabilitySet one = 0;
    if (digits != std::string::npos)
      std::from_chars(line.data() + digits, line.data() + line.size(), one, 16);
    set |= one;
  }
  return set;
}

}  // namespace

CapabilitySet permitted_capabilities() {
  std::array<__user_cap_data_struct, 2> sets{};
  if (get_sets(sets) != 0) return 0;
  return sets[0].permitted | CapabilitySet{sets[1].permitted} << 32;
}

bool keep_capabilities(CapabilitySet wanted) noexcept {
  std::array<__user_cap_data_struct, 2> sets{};
  if (get_sets(sets) != 0) return false;
  for (size_t half = 0; half < sets.size(); ++half) {
    const auto bits = static_cast<uint32_t>(wanted >> (32 * half));
    sets[half].permitted &= bits;
    sets[half].effective = sets[half].permitted;
    sets[half].inheritable = 0;
  }
  return set_sets(sets) == 0;
}

Result<void> drop_capabilities_of_others() {
  const int signal = SIGRTMAX - 1;
  struct sigaction action {
  }, before{};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigfillset(&action.sa_mask);
  if (::sigaction(signal, &action, &before) != 0) return fail("no signal to be had", errno);
  std::string holder;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    holder.clear();
    for (const auto& task : fs::directory_iterator("/proc/self/task")) {
      const pid_t id = std::stoi(task.path().filename());
      if (id == ::gettid() || of_thread(task.path()) == 0) continue;
      std::ifstream(task.path() / "comm") >> holder;
      ::syscall(SYS_tgkill, ::getpid(), id, signal);
    }
    if (holder.empty()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  // The handler stays: a signal may still be on its way to a thread that blocked it.
  if (holder.empty()) return {};
  return fail(fmt::format("thread {} does not give up its capabilities", holder), EBUSY);
}

std::string capability_words(CapabilitySet set) {
  std::string words;
  for (const auto& [number, name] : kNames) {
    if ((set & capability(number)) == 0) continue;
    words += (words.empty() ? "" : ", ") + std::string(name);
    set &= ~capability(number);
  }
  if (set != 0) words += fmt::format("{}{:#x}", words.empty() ? "" : ", ", set);
  return words.empty() ? "none" : words;
}

}  // namespace hecto::router
