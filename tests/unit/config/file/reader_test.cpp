// Files of other tools: keys of their own, numbers that are no whole ones.
#include "config/file/reader.hpp"

#include <gtest/gtest.h>

namespace hecto::config {
namespace {

std::vector<std::string> read_numbers(const std::string& yaml, std::vector<double>& numbers) {
  static constexpr std::string_view kKeys[] = {"rate", "ratio"};
  auto done = read_yaml(yaml, "t.yaml", "begin with rate:", [&](const Value& root) {
    Fields fields(root, kKeys, "KEY: VALUE lines");
    for (std::string_view key : kKeys)
      if (const Value* value = fields.get(key))
        if (auto number = value->number(0, 1e9)) numbers.push_back(*number);
  });
  return done ? std::vector<std::string>{} : done.error();
}

TEST(ReadYaml, GivesNumbersOfAnyForm) {
  std::vector<double> numbers;
  EXPECT_TRUE(read_numbers("rate: 1e9\nratio: 0.25\n", numbers).empty());
  EXPECT_EQ(numbers, (std::vector<double>{1e9, 0.25}));
}

TEST(ReadYaml, RefusesWhatIsNoNumberAndUnknownKeysWithTheNearest) {
  std::vector<double> numbers;
  EXPECT_EQ(read_numbers("rate: fast\n", numbers)[0],
            "t.yaml:1: rate: fast is not a number; use 0 to 1000000000");
  EXPECT_EQ(read_numbers("rate: '5'\n", numbers)[0],
            "t.yaml:1: rate: \"5\" is not a number; use 0 to 1000000000");
  EXPECT_EQ(read_numbers("rate: -1\n", numbers)[0],
            "t.yaml:1: rate: -1 is out of range; use 0 to 1000000000");
  EXPECT_EQ(read_numbers("rate: 5x\n", numbers)[0],
            "t.yaml:1: rate: 5x is not a number; use 0 to 1000000000");
  EXPECT_EQ(read_numbers("rate: nan\n", numbers)[0],
            "t.yaml:1: rate: nan is not a number; use 0 to 1000000000");
  EXPECT_EQ(read_numbers("\nratoi: 1\n", numbers)[0],
            "t.yaml:2: ratoi: unknown key; did you mean ratio?");
  EXPECT_TRUE(numbers.empty());
}

TEST(ReadYaml, SaysWhatTheFileShouldBeginWith) {
  std::vector<double> numbers;
  EXPECT_EQ(read_numbers("", numbers)[0], "t.yaml: empty; begin with rate:");
  EXPECT_EQ(read_numbers("- 1", numbers)[0],
            "t.yaml:1: a list where KEY: VALUE lines are needed; begin with rate:");
}

}  // namespace
}  // namespace hecto::config
