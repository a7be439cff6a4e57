// The API's section: where it listens, and its token.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "config/file/diff.hpp"
#include "config/file/to_yaml.hpp"
#include "tests/unit/config/file/files.hpp"

namespace hecto::config {
namespace {

std::string with(const std::string& api) {
  return std::string(kPort) + "api: {" + api + "}\n";
}

TEST(LoadApi, ListensOnLoopbackOfBothFamilies) {
  EXPECT_FALSE(good(kPort).api_http);
  const auto four = good(with("http: 127.0.0.1:8080")).api_http;
  ASSERT_TRUE(four);
  EXPECT_EQ(to_string(*four), "127.0.0.1:8080");
  EXPECT_EQ(to_string(good(with("http: 127.9.9.9:1")).api_http.value()), "127.9.9.9:1");
  EXPECT_EQ(to_string(good(with("http: \"[::1]:65535\"")).api_http.value()), "[::1]:65535");
}

TEST(LoadApi, RefusesWhatOthersCouldReachInOneLine) {
  const std::string use = "; use 127.0.0.1:8080 or \"[::1]:8080\"";
  const std::string others = " is no loopback address, and others must not reach it" + use;
  const auto refuses = [](const std::string& text, const std::string& why) {
    const std::string line = only(with("http: \"" + text + "\""));
    EXPECT_TRUE(line.starts_with("t.yaml:2: api.http: ") && line.find(text) != std::string::npos)
        << line;
    EXPECT_TRUE(line.ends_with(why)) << line;
  };
  for (const char* address :
       {"0.0.0.0:8080", "192.0.2.1:8080", "126.255.255.255:8080", "128.0.0.1:8080", "[::]:8080",
        "[::ffff:127.0.0.1]:8080", "[2001:db8::1]:8080", "[::2]:8080"})
    refuses(address, others);
  for (const char* text :
       {"localhost:8080", "8080", ":8080", "127.0.0.1", "127.0.0.1:", "::1:8080", "[127.0.0.1]:80",
        "127.0.0.1:65536", "127.0.0.1:8080x", "127.0.0.1:-1", "[::1%lo]:8080"})
    refuses(text, " is no address with a port" + use);
  refuses("127.0.0.1:0", " has a port out of range; use 1 to 65535");
}

class TokenFile : public ::testing::Test {
 protected:
  TokenFile() {
    char name[] = "/tmp/hecto-token-XXXXXX";
    folder_ = ::mkdtemp(name);
    path_ = folder_ + "/token";
  }
  ~TokenFile() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& text, mode_t mode = 0600) {
    std::ofstream(path_) << text;
    ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
  }
  std::string yaml() const { return with("http: 127.0.0.1:8080, http_token_file: " + path_); }

  std::string folder_, path_;
};

TEST_F(TokenFile, IsReadAndNeverPrinted) {
  write("s3cret-of-sixteen\n");
  const Config config = good(yaml());
  EXPECT_EQ(config.api_http_token, SecretKey::of("s3cret-of-sixteen"));
  EXPECT_EQ(config.api_http_token_file, path_);
  EXPECT_EQ(to_yaml(config).find("s3cret"), std::string::npos);
  EXPECT_NE(to_yaml(config).find("http_token_file: " + path_), std::string::npos);
  EXPECT_EQ(good(to_yaml(config)), config);
}

TEST_F(TokenFile, IsRefusedWhereOthersReadItOrItHoldsNoToken) {
  const std::string at = "t.yaml:2: api.http_token_file: " + path_;
  EXPECT_EQ(only(yaml()), at + " cannot be opened: No such file or directory");
  write("s3cret-of-sixteen", 0640);
  EXPECT_EQ(only(yaml()), at + " is open to others (mode 0640); use chmod 600");
  for (const std::string& text :
       {std::string(15, 'a'), std::string(65, 'a'), std::string("two words of sixteen"),
        std::string("\n"), std::string()}) {
    write(text);
    EXPECT_EQ(only(yaml()), at + " holds no token; write one token of 16 to 64 letters and digits, "
                                 "as openssl rand -hex 32 makes it")
        << text;
  }
}

TEST_F(TokenFile, GoesWithTheListener) {
  write("s3cret-of-sixteen");
  EXPECT_EQ(only(with("http_token_file: " + path_)),
            "t.yaml:2: api.http_token_file: goes with http; add it, as http: 127.0.0.1:8080");
}

TEST_F(TokenFile, AReloadTakesAnotherTokenButNoOtherListener) {
  write("s3cret-of-sixteen");
  const Config before = good(yaml());
  write("another-of-sixteen");
  const Config after = good(yaml());
  const auto changes = diff(before, after);
  ASSERT_TRUE(changes);
  EXPECT_EQ(changes->lines, std::vector<std::string>{"~ api.http_token_file: another token"});
  const auto refused = diff(good(with("http: 127.0.0.1:8080")), good(with("http: 127.0.0.1:8081")));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(),
            std::vector<std::string>{"api.http: \"127.0.0.1:8080\" runs, \"127.0.0.1:8081\" is "
                                     "wanted, and this cannot change while running; restart "
                                     "hectod"});
}

}  // namespace
}  // namespace hecto::config
