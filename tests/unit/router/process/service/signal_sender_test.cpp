#include "router/process/service/signal_sender.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace hecto::router {
namespace {

// As hectod waits for it.
siginfo_t received(int signal, void (*send)(int signal)) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  send(signal);
  siginfo_t info{};
  const timespec longest{5, 0};
  EXPECT_EQ(sigtimedwait(&set, &info, &longest), signal);
  return info;
}

TEST(SignalSender, NamesTheProcessAndItsUser) {
  prctl(PR_SET_NAME, "the\nsender");
  const siginfo_t info = received(SIGTERM, [](int signal) { kill(getpid(), signal); });
  EXPECT_EQ(signal_and_sender(info).substr(0, 8), "SIGTERM ");
  prctl(PR_SET_NAME, "x\x1b[31my");
  EXPECT_EQ(signal_and_sender(info),
            fmt::format("SIGTERM from pid {} (x?[31my), uid {}", getpid(), getuid()))
      << "no byte of it reaches a terminal";
}

TEST(SignalSender, AProcessThatIsGoneHasNoName) {
  siginfo_t info{};
  info.si_signo = SIGINT;
  info.si_code = SI_USER;
  info.si_pid = 0x7ffffffe;
  info.si_uid = 7;
  EXPECT_EQ(signal_and_sender(info), "SIGINT from pid 2147483646, uid 7");
  info.si_pid = 0;
  EXPECT_EQ(signal_and_sender(info), "SIGINT from outside, uid 7");
  info.si_code = SI_KERNEL;
  EXPECT_EQ(signal_and_sender(info), "SIGINT from the kernel");
}

}  // namespace
}  // namespace hecto::router
