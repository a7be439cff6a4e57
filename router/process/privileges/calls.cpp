#include "router/process/privileges/calls.hpp"

namespace hecto::router {
namespace {

// clang-format off
constexpr const char* kAllowed[] = {
  // files: configuration, route files, sysfs, /proc, hugepages, the API's socket, TAP devices
  "read", "write", "readv", "writev", "pread64", "pwrite64", "preadv", "pwritev", "preadv2",
  "pwritev2", "close", "close_range", "open", "openat", "openat2", "stat", "fstat", "lstat",
  "newfstatat", "fstatat64", "statx", "access", "faccessat", "faccessat2", "readlink",
  "readlinkat", "getdents", "getdents64", "lseek", "fcntl", "dup", "dup2", "dup3", "ioctl",
  "fsync", "fdatasync", "ftruncate", "truncate", "fallocate", "fadvise64", "flock", "unlink",
  "unlinkat", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "rmdir", "chmod", "fchmod",
  "fchmodat", "umask", "getcwd", "statfs", "fstatfs", "pipe", "pipe2", "eventfd", "eventfd2",
  "timerfd_create", "timerfd_settime", "timerfd_gettime", "signalfd", "signalfd4",
  "epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2",
  "poll", "ppoll", "select", "pselect6", "memfd_create", "inotify_init1", "inotify_add_watch",
  "inotify_rm_watch", "sendfile", "copy_file_range",
  // sockets: netlink, packets, AF_XDP, the API
  "socket", "socketpair", "connect", "accept", "accept4", "bind", "listen", "getsockname",
  "getpeername", "setsockopt", "getsockopt", "sendto", "recvfrom", "sendmsg", "recvmsg",
  "sendmmsg", "recvmmsg", "shutdown",
  // memory
  "brk", "mmap", "munmap", "mremap", "mprotect", "madvise", "msync", "mincore", "mlock", "mlock2",
  "munlock", "mlockall", "munlockall", "mbind", "get_mempolicy", "set_mempolicy",
  "set_mempolicy_home_node", "move_pages", "membarrier",
  // threads and their time
  "set_robust_list", "get_robust_list", "rseq", "futex", "futex_waitv", "set_tid_address", "exit",
  "exit_group", "getpid", "getppid", "gettid", "getpgrp", "getpgid", "getsid", "tgkill",
  "sched_yield", "sched_setaffinity", "sched_getaffinity", "sched_getparam",
  "sched_getscheduler", "sched_setscheduler", "sched_get_priority_max",
  "sched_get_priority_min", "getpriority", "setpriority", "getcpu", "arch_prctl", "prctl",
  "clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time",
  "times", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigtimedwait", "rt_sigpending",
  "rt_sigsuspend", "sigaltstack", "restart_syscall", "pause", "alarm", "setitimer", "getitimer",
  // who one is
  "getuid", "geteuid", "getgid", "getegid", "getgroups", "getresuid", "getresgid", "capget",
  "capset", "seccomp", "getrandom", "uname", "sysinfo", "getrusage", "prlimit64", "getrlimit",
  "setrlimit",
  // a port that a reload brings, its twin's namespace, and the end of that one's name
  "setns", "bpf", "umount2",
};

constexpr const char* kWorker[] = {
  "read", "write", "readv", "writev", "close", "fstat", "newfstatat", "lseek", "ioctl", "fcntl",
  "poll", "ppoll", "epoll_wait", "epoll_pwait", "epoll_ctl", "timerfd_settime",
  "sendto", "recvfrom", "sendmsg", "recvmsg", "sendmmsg", "recvmmsg", "getsockopt",
  "brk", "mmap", "munmap", "mremap", "mprotect", "madvise", "membarrier", "get_mempolicy", "mbind",
  "futex", "futex_waitv", "rseq", "set_robust_list", "exit", "exit_group", "getpid", "gettid",
  "tgkill", "sched_yield", "sched_getaffinity", "getcpu", "prctl",
  "clock_gettime", "clock_nanosleep", "nanosleep", "gettimeofday", "time",
  "rt_sigprocmask", "rt_sigreturn", "rt_sigaction", "sigaltstack", "restart_syscall", "getrandom",
};

constexpr const char* kDeniedToServices[] = {
  "setns", "bpf", "umount2", "capset", "seccomp", "mkdir", "mkdirat", "rmdir", "chmod", "fchmod",
  "fchmodat", "rename", "renameat", "renameat2", "truncate", "ftruncate", "bind", "listen",
  "mlockall", "sched_setscheduler",
};

constexpr const char* kHostile[] = {
  "execve", "execveat", "fork", "vfork", "ptrace", "process_vm_readv", "process_vm_writev",
  "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "pivot_root",
  "chroot", "mount", "move_mount", "fsopen", "fsmount", "open_tree", "mount_setattr", "reboot",
  "swapon", "swapoff", "acct", "open_by_handle_at", "userfaultfd", "add_key", "request_key",
  "keyctl", "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setfsuid",
  "setfsgid", "setgroups", "iopl", "ioperm", "modify_ldt", "settimeofday", "clock_settime",
};
// clang-format on

}  // namespace

std::span<const char* const> allowed_calls() {
  return kAllowed;
}

std::span<const char* const> worker_calls() {
  return kWorker;
}

std::span<const char* const> denied_to_services() {
  return kDeniedToServices;
}

std::span<const char* const> hostile_calls() {
  return kHostile;
}

}  // namespace hecto::router
