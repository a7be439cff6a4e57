#include "base/id.hpp"

#include <gtest/gtest.h>

#include <type_traits>
#include <unordered_set>

#include "base/net.hpp"

namespace hecto {
namespace {

template <typename Left, typename Right>
concept Equatable = requires(Left left, Right right) {
  left == right;
};
template <typename Left, typename Right>
concept Ordered = requires(Left left, Right right) {
  left < right;
};

template <typename From, typename To>
constexpr bool kMixes = std::is_convertible_v<From, To> || std::is_constructible_v<To, From> ||
                        std::is_assignable_v<To&, From> || Equatable<From, To> || Ordered<From, To>;

// A queue where a port is asked does not compile, nor is one compared with the other.
static_assert(!kMixes<QueueId, PortId> && !kMixes<PortId, QueueId>);
static_assert(!kMixes<InterfaceId, PortId> && !kMixes<PortId, InterfaceId>);
static_assert(!kMixes<InterfaceId, QueueId> && !kMixes<Spi, InterfaceId>);
static_assert(!kMixes<Spi, PortId> && !kMixes<PortId, Spi>);
static_assert(kMixes<PortId, PortId> && Ordered<Spi, Spi>);

// In from an integer by name, out to it by itself.
static_assert(std::is_constructible_v<PortId, unsigned> && std::is_constructible_v<Spi, int>);
static_assert(std::is_convertible_v<PortId, uint16_t> && std::is_convertible_v<Spi, uint32_t>);

// As cheap as the integer.
template <typename Id, typename Integer>
constexpr bool kAsCheap =
    sizeof(Id) == sizeof(Integer) && alignof(Id) == alignof(Integer) &&
    std::is_trivially_copyable_v<Id>&& std::is_trivially_default_constructible_v<Id>;
static_assert(kAsCheap<PortId, uint16_t> && kAsCheap<QueueId, uint16_t>);
static_assert(kAsCheap<InterfaceId, uint16_t> && kAsCheap<Spi, uint32_t>);

TEST(Id, IsItsIntegerOutwards) {
  const int by_port[] = {10, 20, 30};
  const unsigned two = 2;
  EXPECT_EQ(by_port[PortId(two)], 30);
  EXPECT_EQ(Spi(0xffffffffu).value(), 0xffffffffu);
  EXPECT_EQ(PortId{}, PortId{0});
}

TEST(Id, OrdersAndHashesAsItsInteger) {
  EXPECT_LT(PortId{2}, PortId{10});
  EXPECT_EQ(kNoInterface, InterfaceId{0xffff});
  PortId next = 41;
  EXPECT_EQ(++next, PortId{42});
  const std::unordered_set<PortId> some = {PortId{1}, PortId{2}, PortId{1}};
  EXPECT_EQ(some.size(), 2u);
  EXPECT_TRUE(some.contains(PortId{2}));
}

}  // namespace
}  // namespace hecto
