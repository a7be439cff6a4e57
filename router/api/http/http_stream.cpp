#include "router/api/http/http_stream.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace hecto::router {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t kFramingBytes = 1 << 20;  // of a chunked body, on top of body_bytes

bool wait(int fd, short events, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
    pollfd entry{fd, events, 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(std::clamp<long long>(left, 0, 600'000)));
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) return false;
  }
}

}  // namespace

HttpStream::HttpStream(int fd, const HttpLimits& limits, UploadBudget& budget)
    : fd_(fd), limits_(limits), budget_(budget) {}

HttpStream::~HttpStream() {
  end_request();
}

bool HttpStream::begin_request() {
  end_request();
  if (position_ == end_) {
    if (!wait(fd_, POLLIN, Clock::now() + limits_.idle) || !fill()) return false;
  }
  start_ = Clock::now();
  read_until_ = start_ + limits_.request;
  write_until_ = Clock::time_point::max();
  taken_ = written_ = unpacked_ = 0;
  in_body_ = false;
  return true;
}

void HttpStream::begin_body() {
  in_body_ = true;
  taken_ = 0;
}

void HttpStream::end_request() {
  budget_.give(accounted_);
  accounted_ = 0;
}

ssize_t HttpStream::fail(StreamFailure failure) {
  if (failure_ == StreamFailure::kNone) failure_ = failure;
  return -1;
}

bool HttpStream::account_body(size_t bytes) {
  unpacked_ += bytes;
  if (unpacked_ > limits_.body_bytes) return fail(StreamFailure::kBodyTooLarge) == 0;
  if (!budget_.take(bytes)) return fail(StreamFailure::kBusy) == 0;
  accounted_ += bytes;
  return true;
}

bool HttpStream::fill() {
  for (;;) {
    const ssize_t got = ::recv(fd_, buffer_, sizeof buffer_, MSG_DONTWAIT);
    if (got > 0) {
      position_ = 0;
      end_ = static_cast<size_t>(got);
      return true;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) {
      fail(StreamFailure::kPeer);
      return false;
    }
    if (!wait(fd_, POLLIN, read_until_)) {
      fail(StreamFailure::kTooSlow);
      return false;
    }
  }
}

ssize_t HttpStream::read(char* data, size_t size) {
  if (failure_ != StreamFailure::kNone) return -1;
  if (size == 0) return 0;
  const size_t limit = in_body_ ? limits_.body_bytes + kFramingBytes : limits_.head_bytes;
  if (taken_ >= limit) {
    return fail(in_body_ ? StreamFailure::kBodyTooLarge : StreamFailure::kHeadTooLarge);
  }
  if (position_ == end_) {
    // A trickle must not outlast the deadline either.
    if (Clock::now() >= read_until_) return fail(StreamFailure::kTooSlow);
    if (!fill()) return failure_ == StreamFailure::kPeer ? 0 : -1;
  }
  const size_t some = std::min({size, end_ - position_, limit - taken_});
  std::memcpy(data, buffer_ + position_, some);
  position_ += some;
  taken_ += some;
  return static_cast<ssize_t>(some);
}

ssize_t HttpStream::write(const char* data, size_t size) {
  const auto now = Clock::now();
  if (written_ == 0) write_until_ = now + limits_.response;
  const auto until = std::min(write_until_, now + limits_.stall);
  for (;;) {
    const ssize_t sent = ::send(fd_, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
      written_ += static_cast<size_t>(sent);
      return sent;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return fail(StreamFailure::kPeer);
    if (!wait(fd_, POLLOUT, until)) return fail(StreamFailure::kTooSlow);
  }
}

bool HttpStream::wait_readable() const {
  return wait(fd_, POLLIN, read_until_);
}

bool HttpStream::wait_writable() const {
  return wait(fd_, POLLOUT, std::min(write_until_, Clock::now() + limits_.stall));
}

void HttpStream::drain(milliseconds longest) {
  ::shutdown(fd_, SHUT_WR);
  const auto until = Clock::now() + longest;
  while (Clock::now() < until && wait(fd_, POLLIN, until)) {
    const ssize_t got = ::recv(fd_, buffer_, sizeof buffer_, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) return;
  }
}

std::optional<uint32_t> HttpStream::peer_uid() const {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(fd_, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return std::nullopt;
  return peer.uid;
}

void HttpStream::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip = "local";
  port = 0;
}

void HttpStream::get_local_ip_and_port(std::string& ip, int& port) const {
  get_remote_ip_and_port(ip, port);
}

time_t HttpStream::duration() const {
  return std::chrono::duration_cast<milliseconds>(Clock::now() - start_).count();
}

}  // namespace hecto::router
