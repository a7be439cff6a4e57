// The web page as hectod has it in itself.
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "router/api/server.hpp"
#include "router/api/web/web_files.hpp"
#include "tests/unit/router/api/fake_backend.hpp"
#include "tests/unit/router/api/scratch.hpp"

namespace hecto::router {
namespace {

// What a file asks for: of the page src and href, of a module its imports.
std::set<std::string> asked_by(const WebFile& file) {
  static const std::regex kLink(R"re((?:src|href)="([^"#]+)"|from "\./([^"]+)")re");
  const std::string text(file.body);
  std::set<std::string> out;
  for (std::sregex_iterator at(text.begin(), text.end(), kLink), end; at != end; ++at)
    out.insert("/" + (*at)[1].str() + (*at)[2].str());
  return out;
}

TEST(WebFiles, HoldEverythingThatThePageAsksForAndNothingOfOthers) {
  std::set<std::string> open = {"/"}, seen;
  while (!open.empty()) {
    const std::string path = *open.begin();
    open.erase(open.begin());
    if (!seen.insert(path).second) continue;
    const WebFile* file = web_file(path);
    ASSERT_NE(file, nullptr) << path;
    EXPECT_FALSE(file->body.empty()) << path;
    for (const std::string& next : asked_by(*file)) open.insert(next);
    const std::string text(file->body);
    for (const char* foreign : {"https://", "@import", "innerHTML =", "localStorage",
                                "sessionStorage", "document.cookie", "style=\""})
      EXPECT_EQ(text.find(foreign), std::string::npos) << path << ": " << foreign;
    EXPECT_FALSE(std::regex_search(text, std::regex(R"(url\([^#])"))) << path;
  }
  EXPECT_GE(seen.size(), 14u);
}

HttpAnswer ask(const std::string& method, const std::string& path,
               const std::optional<std::string>& if_none_match = {}, Role role = Role::kRead) {
  test::FakeBackend backend;
  HttpRequest request;
  request.method = method;
  request.path = path;
  request.fields.if_none_match = if_none_match;
  HttpAnswer given = answer(backend, request, role);
  EXPECT_EQ(backend.asked(), "") << "the page is no matter of control's";
  return given;
}

TEST(WebPage, IsAnsweredWithItsTypeAndDigest) {
  const HttpAnswer page = ask("GET", "/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.type, "text/html; charset=utf-8");
  EXPECT_TRUE(page.body.starts_with("<!DOCTYPE html>"));
  EXPECT_EQ(page.headers,
            "ETag: \"" + std::string(web_file("/")->digest) + "\"\r\nCache-Control: no-cache\r\n");
  EXPECT_EQ(ask("GET", "/main.js").type, "text/javascript; charset=utf-8");
  EXPECT_EQ(ask("GET", "/style.css").type, "text/css; charset=utf-8");
  EXPECT_EQ(ask("GET", "/icon.svg").type, "image/svg+xml");
  EXPECT_EQ(ask("POST", "/", {}, Role::kAdmin).status, 405);
  EXPECT_EQ(ask("GET", "/index.html").status, 404);
  EXPECT_EQ(ask("GET", "/../main.js").status, 404);
}

TEST(WebPage, IsSentAgainOnlyWhereItDiffers) {
  const std::string digest(web_file("/main.js")->digest);
  EXPECT_NE(digest, web_file("/")->digest);
  const HttpAnswer same = ask("GET", "/main.js", "\"old\", W/\"" + digest + "\"");
  EXPECT_EQ(same.status, 304);
  EXPECT_EQ(same.body, "");
  EXPECT_EQ(ask("GET", "/main.js", "\"old\"").status, 200);
  EXPECT_EQ(ask("GET", "/main.js", digest).status, 200) << "without quotes it is none";
}

// RFC 9110 §8.6: of 304 the length is that of what is not sent, or none.
TEST(WebPage, NothingFollowsTheHeadOf304) {
  test::FakeBackend backend;
  const test::Scratch scratch;
  auto server = ApiServer::start(backend, scratch / "sock");
  ASSERT_TRUE(server) << server.error().message;
  const std::string digest(web_file("/")->digest);
  const std::string answer = test::RawClient(scratch / "sock")
                                 .ask(
                                     "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                                     "If-None-Match: \"x\"\r\nIf-None-Match: \"" +
                                     digest + "\"\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 304 Not Modified\r\n")) << answer;
  EXPECT_NE(answer.find("\r\nETag: \"" + digest + "\"\r\n"), std::string::npos) << answer;
  EXPECT_EQ(answer.find("Content-Length"), std::string::npos) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
}

}  // namespace
}  // namespace hecto::router
