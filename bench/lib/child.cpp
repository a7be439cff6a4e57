#include "bench/lib/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <sstream>

namespace hecto::bench {
namespace {

constexpr int kAboveAll = 512;

// Who starts a child may be pinned to one core; the kernel leaves out what we may not use.
void set_affinity(const std::vector<unsigned>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const unsigned cpu : cpus) CPU_SET(cpu, &set);
  for (unsigned cpu = 0; cpus.empty() && cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

// Runs in the child, where other threads may have held any lock: system calls only.
[[noreturn]] void become(char* const* words, int input, int log, const ChildOptions& options,
                         pid_t parent, int failure) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  setpgid(0, 0);  // Ctrl-C is for us, who still have to read its counters
  if (getppid() != parent) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  set_affinity(options.cpus);
  dup2(input, STDIN_FILENO);
  dup2(options.output < 0 ? log : options.output, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  // Not over the pipe that tells of a failure.
  if (!options.descriptors.empty()) failure = fcntl(failure, F_DUPFD_CLOEXEC, kAboveAll);
  for (size_t i = 0; i < options.descriptors.size(); ++i)
    dup2(options.descriptors[i], STDERR_FILENO + 1 + static_cast<int>(i));
  execvp(words[0], words);
  const int error = errno;
  [[maybe_unused]] const ssize_t told = write(failure, &error, sizeof error);
  _exit(127);
}

}  // namespace

Result<std::unique_ptr<Child>> Child::start(const std::vector<std::string>& words,
                                            const ChildOptions& options) {
  const int log =
      open(options.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
  if (log < 0)
    return fail(
        fmt::format("{}: cannot be written: {}", options.log.string(), std::strerror(errno)),
        errno);
  int input[2] = {-1, -1}, failure[2] = {-1, -1};
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  pid_t pid = -1;
  if (pipe2(input, O_CLOEXEC) == 0 && pipe2(failure, O_CLOEXEC) == 0) pid = fork();
  if (pid == 0) become(arguments.data(), input[0], log, options, parent, failure[1]);
  int error = pid < 0 ? errno : 0;
  for (const int fd : {log, input[0], failure[1]}) close(fd);
  // Nothing comes when the program was found: the pipe closes as it starts.
  if (pid > 0) [[maybe_unused]]
    const ssize_t none = read(failure[0], &error, sizeof error);
  close(failure[0]);
  std::unique_ptr<Child> child(new Child);
  child->pid_ = pid;
  child->input_ = input[1];
  if (pid > 0) child->pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (error != 0)
    return fail(fmt::format("{}: cannot be run: {}", words[0], std::strerror(error)), error);
  return child;
}

Child::~Child() {
  if (pid_ > 0) stop();
  for (const int fd : {input_, pidfd_})
    if (fd >= 0) close(fd);
}

std::optional<int> Child::wait(double seconds) {
  if (code_) return code_;
  pollfd ended = {pidfd_, POLLIN, 0};
  poll(&ended, 1, static_cast<int>(seconds * 1000));
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return code_;
}

bool Child::say(const std::string& text) {
  if (!running()) return false;
  // It may go between the two lines; SIGPIPE would take us along.
  struct sigaction ignore = {}, before = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &before);
  const ssize_t said = write(input_, text.data(), text.size());
  sigaction(SIGPIPE, &before, nullptr);
  return said == static_cast<ssize_t>(text.size());
}

int Child::stop(double patience_s) {
  if (const auto code = wait(0)) return *code;
  kill(pid_, SIGTERM);
  if (const auto code = wait(patience_s)) return *code;
  kill(pid_, SIGKILL);
  while (!wait(1)) {
  }
  return *code_;
}

std::string describe_exit(int code) {
  if (code <= 128) return fmt::format("exit code {}", code);
  return fmt::format("signal {} ({})", code - 128, strsignal(code - 128));
}

std::vector<std::string> last_lines(const std::filesystem::path& file, size_t count) {
  std::ifstream stream(file);
  std::deque<std::string> lines;
  for (std::string line; std::getline(stream, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    lines.push_back(std::move(line));
    if (lines.size() > count) lines.pop_front();
  }
  return {lines.begin(), lines.end()};
}

std::optional<std::string> find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const auto file = std::filesystem::path(folder.empty() ? "." : folder) / name;
    std::error_code error;
    if (std::filesystem::is_regular_file(file, error) && access(file.c_str(), X_OK) == 0)
      return file.string();
  }
  return std::nullopt;
}

}  // namespace hecto::bench
