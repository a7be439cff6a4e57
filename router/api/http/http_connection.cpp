#include "router/api/http/http_connection.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "router/api/http/http_parser.hpp"
#include "router/api/http/http_status.hpp"

namespace hecto::router {
namespace {

constexpr std::chrono::milliseconds kDrain{2'000};
constexpr size_t kLeastBuffer = 32 << 10;  // more than any line of a chunk may have

std::string_view body_of(const HttpAnswer& answer) {
  if (!answer.secret) return answer.body;
  return {reinterpret_cast<const char*>(answer.secret->data()), answer.secret->size()};
}

std::string head_of(const HttpAnswer& answer, const HttpService& service, bool keep_alive) {
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\n{}{}", answer.status,
                  reason_phrase(answer.status), answer.type, service.headers, answer.headers);
  if (answer.status == 401) head += "WWW-Authenticate: Bearer\r\n";
  if (answer.status != 204 && answer.status != 304)
    head += fmt::format("Content-Length: {}\r\n", body_of(answer).size());
  if (!keep_alive) return head + "Connection: close\r\n\r\n";
  const auto idle = std::chrono::duration_cast<std::chrono::seconds>(service.limits.idle);
  return head + fmt::format("Keep-Alive: timeout={}, max={}\r\n\r\n", idle.count(),
                            service.limits.requests_per_connection);
}

HttpPeer http_peer_of(int fd) {
  HttpPeer peer;
  ucred user{};
  socklen_t length = sizeof user;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &length) != 0) return peer;
  if (user.uid == static_cast<uid_t>(-1)) return peer;  // TCP
  peer.uid = user.uid;
  peer.pid = user.pid;
  peer.groups.resize(64);
  for (;;) {  // NGROUPS_MAX is 65,536
    length = static_cast<socklen_t>(peer.groups.size() * sizeof(uint32_t));
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, peer.groups.data(), &length) == 0) break;
    if (errno != ERANGE) length = 0;
    if (length == 0) break;
    peer.groups.resize(length / sizeof(uint32_t));
  }
  peer.groups.resize(length / sizeof(uint32_t));
  peer.groups.push_back(user.gid);
  return peer;
}

}  // namespace

HttpConnection::HttpConnection(int fd, HttpService& service, ConnectionState& state)
    : fd_(fd),
      service_(service),
      state_(state),
      peer_(http_peer_of(fd)),
      capacity_(std::max(service.limits.head_bytes, kLeastBuffer)),
      buffer_(std::make_unique_for_overwrite<char[]>(capacity_)) {}

void HttpConnection::serve() {
  if (service_.admits && !service_.admits(peer_)) {
    send_answer(refusal(403), false, false);
    if (!peer_gone_) drain();
    return;
  }
  for (unsigned i = 1; i <= service_.limits.requests_per_connection && !ending(); ++i) {
    if (!await_request()) break;
    if (!serve_request(i == service_.limits.requests_per_connection)) break;
  }
  if (state_.evicted() && !peer_gone_) turn_away(fd_, service_);
  if (!peer_gone_ && !ending()) drain();
}

void HttpConnection::turn_away(int fd, const HttpService& service) noexcept {
  try {
    const HttpAnswer answer = refusal(503);
    send_all(fd, head_of(answer, service, false), answer.body, {}, {});
  } catch (const std::exception&) {  // no memory
  }
}

// The first byte may come late; from then on the time of the request runs.
bool HttpConnection::await_request() {
  state_.now(Doing::kIdle);
  int status = 0;
  return begin_ < end_ || fill(IoClock::now() + service_.limits.idle, status);
}

bool HttpConnection::fill(IoClock::time_point until, int& status) {
  if (begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= std::exchange(begin_, 0);
  }
  const auto [end, bytes] = receive(fd_, buffer_.get() + end_, capacity_ - end_, until);
  end_ += bytes;
  if (end != IoEnd::kDone) status = end == IoEnd::kTooLate ? 408 : 400;
  return end == IoEnd::kDone;
}

int HttpConnection::read_request(RequestParser& parser) {
  state_.now(Doing::kReading);
  const auto until = IoClock::now() + service_.limits.request;
  bool told_to_continue = false;
  for (;;) {
    while (begin_ < end_ && !parser.done()) {
      const size_t taken = parser.put(unread());
      begin_ += taken;
      if (parser.refusal() != 0) return parser.refusal();
      if (taken == 0) break;
    }
    if (parser.done()) return 0;
    if (begin_ == end_ && parser.awaits_continue() && !std::exchange(told_to_continue, true))
      send_all(fd_, "HTTP/1.1 100 Continue\r\n\r\n", {}, service_.limits.stall, until);
    int status = 0;
    if (!fill(until, status)) return status;
  }
}

bool HttpConnection::serve_request(bool last) {
  RequestParser parser(service_.limits, service_.uploads);
  int status = 0;
  try {
    status = read_request(parser);
  } catch (const std::bad_alloc&) {
    status = 503;
  }
  if (status != 0 && state_.evicted()) return false;  // serve() says so
  if (status != 0) return send_answer(refusal(status), false, false) && false;
  parser.request().peer = peer_;
  state_.now(Doing::kAnswering);
  const HttpAnswer answer = call_handler(parser.request());
  return send_answer(answer, parser.keep_alive() && !last, parser.head_only());
}

HttpAnswer HttpConnection::call_handler(HttpRequest& request) const {
  try {
    return service_.handler(request);
  } catch (const std::exception& problem) {
    return {500, error_body(problem.what())};
  }
}

// A secret goes from where it lies to the kernel.
bool HttpConnection::send_answer(const HttpAnswer& answer, bool keep_alive, bool head_only) {
  state_.now(Doing::kSending);
  const HttpLimits& limits = service_.limits;
  const IoEnd end = send_all(fd_, head_of(answer, service_, keep_alive),
                             head_only ? std::string_view() : body_of(answer), limits.stall,
                             IoClock::now() + limits.response);
  peer_gone_ = end != IoEnd::kDone;
  return keep_alive && !peer_gone_ && !state_.evicted();
}

// A socket that is closed with something unread resets: the client might not get to read the
// answer.
void HttpConnection::drain() {
  ::shutdown(fd_, SHUT_WR);
  const auto until = IoClock::now() + kDrain;
  while (receive(fd_, buffer_.get(), capacity_, until).end == IoEnd::kDone) {
  }
}

}  // namespace hecto::router
