#include "bench/lib/plot.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "bench/lib/child.hpp"
#include "tests/unit/bench/lib/folder.hpp"

namespace hecto::bench {
namespace {

namespace fs = std::filesystem;

Plot some_plot() {
  Plot plot;
  plot.title = "It's `date` & <b> @x {y}_z";
  plot.lines = {{"one's", {{64, 1, 0.5, 2}, {1518, 3, 3, 3}}}, {"two", {{64, 2, 2, 2}}}};
  return plot;
}

TEST(GnuplotScript, QuotesWhatComesFromOutside) {
  const std::string script = gnuplot_script(some_plot(), "plot");
  EXPECT_NE(script.find("set title 'It''s `date` & <b> @x {y}_z' noenhanced"), std::string::npos);
  EXPECT_NE(script.find("title 'one''s' noenhanced"), std::string::npos);
  EXPECT_NE(script.find("\n64 1 0.5 2\n1518 3 3 3\n"), std::string::npos) << script;
}

TEST(GnuplotScript, DrawsBarsSideBySideOverWords) {
  Plot plot = some_plot();
  plot.categories = {"hecto", "10%"};
  plot.lines = {{"a", {{0, 1, 1, 1}, {1, 2, 2, 2}}}, {"b", {{0, 3, 3, 3}}}};
  const std::string script = gnuplot_script(plot, "plot");
  EXPECT_NE(script.find("set xtics ('hecto' 0, '10%%' 1)"), std::string::npos) << script;
  EXPECT_NE(script.find("\n-0.2 1 1 1\n0.8 2 2 2\n"), std::string::npos) << script;
  EXPECT_NE(script.find("\n0.2 3 3 3\n"), std::string::npos) << script;
  EXPECT_NE(script.find("using 1:2:3:4:(0.36) with boxerrorbars"), std::string::npos) << script;
}

TEST(Draw, GivesSvgAndPng) {
  if (!find_program("gnuplot")) GTEST_SKIP() << "gnuplot is not installed (package gnuplot-nox)";
  const Folder folder;
  const auto drawn = draw(some_plot(), folder.path(), "plot");
  ASSERT_TRUE(drawn) << drawn.error().message;
  std::ifstream stream(folder / "plot.svg");
  const std::string svg{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_NE(svg.find("It's `date` &amp; &lt;b> @x {y}_z"), std::string::npos);
  EXPECT_EQ(svg.find("<script"), std::string::npos);
  EXPECT_GT(fs::file_size(folder / "plot.png"), 1000u);
}

TEST(Draw, TakesEveryPairOfAxes) {
  if (!find_program("gnuplot")) GTEST_SKIP() << "gnuplot is not installed (package gnuplot-nox)";
  for (const bool log_x : {false, true})
    for (const bool log_y : {false, true}) {
      const Folder folder;
      Plot plot = some_plot();
      plot.log_x = log_x;
      plot.log_y = log_y;
      const auto drawn = draw(plot, folder.path(), "plot");
      EXPECT_TRUE(drawn) << drawn.error().message;
    }
}

TEST(Draw, GivesSeveralPlotsUnderOneTitleWithNotes) {
  if (!find_program("gnuplot")) GTEST_SKIP() << "gnuplot is not installed (package gnuplot-nox)";
  const Folder folder;
  Plot left = some_plot();
  left.categories = {"uniform", "in-table"};
  left.lines = {{"hecto", {{0, 5.25, 5, 6}, {1, 2, 2, 2}}}, {"rte_fib", {{0, 3, 3, 3}}}};
  left.values = true;
  const Picture picture = {"A & B's", {left, some_plot()}, {"first <note>", "second"}};
  const auto drawn = draw(picture, folder / "new/picture.svg");
  ASSERT_TRUE(drawn) << drawn.error().message;
  std::ifstream stream(folder / "new/picture.svg");
  const std::string svg{std::istreambuf_iterator<char>(stream), {}};
  for (const char* text : {"A &amp; B's", "first &lt;note>", "second", "5.2", "rte_fib", "one's"})
    EXPECT_NE(svg.find(text), std::string::npos) << text;
}

TEST(Draw, RefusesAPictureWithoutFigures) {
  const Folder folder;
  const auto drawn = draw(Picture{"empty", {}, {}}, folder / "picture.svg");
  ASSERT_FALSE(drawn);
  EXPECT_EQ(drawn.error().message, "nothing to draw: there is no figure");
}

}  // namespace
}  // namespace hecto::bench
