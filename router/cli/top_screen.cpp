#include "router/cli/top_screen.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>

namespace hecto::cli {
namespace {

// Another screen, no cursor, no wrapping; and back.
constexpr std::string_view kTake = "\033[?1049h\033[?25l\033[?7l";
constexpr std::string_view kGiveBack = "\033[?7h\033[?25h\033[?1049l";

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};

bool write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {
      pollfd ready{STDOUT_FILENO, POLLOUT, 0};
      if (::poll(&ready, 1, -1) > 0) continue;
    }
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

sigset_t signal_set() {
  sigset_t set;
  sigemptyset(&set);
  for (const int each : kSignals) sigaddset(&set, each);
  return set;
}

}  // namespace

std::vector<TopEvent> keys_in(std::string_view bytes) {
  std::vector<TopEvent> keys;
  while (!bytes.empty()) {
    const bool sequence =
        bytes.size() > 1 && bytes[0] == '\033' && (bytes[1] == '[' || bytes[1] == 'O');
    if (!sequence) {
      keys.push_back({TopKey::kCharacter, bytes[0], 0});
      bytes.remove_prefix(1);
      continue;
    }
    size_t end = 2;  // parameters, then one letter or ~
    while (end < bytes.size() && (bytes[end] < '@' || bytes[end] > '~')) ++end;
    const char last = end < bytes.size() ? bytes[end] : '\0';
    if (last == 'A') keys.push_back({TopKey::kUp, 0, 0});
    if (last == 'B') keys.push_back({TopKey::kDown, 0, 0});
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  return keys;
}

TopScreen::TopScreen() {
  const sigset_t set = signal_set();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = FileDescriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  termios now;
  if (::tcgetattr(STDIN_FILENO, &now) == 0) before_ = now;
  take();
}

TopScreen::~TopScreen() {
  give_back();
  const sigset_t set = signal_set();
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

void TopScreen::take() {
  if (before_) {
    termios keys = *before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    keys.c_cc[VMIN] = 1;
    keys.c_cc[VTIME] = 0;
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &keys);
  }
  write_all(kTake);
  taken_ = true;
}

void TopScreen::give_back() {
  if (!taken_) return;
  taken_ = false;
  write_all(kGiveBack);
  if (before_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &*before_);
}

TopScreen::Size TopScreen::size() const {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
    return {};
  return {size.ws_col, size.ws_row};
}

// Each line is emptied before it is written: behind a full one the cursor still stands on it.
bool TopScreen::draw(const std::vector<std::string>& lines) {
  std::string text = "\033[H";
  for (const std::string& line : lines)
    text += (&line == &lines.front() ? "\033[2K" : "\r\n\033[2K") + line;
  return write_all(text + "\033[J");
}

std::optional<TopEvent> TopScreen::read_signal() {
  signalfd_siginfo info;
  if (::read(signals_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  const int signal = static_cast<int>(info.ssi_signo);
  if (signal == SIGWINCH) return TopEvent{};
  if (signal != SIGTSTP) return TopEvent{TopKey::kEnd, 0, signal};
  give_back();
  ::raise(SIGSTOP);
  take();
  return TopEvent{};
}

std::vector<TopEvent> TopScreen::next(std::chrono::steady_clock::time_point until) {
  using std::chrono::milliseconds;
  const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
  pollfd ready[] = {{signals_.get(), POLLIN, 0}, {before_ ? STDIN_FILENO : -1, POLLIN, 0}};
  if (::poll(ready, 2, static_cast<int>(std::max(left, milliseconds(0)).count())) <= 0) return {};
  std::vector<TopEvent> events;
  if (ready[0].revents != 0)
    if (const auto event = read_signal()) events.push_back(*event);
  if (ready[1].revents == 0) return events;
  char bytes[256];
  const ssize_t read = ::read(STDIN_FILENO, bytes, sizeof bytes);
  if (read > 0)
    for (const TopEvent& key : keys_in({bytes, static_cast<size_t>(read)})) events.push_back(key);
  else if (read == 0 || errno != EINTR)
    events.push_back({TopKey::kEnd, 0, 0});
  return events;
}

}  // namespace hecto::cli
