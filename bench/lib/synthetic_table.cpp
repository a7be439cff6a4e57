#include "bench/lib/synthetic_table.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <random>

#include "router/rib/route_builder.hpp"

namespace hecto::router {

namespace {

struct Count {
  uint8_t length;
  uint32_t prefixes;
};

constexpr Count kIpv4Counts[] = {{8, 16},     {9, 13},      {10, 38},    {11, 103},   {12, 299},
                                 {13, 581},   {14, 1203},   {15, 2100},  {16, 13490}, {17, 8235},
                                 {18, 13798}, {19, 24870},  {20, 42611}, {21, 50750}, {22, 108623},
                                 {23, 96510}, {24, 537698}, {25, 20},    {26, 3},     {27, 11},
                                 {28, 18},    {29, 17},     {30, 3},     {31, 3},     {32, 886}};
constexpr Count kIpv6Counts[] = {
    {16, 1},     {19, 1},     {20, 16},    {21, 3},    {22, 7},    {23, 8},     {24, 30},
    {25, 8},     {26, 15},    {27, 20},    {28, 193},  {29, 4371}, {30, 650},   {31, 284},
    {32, 22548}, {33, 2926},  {34, 2603},  {35, 1043}, {36, 5996}, {37, 880},   {38, 1617},
    {39, 1377},  {40, 13418}, {41, 903},   {42, 2301}, {43, 1001}, {44, 14365}, {45, 1553},
    {46, 3039},  {47, 3153},  {48, 75488}, {49, 11},   {50, 3},    {52, 1},     {55, 1},
    {56, 24},    {58, 20},    {60, 2},     {64, 184},  {112, 2},   {122, 1},    {124, 4},
    {125, 9},    {126, 19},   {127, 42},   {128, 6}};

// First 16 bits of what the registries give out: 2001::/16, and their /12s (of which the last
// four bits are free).
constexpr uint16_t kIpv6Blocks[] = {0x2001, 0x2400, 0x2600, 0x2800, 0x2a00, 0x2c00};

// IPv6 prefixes stand in clusters: most share all but their last bits with another of their
// length, and few have others inside them. With these the multi-bit nodes are as many as the real
// table's.
constexpr unsigned kIpv6BesidePercent = 80;
constexpr unsigned kIpv6BesideBits = 6;
constexpr unsigned kIpv6Parents = 4;  // one in so many

using Random = std::mt19937_64;

// An address of the shorter prefix, its other bits random.
IpAddress inside(const IpPrefix& prefix, Random& random) {
  IpAddress address = prefix.address;
  for (unsigned i = prefix.length / 8; i < address.size(); ++i) {
    unsigned fixed = i == prefix.length / 8u ? prefix.length % 8 : 0;
    auto noise = static_cast<uint8_t>(random() & (0xffu >> fixed));
    address.bytes[i] = static_cast<uint8_t>((address.bytes[i] & ~(0xffu >> fixed)) | noise);
  }
  return address;
}

IpAddress anywhere(Family family, Random& random) {
  if (family == Family::kIpv6) {
    uint16_t block = kIpv6Blocks[random() % std::size(kIpv6Blocks)];
    if (block != kIpv6Blocks[0]) block |= random() & 0xf;
    IpPrefix start;
    start.address.family = Family::kIpv6;
    start.address.bytes[0] = static_cast<uint8_t>(block >> 8);
    start.address.bytes[1] = static_cast<uint8_t>(block);
    start.length = 16;
    return inside(start, random);
  }
  for (;;) {
    auto value = static_cast<uint32_t>(random());
    uint32_t first = value >> 24;
    // 0/8, 10/8, 127/8, what lies around 169.254/16 (no router forwards link-local addresses),
    // multicast and beyond (RFC 6890); the smaller reserved blocks may occur.
    if (first == 0 || first == 10 || first == 127 || first == 169 || first >= 224) continue;
    return IpAddress::from(lookup::Ipv4Address{value});
  }
}

// A prefix's address: inside a shorter one, beside one of the same length, or anywhere.
IpAddress next_address(Family family, uint8_t length, std::span<const IpPrefix> shorter,
                       std::span<const IpPrefix> same, Random& random) {
  const unsigned beside = family == Family::kIpv4 ? 0 : kIpv6BesidePercent;
  const unsigned nested = family == Family::kIpv4 ? 50 : 95;
  const unsigned draw = random() % 100;
  if (draw < beside && !same.empty()) {
    IpPrefix block = same[random() % same.size()];
    block.length = static_cast<uint8_t>(length - std::min<unsigned>(length, kIpv6BesideBits));
    return inside(block.network(), random);
  }
  if (draw < nested && !shorter.empty()) {
    size_t parent = random() % shorter.size();
    if (family == Family::kIpv6) parent -= parent % kIpv6Parents;
    return inside(shorter[parent], random);
  }
  return anywhere(family, random);
}

void generate(Family family, std::span<const Count> counts, Random& random, double scale,
              std::vector<IpPrefix>& table) {
  const size_t begin = table.size();
  for (const Count& count : counts) {
    auto wanted = std::max<size_t>(1, static_cast<size_t>(std::llround(count.prefixes * scale)));
    const size_t start = table.size();
    // Repetitions are found by sorting; a round more makes up for them.
    while (table.size() - start < wanted) {
      for (size_t missing = wanted - (table.size() - start); missing > 0; --missing) {
        std::span<const IpPrefix> all(table);
        IpAddress address = next_address(family, count.length, all.subspan(begin, start - begin),
                                         all.subspan(start), random);
        table.push_back(IpPrefix{address, count.length}.network());
      }
      auto first = table.begin() + static_cast<std::ptrdiff_t>(start);
      std::sort(first, table.end());
      table.erase(std::unique(first, table.end()), table.end());
    }
  }
  std::sort(table.begin() + static_cast<std::ptrdiff_t>(begin), table.end());
}

}  // namespace

std::vector<IpPrefix> synthetic_prefixes(uint64_t seed, double scale) {
  Random random(seed);
  std::vector<IpPrefix> table;
  generate(Family::kIpv4, kIpv4Counts, random, scale, table);
  generate(Family::kIpv6, kIpv6Counts, random, scale, table);
  return table;
}

RouteFile with_next_hops(std::span<const IpPrefix> prefixes, const RouteFileOptions& options) {
  RouteBuilder builder(options, RouteFileFormat::kPrefixes, "synthetic table");
  builder.expect(prefixes.size());
  for (const IpPrefix& prefix : prefixes) {
    std::string text = prefix.to_string();
    if (!builder.add_by_via(prefix, text)) builder.skip(text + " has no next hop of its family");
  }
  return std::move(*builder.finish());  // no budget: it does not refuse
}

std::optional<std::string> find_real_table(const std::string& root) {
  const char* data = std::getenv("HECTO_DATA");
  for (const std::string& folder :
       {std::string(data == nullptr ? "" : data), root + "/../shared/data"}) {
    std::string path = folder + "/full-table.prefixes.txt.gz";
    if (!folder.empty() && access(path.c_str(), R_OK) == 0) return path;
  }
  return std::nullopt;
}

}  // namespace hecto::router
