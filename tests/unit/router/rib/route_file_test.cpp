// Route files: what they say, and what is refused.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "tests/unit/router/rib/route_file_words.hpp"

namespace hecto::router::test {

namespace {

std::string number(uint64_t value, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i));
  return out;
}
std::string record(uint16_t type, uint16_t subtype, const std::string& body) {
  return number(1700000000, 4) + number(type, 2) + number(subtype, 2) + number(body.size(), 4) +
         body;
}
std::string attribute(uint8_t type, const std::string& value, bool extended = false) {
  return number(extended ? 0x50 : 0x40, 1) + number(type, 1) +
         number(value.size(), extended ? 2 : 1) + value;
}
std::string address_bytes(const std::string& text) {
  IpAddress address = IpAddress::parse(text).value();
  return std::string(address.bytes.begin(), address.bytes.begin() + address.size());
}
std::string rib_entry(const std::string& prefix, const std::vector<std::string>& paths,
                      bool add_path = false) {
  IpPrefix parsed = IpPrefix::parse(prefix).value();
  std::string body = number(1, 4) + number(parsed.length, 1) +
                     address_bytes(parsed.address.to_string()).substr(0, (parsed.length + 7) / 8) +
                     number(paths.size(), 2);
  for (const std::string& path : paths) {
    body += number(0, 2) + number(1700000000, 4) + (add_path ? number(9, 4) : "") +
            number(path.size(), 2) + path;
  }
  return body;
}
const std::string kOrigin = attribute(1, std::string(1, '\0'));
std::string path4(const std::string& gateway) {
  return kOrigin + attribute(3, address_bytes(gateway));
}
std::string path6(const std::string& gateway) {
  return kOrigin + attribute(14, number(16, 1) + address_bytes(gateway), true);
}
// An IPv4 and an IPv6 peer, with AS numbers of two and of four bytes.
const std::string kPeerTable = number(0, 4) + number(4, 2) + "view" + number(2, 2) +
                               std::string(1 + 4 + 4 + 2, '\0') + number(3, 1) +
                               std::string(4 + 16 + 4, '\0');
const std::string kPeers = record(13, 1, kPeerTable);

}  // namespace

TEST(RouteFile, ReadsAPrefixList) {
  EXPECT_EQ(parsed("# a list\n"
                   "203.0.113.0/24 via 192.0.2.1\r\n"
                   "\n"
                   "  2001:db8::/32 via 2001:db8::1 via fe80::1 dev wan0 weight 3  # two\n"
                   "198.51.100.0/24 dev wan0\n"
                   "default via 192.0.2.1"),
            "203.0.113.0/24>192.0.2.1 2001:db8::/32>2001:db8::1,fe80::1%7*3 "
            "198.51.100.0/24>link%7 0.0.0.0/0>192.0.2.1");
  EXPECT_EQ(parsed(""), "");
}

TEST(RouteFile, ChoosesByTheHashOfThePrefix) {
  RouteFileOptions options = with_via({"192.0.2.0", "192.0.2.1", "192.0.2.2", "192.0.2.3"});
  auto file = parse_routes("1.0.0.0/24\n1.0.4.0/22\n", options);
  ASSERT_TRUE(file);
  EXPECT_EQ(fnv1a32("a"), 0xe40c292cu);
  EXPECT_EQ(fnv1a32("1.0.0.0/24"), 0xfda19e71u);
  EXPECT_EQ(words(*file), fmt::format("1.0.0.0/24>192.0.2.{} 1.0.4.0/22>192.0.2.{}",
                                      fnv1a32("1.0.0.0/24") % 4, fnv1a32("1.0.4.0/22") % 4));
  options.ecmp = true;
  EXPECT_EQ(parsed("1.0.0.0/24", options), "1.0.0.0/24>192.0.2.0,192.0.2.1,192.0.2.2,192.0.2.3");
}

TEST(RouteFile, ViaKeepsToTheFamily) {
  EXPECT_EQ(parsed("1.0.0.0/24\n2001:db8::/32\n", with_via({"192.0.2.1", "fe80::1"})),
            "1.0.0.0/24>192.0.2.1 2001:db8::/32>fe80::1");
  EXPECT_EQ(parsed("1.0.0.0/24", with_via({"fe80::1"})), "1.0.0.0/24>fe80::1");
  auto file = parse_routes("1.0.0.0/24\n2001:db8::/32\n", with_via({"192.0.2.1"}));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->skipped, 1u);
  ASSERT_EQ(file->problems.size(), 1u);
  EXPECT_EQ(file->problems[0],
            "line 2: 2001:db8::/32 has no next hop; give an IPv6 gateway with via");
}

TEST(RouteFile, RefusesWithTheLine) {
  EXPECT_EQ(parsed("1.0.0.0/24 via 192.0.2.1\n10.0.0.0/33\n"),
            "f:2: \"10.0.0.0/33\" is no prefix; use one like 203.0.113.0/24 (host bits zero)");
  EXPECT_EQ(parsed("10.1.0.0/8"),
            "f:1: \"10.1.0.0/8\" is no prefix; use one like 203.0.113.0/24 (host bits zero)");
  EXPECT_EQ(parsed("10.0.0.0/8"), "f:1: 10.0.0.0/8 has no next hop; give a gateway with via");
  EXPECT_EQ(parsed("10.0.0.0/8 via"), "f:1: via: \"\" is no address; use one like 192.0.2.1");
  EXPECT_EQ(parsed("10.0.0.0/8 dev eth9"), "f:1: dev: there is no interface \"eth9\"");
  EXPECT_EQ(parsed("10.0.0.0/8 via 1.1.1.1 weight 0"),
            "f:1: weight: \"0\" is out of range; use 1 to 256");
  EXPECT_EQ(parsed("10.0.0.0/8 by 1.1.1.1"),
            "f:1: \"by\" is not known here; use via, dev or weight");
  EXPECT_EQ(parsed("2001:db8::/32 via 1.1.1.1"),
            "f:1: 2001:db8::/32 is an IPv6 prefix with an IPv4 gateway");
  EXPECT_EQ(parsed(std::string("\x01\x02"
                               "abcdefghijklmnop"))
                .substr(0, 5),
            "f:1: ");
}

TEST(RouteFile, ReadsBgpdumpText) {
  const std::string text =
      "TABLE_DUMP2|1700000000|B|192.0.2.9|65001|1.0.0.0/24|65001 13335|IGP|192.0.2.9|0|0||NAG||\n"
      "TABLE_DUMP2|1700000000|B|192.0.2.8|65002|1.0.0.0/24|65002 13335|IGP|192.0.2.8|0|0||NAG||\n"
      "TABLE_DUMP2|1700000000|B|2001:db8::9|65001|2001:db8:1::/48|65001|IGP|2001:db8::9 "
      "fe80::9|0|0||NAG||\n";
  EXPECT_EQ(parsed(text), "1.0.0.0/24>192.0.2.9 2001:db8:1::/48>2001:db8::9");
  EXPECT_EQ(parsed(text, with_via({"10.0.0.1", "fe80::1"})),
            "1.0.0.0/24>10.0.0.1 2001:db8:1::/48>fe80::1");
  EXPECT_EQ(parsed("TABLE_DUMP2|1|B|192.0.2.9|65001\n"),
            "f:1: \"\" is no prefix; use one like 203.0.113.0/24 (host bits zero)");
  EXPECT_EQ(parsed("TABLE_DUMP2|1|B|p|65001|1.0.0.0/24|path|IGP|nowhere|\n"),
            "f:1: next hop \"nowhere\" is no address");
  auto updates = parse_routes("BGP4MP|1|A|192.0.2.9|65001|1.0.0.0/24|\n", with_via({}));
  ASSERT_TRUE(updates);
  EXPECT_EQ(updates->skipped, 1u);
}

TEST(RouteFile, ReadsMrtTableDumpV2) {
  std::string full_mp = kOrigin + attribute(14, number(2, 2) + number(1, 1) + number(16, 1) +
                                                    address_bytes("2001:db8::5") + number(0, 1));
  std::string bytes =
      kPeers + record(13, 2, rib_entry("1.0.0.0/24", {path4("192.0.2.1"), path4("192.0.2.2")})) +
      record(13, 2, rib_entry("0.0.0.0/0", {path4("192.0.2.3")})) +
      record(13, 4, rib_entry("2001:db8:1::/48", {path6("2001:db8::1")})) +
      record(13, 4, rib_entry("2001:db8:2::/47", {full_mp})) +
      record(13, 8, rib_entry("1.2.3.0/25", {path4("192.0.2.4")}, true)) +
      record(13, 3, "multicast") + record(16, 4, "an update");
  auto file = parse_routes(bytes, with_via({}));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->format, RouteFileFormat::kMrt);
  EXPECT_EQ(words(*file),
            "1.0.0.0/24>192.0.2.1 0.0.0.0/0>192.0.2.3 2001:db8:1::/48>2001:db8::1 "
            "2001:db8:2::/47>2001:db8::5 1.2.3.0/25>192.0.2.4");
  EXPECT_EQ(file->skipped, 2u);
}

TEST(RouteFile, ReadsMrtTableDump) {
  std::string path = path4("192.0.2.1");
  std::string body = number(0, 2) + number(1, 2) + address_bytes("1.0.0.0") + number(24, 1) +
                     number(1, 1) + number(1700000000, 4) + address_bytes("192.0.2.9") +
                     number(65001, 2) + number(path.size(), 2) + path;
  EXPECT_EQ(parsed(record(12, 1, body)), "1.0.0.0/24>192.0.2.1");
}

TEST(RouteFile, RefusesMrtWithTheByte) {
  std::string good = kPeers + record(13, 2, rib_entry("1.0.0.0/24", {path4("192.0.2.1")}));
  EXPECT_EQ(parsed(good + std::string("\0\0\0", 3)),
            fmt::format("f: byte {}: an MRT header is cut off", good.size()));
  EXPECT_EQ(parsed(good.substr(0, good.size() - 1)),
            fmt::format("f: byte {}: a record says {} bytes, but {} are left", kPeers.size(),
                        good.size() - kPeers.size() - 12, good.size() - kPeers.size() - 13));
  std::string long_prefix = number(1, 4) + number(33, 1) + std::string(5, 'x') + number(0, 2);
  EXPECT_EQ(parsed(record(13, 2, long_prefix)), "f: byte 12: a prefix length of 33 is above 32");
  std::string cut = rib_entry("1.0.0.0/24", {path4("192.0.2.1")});
  EXPECT_EQ(parsed(record(13, 2, cut.substr(0, cut.size() - 2))),
            "f: byte 12: 1.0.0.0/24: a path is cut off");
  std::string overlong = kOrigin + number(0x40, 1) + number(3, 1) + number(200, 1) + "abcd";
  EXPECT_EQ(parsed(record(13, 2, rib_entry("1.0.0.0/24", {overlong}))),
            "f: byte 34: a path attribute is cut off");
  // Lengths that swallow the record behind, or give a part of it away.
  EXPECT_EQ(
      parsed(record(13, 2, cut + record(13, 2, cut))),
      fmt::format("f: byte 12: a record is {} bytes longer than what it holds", cut.size() + 12));
  EXPECT_EQ(parsed(record(13, 1, kPeerTable + "x")),
            "f: byte 12: a record is 1 bytes longer than what it holds");
  EXPECT_EQ(parsed(record(13, 1, kPeerTable.substr(1))), "f: byte 12: a table of peers is cut off");
  EXPECT_EQ(parsed(record(0x1803, 2, cut)), "f: byte 0: there is no MRT type 6147");
}

TEST(RouteFile, EveryCutOfAnMrtFileIsSafe) {
  std::string bytes = kPeers + record(13, 2, rib_entry("1.0.0.0/24", {path4("192.0.2.1")})) +
                      record(13, 4, rib_entry("2001:db8:1::/48", {path6("2001:db8::1")}));
  std::mt19937 random(1);
  for (size_t length = 0; length <= bytes.size(); ++length) {
    // A block of its own size, so that a read beyond the end is seen.
    std::vector<char> exact(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length));
    (void)parse_routes({exact.data(), exact.size()}, with_via({}));
  }
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = bytes;
    for (int flips = 0; flips < 3; ++flips) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    (void)parse_routes(damaged, with_via({}));
    RouteFileOptions skip_bad = with_via({});
    skip_bad.skip_bad = true;
    EXPECT_TRUE(parse_routes(damaged, skip_bad));
  }
}

TEST(RouteFile, LoadsWhatIsGoodAndTellsEachBadLineWhereAsked) {
  RouteFileOptions options = with_via({});
  options.skip_bad = true;
  const std::string text =
      "1.0.0.0/24 via 192.0.2.1\n10.1.0.0/8 via 192.0.2.1\n2.0.0.0/24\n"
      "3.0.0.0/24 via 192.0.2.300\n4.0.0.0/24 via 192.0.2.4\n";
  auto file = parse_routes(text, options, "f");
  ASSERT_TRUE(file);
  EXPECT_EQ(words(*file), "1.0.0.0/24>192.0.2.1 4.0.0.0/24>192.0.2.4");
  EXPECT_EQ(file->bad, 3u);
  EXPECT_EQ(file->problems,
            (std::vector<std::string>{
                "line 2: \"10.1.0.0/8\" is no prefix; use one like 203.0.113.0/24 (host bits zero)",
                "line 3: 2.0.0.0/24 has no next hop; give a gateway with via",
                "line 4: via: \"192.0.2.300\" is no address; use one like 192.0.2.1"}));
  std::string dump =
      "TABLE_DUMP2|1|B|p|65001|1.0.0.0/24|path|IGP|192.0.2.9|\nTABLE_DUMP2|1|B|p|65001|1.0.0\n"
      "TABLE_DUMP2|1|B|p|65001|2.0.0.0/24|path|IGP|192.0.2.9|\n";
  file = parse_routes(dump, options, "f");
  ASSERT_TRUE(file);
  EXPECT_EQ(words(*file), "1.0.0.0/24>192.0.2.9 2.0.0.0/24>192.0.2.9");
  EXPECT_EQ(file->bad, 1u);
  std::string many;
  for (int i = 0; i < 2000; ++i) many += "x\n";
  file = parse_routes(many, options, "f");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->bad, 2000u);
  EXPECT_EQ(file->problems.size(), 1000u);
}

TEST(RouteFile, GoesOnBehindABadRecordButNotWhereALengthIsWrong) {
  RouteFileOptions options = with_via({});
  options.skip_bad = true;
  const std::string first = record(13, 2, rib_entry("1.0.0.0/24", {path4("192.0.2.1")}));
  const std::string bad = record(13, 2, number(1, 4) + number(33, 1) + std::string(5, 'x'));
  const std::string last = record(13, 2, rib_entry("2.0.0.0/24", {path4("192.0.2.2")}));
  auto file = parse_routes(first + bad + last, options, "f");
  ASSERT_TRUE(file);
  EXPECT_EQ(words(*file), "1.0.0.0/24>192.0.2.1 2.0.0.0/24>192.0.2.2");
  EXPECT_EQ(file->problems, (std::vector<std::string>{fmt::format(
                                "byte {}: a prefix length of 33 is above 32", first.size() + 12)}));
  std::string shorter = first;
  shorter[11] = static_cast<char>(shorter[11] - 4);
  file = parse_routes(shorter + last, options, "f");
  ASSERT_TRUE(file);
  EXPECT_EQ(words(*file), "");
  EXPECT_EQ(file->bad, 2u);  // the record, and what is then taken for the next one's header
  file = parse_routes(first + last.substr(0, last.size() - 1), options, "f");
  ASSERT_TRUE(file);
  EXPECT_EQ(words(*file), "1.0.0.0/24>192.0.2.1");
  EXPECT_EQ(file->bad, 1u);
}

// Nothing, or what came before the damage: never a line that was cut in two.
TEST(RouteFile, ReadsFromDisk) {
  EXPECT_EQ(read_routes("/nonexistent/routes", with_via({})).error().message,
            "/nonexistent/routes: No such file or directory");
  EXPECT_EQ(read_routes("/tmp", with_via({})).error().message, "/tmp: is a directory");
  auto path = std::filesystem::temp_directory_path() / fmt::format("hecto-routes-{}", getpid());
  FILE* out = fopen(path.c_str(), "w");
  ASSERT_NE(out, nullptr);
  fputs("203.0.113.0/24 via 192.0.2.1\n", out);
  fclose(out);
  auto file = read_routes(path, with_via({}));
  std::filesystem::remove(path);
  ASSERT_TRUE(file);
  EXPECT_EQ(words(*file), "203.0.113.0/24>192.0.2.1");
}

}  // namespace hecto::router::test
