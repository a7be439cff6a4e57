// Files that were made to hurt. All must be refused in one clear line, quickly and without a crash.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "config/file/document.hpp"
#include "config/file/load.hpp"
#include "config/file/reader.hpp"

namespace hecto::config {
namespace {

std::string first_problem(const std::string& yaml) {
  auto config = parse(yaml, "h");
  if (config) return "accepted";
  EXPECT_LE(config.error().size(), kMaxProblems + 1);
  return config.error()[0];
}

std::string repeated(const std::string& text, size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

TEST(HostileFile, EmptyOrNoMap) {
  const std::string empty = "h: empty; begin with a port, as ports: {wan0: {device: eth1}}";
  EXPECT_EQ(first_problem(""), empty);
  EXPECT_EQ(first_problem("\n\n# nothing\n"), empty);
  EXPECT_EQ(first_problem("~"), empty);
  EXPECT_EQ(first_problem("hello"),
            "h:1: hello where KEY: VALUE lines are needed; begin with a port, as ports: "
            "{wan0: {device: eth1}}");
  EXPECT_EQ(first_problem("- 1"),
            "h:1: a list where KEY: VALUE lines are needed; begin with a port, as ports: "
            "{wan0: {device: eth1}}");
}

TEST(HostileFile, NotYaml) {
  EXPECT_TRUE(first_problem("ports: {wan0: {device: eth1}\nidle: [").starts_with("h:"));
  EXPECT_NE(first_problem("a: b: c").find("h:1: not YAML: "), std::string::npos);
  EXPECT_NE(first_problem("a: *nowhere").find("not YAML: "), std::string::npos);
  EXPECT_EQ(first_problem("a: 1\n---\nb: 2\n"), "h:1: more than one YAML document (---); keep one");
  EXPECT_EQ(first_problem("a: !!binary xyz"), "h:1: a YAML tag; write the value without it");
}

TEST(HostileFile, Binary) {
  EXPECT_EQ(first_problem(std::string("ports:\n\0\1\2", 10)),
            "h:2: byte 0x00; a configuration is text");
  EXPECT_EQ(first_problem("\x7f"
                          "ELF"),
            "h:1: byte 0x7f; a configuration is text");
}

TEST(HostileFile, TooLarge) {
  EXPECT_TRUE(
      first_problem(std::string(kMaxFileBytes + 1, '#')).starts_with("h:1: 67108865 bytes"));
}

TEST(HostileFile, TooDeep) {
  const std::string problem = "h:1: nested more than 32 deep; no key needs that";
  EXPECT_EQ(first_problem(repeated("[", 100000)), problem);
  EXPECT_EQ(first_problem(repeated("{a: ", 100000)), problem);
  EXPECT_EQ(first_problem(repeated("- ", 5000) + "x"), problem);
}

TEST(HostileFile, TooManyValues) {
  std::string yaml = "routes: [" + repeated("a,", kMaxNodes + 10) + "]";
  EXPECT_EQ(
      first_problem(yaml),
      "h:1: more than 4000000 values; put routes into route_files, prefixes into files of sets");
}

TEST(HostileFile, BillionLaughs) {
  std::string yaml = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 20; ++i) {
    std::string last = fmt::format("*a{}", i - 1);
    yaml += fmt::format("a{}: &a{} [{}{}]\n", i, i, last, repeated(", " + last, 9));
  }
  yaml += "ports: *a19\n";
  EXPECT_NE(first_problem(yaml).find("unknown key"), std::string::npos);
}

TEST(HostileFile, AliasInsideItsOwnAnchor) {
  EXPECT_EQ(first_problem("ports: &p {wan0: *p}"),
            "h:1: an alias inside its own anchor; take it out");
}

TEST(HostileFile, AliasesThatMultiply) {
  std::string yaml =
      "route_files: []\nports:\n  a: {device: e, addresses: &a [" + repeated("x,", 50000) + "]}\n";
  for (int i = 0; i < 63; ++i) yaml += fmt::format("  p{}: {{device: d{}, addresses: *a}}\n", i, i);
  const auto config = parse(yaml, "h");
  ASSERT_FALSE(config);
  // Each of the 3,200,000 would be a problem.
  size_t left_out = 0;
  ASSERT_EQ(sscanf(config.error().back().c_str(), "h: and %zu more problems", &left_out), 1)
      << config.error().back();
  EXPECT_LE(left_out + kMaxProblems, kMaxReads + 1);
}

TEST(HostileFile, AnchorsMayBeUsedSensibly) {
  auto config = parse("ports:\n  a: {device: e, mtu: &m 9000}\n  b: {device: f, mtu: *m}\n", "h");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->ports[1].mtu, 9000);
}

TEST(HostileFile, AProblemInAnAliasIsToldWhereItIsUsed) {
  EXPECT_EQ(first_problem("ports:\n  a: {device: e, mac: &m \"02:00:00:00:00:01\"}\n"
                          "  b: {device: f,\n      mtu: *m}\n"),
            "h:4: ports.b.mtu: \"02:00:00:00:00:01\" is not a whole number; use 576 to 9000");
}

TEST(HostileFile, TellsTheFirstHundredProblems) {
  std::string yaml;
  for (int i = 0; i < 1000; ++i) yaml += fmt::format("bad{}: 1\n", i);
  auto config = parse(yaml, "h");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().size(), kMaxProblems + 1);
  EXPECT_EQ(config.error().back(), "h: and 901 more problems");
}

TEST(HostileFile, LongValuesAreCut) {
  std::string problem = first_problem("burst: " + std::string(100000, 'x'));
  EXPECT_LT(problem.size(), 200u);
}

TEST(HostileFile, KeysThatAreNoWords) {
  EXPECT_EQ(first_problem("ports: {a: {device: e}}\n[1, 2]: 3\n"),
            "h:2: a key that is not a word; write KEY: VALUE");
}

}  // namespace
}  // namespace hecto::config
