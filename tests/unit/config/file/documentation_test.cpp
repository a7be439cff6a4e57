// docs/configuration.md against the schema and the punt reasons: nothing missing, nothing stale.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "config/file/load.hpp"
#include "config/file/punt_reasons.hpp"
#include "config/file/schema.hpp"

namespace hecto::config {
namespace {

std::string reference() {
  std::ifstream file(HECTO_SOURCE_ROOT "/docs/configuration.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Documentation, HasTheRowOfEveryKey) {
  std::string text = reference();
  for (const Key& key : schema())
    EXPECT_NE(text.find(markdown_row(key) + "\n"), std::string::npos)
        << "docs/configuration.md lacks this row:\n"
        << markdown_row(key);
}

TEST(Documentation, HasNoRowOfAKeyThatIsNotThere) {
  std::set<std::string> rows;
  for (const Key& key : schema()) rows.insert(markdown_row(key));
  std::istringstream text(reference());
  for (std::string line; std::getline(text, line);)
    if (line.find(" | reload | ") != std::string::npos ||
        line.find(" | restart | ") != std::string::npos) {
      EXPECT_TRUE(rows.contains(line)) << line;
    }
}

TEST(Documentation, NamesEveryPuntReason) {
  std::string text = reference();
  for (std::string_view reason : kPuntReasons)
    EXPECT_NE(text.find(fmt::format("| `{}` |", reason)), std::string::npos) << reason;
}

// The blocks marked yaml are whole files.
TEST(Documentation, ShowsExamplesThatLoad) {
  std::string text = reference();
  size_t count = 0;
  for (size_t at = 0; (at = text.find("```yaml\n", at)) != std::string::npos; ++count) {
    at += 8;
    size_t end = text.find("```", at);
    ASSERT_NE(end, std::string::npos);
    auto config = parse(text.substr(at, end - at), "docs/configuration.md");
    EXPECT_TRUE(config) << config.error()[0];
    at = end;
  }
  EXPECT_GE(count, 1u);
}

TEST(Schema, FindsTheKeysOfAMap) {
  auto keys = keys_of("linux");
  EXPECT_EQ(keys, (std::vector<std::string_view>{"namespace", "mirror"}));
  EXPECT_EQ(keys_of("ports.*.vlans.*"),
            (std::vector<std::string_view>{"addresses", "mtu", "urpf"}));
  EXPECT_TRUE(keys_of("burst").empty());
}

TEST(Schema, FindsTheNearestWord) {
  std::vector<std::string_view> words = {"workers", "ports", "burst"};
  EXPECT_EQ(nearest("worker", words), "workers");
  EXPECT_EQ(nearest("prots", words), "ports");
  EXPECT_EQ(nearest("port", words), "ports");
  EXPECT_EQ(nearest("colour", words), "");
  EXPECT_EQ(nearest(std::string(1000, 'w'), words), "");
}

}  // namespace
}  // namespace hecto::config
