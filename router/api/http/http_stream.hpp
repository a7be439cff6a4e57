// A connection as cpp-httplib reads and writes it: buffered, with a deadline for the request and
// one for the answer, and a bound for what a client may send before its request is understood.
// One thread.
#pragma once

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "router/api/http/http.hpp"

namespace hecto::router {

// The bytes of bodies that all connections hold together.
class UploadBudget {
 public:
  explicit UploadBudget(size_t bytes) : left_(static_cast<long long>(bytes)) {}
  bool take(size_t bytes) {
    const auto wanted = static_cast<long long>(bytes);
    if (left_.fetch_sub(wanted, std::memory_order_relaxed) >= wanted) return true;
    give(bytes);
    return false;
  }
  void give(size_t bytes) {
    left_.fetch_add(static_cast<long long>(bytes), std::memory_order_relaxed);
  }

 private:
  std::atomic<long long> left_;
};

enum class StreamFailure : uint8_t { kNone, kPeer, kTooSlow, kHeadTooLarge, kBodyTooLarge, kBusy };

// The virtual functions of httplib::Stream differ between versions; those of all versions are
// here, without `override`.
class HttpStream final : public httplib::Stream {
 public:
  HttpStream(int fd, const HttpLimits& limits, UploadBudget& budget);
  ~HttpStream();

  // Waits for the first byte of a request; false when none comes or the peer is gone.
  bool begin_request();
  void begin_body();                // from here on the limits are those of a body
  bool account_body(size_t bytes);  // bytes that decompression made
  void end_request();               // gives the budget back
  void close_after_answer() { close_after_answer_ = true; }
  bool must_close() const { return close_after_answer_ || failure_ != StreamFailure::kNone; }
  StreamFailure failure() const { return failure_; }
  bool answered() const { return written_ > 0; }
  std::optional<uint32_t> peer_uid() const;  // SO_PEERCRED
  // What the client still sends is read and thrown away, so that it gets to read the answer.
  void drain(std::chrono::milliseconds longest);

  bool is_readable() const { return position_ < end_ || wait_readable(); }
  bool is_writable() const { return wait_writable(); }
  bool wait_readable() const;
  bool wait_writable() const;
  ssize_t read(char* data, size_t size);
  ssize_t write(const char* data, size_t size);
  using httplib::Stream::write;
  void get_remote_ip_and_port(std::string& ip, int& port) const;
  void get_local_ip_and_port(std::string& ip, int& port) const;
  socket_t socket() const { return fd_; }
  time_t duration() const;

 private:
  using Clock = std::chrono::steady_clock;
  bool fill();
  ssize_t fail(StreamFailure failure);

  const int fd_;
  const HttpLimits& limits_;
  UploadBudget& budget_;
  Clock::time_point start_, read_until_, write_until_;
  size_t taken_ = 0;      // of this part (head or body) of the request
  size_t accounted_ = 0;  // taken from the budget
  size_t unpacked_ = 0;
  size_t written_ = 0;
  bool in_body_ = false;
  bool close_after_answer_ = false;
  StreamFailure failure_ = StreamFailure::kNone;
  size_t position_ = 0, end_ = 0;
  char buffer_[16384];
};

}  // namespace hecto::router
