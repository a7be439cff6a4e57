// What the mirrors of routing and of IPsec have in common: live notifications on one socket, dumps
// on another, and a resync that never sweeps what still exists.
//
// process() does a bounded piece of work, so that a dump of a million routes is spread over many
// calls; while one kind of object is being dumped its live changes wait, in order, and those of
// every other kind go straight through. Events are upserts and may repeat; removals may name what
// was never told.
//
// A resync (resync_begin, everything, resync_end) happens at the start, when the kernel dropped
// notifications (ENOBUFS), and on request. Between the two calls live changes go on being
// delivered. A part of the dump that was upset by changes is read again before resync_end, so that
// resync_end never sweeps what still exists; only the very first resync ends regardless and is
// followed by another.
//
// What one device's state changed without a word is read again by a resync of that device, where
// the protocol has one: a small part of the plan. Two devices, or anything else beside, and all is
// read.
//
// A dump that falls silent and a socket that fails are no end: both sockets are opened again, after
// a pause that doubles, and everything is read anew. What is forwarded meanwhile is what was known.
//
// Control thread only: process() and everything that it calls.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "router/linux/backoff.hpp"
#include "router/linux/dump.hpp"

namespace hecto::router {

struct MirrorOptions {
  uint32_t receive_buffer_bytes = 32U << 20;      // of notifications not yet read
  size_t held_limit_bytes = size_t{64} << 20;     // of notifications that wait for a dump
  std::chrono::milliseconds debounce{150};        // from a silent change to the resync
  std::chrono::milliseconds debounce_most{5000};  // the same in a storm of them
  std::chrono::milliseconds silence{5000};        // of a dump, until it is given up
  std::chrono::milliseconds reopen{100};          // the first pause before sockets are opened again
  std::chrono::milliseconds reopen_most{10000};
  // One line for the operator: sockets that failed.
  std::function<void(const std::string& line)> tell = nullptr;
};

struct MirrorStats {
  uint64_t messages = 0;
  uint64_t ignored = 0;
  uint64_t malformed = 0;
  uint64_t overruns = 0;
  uint64_t resyncs = 0;         // ended
  uint64_t repeated_dumps = 0;  // parts of a resync that changes upset
  uint64_t reopened = 0;        // sockets that failed, or dumps that fell silent
  uint64_t held_peak_bytes = 0;
  std::chrono::nanoseconds last_resync{0};  // how long it took
  std::string last_reason;                  // of the last resync begun
  std::string last_error;                   // of a dump; empty when the last one went well
};

class MirrorBase {
 public:
  virtual ~MirrorBase() = default;
  MirrorBase(const MirrorBase&) = delete;
  MirrorBase& operator=(const MirrorBase&) = delete;

  // Readable (level-triggered) when process() has something to do; timers included.
  int fd() const noexcept { return poll_.get(); }
  // Works on about `budget` messages (a dump's read is not split: up to some 500 more) and returns
  // how many. To be called now and then also when fd() is not readable: a socket that has gone
  // wakes nobody.
  Result<size_t> process(size_t budget);

  void request_resync(const std::string& why);
  bool synchronized() const noexcept { return ever_synchronized_ && state_ == State::kIdle; }
  // The first resync has ended.
  bool known() const noexcept { return ever_synchronized_; }
  // All that the kernel has was told, and no change of it has been lost since.
  bool whole() const noexcept { return whole_; }
  bool resync_pending() const noexcept { return wanted_.has_value(); }
  const MirrorStats& stats() const noexcept { return stats_; }

 protected:
  struct Sockets {
    NetlinkSocket live;  // subscribed
    DumpReader dump;
  };
  // What a protocol's dumps are like.
  struct Traits {
    std::vector<DumpPhase> plan;
    bool newest_first = false;  // a dump comes in this order; it is told the other way round
    bool secret = false;        // messages hold keys: no byte of them is left behind
    std::function<Result<Sockets>()> reopen = nullptr;  // the same two, new
  };

  MirrorBase(const MirrorOptions& options, Sockets&& sockets, Traits traits);
  Result<void> watch();
  // After `debounce`, and not too often. `device`: what it changed is all there is; 0: anything.
  void resync_soon(const std::string& why, int device = 0);

  virtual MessageKind kind(const Message& message) const noexcept = 0;
  virtual bool removes(const Message& message) const noexcept = 0;
  // `live`: a notification; else from a dump.
  virtual void deliver(const Message& message, bool live) = 0;
  virtual void on_resync_begin(const std::string& why) = 0;
  // What a resync of the device reads; empty: it takes a whole one. on_device_resync_begin() follows.
  virtual std::vector<DumpPhase> device_plan(int) { return {}; }
  virtual void on_device_resync_begin(int, const std::string&) {}
  virtual void on_resync_end() = 0;
  virtual bool reads(const DumpPhase&) const { return true; }  // asked as a resync begins
  virtual void phase_begins(MessageKind) {}
  virtual void dump_was_read(DumpConsistency&) {}  // one read of it has been delivered
  bool resyncing() const noexcept { return state_ != State::kIdle; }

  MirrorStats stats_;

 private:
  using Clock = std::chrono::steady_clock;

  // kIdle ─► kDumping ─► kSettling ─► kReplaying ─► next part, or kIdle after the last
  //              ▲                         │ upset by changes
  //              └──────── kPausing ◄──────┘
  enum class State : uint8_t { kIdle, kDumping, kSettling, kReplaying, kPausing };
  struct Wanted {
    std::string why;
    Clock::time_point due;
    int device = 0;  // 0: everything
  };

  // Live notifications.
  Result<size_t> receive_live(size_t budget);
  void take_datagram(Bytes datagram);
  void hold(Bytes raw, const Message& message);
  void overrun(const std::string& why);
  void want_resync(const std::string& why, Clock::time_point due, int device = 0);

  // The sockets.
  Result<void> watch(int fd);
  void give_up(const std::string& why);
  bool reopen();

  // The resync.
  Result<size_t> advance(size_t budget);
  void begin_resync();
  void end_resync();
  void start_phase();
  size_t read_dump();
  void keep(const Message& message);
  size_t replay_kept(size_t budget);
  size_t replay_held(size_t budget);
  void finish_phase();
  void retry_phase();
  void clear_held() noexcept;
  void arm_timer();

  const MirrorOptions options_;
  const Traits traits_;

  NetlinkSocket live_;
  DatagramBatch batch_;
  DumpReader dump_;
  FileDescriptor timer_;
  FileDescriptor poll_;
  Backoff resync_pause_, reopen_pause_;
  DumpWatchdog watchdog_;
  bool lost_ = false;  // the sockets, until they are opened again
  Clock::time_point reopen_at_;

  bool discarding_ = false;  // after an overrun, until the socket is empty
  bool drained_ = false;     // the last receive_live() emptied the socket
  std::optional<Wanted> wanted_;

  State state_ = State::kIdle;
  std::vector<DumpPhase> plan_;  // of the resync under way
  int device_ = 0;               // whose it is; 0: everything is read
  size_t phase_ = 0;
  unsigned attempt_ = 0;
  bool phase_failed_ = false;
  bool accepted_unsound_ = false;
  bool ever_synchronized_ = false;
  bool whole_ = false;
  bool lost_meanwhile_ = false;  // changes, since the last resync began
  DumpConsistency consistency_;
  Clock::time_point resync_started_;
  Clock::time_point resync_ended_;
  Clock::time_point phase_started_;
  Clock::time_point retry_at_;

  SecretBytes held_;  // whole messages, in order
  size_t held_read_ = 0;
  SecretBytes kept_;  // newest_first: the dump's messages
  std::vector<size_t> kept_at_;
  std::vector<Message> messages_;
};

}  // namespace hecto::router
