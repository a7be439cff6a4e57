// The service manager's side is played by a socket here; each case in a child, as it is about the
// environment and about descriptor 3.
#include "router/process/service/service_manager.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>

namespace hecto::router {
namespace {

class Manager {
 public:
  Manager() : path_(fmt::format("/tmp/hecto-notify-{}", getpid())) {
    socket_ = FileDescriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    timeval wait{5, 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
  }
  ~Manager() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

  // One message, and the descriptor that came with it.
  std::pair<std::string, FileDescriptor> receive() {
    char text[512] = {};
    iovec part{text, sizeof text - 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(ucred))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC) < 0) return {};
    int fd = -1;
    for (cmsghdr* at = CMSG_FIRSTHDR(&message); at != nullptr; at = CMSG_NXTHDR(&message, at))
      if (at->cmsg_level == SOL_SOCKET && at->cmsg_type == SCM_RIGHTS)
        std::memcpy(&fd, CMSG_DATA(at), sizeof fd);
    return {text, FileDescriptor(fd)};
  }

 private:
  std::string path_;
  FileDescriptor socket_;
};

int in_child(const std::function<bool()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ServiceManager, WithoutOneNothingIsToldAndNothingKept) {
  EXPECT_EQ(in_child([] {
              unsetenv("NOTIFY_SOCKET");
              setenv("FDSTORE", "8", 1);
              auto none = ServiceManager::from_environment();
              none.ready();
              return !none.there() && !none.keeps() && !none.keep("x", 0) && !none.take("x") &&
                     none.watchdog().count() == 0;
            }),
            0);
}

TEST(ServiceManager, TellsAndHandsOverDescriptors) {
  Manager manager;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const FileDescriptor out(ends[0]), in(ends[1]);
  EXPECT_EQ(in_child([&] {
              setenv("NOTIFY_SOCKET", manager.path().c_str(), 1);
              setenv("FDSTORE", "8", 1);
              setenv("WATCHDOG_USEC", "3000000", 1);
              setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
              auto to = ServiceManager::from_environment();
              to.ready();
              to.stopping("asked to");
              const bool kept = to.keep("tap-wan0", in.get());
              to.forget("tap-wan0");
              return kept && to.keeps() && to.watchdog() == std::chrono::seconds(3);
            }),
            0);
  EXPECT_EQ(manager.receive().first, "READY=1");
  EXPECT_EQ(manager.receive().first, "STOPPING=1\nSTATUS=asked to");
  const auto [text, fd] = manager.receive();
  EXPECT_EQ(text, "FDSTORE=1\nFDNAME=tap-wan0");
  ASSERT_TRUE(fd) << "no descriptor came with it";
  EXPECT_EQ(write(fd.get(), "!", 1), 1);
  char byte = 0;
  EXPECT_EQ(read(out.get(), &byte, 1), 1);
  EXPECT_EQ(manager.receive().first, "FDSTOREREMOVE=1\nFDNAME=tap-wan0");
}

TEST(ServiceManager, AManagerWithoutAStoreKeepsNothing) {
  Manager manager;
  EXPECT_EQ(in_child([&] {
              setenv("NOTIFY_SOCKET", manager.path().c_str(), 1);
              unsetenv("FDSTORE");
              const auto to = ServiceManager::from_environment();
              return to.there() && !to.keeps() && !to.keep("x", 1);
            }),
            0);
}

TEST(ServiceManager, TakesEachNameOnce) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(in_child([&] {
              dup2(ends[1], 100);
              dup2(100, 3);
              dup2(100, 4);
              setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
              setenv("LISTEN_FDS", "2", 1);
              setenv("LISTEN_FDNAMES", "tap-wan0:fib", 1);
              auto from = ServiceManager::from_environment();
              const FileDescriptor tap = from.take("tap-wan0");
              return from.kept() == std::vector<std::string>{"fib"} && tap.get() == 3 &&
                     !from.take("tap-wan0") && !from.take("lan0") &&
                     std::getenv("LISTEN_FDS") == nullptr;
            }),
            0);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace hecto::router
