// Reads and writes of a stream socket that end at a deadline, whatever the other end does: a byte
// now and then does not move it. By hand, because Asio's timers cost an epoll, an event and a timer
// descriptor a connection, and three times the build. Thread-safe but for two writers of one
// socket.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hecto::router {

using IoClock = std::chrono::steady_clock;

enum class IoEnd : uint8_t { kDone, kClosed, kTooLate };

struct Received {
  IoEnd end;
  size_t bytes;  // at least one when kDone
};
Received receive(int fd, char* data, size_t size, IoClock::time_point until);

// Both parts in order and whole. kTooLate also when the other end takes nothing for `stall`.
IoEnd send_all(int fd, std::string_view head, std::string_view body,
               std::chrono::milliseconds stall, IoClock::time_point until);

}  // namespace hecto::router
