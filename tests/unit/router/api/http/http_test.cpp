#include "router/api/http/http.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/unit/router/api/http/http_bed.hpp"

namespace hecto::router::test {
namespace {

TEST_F(HttpTest, AnswersEveryMethodWithItsBody) {
  start();
  EXPECT_EQ(ask("GET", "/a")->body, "GET /a 0");
  EXPECT_EQ(ask("POST", "/b", std::string(70'000, 'x'))->body, "POST /b 70000");
  EXPECT_EQ(ask("POST", "/b")->body, "POST /b 0");
  EXPECT_EQ(ask("DELETE", "/c")->body, "DELETE /c 0");
  EXPECT_EQ(ask("DELETE", "/c", "12345")->body, "DELETE /c 5");
}

TEST_F(HttpTest, PassesParametersThroughWhateverTheyHold) {
  std::string seen;
  start(small(), [&](HttpRequest& request) {
    seen = request.query["via"];
    return HttpAnswer{200, "{}"};
  });
  HttpRequest request;
  request.method = "GET";
  request.path = "/v1/x";
  request.query["via"] = "fe80::1%lan 0,192.0.2.1&x=+%41";
  ASSERT_TRUE(http_request(path_, request, 5s));
  EXPECT_EQ(seen, request.query["via"]);
}

TEST_F(HttpTest, KeepsAConnectionForSeveralRequests) {
  start();
  RawClient client(path_);
  const std::string get = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
  ASSERT_TRUE(client.send(get + get + "GET /z HTTP/1.1\r\nConnection: close\r\n\r\n"));
  const std::string text = client.read_all();
  size_t answers = 0;
  for (size_t at = 0; (at = text.find("HTTP/1.1 200", at)) != std::string::npos; ++at) ++answers;
  EXPECT_EQ(answers, 3u) << text;
  EXPECT_NE(text.find("GET /z 0"), std::string::npos) << text;
}

TEST_F(HttpTest, TakesAFormTypedBodyOfAnyLengthAsCurlSendsIt) {
  start();
  const std::string body(20'000, 'x');
  RawClient client(path_);
  const std::string text = client.ask(
      "POST /load HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
      "Connection: close\r\nContent-Length: 20000\r\n\r\n" +
      body);
  EXPECT_NE(text.find("POST /load 20000"), std::string::npos) << text;
}

TEST_F(HttpTest, TakesChunksAndAPostWithoutAnyLength) {
  start();
  RawClient chunks(path_);
  EXPECT_NE(chunks
                .ask("POST /load HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n"
                     "\r\n5\r\nabcde\r\n3\r\nfgh\r\n0\r\n\r\n")
                .find("POST /load 8"),
            std::string::npos);
  RawClient bare(path_);
  EXPECT_NE(bare.ask("POST /reload HTTP/1.1\r\nConnection: close\r\n\r\n").find("POST /reload 0"),
            std::string::npos);
}

// The handler sees to gzip files, and to whether they are whole.
TEST_F(HttpTest, HandsOnBytesAsTheyAreAndTakesNoEncoding) {
  start();
  HttpRequest request;
  request.method = "POST";
  request.path = "/load";
  request.body = "\x1f\x8b\x08 cut off";
  auto answer = http_request(path_, request, 5s);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "POST /load 11");
  RawClient encoded(path_);
  const std::string text = encoded.ask(
      "POST /load HTTP/1.1\r\nContent-Encoding: gzip\r\nConnection: close\r\n"
      "Content-Length: 11\r\n\r\n\x1f\x8b\x08 cut off");
  EXPECT_NE(text.find("HTTP/1.1 415"), std::string::npos) << text;
  EXPECT_NE(text.find("no Content-Encoding"), std::string::npos) << text;
  expect_alive();
}

TEST_F(HttpTest, RefusesLengthsThatContradictOrMeanNothing) {
  start();
  for (const std::string head : {"Content-Length: -5\r\n", "Content-Length: 5x\r\n",
                                 "Content-Length: 4\r\nContent-Length: 5\r\n",
                                 "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n"}) {
    RawClient client(path_);
    const std::string text = client.ask("POST /x HTTP/1.1\r\n" + head + "\r\nabcde");
    EXPECT_TRUE(starts(text, "HTTP/1.1 400")) << head << text;
    EXPECT_EQ(text.find("HTTP/1.1", 8), std::string::npos) << "answered twice: " << text;
  }
  expect_alive();
}

TEST_F(HttpTest, RefusesMethodsFormsAndLongPaths) {
  start();
  EXPECT_TRUE(starts(RawClient(path_).ask("BREW /pot HTTP/1.1\r\n\r\n"), "HTTP/1.1 4"));
  EXPECT_TRUE(starts(RawClient(path_).ask("PUT /x HTTP/1.1\r\nContent-Length: 1\r\n\r\nx"),
                     "HTTP/1.1 405"));
  EXPECT_TRUE(starts(RawClient(path_).ask("POST /x HTTP/1.1\r\nContent-Length: 1\r\n"
                                          "Content-Type: multipart/form-data; boundary=b\r\n\r\nx"),
                     "HTTP/1.1 415"));
  EXPECT_TRUE(starts(RawClient(path_).ask("GET /" + std::string(4000, 'x') + " HTTP/1.1\r\n\r\n"),
                     "HTTP/1.1 414"));
  expect_alive();
}

TEST_F(HttpTest, AnswersNoRangesAndNothingCompressed) {
  start();
  const std::string text = RawClient(path_).ask(
      "GET /abcdefgh HTTP/1.1\r\nRange: bytes=0-1,0-1,0-1\r\nAccept-Encoding: gzip, br\r\n"
      "Connection: close\r\n\r\n");
  EXPECT_TRUE(starts(text, "HTTP/1.1 200")) << text;
  EXPECT_NE(text.find("GET /abcdefgh 0"), std::string::npos) << text;
}

TEST_F(HttpTest, AnswersConcurrentClients) {
  HttpLimits limits = small();
  limits.connections = 64;
  std::atomic<int> answered{0};
  start(limits);
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const std::string where = fmt::format("/{}", t * 100 + i);
        const auto answer = ask("POST", where, std::string(static_cast<size_t>(i), 'x'));
        answered += answer && answer->body == fmt::format("POST {} {}", where, i);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(answered, 16 * 20);
}

TEST_F(HttpTest, AHandlerThatThrowsIsA500InOneLine) {
  start(small(), [](HttpRequest&) -> HttpAnswer { throw std::runtime_error("a\n\"b\""); });
  const auto answer = ask("GET", "/x");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 500);
  EXPECT_EQ(answer->body, "{\"error\":\"a \\\"b\\\"\"}\n");
}

TEST_F(HttpTest, StopLetsARequestEndAndDropsWhoOnlyWaits) {
  std::atomic<bool> inside{false};
  start(small(), [&](HttpRequest&) {
    inside = true;
    std::this_thread::sleep_for(200ms);
    return HttpAnswer{200, "done"};
  });
  RawClient waiting(path_);
  std::string got;
  std::thread client([&] {
    const auto answer = ask("GET", "/x");
    if (answer) got = answer->body;
  });
  while (!inside) std::this_thread::sleep_for(1ms);
  const auto begun = std::chrono::steady_clock::now();
  server_->stop();
  server_->stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 30s);
  client.join();
  EXPECT_EQ(got, "done");
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST(HttpClient, SaysWhichSocketAndWhatToDo) {
  const Scratch scratch;
  const std::string path = scratch / "none.sock";
  HttpRequest request;
  request.method = "GET";
  request.path = "/";
  const auto answer = http_request(path, request, 1s);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message,
            "no router at " + path +
                ": start hectod, or name the socket of a running one with --socket PATH");
}

TEST(HttpClient, GivesUpOnARouterThatDoesNotAnswer) {
  const Scratch scratch;
  const std::string path = scratch / "mute.sock";
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(fd, 5), 0);
  HttpRequest request;
  request.method = "GET";
  request.path = "/";
  const auto answer = http_request(path, request, 1s);
  ::close(fd);
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message.find(path + " did not answer: nothing for 1 s"),
            std::string::npos)
      << answer.error().message;
}

}  // namespace
}  // namespace hecto::router::test
