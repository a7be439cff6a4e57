// A steady stream of numbered UDP packets from one network namespace to another, and the gaps in
// what arrives.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.hpp"
#include "router/linux/netns.hpp"

namespace hecto::bench {

// What one packet says.
struct StreamPacket {
  uint64_t number = 0;
  uint64_t sent_ns = 0;
};

struct Gap {
  uint64_t lost = 0;
  double milliseconds =
      0;  // from the last packet that arrived to the first that does again, as sent
};

// From the numbers that arrive. Not thread-safe.
class GapFinder {
 public:
  // Gaps of fewer packets are not told: a busy host loses one now and then.
  explicit GapFinder(uint64_t least) : least_(least) {}
  void arrived(const StreamPacket& packet);
  // What was found so far; goes on behind the last packet with nothing found.
  GapFinder take();
  const std::vector<Gap>& gaps() const { return gaps_; }
  uint64_t lost() const { return lost_; }  // in all gaps, small ones too
  uint64_t received() const { return received_; }

 private:
  uint64_t least_;
  bool any_ = false;
  StreamPacket last_;
  std::vector<Gap> gaps_;
  uint64_t lost_ = 0, received_ = 0;
};

class Stream {
 public:
  struct Options {
    std::string to;  // IPv4
    uint16_t port = 7000;
    double pps = 10'000;
  };
  static Result<std::unique_ptr<Stream>> start(const router::NetworkNamespace& from,
                                               const router::NetworkNamespace& at,
                                               const Options& options);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // What has arrived since the last call.
  GapFinder take();
  uint64_t sent() const { return sent_.load(std::memory_order_relaxed); }

 private:
  Stream() : found_(kLeast) {}
  void send(double pps);
  void receive();

  static constexpr uint64_t kLeast = 20;
  FileDescriptor source_, sink_;
  std::atomic<bool> over_{false};
  std::atomic<uint64_t> sent_{0};
  std::mutex mutex_;
  GapFinder found_;
  std::thread sender_, receiver_;
};

}  // namespace hecto::bench
