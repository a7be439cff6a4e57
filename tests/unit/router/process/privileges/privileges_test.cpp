// What a confined process can no longer do; each try in a child, as there is no way back.
#include "router/process/privileges/privileges.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <set>
#include <string>
#include <thread>

#include "router/process/privileges/calls.hpp"
#include "router/process/privileges/capabilities.hpp"

namespace hecto::router {
namespace {

// The exit code of a child that does it, or minus the signal that ended it.
int in_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

bool filters() {
  return in_child([] { return confine({}) && ::prctl(PR_GET_SECCOMP) == 2 ? 0 : 1; }) == 0;
}

#define NEEDS_FILTERS() \
  if (!filters()) GTEST_SKIP() << "no seccomp filter here: an old kernel, or a sanitizer"

int confined(const std::function<int()>& work) {
  return in_child([&] { return confine({}) ? work() : 99; });
}

TEST(Privileges, AShellEndsTheProcess) {
  NEEDS_FILTERS();
  EXPECT_EQ(confined([] { return ::execl("/bin/true", "true", nullptr); }), -SIGSYS);
  EXPECT_EQ(confined([] { return static_cast<int>(::syscall(SYS_ptrace, 0, 0, 0, 0)); }), -SIGSYS);
  EXPECT_EQ(confined([] { return ::mount("a", "/mnt", "tmpfs", 0, nullptr); }), -SIGSYS);
  EXPECT_EQ(confined([] { return static_cast<int>(::syscall(SYS_init_module, 0, 0, 0)); }),
            -SIGSYS);
}

TEST(Privileges, WhatIsNotOnTheListIsRefusedAndTold) {
  NEEDS_FILTERS();
  EXPECT_EQ(confined([] {
              if (::unshare(CLONE_NEWNET) != -1 || errno != EPERM) return 1;
              const auto names = refused_calls();
              return names.size() == 1 && names[0] == "unshare" && refused_calls().empty() ? 0 : 2;
            }),
            0);
}

TEST(Privileges, AForkEndsTheProcess) {
  NEEDS_FILTERS();
  EXPECT_EQ(confined([] { return ::fork() == 0 ? 0 : 1; }), -SIGSYS);
}

TEST(Privileges, ThreadsFilesAndSocketsGoOn) {
  NEEDS_FILTERS();
  EXPECT_EQ(confined([] {
              int ran = 0;
              std::thread([&] { ran = ::getpid() > 0; }).join();
              const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
              FILE* file = ::fopen("/proc/self/status", "r");
              return ran == 1 && fd >= 0 && file != nullptr && refused_calls().empty() ? 0 : 1;
            }),
            0);
}

// Threads that were there before, wherever they stand.
TEST(Privileges, NoOtherThreadKeepsACapabilityAndAllHaveTheFilter) {
  NEEDS_FILTERS();
  EXPECT_EQ(confined([] { return 0; }), 0);
  EXPECT_EQ(in_child([] {
              std::atomic<int> seccomp{-1};
              std::atomic<bool> go{false};
              std::atomic<CapabilitySet> left{~CapabilitySet{0}};
              std::thread other([&] {
                while (!go) ::usleep(1000);
                left = permitted_capabilities();
                seccomp = ::prctl(PR_GET_SECCOMP);
              });
              if (!confine({})) return 3;
              go = true;
              other.join();
              return left == 0 && seccomp == 2 ? 0 : 1;
            }),
            0);
}

TEST(Privileges, ControlKeepsWhatItNeedsAndNoMore) {
  NEEDS_FILTERS();
  EXPECT_EQ(in_child([] {
              const CapabilitySet before = permitted_capabilities();
              if (!confine({.namespaces = false, .devices = false})) return 3;
              const CapabilitySet wanted =
                  before & (capability(CAP_NET_ADMIN) | capability(CAP_NET_RAW));
              return permitted_capabilities() == wanted ? 0 : 1;
            }),
            0);
}

TEST(Privileges, AWorkerOpensNothing) {
  NEEDS_FILTERS();
  EXPECT_EQ(confined([] {
              int result = 1;
              std::thread([&] {
                confine_worker();
                const bool refused = ::open("/etc/passwd", O_RDONLY) == -1 && errno == EPERM &&
                                     ::socket(AF_INET, SOCK_DGRAM, 0) == -1 && errno == EPERM;
                ::usleep(1000);
                result = refused && permitted_capabilities() == 0 ? 0 : 2;
              }).join();
              // The others still can.
              return ::access("/etc/passwd", R_OK) == 0 ? result : 4;
            }),
            0);
  EXPECT_EQ(confined([] {
              std::thread([] {
                confine_worker();
                ::execl("/bin/true", "true", nullptr);
              }).join();
              return 0;
            }),
            -SIGSYS);
}

TEST(Privileges, AServiceEntersNoNamespaceNorDoItsChildren) {
  NEEDS_FILTERS();
  EXPECT_EQ(confined([] {
              int result = 1;
              std::thread([&] {
                confine_service();
                std::thread([&] {
                  const int fd = ::open("/proc/self/ns/net", O_RDONLY);
                  result = fd >= 0 && ::setns(fd, CLONE_NEWNET) == -1 && errno == EPERM ? 0 : 2;
                }).join();
              }).join();
              return result;
            }),
            0);
}

TEST(Privileges, WithoutConfineAThreadKeepsAll) {
  EXPECT_EQ(in_child([] {
              confine_worker();
              confine_service();
              return ::access("/etc/passwd", R_OK);
            }),
            0);
}

TEST(Calls, NoneIsBothAllowedAndHostile) {
  const std::set<std::string> allowed(allowed_calls().begin(), allowed_calls().end());
  for (const char* name : hostile_calls()) EXPECT_FALSE(allowed.contains(name)) << name;
  for (const char* name : worker_calls()) EXPECT_TRUE(allowed.contains(name)) << name;
  for (const char* name : denied_to_services()) EXPECT_TRUE(allowed.contains(name)) << name;
  EXPECT_EQ(allowed.size(), allowed_calls().size()) << "one stands there twice";
}

TEST(CapabilityWords, NamesThemAndTheRest) {
  EXPECT_EQ(capability_words(0), "none");
  EXPECT_EQ(capability_words(capability(CAP_NET_ADMIN) | capability(CAP_NET_RAW)),
            "net_admin, net_raw");
  EXPECT_EQ(capability_words(capability(CAP_CHOWN)), "0x1");
}

}  // namespace
}  // namespace hecto::router
