// Where the log goes: lines wait in a queue of bounded size, and a thread of its own writes them to
// a descriptor. Who logs never waits for who reads: with a full queue, because the reader of a pipe
// stands still, lines are lost, counted, and told of when it goes on.
//
//   spdlog ─► queue (at most kMostBytes) ─► thread ─► poll, write ─► stderr
//               └─ full: lost += 1                └─ "N lines of the log were lost"
//
// Lines that repeat themselves are counted (repeat_limit.hpp), but for those of a logger with a name.
// Thread-safe.
#pragma once

#include <spdlog/sinks/base_sink.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

namespace hecto::router {

class BoundedSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  static constexpr size_t kMostBytes = 1 << 20;

  struct Options {
    bool colors = false;         // levels in colour, for a terminal
    bool journal = false;        // entries of the journal (journal.hpp) instead of writes
    bool limit_repeats = false;  // the same line again and again is counted
    size_t most_bytes = kMostBytes;
  };
  explicit BoundedSink(int fd) : BoundedSink(fd, Options()) {}
  BoundedSink(int fd, const Options& options);  // does not own `fd`
  ~BoundedSink() override;                      // drains for a second

  // Waits until all that was logged is written, at most so long; what is left then is lost.
  void drain(std::chrono::milliseconds longest) noexcept;
  uint64_t lost() const noexcept;
  // The writing thread runs where the calling thread may: off the workers' cores.
  void run_where_i_may() noexcept;

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void set_formatter_(std::unique_ptr<spdlog::formatter> formatter) override;
  void flush_() override {}  // the thread writes at once; nobody waits for it

 private:
  struct Line;
  struct Shared;
  const std::shared_ptr<Shared> shared_;  // the thread's, too: it may stand in a write for ever
};

// The default logger of the process: lines of `level` and above to stderr. To be called once,
// before other threads exist.
std::shared_ptr<BoundedSink> start_log(const std::string& level);

}  // namespace hecto::router
