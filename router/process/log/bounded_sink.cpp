#include "router/process/log/bounded_sink.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <string>
#include <thread>
#include <utility>

#include "router/process/log/journal.hpp"
#include "router/process/log/repeat_limit.hpp"

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

struct BoundedSink::Line {
  int level = spdlog::level::info;
  std::string text;
};

struct BoundedSink::Shared {
  Shared(int its_fd, const Options& its_options) : fd(its_fd), options(its_options) {}

  void run();
  void wait(std::unique_lock<std::mutex>& lock);
  void write(const std::deque<Line>& batch, uint64_t gap);
  bool write_all(std::string_view text);
  void to_journal(int level, std::string_view line);
  // With the lock held.
  void append(const spdlog::details::log_msg& message);
  void append_held(RepeatLimit::Clock::time_point now);

  const int fd;
  const Options options;
  std::mutex mutex;
  std::condition_variable changed;
  std::unique_ptr<spdlog::formatter> formatter = std::make_unique<spdlog::pattern_formatter>();
  RepeatLimit repeats;
  std::deque<Line> lines;
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

void BoundedSink::Shared::append(const spdlog::details::log_msg& message) {
  message.color_range_start = message.color_range_end = 0;
  spdlog::memory_buf_t formatted;
  formatter->format(message, formatted);
  std::string line(formatted.data(), formatted.size());
  if (options.colors && message.color_range_end > message.color_range_start) {
    line.insert(message.color_range_end, kNoColor);
    line.insert(message.color_range_start, kColors[message.level]);
  }
  if (bytes + line.size() > options.most_bytes) {
    ++lost;
    return;
  }
  bytes += line.size();
  idle = false;
  lines.push_back({message.level, std::move(line)});
}

void BoundedSink::Shared::append_held(RepeatLimit::Clock::time_point now) {
  for (const RepeatLimit::Held& held : repeats.take(now))
    append({{}, static_cast<spdlog::level::level_enum>(held.level), held.line});
}

// For lines, the end, or the end of a window that holds some back.
void BoundedSink::Shared::wait(std::unique_lock<std::mutex>& lock) {
  while (!ending && lines.empty()) {
    const auto due = repeats.due();
    if (due)
      changed.wait_until(lock, *due);
    else
      changed.wait(lock);
    append_held(RepeatLimit::Clock::now());
  }
}

void BoundedSink::Shared::write(const std::deque<Line>& batch, uint64_t gap) {
  const std::string told =
      gap == 0 ? "" : fmt::format("log: {} lines were lost so far, as nobody read them\n", gap);
  if (!options.journal) {
    std::string text;
    for (const Line& line : batch) text += line.text;
    write_all(text + told);
    return;
  }
  for (const Line& line : batch) to_journal(line.level, line.text);
  if (gap > 0) to_journal(spdlog::level::warn, told);
}

// What the journal does not take goes to its stream.
void BoundedSink::Shared::to_journal(int level, std::string_view line) {
  if (!send_to_journal(syslog_priority(level), line.substr(0, line.size() - 1))) write_all(line);
}

void BoundedSink::Shared::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    idle = lines.empty();
    if (idle) changed.notify_all();
    wait(lock);
    if (lines.empty()) return;
    idle = false;
    // Where the gap is: in front of what came behind it.
    const uint64_t gap = std::exchange(told, lost) == lost ? 0 : lost;
    std::deque<Line> batch;
    batch.swap(lines);
    bytes = 0;
    lock.unlock();
    write(batch, gap);
    lock.lock();
  }
}

BoundedSink::BoundedSink(int fd, const Options& options)
    : shared_(std::make_shared<Shared>(fd, options)) {
  sigset_t all, before;
  sigfillset(&all);
  sigdelset(&all, SIGSYS);  // what a seccomp filter refuses comes as one
  for (int one = SIGRTMIN; one <= SIGRTMAX; ++one)
    sigdelset(&all, one);  // of router/process/privileges
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
    shared_->append_held(RepeatLimit::Clock::time_point::max());
    shared_->changed.notify_all();
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
  {
    const std::lock_guard lock(shared_->mutex);
    const auto now = RepeatLimit::Clock::now();
    shared_->append_held(now);
    const bool limited = shared_->options.limit_repeats && message.logger_name.size() == 0;
    if (!limited || shared_->repeats.passes({message.payload.data(), message.payload.size()},
                                            message.level, now))
      shared_->append(message);
  }
  shared_->changed.notify_all();
}

void BoundedSink::set_formatter_(std::unique_ptr<spdlog::formatter> formatter) {
  const std::lock_guard lock(shared_->mutex);
  shared_->formatter = std::move(formatter);
}

namespace {

// For std::terminate: a function without arguments.
BoundedSink* last_words = nullptr;
std::terminate_handler terminate_before = nullptr;

}  // namespace

std::shared_ptr<BoundedSink> start_log(const std::string& level) {
  const bool terminal = ::isatty(STDERR_FILENO) == 1, journal = is_journal(STDERR_FILENO);
  auto sink = std::make_shared<BoundedSink>(
      STDERR_FILENO,
      BoundedSink::Options{.colors = terminal, .journal = journal, .limit_repeats = true});
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("", sink));
  spdlog::set_pattern(journal    ? "%v"  // time and level are fields
                      : terminal ? "%T %^%-5l%$ %v"
                                 : "%Y-%m-%dT%T.%e %-5l %v");
  spdlog::set_level(spdlog::level::from_str(level));
  last_words = sink.get();
  terminate_before = std::set_terminate([] {
    if (last_words != nullptr) last_words->drain(kLastWords);
    terminate_before();
  });
  return sink;
}

}  // namespace hecto::router
