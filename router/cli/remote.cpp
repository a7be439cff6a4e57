#include "router/cli/remote.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/ssh_words.hpp"
#include "router/cli/child.hpp"

namespace hecto::cli {
namespace {

constexpr int kSshFailed = 255;  // ssh(1), EXIT STATUS
constexpr const char* kHostOptions[] = {"-H", "--host"};

}  // namespace

std::string remote_command(const std::vector<std::string>& words) {
  std::string command = "hecto";
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (std::ranges::find(kHostOptions, word) != std::end(kHostOptions)) {
      ++i;  // its value
      continue;
    }
    if (word.starts_with("--host=") || (word.starts_with("-H") && word.size() > 2)) continue;
    command += ' ' + shell_quoted(word);
  }
  return command;
}

std::string host_problem(const std::string& host) {
  if (!is_ssh_host(host))
    return fmt::format("-H: \"{}\" is no host; use BOX or USER@BOX, several with commas", host);
  return {};
}

int remote(const Session& session, const std::vector<std::string>& words) {
  const std::vector<std::string>& hosts = session.arguments().hosts;
  for (const std::string& host : hosts)
    if (const std::string problem = host_problem(host); !problem.empty()) {
      session.note("hecto: " + problem);
      return kWrongUsage;
    }
  const bool several = hosts.size() > 1;
  if (several && session.arguments().object == "-") {
    session.note(
        "hecto: -H: standard input is read once, and there are several boxes; use one, or a "
        "file of theirs");
    return kWrongUsage;
  }
  const std::string command = remote_command(words);
  const bool at_terminal = ::isatty(STDOUT_FILENO) == 1 && ::isatty(STDIN_FILENO) == 1;
  int worst = kDone;
  for (const std::string& host : hosts) {
    if (several && !session.arguments().json) session.out("== " + host + "\n");
    std::vector<std::string> ssh = {"ssh"};
    // What is on standard input is not the first box's to swallow.
    if (at_terminal)
      ssh.emplace_back("-t");
    else if (several)
      ssh.emplace_back("-n");
    ssh.insert(ssh.end(), {"--", host, command});
    const auto code = run_in_our_place(ssh);
    if (!code) return session.fail("-H: " + code.error());
    if (*code == kSshFailed) session.note("hecto: " + host + ": ssh failed");
    worst = std::max(worst, *code == kSshFailed ? kFailed : *code);
  }
  return worst;
}

}  // namespace hecto::cli
