#include "router/cli/table.hpp"

#include <gtest/gtest.h>

#include "router/cli/units.hpp"

namespace hecto::cli {
namespace {

TEST(Units, GroupThousands) {
  EXPECT_EQ(count(0), "0");
  EXPECT_EQ(count(999), "999");
  EXPECT_EQ(count(1204), "1,204");
  EXPECT_EQ(count(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(Units, ScaleRates) {
  EXPECT_EQ(packet_rate(0), "0 pps");
  EXPECT_EQ(packet_rate(999.4), "999 pps");
  EXPECT_EQ(packet_rate(999.6), "1.0 kpps");
  EXPECT_EQ(packet_rate(12.4e6), "12.4 Mpps");
  EXPECT_EQ(packet_rate(999'960), "1.0 Mpps");
  EXPECT_EQ(bit_rate(96.2e9), "96.2 Gb/s");
  EXPECT_EQ(bit_rate(1.6e12), "1.6 Tb/s");
  EXPECT_EQ(link_speed(100'000), "100 Gb/s");
  EXPECT_EQ(link_speed(2500), "2.5 Gb/s");
  EXPECT_EQ(link_speed(100), "100.0 Mb/s");
  EXPECT_EQ(bytes(512), "512 B");
  EXPECT_EQ(bytes(40 * 1048576.0), "40.0 MiB");
  EXPECT_EQ(scaled(1e300, "x").substr(0, 3), "100") << "no prefix is left, but no harm is done";
}

TEST(Units, KeepALittleAndAlmostAllApart) {
  EXPECT_EQ(percent(0), "0%");
  EXPECT_EQ(percent(0.2), "<1%");
  EXPECT_EQ(percent(71.4), "71%");
  EXPECT_EQ(percent(99.7), "99%");
  EXPECT_EQ(percent(100), "100%");
}

TEST(Units, NameDurations) {
  EXPECT_EQ(duration(1.841), "1.84 s");
  EXPECT_EQ(duration(323), "00:05:23");
}

TEST(Units, NameWhatLastsInOneForm) {
  EXPECT_EQ(clock_time(0), "00:00:00");
  EXPECT_EQ(clock_time(23), "00:00:23");
  EXPECT_EQ(clock_time(323), "00:05:23");
  EXPECT_EQ(clock_time(86399), "23:59:59");
  EXPECT_EQ(clock_time(86423), "1d 00:00:23");
}

TEST(Text, IsCutBetweenItsColours) {
  EXPECT_EQ(shortened_line("\033[31mabcd\033[0m", 4), "\033[31mabcd\033[0m");
  EXPECT_EQ(shortened_line("ab\033[31mcdef\033[0mgh", 4), "ab\033[31mc…\033[0m");
  EXPECT_EQ(shortened_line("ab\033[31mcd\033[0mgh", 4), "ab\033[31mcd\033[0m");
  EXPECT_EQ(shortened_line("ab\033[31mcd\033[", 9), "ab\033[31mcd\033[");
  EXPECT_EQ(shortened_line("", 4), "");
}

TEST(Table, LetsColumnsGoThatAreNotNeeded) {
  Table table({{"name"}, {"a", Align::kRight, false, 2, 4}, {"words", Align::kLeft, true, 1, 10}});
  table.row({"wan0", "1", "a long sentence of words"});
  Style style;
  style.width = 24;
  EXPECT_EQ(table.text(style), "name     a  words\nwan0     1  a long sent…\n");
  style.width = 21;
  EXPECT_EQ(table.text(style), "name     a\nwan0     1\n");
  style.width = 9;
  EXPECT_EQ(table.text(style), "name\nwan0\n");
  style.width = 2;
  EXPECT_EQ(table.text(style), "name\nwan0\n") << "the last one stays";
}

TEST(Table, AlignsAndLeavesNoTrailingSpaces) {
  Table table({{"name"}, {"packets", Align::kRight}, {"where"}});
  table.row({"a", "1,204", "lookup"});
  table.row({"longer", "7", ""});
  EXPECT_EQ(table.text(),
            "name    packets  where\n"
            "a         1,204  lookup\n"
            "longer        7\n");
}

TEST(Table, LeavesOutEmptyColumnsAndPrintsNothingWithoutRows) {
  Table table({{"name"}, {"vlan"}, {"mtu", Align::kRight}});
  EXPECT_EQ(table.text(), "");
  table.row({"a", "", "1500"});
  EXPECT_EQ(table.text(),
            "name   mtu\n"
            "a     1500\n");
}

TEST(Table, ShrinksOnlyWhatMayShrinkToAHundredColumns) {
  Table table({{"name"}, {"text", Align::kLeft, true}, {"end", Align::kRight}});
  table.row({"a", std::string(150, 'x'), "12"});
  const std::string text = table.text();
  const std::string row = text.substr(text.find('\n') + 1);
  EXPECT_EQ(display_width(row.substr(0, row.size() - 1)), kWidth);
  EXPECT_NE(row.find("x…   12\n"), std::string::npos) << row;
}

TEST(Table, CutsNothingThatIsNotForATerminal) {
  Table table({{"name", Align::kLeft, true}, {"other", Align::kLeft, true}});
  const std::string longest(200, 'x');
  table.row({longest, "y"});
  EXPECT_EQ(table.text({}).find(longest), std::string::npos);
  EXPECT_NE(table.text({false, true}).find(longest + "  y\n"), std::string::npos);
}

TEST(Table, CountsCodePointsAndCutsBetweenThem) {
  EXPECT_EQ(display_width("→ä…"), 3u);
  EXPECT_EQ(shortened("→→→→", 3), "→→…");
  EXPECT_EQ(shortened("→→→", 3), "→→→");
  Table table({{"x"}, {"y"}});
  table.row({"→", "1"});
  table.row({"ab", "2"});
  EXPECT_EQ(table.text(),
            "x   y\n"
            "→   1\n"
            "ab  2\n");
}

TEST(Table, PaintsOnlyWhereThereIsColor) {
  Table table({{"x"}, {"y"}});
  table.row({Cell("down", Paint::kBad), "1"});
  EXPECT_EQ(table.text().find('\033'), std::string::npos);
  EXPECT_EQ(table.text(Style{true}),
            "\033[2mx\033[0m     \033[2my\033[0m\n"
            "\033[31mdown\033[0m  1\n");
}

TEST(Table, LetsNothingSteerTheTerminal) {
  Table table({{"x"}});
  table.row({"a\033[2Jb\nc\u009b"});
  EXPECT_EQ(table.text(), "x\na?[2Jb?c?\n");
  EXPECT_EQ(printable("Grün → é"), "Grün → é");
}

TEST(Paragraph, BreaksAtSpacesBehindItsHead) {
  const std::string text =
      paragraph("! ", std::string(60, 'a') + " " + std::string(50, 'b') + " c");
  EXPECT_EQ(text, "! " + std::string(60, 'a') + "\n  " + std::string(50, 'b') + " c\n");
  EXPECT_EQ(paragraph("- ", ""), "- \n");
}

}  // namespace
}  // namespace hecto::cli
