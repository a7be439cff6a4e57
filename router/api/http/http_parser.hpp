// HTTP/1.1 messages (RFC 9112) out of bytes as they come: the parser of Boost.Beast, which only
// http_parser.cpp includes. No I/O here. One thread.
//
// put() takes bytes from the front of what has come and says how many; what it leaves is to be put
// again with what comes behind. done() and refusal() end the message: nothing is to be put then.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "base/byte_budget.hpp"
#include "router/api/http/http.hpp"

namespace hecto::router {

class RequestParser {
 public:
  // `budget` outlives the parser, which gives back what the body took of it.
  RequestParser(const HttpLimits& limits, ByteBudget& budget);
  ~RequestParser();

  size_t put(std::string_view bytes);
  bool done() const;
  int refusal() const;           // the status that the request is to be refused with, or 0
  bool awaits_continue() const;  // the head is whole, and the client waits for 100 Continue

  HttpRequest& request();   // once done
  bool keep_alive() const;  // once done
  bool head_only() const;   // once done: HEAD, which request() has as GET

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

class ResponseParser {
 public:
  ResponseParser();
  ~ResponseParser();

  size_t put(std::string_view bytes);
  void end();  // of the stream: an answer without a length ends so
  bool done() const;
  bool failed() const;   // what has come is no HTTP
  HttpAnswer& answer();  // once done

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

// RFC 9110 §15: "Not Found" of 404.
std::string_view reason_phrase(int status);

}  // namespace hecto::router
