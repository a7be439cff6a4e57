// Experiments as files: what they say, what is refused.
#include "bench/run/experiment.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/bench/lib/folder.hpp"

namespace hecto::bench {
namespace {

constexpr const char* kGood = R"(title: Sizes
question: What do larger packets cost?
measure: forward
options: {rounds: 5, engines: [a, b], huge: true, slow: false}
quick: {rounds: 1}
vary:
  mode: [rx, forward]
  size: [64, 1518]
repeat: 4
limit_s: 2.5
plot: {x: size, y: {IPv4: /ipv4/mpps, IPv6: /ipv6/mpps}, unit: Mpps, log: x}
table: {CPU: /cpu}
)";

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// The one refusal of a file that has no other.
std::string refusal(const std::string& yaml) {
  const auto experiment = parse_experiment(yaml, "e.yaml");
  if (experiment) return "accepted";
  EXPECT_EQ(experiment.error().size(), 1u) << experiment.error().back();
  return experiment.error()[0];
}

TEST(Experiment, IsReadAsItStands) {
  const auto e = parse_experiment(kGood, "some/sizes.yaml");
  ASSERT_TRUE(e) << e.error()[0];
  EXPECT_EQ(e->name, "sizes");
  EXPECT_EQ(e->title, "Sizes");
  EXPECT_EQ(e->repeat, 4u);
  EXPECT_EQ(e->limit_s, 2.5);
  EXPECT_EQ(e->x, "size");
  EXPECT_EQ(e->series, "mode");
  EXPECT_EQ(e->unit, "Mpps");
  EXPECT_TRUE(e->log_x);
  EXPECT_FALSE(e->log_y);
  ASSERT_EQ(e->figures.size(), 3u);
  EXPECT_EQ(e->figures[1].name, "IPv6");
  EXPECT_EQ(e->figures[1].pointer, "/ipv6/mpps");
  EXPECT_TRUE(e->figures[1].drawn);
  EXPECT_FALSE(e->figures[2].drawn);
}

TEST(Experiment, MakesACommandLineOfEachPoint) {
  const auto e = parse_experiment(kGood, "e.yaml");
  ASSERT_TRUE(e) << e.error()[0];
  const auto points = points_of(*e);
  ASSERT_EQ(points.size(), 4u);
  EXPECT_EQ(label_of(*e, points[1]), "mode=rx size=1518");
  using Words = std::vector<std::string>;
  EXPECT_EQ(words_of(*e, points[2], false), (Words{"forward", "--rounds=5", "--engines=a,b",
                                                   "--huge", "--mode=forward", "--size=64"}));
  EXPECT_EQ(words_of(*e, points[3], true)[1], "--rounds=1");
}

TEST(Experiment, FilesLieBesideIt) {
  const Folder folder;
  std::ofstream(folder / "imix.yaml") << "x\n";
  const auto e = parse_experiment(replaced("repeat: 4", "traffic: imix.yaml"), folder / "e.yaml");
  ASSERT_TRUE(e) << e.error()[0];
  EXPECT_EQ(e->options.back(), (Option{"traffic", folder / "imix.yaml"}));
  const auto none = parse_experiment(replaced("repeat: 4", "config: none.yaml"), folder / "e.yaml");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error()[0].find("config: none.yaml is no file; "), std::string::npos)
      << none.error()[0];
}

TEST(Experiment, IsRefusedWithLineKeyAndWhatWouldBeRight) {
  EXPECT_EQ(refusal(replaced("repeat: 4", "repeet: 4")),
            "e.yaml:9: repeet: unknown key; did you mean repeat?");
  EXPECT_EQ(refusal(replaced("repeat: 4", "repeat: 0")),
            "e.yaml:9: repeat: 0 is out of range; use 1 to 1000");
  EXPECT_EQ(refusal(replaced("measure: forward", "measure: run")),
            "e.yaml:3: measure: run is no sub-command that measures; use one as forward");
  EXPECT_EQ(refusal(replaced("x: size", "x: burst")),
            "e.yaml:11: plot.x: burst does not vary; use mode or size");
  EXPECT_EQ(refusal(replaced("log: x", "log: z")),
            "e.yaml:11: plot.log: z is not known; use x, y or xy");
  EXPECT_EQ(refusal(replaced("/ipv6/mpps", "ipv6.mpps")),
            "e.yaml:11: plot.y.IPv6: ipv6.mpps is no JSON pointer; use one as /ipv4/mpps");
  EXPECT_EQ(refusal(replaced("unit: Mpps", "series: size")),
            "e.yaml:11: plot.series: size is x already; use the other option");
  EXPECT_EQ(
      refusal(replaced("rounds: 5", "--rounds: 5")),
      "e.yaml:4: options.--rounds: no option of a sub-command; write it without its dashes, as "
      "round-ms: 50");
  EXPECT_EQ(refusal(replaced("rounds: 5", "json: x")),
            "e.yaml:4: options.json: is the experiment's own; leave it out");
  EXPECT_EQ(refusal(replaced("rounds: 5", "size: 5")),
            "e.yaml:8: vary.size: is among the fixed options as well; keep one");
  EXPECT_EQ(refusal(replaced("[64, 1518]", "[64, 64]")),
            "e.yaml:8: vary.size[1]: 64 is there twice; name it once");
  EXPECT_EQ(refusal(replaced("question: What do larger packets cost?\n", "")),
            "e.yaml:1: has no question; add what is to be known");
  EXPECT_EQ(refusal("[]"), "e.yaml:1: a list where KEY: VALUE lines are needed; begin with title:");
}

TEST(Experiment, ThatIsNotThereIsNamed) {
  const auto none = load_experiment("/nonexistent/e.yaml");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error()[0], "/nonexistent/e.yaml: cannot be opened: No such file or directory");
}

TEST(Experiment, ShippedOnesAreReadable) {
  size_t count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(HECTO_SOURCE_ROOT "/bench/experiments")) {
    if (entry.path().extension() != ".yaml") continue;
    const auto experiment = load_experiment(entry.path());
    EXPECT_TRUE(experiment) << experiment.error()[0];
    ++count;
  }
  EXPECT_GE(count, 8u);
}

}  // namespace
}  // namespace hecto::bench
