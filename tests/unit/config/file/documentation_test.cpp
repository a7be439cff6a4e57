// docs/configuration.md against the keys and the punt reasons: nothing missing, nothing stale.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/punt_class.hpp"
#include "base/reason.hpp"
#include "config/file/keys.hpp"
#include "config/file/load.hpp"

namespace hecto::config {
namespace {

std::string reference(const char* name = "configuration.md") {
  std::ifstream file(std::string(HECTO_SOURCE_ROOT "/docs/") + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Documentation, HasTheRowOfEveryKey) {
  std::string text = reference();
  for (const KeyText& key : all_keys())
    EXPECT_NE(text.find(markdown_row(key) + "\n"), std::string::npos)
        << "docs/configuration.md lacks this row, which config/file/keys.cpp declares; add it, or "
        << "put it in place of the row of this key:\n"
        << markdown_row(key);
}

TEST(Documentation, HasItsRowsInTheOrderOfTheKeys) {
  const auto keys = all_keys();
  size_t next = 0;
  std::istringstream text(reference());
  std::string line;
  for (size_t number = 1; std::getline(text, line); ++number) {
    if (line.find(" | reload | ") == std::string::npos &&
        line.find(" | restart | ") == std::string::npos)
      continue;
    ASSERT_LT(next, keys.size()) << "docs/configuration.md:" << number << ": one row too many";
    ASSERT_EQ(line, markdown_row(keys[next++]))
        << "docs/configuration.md:" << number << " should be the second of these rows";
  }
  EXPECT_EQ(next, keys.size());
}

TEST(Documentation, HasNoRowOfAKeyThatIsNotThere) {
  std::set<std::string> rows;
  for (const KeyText& key : all_keys()) rows.insert(markdown_row(key));
  std::istringstream text(reference());
  for (std::string line; std::getline(text, line);)
    if (line.find(" | reload | ") != std::string::npos ||
        line.find(" | restart | ") != std::string::npos) {
      EXPECT_TRUE(rows.contains(line)) << line;
    }
}

TEST(Documentation, ListsEveryExample) {
  const std::string text = reference();
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(HECTO_SOURCE_ROOT "/config/examples")) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string name =
        entry.path().lexically_relative(HECTO_SOURCE_ROOT "/config/examples").string();
    EXPECT_NE(text.find(fmt::format("| [{0}](../config/examples/{0}) | ", name)), std::string::npos)
        << "docs/configuration.md does not list config/examples/" << name;
  }
}

// Rows "| `reason` | why | what to do |", each reason in one.
TEST(Documentation, TheRunbookHasARowOfEveryReasonAndOfNoOther) {
  std::multiset<std::string> rows;
  std::istringstream text(reference("runbook.md"));
  bool inside = false;
  for (std::string line; std::getline(text, line);) {
    inside = line.starts_with('|') && (inside || line.starts_with("| reason |"));
    if (!inside || !line.starts_with("| `")) continue;
    rows.insert(line.substr(3, line.find('`', 3) - 3));
    EXPECT_EQ(std::count(line.begin(), line.end(), '|'), 4) << line;
  }
  for (size_t i = 1; i < kReasonCount; ++i) {
    const std::string name(info(static_cast<Reason>(i)).name);
    EXPECT_EQ(rows.count(name), 1u) << "docs/runbook.md: rows of " << name;
  }
  EXPECT_EQ(rows.size(), kReasonCount - 1) << "a row of something that is no reason";
}

TEST(Documentation, NamesEveryPuntReason) {
  std::string text = reference();
  for (size_t i = 0; i < kReasonCount; ++i) {
    const ReasonInfo& reason = info(static_cast<Reason>(i));
    EXPECT_EQ(text.find(fmt::format("| `{}` |", reason.name)) != std::string::npos, reason.punt)
        << "docs/configuration.md, \"Punt rates\": " << reason.name;
  }
}

TEST(Documentation, HasEveryPuntClassWithItsQueueAndRate) {
  std::string text = reference("punt.md");
  for (size_t i = 0; i < kPuntClassCount; ++i) {
    const PuntClassInfo& each = info(static_cast<PuntClass>(i));
    const bool thousands = each.default_pps >= 1000;
    const std::string row = fmt::format("| {} | `{}` | {} {} |", each.priority, each.name,
                                        thousands ? each.default_pps / 1000 : each.default_pps,
                                        thousands ? "kpps" : "pps");
    EXPECT_NE(text.find(row), std::string::npos) << "docs/punt.md, \"Classes\": " << row;
  }
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

}  // namespace
}  // namespace hecto::config
