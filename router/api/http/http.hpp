// HTTP/1.1 over UNIX sockets and loopback, server and client: the words of both, and their doors.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_budget.hpp"
#include "base/result.hpp"
#include "base/secret_memory.hpp"

namespace hecto::router {

class Listener;

// The process at the other end, as the kernel knew it when it connected (SO_PEERCRED,
// SO_PEERGROUPS); of TCP nobody knows.
struct HttpPeer {
  std::optional<uint32_t> uid;
  std::vector<uint32_t> groups;
  int pid = 0;  // 0: not known
};

// Fields of a request's head that decide whether and how it is answered; as they came, or nothing.
struct HttpFields {
  std::optional<std::string> host, origin, fetch_site, authorization, accept, if_none_match;
};

struct HttpRequest {
  std::string method;  // GET, POST or DELETE
  std::string path;    // decoded, without the query
  std::map<std::string, std::string> query;
  std::string body;
  HttpPeer peer = {};      // server only
  HttpFields fields = {};  // server only
  // What the request takes of the memory that all requests share; whoever unpacks or parses the
  // body asks it for more. Server only; the server's, as long as the request is answered.
  ByteReservation* memory = nullptr;
};

struct HttpAnswer {
  int status = 200;
  std::string body;
  std::string type = "application/json";
  // Sent instead of the body, from where it lies: no copy of it is made.
  std::shared_ptr<const SecretBytes> secret = nullptr;
  std::string headers = {};  // more lines of its head, each with its CRLF
};

struct HttpLimits {
  size_t connections = 64;
  size_t head_bytes = 64 << 10;      // request line and headers together
  size_t body_bytes = 256u << 20;    // also after decompression
  size_t upload_bytes = 768u << 20;  // bodies and what becomes of them, all connections together
  unsigned requests_per_connection = 100;
  std::chrono::milliseconds idle{5'000};      // between requests
  std::chrono::milliseconds request{60'000};  // from the first byte to the last
  std::chrono::milliseconds stall{10'000};    // a client that takes nothing of the answer
  std::chrono::milliseconds response{60'000};
};

// Called on connection threads, several at once. May throw: the answer is then 500.
using HttpHandler = std::function<HttpAnswer(HttpRequest&)>;

// Who may come in at all. A peer that is not admitted is answered 403, before anything of his is
// read.
struct HttpDoor {
  unsigned mode = 0660;  // of the socket's file
  std::function<bool(const HttpPeer&)> admits = {};
  std::function<void()> thread_begins = {};  // called on the thread whose children all others are
  std::string headers = {};                  // of every answer: lines, each with its CRLF
};

class HttpServer {
 public:
  // Creates the directory; replaces a stale socket; refuses one that somebody serves.
  static Result<std::unique_ptr<HttpServer>> start(const std::string& socket,
                                                   const HttpLimits& limits, HttpHandler handler,
                                                   HttpDoor door = {});
  static Result<std::unique_ptr<HttpServer>> start(Listener listener, const HttpLimits& limits,
                                                   HttpHandler handler, HttpDoor door = {});
  virtual ~HttpServer() = default;
  virtual void stop() = 0;                        // idempotent; also done by the destructor
  virtual const std::string& socket() const = 0;  // its path, or address and port
};

// {"error": message}
std::string error_body(const std::string& message);

// One request, one connection. The error is one line that names the socket and what to do.
Result<HttpAnswer> http_request(const std::string& socket, const HttpRequest& request,
                                std::chrono::milliseconds timeout);

}  // namespace hecto::router
