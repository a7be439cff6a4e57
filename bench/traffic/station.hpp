// One CPU's part of a trial: it sends the streams of its ports and receives all that comes to them.
// Prepared by the control thread, run on its lcore, read when it has ended. Nothing is allocated
// while it runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "bench/traffic/frame_check.hpp"
#include "bench/traffic/frames.hpp"
#include "bench/traffic/neighbors.hpp"
#include "bench/traffic/pace.hpp"
#include "bench/traffic/tag.hpp"
#include "bench/traffic/trial.hpp"
#include "bench/traffic/window.hpp"
#include "router/dataplane/ports/poller.hpp"

struct rte_mbuf;
struct rte_mempool;

namespace hecto::bench {

// What all stations of a trial share.
struct TrialClock {
  uint64_t start = 0, end = 0;              // TSC, of sending
  uint64_t settle = 0;                      // TSC cycles of receiving after that, at most
  double pps = 0;                           // 0: the most
  const std::atomic<bool>* stop = nullptr;  // may be null
  std::atomic<bool> failed{false};          // a port has gone
  std::atomic<unsigned> sending{0};         // stations that have not ended
  std::atomic<uint64_t> sent{0};            // of those that have
  bool over() const noexcept {
    return failed.load(std::memory_order_relaxed) ||
           (stop != nullptr && stop->load(std::memory_order_relaxed));
  }
};

struct TxStream {
  const StreamFrames* frames = nullptr;
  uint16_t port = 0;
  rte_mempool* pool = nullptr;  // zeroed buffers, or any for a replay
  double part = 1;              // of all packets
  uint64_t sequence = 0;        // the next; goes on through all trials
  size_t record = 0, place = 0;
  uint64_t sent = 0, refused = 0, bytes = 0;
  uint64_t held_back = 0;  // without a rate
  Pace pace;
  double credit = 0;  // without a rate
};

struct RxStream {
  const FrameCheck* check = nullptr;  // null: of a replay, which has no tags
  PacketCursor cursor;
  SequenceWindow window;
  WrongCounts wrong;
  Histogram latency_ns, jitter_ns;
  uint64_t last_ns = UINT64_MAX;  // none yet
  // Packets of one burst here that were of one burst there: one entry for all.
  uint64_t run = 0;
  uint64_t run_received = 0;  // TSC
  uint32_t run_sent = 0;      // time in the tag
  bool run_short = false;     // of a short tag
  uint64_t replayed = 0;
};

struct RxPort {
  uint16_t port = 0;
  uint16_t place = 0;  // in the generator's list
  PortAddresses own;
  uint16_t replay = UINT16_MAX;  // the stream to which frames without a tag belong
  uint64_t foreign = 0;
};

// Frees received packets of any pools and shapes; null where one was passed on.
void free_burst(rte_mbuf** mbufs, unsigned count) noexcept;

class Station {
 public:
  static constexpr unsigned kMaxBurst = 64;

  struct Options {
    unsigned burst = kMaxBurst;
    bool timestamps = true;
    size_t streams = 0;  // of the whole generator
    uint64_t tsc_hz = 1;
    router::Poller* poller = nullptr;  // tells whether it is within bursts; null: nobody asks
  };
  explicit Station(const Options& options);
  Station(const Station&) = delete;
  Station& operator=(const Station&) = delete;

  std::vector<TxStream> senders;
  std::vector<RxPort> ports;
  std::vector<RxStream> receivers;  // by stream

  // Zeroes all counts; `first` holds each stream's next sequence number.
  void prepare(const TrialClock& trial, const std::vector<uint64_t>& first);
  void run(TrialClock& trial, const std::vector<Station*>& all) noexcept;
  uint64_t ended() const noexcept { return ended_; }  // TSC, of sending
  // What has come since prepare, for who waits for the last packet.
  uint64_t received() const noexcept { return received_.load(std::memory_order_relaxed); }
  // Empties the receive queues and answers what is asked there.
  void drain() noexcept;

 private:
  void send_due(TrialClock& trial, uint64_t now) noexcept;
  unsigned send(TxStream& stream, unsigned count) noexcept;
  template <bool kIpv6, bool kTimed>
  void write(TxStream& stream, rte_mbuf** mbufs, unsigned count) noexcept;
  void write_times(uint8_t* const* tags, const uint32_t* sums, bool any_short, uint32_t sequence,
                   unsigned count) const noexcept;
  void write_replay(TxStream& stream, rte_mbuf** mbufs, unsigned count) noexcept;
  bool receive(RxPort& port) noexcept;
  void take(RxPort& port, rte_mbuf*& mbuf, uint64_t now) noexcept;
  void take_other(RxPort& port, rte_mbuf*& mbuf) noexcept;
  template <bool kIpv6, bool kShort>
  void take_ours(const Arrived& arrived, const Tag& tag, uint64_t now) noexcept;
  template <bool kIpv6, bool kShort>
  static bool take_odd(RxStream& stream, Arrived arrived, uint64_t sequence,
                       PacketCursor::Place at) noexcept;
  template <bool kShort>
  void count(RxStream& stream, uint64_t sequence, uint32_t sent, uint64_t now) noexcept;
  bool is_ours(uint16_t stream) const noexcept {
    return stream < options_.streams && receivers[stream].check != nullptr;
  }
  void end_run(RxStream& stream) noexcept;
  void settle(TrialClock& trial, const std::vector<Station*>& all) noexcept;

  Options options_;
  Clock clock_;
  uint64_t ended_ = 0;
  std::atomic<uint64_t> received_{0};
};

}  // namespace hecto::bench
