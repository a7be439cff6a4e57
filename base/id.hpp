// A number that names one thing of a kind: a port, a queue. As large as the integer in it and
// passed as it is. A constant becomes one by itself, and is checked to fit by the compiler; what
// is known only at run time is said (`PortId(i)`); ids of two kinds never become one another.
// Outwards it is its integer, and so indexes arrays and prints. Values only; thread-safe.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <functional>

namespace hecto {

template <typename Kind, std::unsigned_integral Integer>
class Id {
 public:
  Id() = default;  // as an integer: arrays of them are not written
  template <std::integral Any>
  consteval Id(Any constant) : value_(static_cast<Integer>(constant)) {
    if (static_cast<Any>(value_) != constant) throw "does not fit";
  }
  // More constrained than that for constants, so that this one is taken where both could be.
  template <std::integral Any>
  requires std::unsigned_integral<Integer>
  constexpr explicit Id(Any value) noexcept : value_(static_cast<Integer>(value)) {}
  constexpr operator Integer() const noexcept { return value_; }
  constexpr Integer value() const noexcept { return value_; }
  constexpr Id& operator++() noexcept {
    ++value_;
    return *this;
  }

 private:
  Integer value_;
};

template <typename Kind, typename Integer>
constexpr bool operator==(Id<Kind, Integer> a, Id<Kind, Integer> b) noexcept {
  return a.value() == b.value();
}
template <typename Kind, typename Integer>
constexpr auto operator<=>(Id<Kind, Integer> a, Id<Kind, Integer> b) noexcept {
  return a.value() <=> b.value();
}
template <typename Kind, typename Integer, typename OtherKind, typename OtherInteger>
void operator==(Id<Kind, Integer>, Id<OtherKind, OtherInteger>) = delete;
template <typename Kind, typename Integer, typename OtherKind, typename OtherInteger>
void operator<=>(Id<Kind, Integer>, Id<OtherKind, OtherInteger>) = delete;

}  // namespace hecto

template <typename Kind, typename Integer>
struct std::hash<::hecto::Id<Kind, Integer>> {  // there is a std::hecto, of <ratio>
  size_t operator()(::hecto::Id<Kind, Integer> id) const noexcept {
    return std::hash<Integer>()(id.value());
  }
};
