// What a client may send, and how long it may take.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <random>
#include <thread>

#include "router/api/http/http.hpp"
#include "tests/beds/seed.hpp"
#include "tests/unit/router/api/http/http_bed.hpp"

namespace hecto::router::test {
namespace {

TEST_F(HttpTest, RefusesABodyOverTheLimitBeforeItIsSent) {
  start();
  RawClient declared(path_);
  std::string text = declared.ask("POST /load HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n");
  EXPECT_TRUE(starts(text, "HTTP/1.1 413")) << text;
  EXPECT_NE(text.find("{\"error\":\"the body is too large\"}"), std::string::npos) << text;
  RawClient expecting(path_);
  text = expecting.ask(
      "POST /load HTTP/1.1\r\nContent-Length: 1048577\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_TRUE(starts(text, "HTTP/1.1 413")) << text;
  RawClient absurd(path_);
  text = absurd.ask("POST /load HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n");
  EXPECT_TRUE(starts(text, "HTTP/1.1 413")) << text;
  expect_alive();
}

TEST_F(HttpTest, RefusesChunksOverTheLimit) {
  start();
  RawClient client(path_);
  ASSERT_TRUE(client.send("POST /load HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"));
  const std::string chunk = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
  bool open = true;
  for (int i = 0; i < 17 && open; ++i) open = client.send(chunk);
  const std::string text = client.read_all();
  EXPECT_TRUE(starts(text, "HTTP/1.1 413")) << text.substr(0, 200);
  expect_alive();
}

TEST_F(HttpTest, SurvivesGarbage) {
  HttpLimits limits = small();
  limits.request = 100ms;
  limits.idle = 100ms;
  start(limits);
  const auto seed = static_cast<unsigned>(test_seed());
  std::mt19937 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  const std::vector<std::string> starts_with = {
      "", "GET ", "GET / HTTP/1.1\r\n", "POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
      "POST /x HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: 50\r\n\r\n"};
  for (int i = 0; i < 40; ++i) {
    std::string text = starts_with[i % starts_with.size()];
    const size_t length = random() % 3000;
    for (size_t n = 0; n < length; ++n) text += static_cast<char>(random());
    if (i % 3 == 0) text += "\r\n\r\n";
    RawClient client(path_);
    client.send(text);
    ::usleep(1000);
  }
  std::this_thread::sleep_for(250ms);  // those that wait for more run into their deadline
  expect_alive();
}

TEST_F(HttpTest, BoundsALineThatNeverEnds) {
  start();
  RawClient client(path_);
  bool open = true;
  for (int i = 0; i < 100 && open; ++i) open = client.send(std::string(4096, 'x'));
  const std::string text = client.read_all();
  EXPECT_TRUE(starts(text, "HTTP/1.1 431")) << text;
  expect_alive();
}

TEST_F(HttpTest, BoundsTheNumberOfHeaders) {
  start();
  RawClient client(path_);
  bool open = client.send("GET / HTTP/1.1\r\n");
  for (int i = 0; i < 5000 && open; ++i) open = client.send("X-Header: something\r\n");
  const std::string text = client.read_all();
  EXPECT_TRUE(starts(text, "HTTP/1.1 4")) << text;
  expect_alive();
}

TEST_F(HttpTest, ASlowSenderBlocksNobody) {
  HttpLimits limits = small();
  limits.request = limits.idle = 60s;
  limits.connections = 16;  // the last ones that were quick may not be gone yet
  start(limits);
  const auto begun = std::chrono::steady_clock::now();
  std::vector<std::unique_ptr<RawClient>> slow;
  for (int i = 0; i < 6; ++i) {
    slow.push_back(std::make_unique<RawClient>(path_));
    slow.back()->send("GET /slow HT");
  }
  for (int i = 0; i < 20; ++i) {
    for (auto& client : slow) client->send("x");
    expect_alive();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 30s) << "fast clients had to wait";
}

// One byte now and then does not keep the request alive.
TEST_F(HttpTest, ASlowSenderIsDropped) {
  start();
  const auto begun = std::chrono::steady_clock::now();
  RawClient slow(path_), silent(path_);
  for (RawClient* client : {&slow, &silent}) client->send("GET /slow HT");
  bool open = true;
  while (open && std::chrono::steady_clock::now() - begun < 30s) {
    open = slow.send("x");
    std::this_thread::sleep_for(20ms);
  }
  const std::string text = silent.read_all();
  EXPECT_TRUE(starts(text, "HTTP/1.1 408")) << text;
}

TEST_F(HttpTest, DropsAReaderThatTakesNothing) {
  start(small(), [](HttpRequest& request) {
    return request.path == "/alive" ? HttpAnswer{200, "GET /alive 0"}
                                    : HttpAnswer{200, std::string(8 << 20, 'x')};
  });
  RawClient client(path_);
  ASSERT_TRUE(client.send("GET /big HTTP/1.1\r\n\r\n"));
  EXPECT_TRUE(client.closed_by_peer(30s)) << "nobody waits for who takes nothing";
  expect_alive();
  EXPECT_LT(client.read_all().size(), size_t{8} << 20) << "the rest was cut off";
}

TEST_F(HttpTest, ClosesAnIdleConnection) {
  start();
  RawClient client(path_);
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(client.read_all(), "");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 30s);
}

TEST_F(HttpTest, AnswersTooManyConnectionsWith503AndRecovers) {
  HttpLimits limits = small();
  limits.request = 20s;
  std::promise<void> open;
  std::shared_future<void> opened = open.get_future().share();
  std::atomic<int> inside{0};
  start(limits, [opened, &inside](HttpRequest& request) {
    if (request.path == "/wait") {
      ++inside;
      opened.wait();
    }
    return echo(request);
  });
  {
    // Those that the router works for stay.
    std::vector<std::unique_ptr<RawClient>> held;
    for (int i = 0; i < 8; ++i) {
      held.push_back(std::make_unique<RawClient>(path_));
      held.back()->send("GET /wait HTTP/1.1\r\n\r\n");
    }
    while (inside < 8) std::this_thread::sleep_for(1ms);
    const auto answer = ask("GET", "/alive");
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->status, 503);
    open.set_value();
    for (auto& client : held) EXPECT_TRUE(starts(client->read_all(), "HTTP/1.1 200"));
  }
  EXPECT_TRUE(becomes("GET", "/alive", {}, 200)) << "places are free again";
}

TEST_F(HttpTest, BoundsAllUploadsTogether) {
  HttpLimits limits = small();
  limits.request = 20s;
  start(limits);
  std::vector<std::unique_ptr<RawClient>> held;
  for (int i = 0; i < 2; ++i) {
    held.push_back(std::make_unique<RawClient>(path_));
    ASSERT_TRUE(held.back()->send("POST /load HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n" +
                                  std::string(900'000, 'x')));
  }
  const std::string body(500'000, 'x');
  EXPECT_TRUE(becomes("POST", "/load", body, 503)) << "what the two take is gone";
  held.clear();
  EXPECT_TRUE(becomes("POST", "/load", body, 200)) << "and is there again";
  EXPECT_EQ(ask("POST", "/load", body)->body, "POST /load 500000");
}

}  // namespace
}  // namespace hecto::router::test
