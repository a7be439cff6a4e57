// The netlink mirror: tells a LinuxEvents what a namespace's links, addresses, next-hop objects,
// routes and neighbors are, first all of them, then every change.
//
// Live notifications come on one socket, dumps on another. process() does a bounded piece of
// work, so that a dump of a million routes is spread over many calls; while one kind of object is
// being dumped its live changes wait, in order, and those of every other kind go straight through.
// Events are upserts and may repeat; removals may name what was never told.
//
// A resync (resync_begin, everything, resync_end) happens at the start, when the kernel dropped
// notifications (ENOBUFS), on request, and shortly after what the kernel does without telling
// (see README.md). Between the two calls live changes go on being delivered. A part of the dump
// that was upset by changes is read again before resync_end, so that resync_end never sweeps what
// still exists; only the very first resync ends regardless and is followed by another.
//
// Control thread only: process() and everything that it calls.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "router/linux/dump.hpp"

namespace hecto::router {

struct MirrorOptions {
  uint32_t receive_buffer_bytes = 32U << 20;   // of notifications not yet read
  size_t held_limit_bytes = size_t{64} << 20;  // of notifications that wait for a dump
  std::chrono::milliseconds debounce{150};     // from a silent change to the resync
};

struct MirrorStats {
  uint64_t messages = 0;
  uint64_t ignored = 0;
  uint64_t malformed = 0;
  uint64_t overruns = 0;
  uint64_t resyncs = 0;         // ended
  uint64_t repeated_dumps = 0;  // parts of a resync that changes upset
  uint64_t held_peak_bytes = 0;
  std::chrono::nanoseconds last_resync{0};  // how long it took
  std::string last_reason;                  // of the last resync begun
  std::string last_error;                   // of a dump; empty when the last one went well
};

class NetlinkMirror {
 public:
  // `events` must outlive the mirror. The first resync starts with the first process().
  static Result<std::unique_ptr<NetlinkMirror>> open(const NetworkNamespace& space,
                                                     LinuxEvents& events,
                                                     const MirrorOptions& options = {});
  NetlinkMirror(const NetlinkMirror&) = delete;
  NetlinkMirror& operator=(const NetlinkMirror&) = delete;

  // Readable (level-triggered) when process() has something to do; timers included.
  int fd() const noexcept { return poll_.get(); }
  // Works on about `budget` messages (a dump's read is not split: up to some 500 more) and returns
  // how many. An error means that the socket is beyond use.
  Result<size_t> process(size_t budget);

  void request_resync(const std::string& why);
  bool synchronized() const noexcept { return ever_synchronized_ && state_ == State::kIdle; }
  bool resync_pending() const noexcept { return wanted_.has_value(); }
  const MirrorStats& stats() const noexcept { return stats_; }

 private:
  using Clock = std::chrono::steady_clock;

  // kIdle ─► kDumping ─► kSettling ─► kReplaying ─► next part, or kIdle after the last
  //              ▲                         │ upset by changes
  //              └──────── kPausing ◄──────┘
  enum class State : uint8_t { kIdle, kDumping, kSettling, kReplaying, kPausing };
  struct Wanted {
    std::string why;
    Clock::time_point due;
  };
  struct LinkState {
    bool up;
    bool carrier;
    bool operator==(const LinkState&) const = default;
  };

  NetlinkMirror(LinuxEvents& events, const MirrorOptions& options, NetlinkSocket live,
                DumpReader dump);
  Result<void> watch();

  // Live notifications (mirror.cpp).
  Result<size_t> receive_live(size_t budget);
  void take_datagram(Bytes datagram);
  void hold(Bytes raw, const Message& message);
  void overrun(const std::string& why);
  void deliver(const Message& message, bool live);
  void deliver_link(bool live);
  void resync_soon(const std::string& why);
  void want_resync(const std::string& why, Clock::time_point due);

  // The resync (mirror_dump.cpp).
  Result<size_t> advance(size_t budget);
  void begin_resync();
  void end_resync();
  void start_phase();
  size_t read_dump();
  size_t replay_held(size_t budget);
  void finish_phase();
  void retry_phase();
  void arm_timer();

  LinuxEvents& events_;
  const MirrorOptions options_;
  MirrorStats stats_;

  NetlinkSocket live_;
  DatagramBatch batch_;
  DumpReader dump_;
  FileDescriptor timer_;
  FileDescriptor poll_;

  bool discarding_ = false;  // after an overrun, until the socket is empty
  bool drained_ = false;     // the last receive_live() emptied the socket
  std::optional<Wanted> wanted_;

  State state_ = State::kIdle;
  std::vector<DumpPhase> plan_;
  size_t phase_ = 0;
  unsigned attempt_ = 0;
  bool phase_failed_ = false;
  bool accepted_unsound_ = false;
  bool ever_synchronized_ = false;
  DumpConsistency consistency_;
  Clock::time_point resync_started_;
  Clock::time_point resync_ended_;
  Clock::time_point phase_started_;
  Clock::time_point retry_at_;

  std::vector<uint8_t> held_;  // whole messages, in order
  size_t held_read_ = 0;
  std::vector<Message> messages_;

  std::unordered_map<int, LinkState> links_;
  LinkEvent link_;
  AddressEvent address_;
  NeighborEvent neighbor_;
  NextHopEvent nexthop_;
  RouteEvent route_;
};

}  // namespace hecto::router
