// Requests as bytes, without any socket.
#include "router/api/http/http_parser.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/beds/seed.hpp"

namespace hecto::router {
namespace {

struct Outcome {
  int refusal = 0;
  bool done = false;
  std::string method, path, body;
  std::map<std::string, std::string> query;
  size_t taken = 0;
  bool operator==(const Outcome&) const = default;
};

HttpLimits small() {
  HttpLimits limits;
  limits.head_bytes = 1024;
  limits.body_bytes = 64;
  limits.upload_bytes = 1 << 20;
  return limits;
}

// `text` as it comes in pieces of at most `piece` bytes.
Outcome parse(const std::string& text, size_t piece, const HttpLimits& limits = small()) {
  ByteBudget budget(limits.upload_bytes);
  RequestParser parser(limits, budget);
  size_t come = 0, taken = 0;
  while (come < text.size() && !parser.done() && parser.refusal() == 0) {
    come = std::min(text.size(), come + piece);
    while (taken < come && !parser.done() && parser.refusal() == 0) {
      const size_t some = parser.put(std::string_view(text).substr(taken, come - taken));
      if (some == 0) break;
      taken += some;
    }
  }
  Outcome outcome{parser.refusal(), parser.done(), {}, {}, {}, {}, 0};
  if (!outcome.done) return outcome;
  const HttpRequest& request = parser.request();
  return {0, true, request.method, request.path, request.body, request.query, taken};
}

int status(const std::string& text) {
  return parse(text, text.size()).refusal;
}

TEST(RequestParser, ReadsAPathAndItsParameters) {
  const Outcome outcome =
      parse("GET /a%20b/%2fc+d?x=1&y=%41+b&bare&=none&x=2&z=p%3Dq#part HTTP/1.1\r\n\r\n", 999);
  EXPECT_TRUE(outcome.done);
  EXPECT_EQ(outcome.path, "/a b//c+d");
  const std::map<std::string, std::string> query = {
      {"x", "2"}, {"y", "A b"}, {"bare", ""}, {"z", "p=q"}};
  EXPECT_EQ(outcome.query, query);
  EXPECT_EQ(parse("GET /100%?x=%zz%4 HTTP/1.1\r\n\r\n", 999).query.at("x"), "%zz%4");
  EXPECT_EQ(parse("GET /100%?x=%zz%4 HTTP/1.1\r\n\r\n", 999).path, "/100%");
}

TEST(RequestParser, LeavesWhatIsBehindTheRequest) {
  const std::string first = "POST /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc";
  const Outcome outcome = parse(first + "GET /b HTTP/1.1\r\n\r\n", 999);
  EXPECT_EQ(outcome.body, "abc");
  EXPECT_EQ(outcome.taken, first.size());
}

TEST(RequestParser, RefusesByStatus) {
  const std::string post = "POST /x HTTP/1.1\r\n";
  EXPECT_EQ(status("hello\r\n"), 400);
  EXPECT_EQ(status("GET /x HTTP/2.0\r\n\r\n"), 400);
  EXPECT_EQ(status("BREW /x HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(status("PUT /x HTTP/1.1\r\n\r\n"), 405);
  EXPECT_EQ(status("GET /x HTTP/1.1\r\nno field\r\n\r\n"), 400);
  EXPECT_EQ(status("GET /x HTTP/1.1\r\nContent-Length: 1\r\n\r\nx"), 400);
  EXPECT_EQ(status("GET /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
  EXPECT_EQ(status("GET /" + std::string(256, 'x') + " HTTP/1.1\r\n\r\n"), 414);
  EXPECT_EQ(status("GET /" + std::string(255, 'x') + " HTTP/1.1\r\n\r\n"), 0);
  EXPECT_EQ(status(post + "Content-Length: 65\r\n\r\n"), 413);
  EXPECT_EQ(status(post + "Content-Length: 18446744073709551615\r\n\r\n"), 413);
  EXPECT_EQ(status(post + "Content-Length: 18446744073709551616\r\n\r\n"), 413);
  EXPECT_EQ(status(post + "content-length:  \t99999999999999999999\r\n\r\n"), 413);
  EXPECT_EQ(status(post + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"), 400);
  EXPECT_EQ(status(post + "Content-Length: 3, 3\r\n\r\nabc"), 400);
  EXPECT_EQ(status(post + "Content-Length: +3\r\n\r\nabc"), 400);
  EXPECT_EQ(status(post + "Content-Length:\r\n\r\nabc"), 400);
  EXPECT_EQ(status(post + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n"), 400);
  EXPECT_EQ(status(post + "Transfer-Encoding: gzip, chunked\r\n\r\n"), 400);
  EXPECT_EQ(status(post + "Transfer-Encoding: gzip\r\n\r\n"), 400);
  EXPECT_EQ(status(post + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n"), 400);
  EXPECT_EQ(status(post + "Transfer-Encoding: chunked\r\n\r\n41\r\n"), 413);
  EXPECT_EQ(status(post + "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n"), 400);
  EXPECT_EQ(status(post + "Content-Encoding: gzip\r\n\r\n"), 415);
  EXPECT_EQ(status(post + "X: " + std::string(2000, 'x')), 431);
  HttpLimits large = small();
  large.head_bytes = 64 << 10;
  const std::string long_field = post + "X: " + std::string(9000, 'x') + "\r\n\r\n";
  EXPECT_EQ(parse(long_field, 999, large).refusal, 400);
}

TEST(RequestParser, BoundsTheWholeHeadHoweverItComes) {
  std::string text = "GET /x HTTP/1.1\r\n";
  while (text.size() < 2000) text += "X-Header: something\r\n";
  text += "\r\n";
  for (const size_t piece : {size_t{1}, size_t{21}, size_t{100}, size_t{1000}})
    EXPECT_EQ(parse(text, piece).refusal, 431) << piece;
}

TEST(RequestParser, BoundsTheLineOfAChunk) {
  const std::string text =
      "POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(100'000, '0');
  EXPECT_EQ(parse(text, 1000).refusal, 400);
}

TEST(RequestParser, GivesTheBudgetBack) {
  ByteBudget budget(10);
  {
    RequestParser parser(small(), budget);
    const std::string text = "POST /x HTTP/1.1\r\nContent-Length: 8\r\n\r\n12345678";
    std::string_view rest = text;
    while (!parser.done() && !rest.empty()) rest.remove_prefix(parser.put(rest));
    EXPECT_TRUE(parser.done());
    EXPECT_FALSE(budget.take(3));
  }
  EXPECT_TRUE(budget.take(10));
}

// However the bytes of a request are cut, and whatever they are, the same comes out.
TEST(RequestParser, TakesBytesInAnyPieces) {
  const auto seed = static_cast<unsigned>(test_seed());
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::vector<std::string> samples = {
      "GET /v1/routes?prefix=10.0.0.0%2f8&limit=7 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
      "POST /load?via=a,b HTTP/1.1\r\nContent-Length: 20\r\nExpect: 100-continue\r\n\r\n"
      "12345678901234567890",
      "DELETE /x HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n3;a=b\r\nfgh\r\n"
      "0\r\nX: y\r\n\r\n",
      "HEAD / HTTP/1.1\r\nX: a\r\n b\r\n\r\n"};
  size_t whole = 0, refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = samples[random() % samples.size()];
    for (size_t changes = random() % 4; changes > 0; --changes) {
      const size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, 1 + random() % 5);
          break;
        default:
          text.insert(at, std::string(1 + random() % 3, "0\r\n:, \0\xff"[random() % 8]));
      }
      if (text.empty()) text = "x";
    }
    const Outcome once = parse(text, text.size());
    whole += once.done;
    refused += once.refusal != 0;
    for (const size_t piece : {size_t{1}, 2 + random() % 40}) {
      const Outcome cut = parse(text, piece);
      if (cut.done || cut.refusal != 0) {
        ASSERT_EQ(cut, once) << "in pieces of " << piece << ":\n" << text;
      } else {  // Beast waits for the end of a head that it could not read at once
        ASSERT_FALSE(once.done) << "in pieces of " << piece << ":\n" << text;
      }
    }
  }
  EXPECT_GT(whole, 4'000u);
  EXPECT_GT(refused, 4'000u);
}

TEST(ResponseParser, ReadsLengthsChunksAndTheEndOfTheStream) {
  for (const std::string text :
       {"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 5\r\n\r\nabcde",
        "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n"
        "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
        "HTTP/1.0 200 OK\r\nContent-Type: a/b\r\n\r\nabcde"}) {
    ResponseParser parser;
    std::string_view rest = text;
    while (!parser.done() && !rest.empty()) {
      const size_t taken = parser.put(rest);
      ASSERT_GT(taken, 0u);
      rest.remove_prefix(taken);
    }
    if (!parser.done()) parser.end();
    ASSERT_TRUE(parser.done()) << text;
    EXPECT_EQ(parser.answer().status, 200);
    EXPECT_EQ(parser.answer().type, "a/b");
    EXPECT_EQ(parser.answer().body, "abcde");
  }
  ResponseParser garbage;
  garbage.put("SSH-2.0-OpenSSH_9.2\r\n");
  EXPECT_TRUE(garbage.failed());
  EXPECT_FALSE(garbage.done());
}

TEST(ResponseParser, TakesACutOffAnswerForNone) {
  ResponseParser parser;
  std::string_view rest = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc";
  while (!rest.empty()) rest.remove_prefix(parser.put(rest));
  parser.end();
  EXPECT_FALSE(parser.done());
}

}  // namespace
}  // namespace hecto::router
