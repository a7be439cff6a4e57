// HTTP/1.1 over UNIX sockets, server and client: the words of both, and their doors.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/secret_memory.hpp"

namespace hecto::router {

struct HttpRequest {
  std::string method;  // GET, POST or DELETE
  std::string path;    // decoded, without the query
  std::map<std::string, std::string> query;
  std::string body;
  std::optional<uint32_t> peer_uid =
      {};  // the user at the other end, as the kernel says; server only
};

struct HttpAnswer {
  int status = 200;
  std::string body;
  std::string type = "application/json";
  // Sent instead of the body, from where it lies: no copy of it is made.
  std::shared_ptr<const SecretBytes> secret = nullptr;
};

struct HttpLimits {
  size_t connections = 64;
  size_t head_bytes = 64 << 10;      // request line and headers together
  size_t body_bytes = 256u << 20;    // also after decompression
  size_t upload_bytes = 512u << 20;  // bodies being received, all connections together
  unsigned requests_per_connection = 100;
  std::chrono::milliseconds idle{5'000};      // between requests
  std::chrono::milliseconds request{60'000};  // from the first byte to the last
  std::chrono::milliseconds stall{10'000};    // a client that takes nothing of the answer
  std::chrono::milliseconds response{60'000};
};

// Called on connection threads, several at once. May throw: the answer is then 500.
using HttpHandler = std::function<HttpAnswer(HttpRequest&)>;

class HttpServer {
 public:
  // Creates the directory; replaces a stale socket; refuses one that somebody serves.
  static Result<std::unique_ptr<HttpServer>> start(const std::string& socket,
                                                   const HttpLimits& limits, HttpHandler handler);
  virtual ~HttpServer() = default;
  virtual void stop() = 0;  // idempotent; also done by the destructor
  virtual const std::string& socket() const = 0;
};

// {"error": message}
std::string error_body(const std::string& message);

// One request, one connection. The error is one line that names the socket and what to do.
Result<HttpAnswer> http_request(const std::string& socket, const HttpRequest& request,
                                std::chrono::milliseconds timeout);

}  // namespace hecto::router
