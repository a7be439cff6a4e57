// Experiments carried out by a script in hecto-bench's place.
#include <gtest/gtest.h>

#include <fstream>

#include "bench/lib/child.hpp"
#include "bench/run/report.hpp"
#include "bench/run/run.hpp"
#include "bench/run/table.hpp"
#include "tests/unit/bench/lib/folder.hpp"

namespace hecto::bench {
namespace {

namespace fs = std::filesystem;

class ExperimentRun : public testing::Test {
 protected:
  ExperimentRun() { options_.out = folder_ / "out"; }

  // What every point runs: $size and $json are its options; $runs counts all runs from 1.
  void script(const std::string& body) {
    const fs::path file = folder_ / "program";
    std::ofstream(file) << "#!/bin/sh\n"
                           "for word; do case $word in --size=*) size=${word#*=};; --json=*) "
                           "json=${word#*=};; esac; done\n"
                           "echo \"$@\" >> "
                        << (folder_ / "runs") << "; runs=$(wc -l < " << (folder_ / "runs") << ")\n"
                        << body << "\n";
    fs::permissions(file, fs::perms::owner_all);
    options_.executable = file;
  }
  Outcome run(const std::string& yaml_of_sizes = "[64, 128]", unsigned repeat = 2) {
    auto experiment = parse_experiment(
        "title: \"A <b> & 'c'\"\nquestion: q\nmeasure: forward\n"
        "limit_s: 20\nvary: {size: " +
            yaml_of_sizes + "}\nplot: {x: size, y: {rate: /a/0/mpps}, unit: Mpps}\n",
        "e.yaml");
    if (!experiment) throw std::runtime_error(experiment.error()[0]);
    experiment->repeat = repeat;
    if (limit_s_ > 0) experiment->limit_s = limit_s_;
    auto outcome = run_experiment(*experiment, options_);
    if (!outcome) throw std::runtime_error(outcome.error().message);
    return *outcome;
  }
  nlohmann::json written() const {
    nlohmann::json json;
    std::ifstream(options_.out / "result.json") >> json;
    return json;
  }

  Folder folder_;
  RunOptions options_;
  double limit_s_ = 0;
};

TEST_F(ExperimentRun, TakesTurnsAndGivesMediansAndSpread) {
  script("echo \"{\\\"a\\\": [{\\\"mpps\\\": $((size + runs))}]}\" > $json");
  const Outcome outcome = run("[100, 200]", 3);
  EXPECT_FALSE(outcome.partial());
  // 100, 200 | 200, 100 | 100, 200
  const auto& figure = outcome.points[0].figures[0];
  ASSERT_TRUE(figure);
  EXPECT_EQ(figure->median, 104);
  EXPECT_EQ(figure->least, 101);
  EXPECT_EQ(figure->most, 105);
  EXPECT_DOUBLE_EQ(figure->spread, 4. / 104);
  EXPECT_EQ(outcome.points[1].figures[0]->median, 203);
  EXPECT_EQ(last_lines(folder_ / "runs", 100).size(), 6u);
  const auto json = written();
  EXPECT_EQ(json["partial"], false);
  EXPECT_EQ(json["points"][1]["vary"]["size"], "200");
  EXPECT_EQ(json["points"][1]["figures"]["rate"]["median"], 203);
  EXPECT_EQ(json["points"][0]["runs"][0]["result"]["a"][0]["mpps"], 101);
  for (const char* key : {"name", "kernel", "hecto", "dpdk", "commit", "hugepages"})
    EXPECT_TRUE(json["machine"].contains(key)) << key;
  EXPECT_TRUE(notes(outcome).empty()) << notes(outcome)[0];
}

TEST_F(ExperimentRun, APointThatFailsIsKeptAndTheRestGoesOn) {
  script(
      "[ $size = 64 ] && { echo first; echo no such port >&2; exit 3; }\n"
      "echo '{\"a\": [{\"mpps\": 5}]}' > $json");
  const Outcome outcome = run();
  EXPECT_TRUE(outcome.partial());
  EXPECT_TRUE(outcome.complete);
  EXPECT_FALSE(outcome.points[0].figures[0]);
  EXPECT_EQ(outcome.points[1].figures[0]->median, 5);
  const auto json = written();
  EXPECT_EQ(json["partial"], true);
  EXPECT_EQ(json["points"][0]["runs"][0]["failed"], "exit code 3");
  EXPECT_EQ(json["points"][0]["runs"][0]["said"][1], "no such port");
  EXPECT_EQ(json["points"][0]["figures"]["rate"], nullptr);
  EXPECT_EQ(notes(outcome)[0],
            "partial: size=64 failed 2 of 2 times: exit code 3; last said: no such port");
  EXPECT_NE(to_text(outcome).find("  64            -\n"), std::string::npos) << to_text(outcome);
}

TEST_F(ExperimentRun, WhatEndsBySignalWritesNoJsonOrNoNumberHasFailed) {
  script(
      "case $size in 1) kill -SEGV $$;; 2) ;; 3) echo '{' > $json;; "
      "4) echo '{\"a\": []}' > $json;; esac");
  const Outcome outcome = run("[1, 2, 3, 4]", 1);
  const auto error = [&](size_t i) { return outcome.points[i].attempts[0].error; };
  EXPECT_EQ(error(0), "signal 11 (Segmentation fault)");
  EXPECT_EQ(error(1), "it wrote no JSON");
  EXPECT_EQ(error(2), "it wrote no JSON");
  EXPECT_EQ(error(3), "its JSON has no number at /a/0/mpps");
}

TEST_F(ExperimentRun, WhatRunsTooLongIsEnded) {
  script("exec sleep 600");
  limit_s_ = 0.1;
  const Outcome outcome = run("[1]", 1);
  EXPECT_EQ(outcome.points[0].attempts[0].error,
            "still running after 0.1 s; raise limit_s, or measure less");
}

TEST_F(ExperimentRun, StoppedInTheMiddleKeepsWhatIsThere) {
  script("echo '{\"a\": [{\"mpps\": 5}]}' > $json");
  std::atomic<bool> stop = false;
  options_.stop = &stop;
  options_.tell = [&](const std::string& line) { stop = line.find("size=128") != line.npos; };
  const Outcome outcome = run("[64, 128, 256]", 2);
  EXPECT_TRUE(outcome.partial());
  EXPECT_EQ(notes(outcome)[0], "partial: 2 of 6 runs were done");
  EXPECT_EQ(written()["partial"], true);
  EXPECT_EQ(written()["points"][1]["figures"]["rate"]["median"], 5);
  EXPECT_EQ(written()["points"][2]["runs"].size(), 0u);
}

TEST_F(ExperimentRun, NoiseIsNamedWithWhatToDo) {
  script("echo \"{\\\"a\\\": [{\\\"mpps\\\": $((runs * 10))}]}\" > $json");
  const Outcome outcome = run("[7]", 3);
  EXPECT_DOUBLE_EQ(outcome.noise(), 1);
  ASSERT_EQ(notes(outcome).size(), 1u);
  EXPECT_EQ(
      notes(outcome)[0].rfind("noise: 1 of 1 figures spread over more than 10%, at worst rate "
                              "of size=7 spreads over 100%: stop other work",
                              0),
      0u)
      << notes(outcome)[0];
}

TEST_F(ExperimentRun, DoesNotWriteOverAnotherResult) {
  script("echo '{}' > $json");
  fs::create_directories(options_.out);
  std::ofstream(options_.out / "result.json") << "{}";
  EXPECT_THROW(run(), std::runtime_error);
  EXPECT_FALSE(fs::exists(folder_ / "runs"));
}

TEST_F(ExperimentRun, QuickRepeatsAtMostTwice) {
  script("echo '{\"a\": [{\"mpps\": 5}]}' > $json");
  options_.quick = true;
  EXPECT_EQ(run("[1]", 9).points[0].attempts.size(), 2u);
}

TEST_F(ExperimentRun, ReportIsOneFileThatEscapesEverything) {
  script(
      "[ $size = 64 ] && { echo '<script>alert(1)</script>'; exit 1; }\n"
      "echo '{\"a\": [{\"mpps\": 5}]}' > $json");
  const Outcome outcome = run();
  const std::string html = to_html(outcome, "<?xml?><svg id=\"plot\"></svg>", "");
  EXPECT_NE(html.find("<title>A &lt;b&gt; &amp; &#39;c&#39;</title>"), std::string::npos);
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_NE(html.find("&lt;script&gt;alert(1)"), std::string::npos);
  EXPECT_NE(html.find("<svg id=\"plot\"></svg>"), std::string::npos);
  EXPECT_EQ(html.find("<?xml"), std::string::npos);
  EXPECT_NE(html.find("<td>128</td><td>5.000"), std::string::npos) << html;
  EXPECT_NE(html.find("hecto-bench run e.yaml"), std::string::npos);
  EXPECT_EQ(html.find("src="), std::string::npos);
  EXPECT_EQ(html.find("href="), std::string::npos);
}

TEST_F(ExperimentRun, WithoutGnuplotTheReportHasTablesAlone) {
  script("echo '{\"a\": [{\"mpps\": 5}]}' > $json");
  const Outcome outcome = run();
  const std::string path = std::getenv("PATH");
  setenv("PATH", folder_.path().c_str(), 1);
  const std::string told = write_report(outcome, options_.out);
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(told, "no picture: gnuplot is not installed; the package is gnuplot-nox");
  std::ifstream stream(options_.out / "report.html");
  const std::string html{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_NE(html.find(told), std::string::npos);
  EXPECT_NE(html.find("<table>"), std::string::npos);
  EXPECT_EQ(html.find("<svg"), std::string::npos);
}

}  // namespace
}  // namespace hecto::bench
