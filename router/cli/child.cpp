#include "router/cli/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/file_descriptor.hpp"

namespace hecto::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostText = 1u << 20;
constexpr int kKilled = 128;

tl::expected<pid_t, std::string> spawn(const std::vector<std::string>& words,
                                       const posix_spawn_file_actions_t* actions) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  // hecto ignores it; a program that writes into a closed pipe shall end.
  posix_spawnattr_t attributes;
  sigset_t signals;
  posix_spawnattr_init(&attributes);
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int code =
      posix_spawnp(&child, words[0].c_str(), actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (code == 0) return child;
  return tl::unexpected(code == ENOENT ? words[0] + " is not installed here"
                                       : words[0] + ": " + std::strerror(code));
}

int ended(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kKilled + WTERMSIG(status);
}

// Until the other end is closed; false: it was not in time.
bool read_all(int from, Clock::time_point until, std::string& text) {
  char buffer[4096];
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return false;
    pollfd ready{from, POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(left)) <= 0) continue;
    const ssize_t got = read(from, buffer, sizeof buffer);
    if (got == 0) return true;
    if (got > 0)
      text.append(buffer, std::min(static_cast<size_t>(got), kMostText - text.size()));
    else if (errno != EINTR)
      return true;
  }
}

}  // namespace

tl::expected<ChildOutput, std::string> run_child(const std::vector<std::string>& words,
                                                 std::chrono::milliseconds within) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return tl::unexpected<std::string>(std::strerror(errno));
  const FileDescriptor reading(ends[0]);
  FileDescriptor writing(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, writing.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, writing.get(), STDERR_FILENO);
  const auto child = spawn(words, &actions);
  posix_spawn_file_actions_destroy(&actions);
  if (!child) return tl::unexpected(child.error());
  writing.reset();
  ChildOutput output;
  if (read_all(reading.get(), Clock::now() + within, output.text)) {
    output.code = ended(*child);
    return output;
  }
  kill(*child, SIGKILL);
  (void)ended(*child);
  return tl::unexpected(fmt::format("{} gave no answer within {} s", words[0],
                                    std::chrono::duration<double>(within).count()));
}

tl::expected<int, std::string> run_in_our_place(const std::vector<std::string>& words) {
  const auto child = spawn(words, nullptr);
  if (!child) return tl::unexpected(child.error());
  return ended(*child);
}

}  // namespace hecto::cli
