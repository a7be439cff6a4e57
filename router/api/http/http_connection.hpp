// One client of the HttpServer: its requests one after the other, each within its deadlines. One
// thread; the server may shut the socket down meanwhile.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "base/byte_budget.hpp"
#include "router/api/http/eviction.hpp"
#include "router/api/http/http.hpp"
#include "router/api/http/timed_io.hpp"

namespace hecto::router {

class RequestParser;

// What the connections of a server share. Thread-safe.
struct HttpService {
  HttpService(const HttpLimits& its_limits, HttpHandler its_handler,
              std::function<bool(const HttpPeer&)> who_is_admitted, std::string its_headers)
      : limits(its_limits),
        handler(std::move(its_handler)),
        admits(std::move(who_is_admitted)),
        headers(std::move(its_headers)),
        uploads(its_limits.upload_bytes) {}

  const HttpLimits limits;
  const HttpHandler handler;
  const std::function<bool(const HttpPeer&)> admits;
  const std::string headers;  // of every answer
  ByteBudget uploads;
  std::atomic<bool> stopping{false};  // the request under way is the last
};

class HttpConnection {
 public:
  // Neither closes `fd` nor outlives it and `state`.
  HttpConnection(int fd, HttpService& service, ConnectionState& state);

  void serve();  // until one side has enough
  // 503 in place of all that; waits for nothing.
  static void turn_away(int fd, const HttpService& service) noexcept;

 private:
  bool await_request();
  bool serve_request(bool last);            // false: no other one is to follow
  int read_request(RequestParser& parser);  // the status to refuse it with; 0: it is there
  bool fill(IoClock::time_point until, int& status);
  HttpAnswer call_handler(HttpRequest& request) const;
  bool send_answer(const HttpAnswer& answer, bool keep_alive, bool head_only);
  void drain();
  bool ending() const { return service_.stopping || state_.evicted(); }
  std::string_view unread() const { return {buffer_.get() + begin_, end_ - begin_}; }

  const int fd_;
  HttpService& service_;
  ConnectionState& state_;
  const HttpPeer peer_;
  const size_t capacity_;
  const std::unique_ptr<char[]> buffer_;
  size_t begin_ = 0, end_ = 0;  // of what is unread
  bool peer_gone_ = false;
};

}  // namespace hecto::router
