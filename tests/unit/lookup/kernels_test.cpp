#include "lookup/kernels.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "tests/beds/naive.hpp"
#include "tests/beds/random_table.hpp"
#include "tests/beds/seed.hpp"
#include "tests/beds/test_table.hpp"

namespace hecto::lookup {
namespace {

template <typename Kind>
class KernelTest : public ::testing::Test {};
TYPED_TEST_SUITE(KernelTest, TableKinds);

// Every length of batch, every alignment, and not a byte beside the answers touched.
TYPED_TEST(KernelTest, EveryIsaAgreesWithTheNaiveTwin) {
  using Address = typename TypeParam::Address;
  constexpr size_t kMaxBatch = 257;
  uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  RandomTable<Address> random(seed);
  NaiveFib<Address> naive;
  TestTable<TypeParam> table;
  for (int i = 0; i < 600; ++i) {
    auto prefix = random.prefix();
    auto group = static_cast<GroupId>(random.rng()() & kMaxGroupId);
    ASSERT_TRUE(table.add(prefix, group));
    naive.add(prefix, group);
  }
  std::vector<Address> destinations(kMaxBatch);
  std::vector<GroupId> expected(kMaxBatch);
  for (size_t i = 0; i < kMaxBatch; ++i) {
    destinations[i] = random.destination();
    expected[i] = naive.lookup(destinations[i]);
  }
  for (Isa isa : kAllIsas) {
    if (!is_supported(isa)) continue;
    Kernel kernel = TypeParam::kernel(kernels_of(isa));
    for (size_t n = 0; n <= kMaxBatch; ++n) {
      size_t shift = n % 4;
      // Exactly as large as need be, so that a sanitizer sees a read beyond.
      std::vector<char> from(n * sizeof(Address) + shift);
      std::vector<char> to(n * sizeof(GroupId) + shift, '\x5a');
      if (n != 0) std::memcpy(from.data() + shift, destinations.data(), n * sizeof(Address));
      Isa ran = kernel(table.arena(), TypeParam::kTable, from.data() + shift, to.data() + shift, n);
      ASSERT_EQ(ran, isa);
      if (n != 0) {
        ASSERT_EQ(std::memcmp(to.data() + shift, expected.data(), n * sizeof(GroupId)), 0)
            << to_string(isa) << " batch of " << n;
      }
      for (size_t i = 0; i < shift; ++i) ASSERT_EQ(to[i], '\x5a');
    }
  }
}

// A thousand hosts of one /112 (of IPv4: /16) need branches down to the last byte.
TYPED_TEST(KernelTest, EveryIsaReadsTheLastByteAndNoMore) {
  using Address = typename TypeParam::Address;
  auto host = [](unsigned number) {
    if constexpr (sizeof(Address) == sizeof(Ipv4Address)) {
      return Ipv4Address{0x0a010000 + number};
    } else {
      Ipv6Address address = *Ipv6Address::parse("2001:db8:1:2:3:4:5:0");
      address.bytes[14] = static_cast<uint8_t>(number >> 8);
      address.bytes[15] = static_cast<uint8_t>(number);
      return address;
    }
  };
  constexpr unsigned kHosts = 2000;
  TestTable<TypeParam> table;
  for (unsigned number = 0; number < kHosts; number += 2) {
    auto prefix = Prefix<Address>::make(host(number), Prefix<Address>::kMaxLength);
    ASSERT_TRUE(table.add(prefix, static_cast<GroupId>(1 + number)));
  }
  for (Isa isa : kAllIsas) {
    if (!is_supported(isa)) continue;
    Kernel kernel = TypeParam::kernel(kernels_of(isa));
    for (unsigned number = 0; number < kHosts; ++number) {
      auto destination = std::make_unique<Address>(host(number));
      GroupId group = 0;
      kernel(table.arena(), TypeParam::kTable, destination.get(), &group, 1);
      ASSERT_EQ(group, number % 2 == 0 ? 1 + number : kNoRoute.value())
          << to_string(isa) << ' ' << number;
    }
  }
}

TEST(Kernels, TableNamesWhatItsFunctionsRun) {
  for (Isa isa : kAllIsas) {
    const Kernels& set = kernels_of(isa);
    EXPECT_EQ(set.isa, is_supported(isa) ? isa : Isa::kScalar);
    TestTable<TrieTable4> table4;
    TestTable<MainTable6> table6;
    EXPECT_EQ(set.direct4(nullptr, 0, nullptr, nullptr, 0), set.isa);
    EXPECT_EQ(set.trie4(table4.arena(), 0, nullptr, nullptr, 0), set.isa);
    EXPECT_EQ(set.trie6(table6.arena(), 0, nullptr, nullptr, 0), set.isa);
  }
}

// By name it runs wherever it can; unasked only where gathers are quick.
TEST(Kernels, BestIsTheLastOneThatIsQuickHere) {
  const Isa best = best_isa();
  EXPECT_TRUE(is_supported(best)) << to_string(best);
  for (Isa isa : kAllIsas) {
    if (is_supported(isa) && isa != Isa::kAvx512Gather) {
      EXPECT_GE(best, isa) << to_string(isa);
    }
  }
#if defined(__x86_64__)
  if (best == Isa::kAvx512Gather) {
    EXPECT_TRUE(__builtin_cpu_is("intel"));
  }
#endif
}

TEST(KernelsDeathTest, EnvironmentNamesTheIsa) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto chosen_with = [](const char* wish) {
    setenv("LOOKUP_ISA", wish, 1);
    std::exit(static_cast<int>(kernels().isa));
  };
  const Isa best = best_isa();
  for (Isa isa : kAllIsas) {
    Isa chosen = is_supported(isa) ? isa : best;
    EXPECT_EXIT(chosen_with(to_string(isa)), testing::ExitedWithCode(static_cast<int>(chosen)), "");
  }
  EXPECT_EXIT(chosen_with("nonsense"), testing::ExitedWithCode(static_cast<int>(best)), "");
}

}  // namespace
}  // namespace hecto::lookup
