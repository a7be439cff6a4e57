// Clients that mean no good, or do not know how.
#include <gtest/gtest.h>

#include <thread>

#include "router/api/http/http.hpp"
#include "tests/unit/router/api/http/http_bed.hpp"

namespace hecto::router::test {
namespace {

using Clock = std::chrono::steady_clock;

size_t count(const std::string& text, const std::string& what) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++found;
  return found;
}

TEST_F(HttpTest, ABodyByteByByteIsCutAtTheDeadline) {
  start();
  const auto begun = Clock::now();
  std::vector<std::unique_ptr<RawClient>> slow;
  for (int i = 0; i < 7; ++i) {
    slow.push_back(std::make_unique<RawClient>(path_));
    slow.back()->send(i % 2 == 0 ? "POST /x HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n"
                                 : "POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
  }
  bool open = true;
  while (open && Clock::now() - begun < 30s) {
    open = false;
    for (size_t i = 0; i < slow.size(); ++i) open |= slow[i]->send(i % 2 == 0 ? "x" : "1\r\nx\r\n");
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_FALSE(open) << "still served after " << (Clock::now() - begun) / 1ms << " ms";
  for (auto& client : slow) {
    const std::string text = client->read_all();
    EXPECT_TRUE(starts(text, "HTTP/1.1 408")) << text;
    EXPECT_NE(text.find("{\"error\":\"the request took too long\"}"), std::string::npos) << text;
  }
  slow.clear();
  std::this_thread::sleep_for(100ms);
  expect_alive();
}

TEST_F(HttpTest, OfAHundredConnectionsServesAtLeastSixtyFour) {
  HttpLimits limits = small();
  limits.connections = 64;
  limits.idle = limits.request = 20s;
  start(limits);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 100; ++i) {
    clients.push_back(std::make_unique<RawClient>(path_));
    ASSERT_TRUE(clients.back()->connected());
  }
  const std::string get = "GET /x HTTP/1.1\r\nConnection: close\r\n\r\n";
  size_t served = 0, turned_away = 0;
  for (auto& client : clients) {
    const std::string text = client->ask(get);
    served += starts(text, "HTTP/1.1 200");
    turned_away +=
        starts(text, "HTTP/1.1 503") && text.find("too many API connections") != std::string::npos;
  }
  // Who comes late takes the place of who waits; all are told.
  EXPECT_GE(served, 64u);
  EXPECT_EQ(served + turned_away, 100u);
  clients.clear();
  std::this_thread::sleep_for(100ms);
  expect_alive();
}

TEST_F(HttpTest, AnswersAClientThatSendsNoMore) {
  HttpLimits limits = small();
  limits.request = limits.idle = limits.stall = 60s;  // nobody waits for these
  start(limits);
  RawClient whole(path_);
  whole.send("GET /half HTTP/1.1\r\n\r\n");
  whole.end_sending();
  std::string text = whole.read_all();
  EXPECT_TRUE(starts(text, "HTTP/1.1 200")) << text;
  EXPECT_NE(text.find("GET /half 0"), std::string::npos) << text;
  for (const char* part : {"GET /ha", "GET /half HTTP/1.1\r\nX: y\r\n",
                           "POST /x HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc",
                           "POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"}) {
    RawClient client(path_);
    client.send(part);
    client.end_sending();
    text = client.read_all(30s);
    EXPECT_TRUE(starts(text, "HTTP/1.1 400")) << part << text;
    EXPECT_EQ(count(text, "HTTP/1.1"), 1u) << text;
  }
  RawClient(path_).end_sending();
  expect_alive();
}

TEST_F(HttpTest, AnswersPipelinedRequestsInTheirOrderUpToAWrongOne) {
  start();
  const std::string text = RawClient(path_).ask(
      "POST /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nabcde"
      "POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxy\r\n0\r\n\r\n"
      "GET /c HTTP/1.1\r\n\r\nwrong\r\nGET /d HTTP/1.1\r\n\r\n");
  const size_t a = text.find("POST /a 5"), b = text.find("POST /b 2"), c = text.find("GET /c 0");
  const size_t wrong = text.find("HTTP/1.1 400");
  EXPECT_TRUE(a < b && b < c && c < wrong && wrong != std::string::npos) << text;
  EXPECT_EQ(text.find("GET /d"), std::string::npos) << text;
}

TEST_F(HttpTest, BoundsTheRequestsOfAConnection) {
  HttpLimits limits = small();
  limits.requests_per_connection = 3;
  start(limits);
  std::string many;
  for (int i = 0; i < 10; ++i) many += "GET /x HTTP/1.1\r\n\r\n";
  const std::string text = RawClient(path_).ask(many);
  EXPECT_EQ(count(text, "HTTP/1.1 200"), 3u) << text;
  EXPECT_EQ(count(text, "Connection: close"), 1u) << text;
}

TEST_F(HttpTest, SpeaksTheOlderHttpAndHead) {
  start();
  std::string text = RawClient(path_).ask("GET /old HTTP/1.0\r\n\r\n");
  EXPECT_EQ(count(text, "Connection: close"), 1u) << text;
  EXPECT_NE(text.find("\r\n\r\nGET /old 0"), std::string::npos) << text;
  text = RawClient(path_).ask("HEAD /old HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(starts(text, "HTTP/1.1 200 OK\r\n")) << text;
  EXPECT_NE(text.find("Content-Length: 10\r\n"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\r\n\r\n")) << text;
}

TEST_F(HttpTest, AsksForABodyThatIsHeldBack) {
  start();
  RawClient client(path_);
  client.send(
      "POST /x HTTP/1.1\r\nExpect: 100-continue\r\nConnection: close\r\n"
      "Content-Length: 3\r\n\r\n");
  const std::string first = client.read_all(200ms);
  EXPECT_EQ(first, "HTTP/1.1 100 Continue\r\n\r\n");
  const std::string text = client.ask("abc");
  EXPECT_TRUE(starts(text, "HTTP/1.1 200")) << text;
  EXPECT_NE(text.find("POST /x 3"), std::string::npos) << text;
}

TEST_F(HttpTest, TakesABodyOfExactlyTheLimit) {
  start();
  EXPECT_EQ(ask("POST", "/x", std::string(1 << 20, 'x'))->body, "POST /x 1048576");
  const auto more = ask("POST", "/x", std::string((1 << 20) + 1, 'x'));
  ASSERT_TRUE(more) << more.error().message;
  EXPECT_EQ(more->status, 413);
}

// What does not fit into the socket's buffer is still on its way when the refusal comes.
TEST_F(HttpTest, TellsAClientThatSendsMuchTooMuch) {
  start();
  const auto answer = ask("POST", "/x", std::string(64 << 20, 'x'));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 413);
  EXPECT_EQ(answer->body, "{\"error\":\"the body is too large\"}\n");
}

TEST_F(HttpTest, StopCutsClientsInTheMidstOfTheirRequests) {
  HttpLimits limits = small();
  limits.request = limits.idle = 60s;
  start(limits);
  RawClient head(path_), body(path_), idle(path_);
  head.send("GET /x HT");
  body.send("POST /x HTTP/1.1\r\nContent-Length: 1000\r\n\r\nabc");
  std::this_thread::sleep_for(50ms);
  const auto begun = Clock::now();
  server_->stop();
  EXPECT_LT(Clock::now() - begun, 30s);
  EXPECT_TRUE(starts(head.read_all(), "HTTP/1.1 400"));
  EXPECT_EQ(idle.read_all(), "");
}

TEST_F(HttpTest, StopCutsAReaderThatTakesNothing) {
  HttpLimits limits = small();
  limits.stall = limits.response = 60s;
  start(limits, [](HttpRequest&) { return HttpAnswer{200, std::string(8 << 20, 'x')}; });
  RawClient client(path_);
  client.send("GET /x HTTP/1.1\r\n\r\n");
  std::this_thread::sleep_for(50ms);
  const auto begun = Clock::now();
  server_->stop();
  EXPECT_LT(Clock::now() - begun, 10s);
}

TEST_F(HttpTest, AnAnswerTakenByteByByteIsCutAtItsDeadline) {
  HttpLimits limits = small();
  limits.stall = 10s;
  limits.response = 300ms;
  start(limits, [](HttpRequest& request) {
    return HttpAnswer{200, request.path == "/alive" ? "GET /alive 0" : std::string(64 << 20, 'x')};
  });
  RawClient client(path_);
  client.send("GET /x HTTP/1.1\r\n\r\n");
  for (int i = 0; i < 100; ++i) {
    client.read_some(1000);
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_LT(client.read_all().size(), size_t{64} << 20);
  expect_alive();
}

}  // namespace
}  // namespace hecto::router::test
