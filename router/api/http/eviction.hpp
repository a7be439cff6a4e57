// Whose connection goes when one more comes and all places are taken: so that a client that holds
// many, slowly, holds nobody off. Pure functions, thread-safe.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace hecto::router {

// What a connection waits for. In kAnswering it is the router that works: it stays.
enum class Doing : uint8_t { kIdle, kReading, kSending, kAnswering };

// Written by the connection's thread, read by the one that accepts.
class ConnectionState {
 public:
  void now(Doing doing) {
    since_ns_.store(std::chrono::steady_clock::now().time_since_epoch().count(),
                    std::memory_order_relaxed);
    doing_.store(doing, std::memory_order_release);
  }
  Doing doing() const { return doing_.load(std::memory_order_acquire); }
  int64_t since_ns() const { return since_ns_.load(std::memory_order_relaxed); }
  void evict() { evicted_.store(true); }  // the next thing it does is to end
  bool evicted() const { return evicted_.load(); }

 private:
  std::atomic<Doing> doing_{Doing::kIdle};
  std::atomic<int64_t> since_ns_{std::chrono::steady_clock::now().time_since_epoch().count()};
  std::atomic<bool> evicted_{false};
};

// The other end as the kernel knew it when it connected (SO_PEERCRED).
struct Peer {
  uid_t uid = static_cast<uid_t>(-1);
  pid_t pid = 0;
};

struct Held {
  Peer peer;
  Doing doing;
  int64_t since_ns;
};

// Of the user with the most connections, and of his processes the one with the most: first who is
// idle, then who is long in sending his request, then who is long in taking his answer; in each the
// longest. Nothing where all are being answered.
std::optional<size_t> choose_victim(std::span<const Held> held);

}  // namespace hecto::router
