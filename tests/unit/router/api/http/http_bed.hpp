// A server with small limits, and how to ask it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "router/api/http/http.hpp"
#include "tests/unit/router/api/scratch.hpp"

namespace hecto::router::test {

using namespace std::chrono_literals;

inline HttpLimits small() {
  HttpLimits limits;
  limits.connections = 8;
  limits.body_bytes = 1 << 20;
  limits.upload_bytes = 2 << 20;
  limits.idle = 300ms;
  limits.request = 500ms;
  limits.stall = 300ms;
  return limits;
}

inline HttpAnswer echo(HttpRequest& request) {
  return {200, request.method + " " + request.path + " " + std::to_string(request.body.size())};
}

class HttpTest : public ::testing::Test {
 protected:
  void start(const HttpLimits& limits = small(), HttpHandler handler = echo) {
    auto server = HttpServer::start(path_, limits, std::move(handler));
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
  }
  Result<HttpAnswer> ask(const std::string& method, const std::string& where,
                         std::string body = {}) {
    HttpRequest request;
    request.method = method;
    request.path = where;
    request.body = std::move(body);
    return http_request(path_, request, 5s);
  }
  // The router is fine as long as it answers this.
  void expect_alive() {
    const auto answer = ask("GET", "/alive");
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body, "GET /alive 0");
  }

  // Whether it is answered so within ten seconds: what it waits for takes the server a moment.
  bool becomes(const std::string& method, const std::string& where, const std::string& body,
               int status) {
    const auto end = std::chrono::steady_clock::now() + 10s;
    for (;;) {
      const auto answer = ask(method, where, body);
      if (answer && answer->status == status) return true;
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(1ms);
    }
  }

  const Scratch scratch_;
  const std::string path_ = scratch_ / "hecto.sock";
  std::unique_ptr<HttpServer> server_;
};

inline bool starts(const std::string& text, const std::string& with) {
  return text.rfind(with, 0) == 0;
}

}  // namespace hecto::router::test
