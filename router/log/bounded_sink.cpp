#include "router/log/bounded_sink.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <string>
#include <thread>
#include <utility>

namespace hecto::router {
namespace {

using std::chrono::milliseconds;

constexpr size_t kMostAtOnce = 4096;  // PIPE_BUF: what a pipe that is ready takes without waiting
constexpr milliseconds kLastWords{1'000};
constexpr int kPoll_ms = 1'000;

constexpr const char* kColors[] = {
    "", "\033[36m", "\033[32m", "\033[33m\033[1m", "\033[31m\033[1m", "\033[1m\033[41m", ""};
constexpr const char* kNoColor = "\033[m";

}  // namespace

struct BoundedSink::Shared {
  Shared(int its_fd, size_t most) : fd(its_fd), most_bytes(most) {}

  void run();
  bool write_all(std::string_view text);

  const int fd;
  const size_t most_bytes;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> lines;
  size_t bytes = 0;
  uint64_t lost = 0, told = 0;
  bool ending = false, idle = true;
  pthread_t thread{};
};

// A write of so little does not wait where poll() has room. Of a descriptor that is gone the lines
// are thrown away: there is nobody to tell.
bool BoundedSink::Shared::write_all(std::string_view text) {
  while (!text.empty()) {
    pollfd entry{fd, POLLOUT, 0};
    const int ready = ::poll(&entry, 1, kPoll_ms);
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    if (ready < 0 || (entry.revents & (POLLERR | POLLNVAL)) != 0) return false;
    const ssize_t written = ::write(fd, text.data(), std::min(text.size(), kMostAtOnce));
    if (written < 0 && errno != EAGAIN && errno != EINTR) return false;
    text.remove_prefix(static_cast<size_t>(std::max<ssize_t>(written, 0)));
  }
  return true;
}

void BoundedSink::Shared::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    idle = lines.empty();
    if (idle) changed.notify_all();
    changed.wait(lock, [this] { return ending || !lines.empty(); });
    if (lines.empty()) return;
    idle = false;
    // Where the gap is: in front of what came behind it.
    const uint64_t gap = std::exchange(told, lost) == lost ? 0 : lost;
    std::string text;
    std::deque<std::string> batch;
    batch.swap(lines);
    const size_t taken = std::exchange(bytes, 0);
    lock.unlock();
    text.reserve(taken + 80);
    for (const std::string& line : batch) text += line;
    if (gap > 0) text += fmt::format("log: {} lines were lost so far, as nobody read them\n", gap);
    write_all(text);
    lock.lock();
  }
}

BoundedSink::BoundedSink(int fd, bool colors, size_t most_bytes)
    : shared_(std::make_shared<Shared>(fd, most_bytes)), colors_(colors) {
  sigset_t all, before;
  sigfillset(&all);
  sigdelset(&all, SIGSYS);  // what a seccomp filter refuses comes as one
  for (int one = SIGRTMIN; one <= SIGRTMAX; ++one) sigdelset(&all, one);  // of router/privileges
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread writer([shared = shared_] { shared->run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(writer.native_handle(), "hecto-log");
  shared_->thread = writer.native_handle();
  writer.detach();
}

BoundedSink::~BoundedSink() {
  drain(kLastWords);
  const std::lock_guard lock(shared_->mutex);
  shared_->ending = true;
  shared_->changed.notify_all();
}

void BoundedSink::drain(milliseconds longest) noexcept {
  try {
    std::unique_lock lock(shared_->mutex);
    shared_->changed.wait_for(lock, longest,
                              [this] { return shared_->idle && shared_->lines.empty(); });
  } catch (const std::exception&) {  // the log is the last that would be told
  }
}

uint64_t BoundedSink::lost() const noexcept {
  const std::lock_guard lock(shared_->mutex);
  return shared_->lost;
}

void BoundedSink::run_where_i_may() noexcept {
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof cpus, &cpus) == 0)
    pthread_setaffinity_np(shared_->thread, sizeof cpus, &cpus);
}

void BoundedSink::sink_it_(const spdlog::details::log_msg& message) {
  message.color_range_start = message.color_range_end = 0;
  spdlog::memory_buf_t formatted;
  formatter_->format(message, formatted);
  std::string line(formatted.data(), formatted.size());
  if (colors_ && message.color_range_end > message.color_range_start) {
    line.insert(message.color_range_end, kNoColor);
    line.insert(message.color_range_start, kColors[message.level]);
  }
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->bytes + line.size() > shared_->most_bytes) {
      ++shared_->lost;
      return;
    }
    shared_->bytes += line.size();
    shared_->idle = false;
    shared_->lines.push_back(std::move(line));
  }
  shared_->changed.notify_all();
}

namespace {

// For std::terminate: a function without arguments.
BoundedSink* last_words = nullptr;
std::terminate_handler terminate_before = nullptr;

}  // namespace

std::shared_ptr<BoundedSink> start_log(const std::string& level) {
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  auto sink = std::make_shared<BoundedSink>(STDERR_FILENO, terminal);
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("", sink));
  spdlog::set_pattern(terminal ? "%T %^%-5l%$ %v" : "%Y-%m-%dT%T.%e %-5l %v");
  spdlog::set_level(spdlog::level::from_str(level));
  last_words = sink.get();
  terminate_before = std::set_terminate([] {
    if (last_words != nullptr) last_words->drain(kLastWords);
    terminate_before();
  });
  return sink;
}

}  // namespace hecto::router
