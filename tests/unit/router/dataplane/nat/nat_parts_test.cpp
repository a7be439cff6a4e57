// What NAT is made of: sums, layouts, indexes, prefixes, and embedded packets of anybody.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "config/placement/placement_parts.hpp"
#include "router/dataplane/nat/icmp_error.hpp"
#include "router/dataplane/nat/prefix6.hpp"
#include "router/dataplane/nat/tables.hpp"
#include "tests/beds/nat_bed.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::router::test {
namespace {

using namespace nat;

TEST(ChecksumDelta, IsWhatTheWholeSumSays) {
  std::mt19937_64 random(test_seed());
  for (unsigned i = 0; i < 200'000; ++i) {
    uint8_t data[24];
    for (uint8_t& byte : data) byte = static_cast<uint8_t>(random() % 3 == 0 ? 0xff : random());
    store16_native(data + 10, 0);
    store16_native(data + 10, static_cast<uint16_t>(~fold_sum(
                                  __builtin_bswap16(fold_sum(sum_words(data, sizeof data))))));
    ASSERT_EQ(fold_sum(sum_words(data, sizeof data)), 0xffff);
    const uint32_t before = load32_native(data + 12);
    const auto after = static_cast<uint32_t>(random());
    store32_native(data + 12, after);
    change_checksum(data + 10, delta32(before, after));
    ASSERT_EQ(fold_sum(sum_words(data, sizeof data)), 0xffff);
    store32_native(data + 12, before);
    change_checksum(data + 10, reverse_delta(delta32(before, after)));
    ASSERT_EQ(fold_sum(sum_words(data, sizeof data)), 0xffff);
  }
}

TEST(ChecksumDelta, NeverMakesUdpsNone) {
  uint8_t checksum[2];
  store16_be(checksum, 0x0001);
  change_udp_checksum(checksum, delta16(0, __builtin_bswap16(1)));
  EXPECT_EQ(load16_be(checksum), 0xffff);
  store16_be(checksum, 0);
  change_udp_checksum(checksum, 0x1234);
  EXPECT_EQ(load16_be(checksum), 0);
}

// What `hecto plan` says before the start, against what is taken.
TEST(NatMemory, IsWhatThePlanSaid) {
  for (const uint32_t sessions : {1000U, 131'072U, 200'000U})
    for (const uint32_t block_size : {64U, 512U, 4096U})
      for (const size_t workers : {1U, 3U, 16U})
        for (const bool by_peer : {false, true}) {
          config::NatPoolConfig pool;
          pool.name = "p";
          pool.addresses = {*lookup::IpPrefix::parse("203.0.113.0/28")};
          pool.sessions = sessions;
          pool.block_size = block_size;
          if (by_peer) pool.filtering = config::NatFiltering::kAddressDependent;
          const auto made =
              Pool::create(pool, std::vector<int>(workers, 0), lookup::Memory::system());
          ASSERT_TRUE(made);
          const auto taken = static_cast<double>((*made)->bytes());
          const auto said = static_cast<double>(workers * config::nat_bytes({{pool}, {}}, workers));
          EXPECT_LE(taken, said) << sessions << " " << block_size << " " << workers;
          EXPECT_LE(said, taken * 1.25 + static_cast<double>(workers << 15))
              << sessions << " " << block_size << " " << workers;
        }
}

TEST(NatLayout, EveryPortIsOneWorkersAndNoOther) {
  for (const uint32_t workers : {1U, 2U, 3U, 7U, 128U}) {
    Layout layout;
    layout.addresses = 3;
    layout.first_port = 1024;
    layout.block_shift = 9;
    layout.blocks_per_address = 126;
    layout.workers = Remainder(workers);
    uint32_t all = 0;
    for (uint32_t worker = 0; worker < workers; ++worker) all += layout.blocks_of(worker);
    EXPECT_EQ(all, 378U);
    EXPECT_EQ(layout.block(2, 1023), Layout::kNone);
    EXPECT_EQ(layout.block(2, 65535), 377U);
    for (uint32_t block = 0; block < 378; ++block)
      EXPECT_EQ(layout.worker_of_block(block), block % workers);
  }
}

TEST(NatIndex, HoldsWhatItWasMadeFor) {
  std::mt19937_64 random(test_seed());
  BucketIndex index;
  constexpr uint32_t kMany = 50'000;
  ASSERT_TRUE(index.create(kMany, lookup::Memory::system(), 0));
  const uint64_t secret[2] = {random(), random()};
  const auto hash = [&](uint32_t number) { return mixed(number * 65536ULL, secret); };
  const auto find = [&](uint32_t number) {
    return index.find(hash(number), [&](uint32_t each) { return each == number; });
  };
  for (unsigned round = 0; round < 3; ++round) {
    for (uint32_t number = 0; number < kMany; ++number)
      ASSERT_TRUE(index.insert(hash(number), number));
    for (uint32_t number = 0; number < kMany; ++number) ASSERT_EQ(find(number), number);
    for (uint32_t number = kMany; number < 2 * kMany; ++number) ASSERT_EQ(find(number), kNobody);
    for (uint32_t number = 0; number < kMany; ++number) index.erase(hash(number), number);
    for (uint32_t number = 0; number < kMany; ++number) ASSERT_EQ(find(number), kNobody);
  }
}

uint16_t sum6(const uint8_t* address) {
  const uint16_t sum = fold_sum(sum_words(address, 16));
  return sum == 0xffff ? uint16_t{0} : sum;
}

TEST(NatPrefix6, ChangesNoChecksumAndComesBack) {
  std::mt19937_64 random(test_seed());
  constexpr std::pair<const char*, const char*> kPairs[] = {
      {"fd01:203:405::/48", "2001:db8:1::/48"},
      {"fd01::/20", "2001::/20"},
      {"fd01:203:405:7::/64", "2001:db8:1:9::/64"},
      {"fd01:203:405:40::/58", "2001:db8:1:80::/58"}};
  for (const auto& pair : kPairs) {
    const Prefix6 prefix(*lookup::IpPrefix::parse(pair.first),
                         *lookup::IpPrefix::parse(pair.second));
    const auto inside = lookup::IpPrefix::parse(pair.first);
    for (unsigned i = 0; i < 20'000; ++i) {
      uint8_t address[16], before[16];
      for (uint8_t& byte : address)
        byte = static_cast<uint8_t>(random() % 5 == 0 ? 0xff : random());
      for (unsigned bit = 0; bit < inside->length; ++bit) {
        const uint8_t mask = static_cast<uint8_t>(0x80 >> (bit % 8));
        address[bit / 8] = static_cast<uint8_t>((address[bit / 8] & ~mask) |
                                                (inside->address.bytes[bit / 8] & mask));
      }
      std::memcpy(before, address, 16);
      ASSERT_TRUE(prefix.is_inside(address));
      if (!prefix.to_outside(address)) continue;
      ASSERT_TRUE(prefix.is_outside(address));
      ASSERT_EQ(sum6(address), sum6(before));
      ASSERT_TRUE(prefix.to_inside(address));
      ASSERT_EQ(std::memcmp(address, before, 16), 0);
    }
  }
}

// RFC 6296 §3.4, its example.
TEST(NatPrefix6, IsThatOfTheRfc) {
  const Prefix6 prefix(*lookup::IpPrefix::parse("fd01:203:405::/48"),
                       *lookup::IpPrefix::parse("2001:db8:1::/48"));
  auto address = lookup::IpAddress::parse("fd01:203:405:1::1234")->bytes;
  ASSERT_TRUE(prefix.to_outside(address.data()));
  EXPECT_EQ(address, lookup::IpAddress::parse("2001:db8:1:d550::1234")->bytes);
}

// Garbage behind an ICMP header is read and written within its bytes only.
TEST(NatEmbedded, StaysWithinItsBytes) {
  std::mt19937_64 random(test_seed());
  for (unsigned i = 0; i < 200'000; ++i) {
    const auto bytes = static_cast<uint32_t>(20 + random() % 80);
    const std::unique_ptr<uint8_t[]> exact(new uint8_t[bytes]);
    for (uint32_t at = 0; at < bytes; ++at) exact[at] = static_cast<uint8_t>(random());
    uint8_t* const ip = exact.get();
    ip[0] = 0x45;
    ip[6] = ip[7] = 0;
    ip[9] = 1;
    if (bytes > 20) ip[20] = 3;
    if (bytes > 28 && i % 2 == 0) ip[28] = static_cast<uint8_t>(0x45 + random() % 4);
    if (bytes > 37 && i % 3 == 0) ip[37] = static_cast<uint8_t>(i % 9 == 0 ? 1 : 17);
    const Ipv4Packet read = read_packet(ip, bytes);
    if (read.kind != Kind::kError) continue;
    const auto embedded = find_embedded(ip, bytes);
    if (!embedded) continue;
    ASSERT_LE(embedded->header + 8, embedded->bytes);
    const uint16_t before = fold_sum(sum_words(ip + 20, (bytes - 20) & ~1u));
    rewrite_embedded(ip, *embedded, End::kSource, static_cast<uint32_t>(random()),
                     embedded->kind <= Kind::kQuery ? std::optional(static_cast<uint16_t>(random()))
                                                    : std::nullopt);
    const uint16_t after = fold_sum(sum_words(ip + 20, (bytes - 20) & ~1u));
    ASSERT_TRUE(before == after || before % 0xffff == after % 0xffff);
  }
}

}  // namespace
}  // namespace hecto::router::test
