// Route files that are packed, and what unpacking and reading may take.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "tests/unit/router/rib/route_file_words.hpp"

namespace hecto::router::test {

TEST(RouteFile, UnpacksGzip) {
  std::string text = "203.0.113.0/24 via 192.0.2.1\n";
  EXPECT_EQ(parsed(gzip(text)), "203.0.113.0/24>192.0.2.1");
  EXPECT_EQ(parsed(gzip(text) + gzip("10.0.0.0/8 via 192.0.2.2\n")),
            "203.0.113.0/24>192.0.2.1 10.0.0.0/8>192.0.2.2");
  std::string packed = gzip(text);
  EXPECT_EQ(parsed(packed.substr(0, packed.size() - 3)),
            fmt::format("f: byte {}: the gzip data ends too early", packed.size() - 3));
  packed[15] = static_cast<char>(packed[15] ^ 0xff);
  EXPECT_NE(parsed(packed).find("is damaged"), std::string::npos);
  EXPECT_EQ(parsed(gzip(text) + "x").substr(0, 8), "f: byte ");
  EXPECT_EQ(parsed("BZh91AY"), "f: is compressed with bzip2; unpack it with bunzip2");
}

TEST(RouteFile, EveryCutOfAGzipFileIsRefusedOrLoadsItsWholeLines) {
  std::vector<std::string> lines;
  std::string text;
  for (int i = 0; i < 200; ++i) {
    lines.push_back(fmt::format("20.{}.{}.0/24>192.0.2.{}", i * 7 % 256, i * 13 % 256, i));
    text += fmt::format("20.{}.{}.0/24 via 192.0.2.{}\n", i * 7 % 256, i * 13 % 256, i);
  }
  const std::string packed = gzip(text);
  RouteFileOptions skip_bad = with_via({});
  skip_bad.skip_bad = true;
  size_t most = 0;
  for (size_t length = 2; length < packed.size(); ++length) {
    std::string_view cut = std::string_view(packed).substr(0, length);
    ASSERT_EQ(parsed(cut), fmt::format("f: byte {}: the gzip data ends too early", length));
    auto file = parse_routes(cut, skip_bad, "f");
    ASSERT_TRUE(file);
    ASSERT_EQ(file->bad, 1u);
    ASSERT_EQ(file->problems,
              (std::vector<std::string>{fmt::format(
                  "byte {}: the gzip data ends too early; nothing behind it is read", length)}));
    const size_t loaded = file->table.entries.size();
    ASSERT_EQ(words(*file),
              fmt::format("{}", fmt::join(lines.begin(), lines.begin() + loaded, " ")));
    most = std::max(most, loaded);
  }
  EXPECT_EQ(most, lines.size());
}

TEST(RouteFile, BoundsWhatItUnpacks) {
  RouteFileOptions options = with_via({"192.0.2.1"});
  options.max_bytes = size_t{3} << 20;
  std::string bomb = gzip(std::string(size_t{64} << 20, '\n'));
  auto file = parse_routes(bomb, options, "f");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message, "f: it is larger than 3145728 bytes after decompression");
  EXPECT_FALSE(parse_routes(std::string((size_t{3} << 20) + 1, '\n'), options));
}

TEST(RouteFile, TakesWhatItUnpacksAndReadsOfOneBudget) {
  ByteBudget budget(size_t{8} << 20);
  RouteFileOptions options = with_via({"192.0.2.1"});
  const std::string bomb = gzip(std::string(size_t{64} << 20, '\n'));
  {
    ByteReservation memory(budget);
    options.memory = &memory;
    auto file = parse_routes(bomb, options, "f");
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().error_number, ENOBUFS);
    EXPECT_EQ(file.error().message,
              "f: no memory is left for it beside what other requests take; try again later, or "
              "send less");
    EXPECT_EQ(memory.held(), 0u) << "what was unpacked is gone";
  }
  // Lines that take more as routes than as text.
  std::string lines;
  for (int i = 0; i < 400'000; ++i) lines += fmt::format("10.{}.{}.0/24\n", i / 256 % 256, i % 256);
  {
    ByteReservation memory(budget);
    options.memory = &memory;
    auto file = parse_routes(lines, options, "f");
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().error_number, ENOBUFS);
  }
  ByteReservation memory(budget);
  options.memory = &memory;
  auto file = parse_routes(std::string_view(lines).substr(0, lines.find("10.1.0.0/24")), options);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->table.entries.size(), 256u);
  EXPECT_GE(memory.held(), 256 * sizeof(RouteTable::Entry)) << "the table is still held";
}

// A list that says how many lines it has says little of how many routes.
TEST(RouteFile, BlankLinesReserveNothing) {
  ByteBudget budget(size_t{64} << 20);
  ByteReservation memory(budget);
  RouteFileOptions options = with_via({"192.0.2.1"});
  options.memory = &memory;
  auto file = parse_routes(std::string(size_t{32} << 20, '\n'), options, "f");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_LE(memory.held(), size_t{40} << 20);
}

}  // namespace hecto::router::test
