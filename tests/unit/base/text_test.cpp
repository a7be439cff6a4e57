#include "base/text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hecto {
namespace {

TEST(Text, FindsTheNearestWord) {
  std::vector<std::string_view> words = {"workers", "ports", "burst"};
  EXPECT_EQ(nearest("worker", words), "workers");
  EXPECT_EQ(nearest("prots", words), "ports");
  EXPECT_EQ(nearest("port", words), "ports");
  EXPECT_EQ(nearest("colour", words), "");
  EXPECT_EQ(nearest(std::string(1000, 'w'), words), "");
}

TEST(Text, FindsTheNearestWithinTheEditsThatAreAllowed) {
  std::vector<std::string_view> words = {"plan", "plain", "plane"};
  EXPECT_EQ(nearest("plan", words, 2), "plan");
  EXPECT_EQ(nearest("lpain", words, 2), "plain");
  EXPECT_EQ(nearest("pn", words, 2), "plan");
  EXPECT_EQ(nearest("pn", words, 1), "");
  EXPECT_EQ(nearest("pn", words), "");
}

TEST(Text, CountsColumnsNotBytes) {
  EXPECT_EQ(display_width(""), 0u);
  EXPECT_EQ(display_width("→ä…"), 3u);
}

}  // namespace
}  // namespace hecto
