// HTTP on loopback: who is answered, and what a silent client costs the others.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include "router/api/http/listener.hpp"
#include "router/api/loopback_access.hpp"
#include "router/api/server.hpp"
#include "tests/unit/router/api/fake_backend.hpp"
#include "tests/unit/router/api/scratch.hpp"

namespace hecto::router {
namespace {

using namespace std::chrono_literals;
using config::HttpEndpoint;
using test::FakeBackend;
using test::RawClient;
using test::Scratch;

HttpRequest asked_as(const std::optional<std::string>& host) {
  HttpRequest request;
  request.method = "GET";
  request.path = "/v1/summary";
  request.fields.host = host;
  return request;
}

LoopbackAccess access(uint16_t port = 8080) {
  return {port, [](std::string_view text) { return text == "0123456789abcdef"; }};
}

int status_of(const LoopbackAccess& access, const HttpRequest& request) {
  const auto refused = access.refuse(request);
  return refused ? refused->status : 200;
}

TEST(LoopbackAccess, AnswersToNamesOfLoopbackWithItsPort) {
  for (const char* host :
       {"127.0.0.1:8080", "localhost:8080", "LocalHost:8080", "[::1]:8080", "127.0.0.2:8080"})
    EXPECT_EQ(status_of(access(), asked_as(host)), 200) << host;
  for (const char* host :
       {"evil.example:8080", "evil.example", "127.0.0.1", "127.0.0.1:8081", "localhost",
        "localhost.evil.example:8080", "192.0.2.1:8080", "127.0.0.1.evil.example:8080",
        "[::2]:8080", "0.0.0.0:8080", "", "localhost:8080:8080", "user@localhost:8080", "[::1]"})
    EXPECT_EQ(status_of(access(), asked_as(host)), 421) << host;
  EXPECT_EQ(status_of(access(), asked_as(std::nullopt)), 421);
  for (const char* host : {"127.0.0.1", "localhost", "[::1]", "localhost:80"})
    EXPECT_EQ(status_of(access(80), asked_as(host)), 200) << host << ": 80 goes without saying";
}

TEST(LoopbackAccess, RefusesPagesOfOtherSites) {
  HttpRequest request = asked_as("localhost:8080");
  for (const char* origin : {"http://localhost:8080", "http://LOCALHOST:8080"}) {
    request.fields.origin = origin;
    EXPECT_EQ(status_of(access(), request), 200) << origin;
  }
  for (const char* origin : {"https://evil.example", "null", "", "http://localhost:8081",
                             "https://localhost:8080", "http://127.0.0.1:8080"}) {
    request.fields.origin = origin;
    EXPECT_EQ(status_of(access(), request), 403) << origin;
  }
  request.fields.origin.reset();
  for (const auto& [site, status] :
       {std::pair{"none", 200}, std::pair{"same-origin", 200}, std::pair{"same-site", 403},
        std::pair{"cross-site", 403}, std::pair{"", 403}}) {
    request.fields.fetch_site = site;
    EXPECT_EQ(status_of(access(), request), status) << site;
  }
}

TEST(LoopbackAccess, TheTokenMakesOperateAndAWrongOneNothing) {
  HttpRequest request = asked_as("localhost:8080");
  EXPECT_EQ(access().role(request), Role::kRead);
  for (const char* right : {"Bearer 0123456789abcdef", "bearer  0123456789abcdef"}) {
    request.fields.authorization = right;
    EXPECT_EQ(status_of(access(), request), 200) << right;
    EXPECT_EQ(access().role(request), Role::kOperate) << right;
  }
  for (const char* wrong :
       {"Bearer 0123456789abcdee", "Bearer ", "Bearer", "", "Basic aGVjdG8=", "0123456789abcdef"}) {
    request.fields.authorization = wrong;
    EXPECT_EQ(status_of(access(), request), 401) << wrong;
  }
}

// A client of TCP on loopback.
class TcpClient : public RawClient {
 public:
  explicit TcpClient(const HttpEndpoint& to) : RawClient(connected_to(to)) {}

 private:
  static int connected_to(const HttpEndpoint& to) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(to.port);
    std::memcpy(&address.sin_addr, to.address.bytes.data(), 4);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) ::close(fd);
    return fd;
  }
};

class LoopbackServer : public ::testing::Test {
 protected:
  LoopbackServer() {
    auto listener = Listener::open_tcp({*lookup::IpAddress::parse("127.0.0.1"), 0});
    EXPECT_TRUE(listener) << listener.error().message;
    endpoint_ = {*lookup::IpAddress::parse("127.0.0.1"), listener->port()};
    HttpLimits limits = ApiServer::loopback_limits();
    limits.connections = 4;
    auto server = ApiServer::start_on_loopback(backend_, std::move(*listener), {}, limits);
    EXPECT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
  }
  std::string ask(const std::string& method, const std::string& path,
                  const std::string& fields = {}) const {
    return TcpClient(endpoint_).ask(method + " " + path +
                                    " HTTP/1.1\r\nHost: " + to_string(endpoint_) +
                                    "\r\nConnection: close\r\n" + fields + "\r\n");
  }

  FakeBackend backend_;
  HttpEndpoint endpoint_;
  std::unique_ptr<ApiServer> server_;
};

TEST_F(LoopbackServer, AnswersWhatReadMayAndNoMore) {
  EXPECT_EQ(server_->socket(), to_string(endpoint_));
  EXPECT_TRUE(ask("GET", "/v1/summary").starts_with("HTTP/1.1 200"));
  const std::pair<const char*, const char*> refused[] = {
      {"POST", "/v1/routes"}, {"DELETE", "/v1/routes?all=1"}, {"POST", "/v1/reload"},
      {"POST", "/v1/trace"},  {"POST", "/v1/capture"},        {"GET", "/v1/capture/keys"}};
  for (const auto& [method, path] : refused)
    EXPECT_TRUE(ask(method, path).starts_with("HTTP/1.1 403")) << path;
  EXPECT_EQ(backend_.asked(), "show 0");
  const std::string token = "Authorization: Bearer 0123456789abcdef\r\n";
  EXPECT_TRUE(ask("POST", "/v1/trace", token).starts_with("HTTP/1.1 200"));
  for (const auto& [method, path] : {refused[0], refused[1], refused[2], refused[5]})
    EXPECT_TRUE(ask(method, path, token).starts_with("HTTP/1.1 403")) << path;
}

TEST_F(LoopbackServer, EveryAnswerTellsBrowsersToKeepOthersOut) {
  for (const std::string& answer :
       {ask("GET", "/v1/summary"), ask("GET", "/nowhere"), ask("POST", "/v1/reload"),
        ask("OPTIONS", "/v1/summary"), TcpClient(endpoint_).ask("no HTTP\r\n\r\n")})
    for (const char* line :
         {"\r\nContent-Security-Policy: default-src 'self'; frame-ancestors 'none'\r\n",
          "\r\nX-Content-Type-Options: nosniff\r\n", "\r\nReferrer-Policy: no-referrer\r\n",
          "\r\nCross-Origin-Resource-Policy: same-origin\r\n"}) {
      EXPECT_NE(answer.find(line), std::string::npos) << answer;
      EXPECT_EQ(answer.find("Access-Control"), std::string::npos) << answer;
    }
}

TEST_F(LoopbackServer, ReadsTheFieldsThatDecide) {
  EXPECT_TRUE(
      ask("GET", "/v1/summary", "Origin: https://evil.example\r\n").starts_with("HTTP/1.1 403"));
  EXPECT_TRUE(
      ask("GET", "/v1/summary", "sec-fetch-site: cross-site\r\n").starts_with("HTTP/1.1 403"));
  const std::string wrong = ask("GET", "/v1/summary", "Authorization: Bearer no\r\n");
  EXPECT_TRUE(wrong.starts_with("HTTP/1.1 401")) << wrong;
  EXPECT_NE(wrong.find("\r\nWWW-Authenticate: Bearer\r\n"), std::string::npos) << wrong;
  EXPECT_TRUE(ask("GET", "/v1/summary", "Host: 127.0.0.1\r\n").starts_with("HTTP/1.1 400"))
      << "two hosts";
  EXPECT_TRUE(TcpClient(endpoint_)
                  .ask("GET /v1/summary HTTP/1.1\r\nConnection: close\r\n\r\n")
                  .starts_with("HTTP/1.1 421"));
  EXPECT_EQ(backend_.asked(), "");
}

TEST_F(LoopbackServer, SilentClientsHoldNobodyOff) {
  std::vector<std::unique_ptr<TcpClient>> silent;
  for (int i = 0; i < 40; ++i) {
    silent.push_back(std::make_unique<TcpClient>(endpoint_));
    silent.back()->send("GET /v1/summary HTTP/1.1\r\n");
  }
  EXPECT_TRUE(ask("GET", "/v1/summary").starts_with("HTTP/1.1 200"));
}

TEST(Listener, APortOfLoopbackIsTakenOnce) {
  const HttpEndpoint any{*lookup::IpAddress::parse("::1"), 0};
  const auto first = Listener::open_tcp(any);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->path(), "[::1]:" + std::to_string(first->port()));
  const auto second = Listener::open_tcp({any.address, first->port()});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message,
            "API listener " + first->path() + ": cannot listen: Address already in use");
}

}  // namespace
}  // namespace hecto::router
