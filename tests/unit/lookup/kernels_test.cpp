#include "lookup/kernels.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "family.hpp"
#include "lookup/naive.hpp"
#include "random_table.hpp"

namespace hecto::lookup {
namespace {

constexpr Isa kAll[] = {Isa::kScalar, Isa::kAvx2};

template <typename Family>
class KernelTest : public ::testing::Test {};
TYPED_TEST_SUITE(KernelTest, Families);

// Every length of batch, every alignment, and not a byte beside the answers touched.
TYPED_TEST(KernelTest, EveryIsaAgreesWithTheNaiveTwin) {
  using Address = typename TypeParam::Address;
  constexpr size_t kMaxBatch = 257;
  uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  RandomTable<Address> random(seed);
  NaiveFib<Address> naive;
  auto fib = TypeParam::Fib::create({}).value();
  for (int i = 0; i < 600; ++i) {
    auto prefix = random.prefix();
    auto group = static_cast<GroupId>(random.rng()() & kMaxGroupId);
    ASSERT_TRUE(fib->add(prefix, group));
    naive.add(prefix, group);
  }
  std::vector<Address> destinations(kMaxBatch);
  std::vector<GroupId> expected(kMaxBatch);
  for (size_t i = 0; i < kMaxBatch; ++i) {
    destinations[i] = random.destination();
    expected[i] = naive.lookup(destinations[i]);
  }
  for (Isa isa : kAll) {
    if (!is_supported(isa)) continue;
    Kernel kernel = TypeParam::kernel(kernels_of(isa));
    for (size_t n = 0; n <= kMaxBatch; ++n) {
      size_t shift = n % 4;
      // Exactly as large as need be, so that a sanitizer sees a read beyond.
      std::vector<char> from(n * sizeof(Address) + shift);
      std::vector<char> to(n * sizeof(GroupId) + shift, '\x5a');
      if (n != 0) std::memcpy(from.data() + shift, destinations.data(), n * sizeof(Address));
      Isa ran = kernel(fib->view(0).arena, from.data() + shift, to.data() + shift, n);
      ASSERT_EQ(ran, sizeof(Address) == 4 ? Isa::kScalar : isa) << "IPv4 has one kernel";
      if (n != 0) {
        ASSERT_EQ(std::memcmp(to.data() + shift, expected.data(), n * sizeof(GroupId)), 0)
            << to_string(isa) << " batch of " << n;
      }
      for (size_t i = 0; i < shift; ++i) ASSERT_EQ(to[i], '\x5a');
    }
  }
}

TEST(Kernels, TableNamesWhatItsFunctionsRun) {
  for (Isa isa : kAll) {
    const Kernels& set = kernels_of(isa);
    EXPECT_EQ(set.isa, is_supported(isa) ? isa : Isa::kScalar);
    auto fib4 = Fib4::create({.sockets = {0}, .max_nodes = 1}).value();
    auto fib6 = Fib6::create({.sockets = {0}, .max_nodes = 1}).value();
    EXPECT_EQ(set.lookup4(fib4->view(0).arena, nullptr, nullptr, 0), Isa::kScalar);
    EXPECT_EQ(set.lookup6(fib6->view(0).arena, nullptr, nullptr, 0), set.isa);
  }
}

TEST(KernelsDeathTest, EnvironmentNamesTheIsa) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto chosen_with = [](const char* wish) {
    setenv("LOOKUP_ISA", wish, 1);
    std::exit(static_cast<int>(kernels().isa));
  };
  Isa best = is_supported(Isa::kAvx2) ? Isa::kAvx2 : Isa::kScalar;
  EXPECT_EXIT(chosen_with("scalar"), testing::ExitedWithCode(static_cast<int>(Isa::kScalar)), "");
  EXPECT_EXIT(chosen_with("avx2"), testing::ExitedWithCode(static_cast<int>(best)), "");
  EXPECT_EXIT(chosen_with("nonsense"), testing::ExitedWithCode(static_cast<int>(best)), "");
}

}  // namespace
}  // namespace hecto::lookup
