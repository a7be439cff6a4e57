#include "router/process/privileges/privileges.hpp"

#include <fmt/format.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/resource.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "router/process/privileges/calls.hpp"
#include "router/process/privileges/capabilities.hpp"

namespace hecto::router {
namespace {

#if defined(__has_feature)
#define HECTO_HAS_FEATURE(x) __has_feature(x)
#else
#define HECTO_HAS_FEATURE(x) 0
#endif
// A leak sanitizer stops the process by ptrace when it ends, which the filter would take for an
// attack.
#if defined(__SANITIZE_ADDRESS__) || HECTO_HAS_FEATURE(address_sanitizer) || \
    defined(__SANITIZE_THREAD__) || HECTO_HAS_FEATURE(thread_sanitizer)
constexpr bool kFiltered = false;
#else
constexpr bool kFiltered = true;
#endif

constexpr int kMostCalls = 512;
std::atomic<bool> confined{false};
std::atomic<bool> refused[kMostCalls];  // by number of the call

// A filter says "trap" where it refuses, so that the refusal can be told: the kernel's own log is
// not read by who reads ours. Async-signal-safe.
void on_refused(int, siginfo_t* info, void* context) {
  const int call = info->si_syscall;
  if (call >= 0 && call < kMostCalls) refused[call].store(true, std::memory_order_relaxed);
  auto* machine = &static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  machine->gregs[REG_RAX] = -EPERM;
#elif defined(__aarch64__)
  machine->regs[0] = static_cast<unsigned long>(-EPERM);
#endif
}

using Filter = std::unique_ptr<void, void (*)(scmp_filter_ctx)>;

Filter make_filter(uint32_t otherwise) {
  Filter filter(seccomp_init(otherwise), seccomp_release);
  if (filter) seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  return filter;
}

void add(const Filter& filter, uint32_t action, std::span<const char* const> names) {
  for (const char* name : names) {
    const int call = seccomp_syscall_resolve_name(name);
    if (call != __NR_SCMP_ERROR && call >= 0) seccomp_rule_add(filter.get(), action, call, 0);
  }
}

// Threads are made with clone(), whose flags a filter can read, not with clone3(), whose it cannot:
// glibc falls back.
void allow_threads(const Filter& filter) {
  seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                   SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
  seccomp_rule_add(filter.get(), SCMP_ACT_KILL_PROCESS, SCMP_SYS(clone), 1,
                   SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
  seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

Result<void> load(const Filter& filter) {
  if (!kFiltered) return {};
  const int status = filter ? seccomp_load(filter.get()) : -ENOMEM;
  if (status == 0) return {};
  return fail(fmt::format("the seccomp filter was refused: {}", std::strerror(-status)), -status);
}

Result<void> filter_process() {
  struct sigaction action {};
  action.sa_sigaction = on_refused;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  if (::sigaction(SIGSYS, &action, nullptr) != 0) return fail("no handler for SIGSYS", errno);
  const Filter filter = make_filter(SCMP_ACT_TRAP);
  if (filter) {
    seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_TSYNC, 1);
    add(filter, SCMP_ACT_ALLOW, allowed_calls());
    add(filter, SCMP_ACT_KILL_PROCESS, hostile_calls());
    allow_threads(filter);
  }
  return load(filter);
}

// Locked memory of AF_XDP and VFIO counts against a limit where CAP_IPC_LOCK is gone. False: it
// stands, for who may not raise it (a container).
bool lift_memory_limit() {
  const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
  return ::setrlimit(RLIMIT_MEMLOCK, &unlimited) == 0;
}

// In its own thread: each inherits what its parent has, and a filter cannot be taken off again.
template <typename Make>
void confine_thread(Make make) noexcept {
  thread_local bool done = false;
  if (!confined.load() || done) return;
  done = true;
  try {
    keep_capabilities(0);
    (void)load(make());  // the process's own filter holds in any case
  } catch (const std::exception&) {
  }
}

}  // namespace

Result<std::string> confine(const Needs& needs) {
  CapabilitySet kept = capability(CAP_NET_ADMIN) | capability(CAP_NET_RAW);
  if (needs.namespaces || needs.devices) kept |= capability(CAP_SYS_ADMIN);
  if (needs.devices) kept |= capability(CAP_BPF);
  if (needs.devices && !lift_memory_limit()) kept |= capability(CAP_IPC_LOCK);
  if (auto dropped = drop_capabilities_of_others(); !dropped)
    return tl::unexpected(dropped.error());
  if (!keep_capabilities(kept)) return fail("capset", errno);
  if (auto filtered = filter_process(); !filtered) return tl::unexpected(filtered.error());
  confined.store(true);
  return fmt::format("control keeps {}, other threads none; {}",
                     capability_words(permitted_capabilities()),
                     kFiltered ? "no new privileges; system calls are filtered"
                               : "a sanitizer's build: no system call is refused");
}

void confine_worker() noexcept {
  confine_thread([] {
    Filter filter = make_filter(SCMP_ACT_TRAP);
    if (filter) {
      add(filter, SCMP_ACT_ALLOW, worker_calls());
      add(filter, SCMP_ACT_KILL_PROCESS, hostile_calls());
    }
    return filter;
  });
}

void confine_service() noexcept {
  confine_thread([] {
    Filter filter = make_filter(SCMP_ACT_ALLOW);
    if (filter) add(filter, SCMP_ACT_TRAP, denied_to_services());
    return filter;
  });
}

std::vector<std::string> refused_calls() {
  std::vector<std::string> names;
  for (int call = 0; call < kMostCalls; ++call) {
    if (!refused[call].load(std::memory_order_relaxed)) continue;
    refused[call].store(false, std::memory_order_relaxed);
    const std::unique_ptr<char, void (*)(void*)> name(
        seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, call), std::free);
    names.push_back(name ? name.get() : std::to_string(call));
  }
  return names;
}

}  // namespace hecto::router
