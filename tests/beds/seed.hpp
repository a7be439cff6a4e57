// The seed of a random test: the same in every run, so that what fails once fails again, unless
// HECTO_TEST_SEED holds another number, or "random".
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string_view>

namespace hecto {

inline uint64_t test_seed() {
  const char* text = std::getenv("HECTO_TEST_SEED");
  if (text == nullptr) return 20100830;
  if (std::string_view(text) == "random") return std::random_device{}();
  return std::strtoull(text, nullptr, 0);
}

}  // namespace hecto
