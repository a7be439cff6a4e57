// Every key of the file: one table that the reader takes its legal keys from, that diff.cpp is
// tested against, and whose rows docs/configuration.md repeats.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hecto::config {

enum class Change : uint8_t {
  kReload,   // `hecto reload` applies it
  kRestart,  // cannot change while running
};

struct Key {
  std::string_view path;  // "ports.*.mtu": `*` stands for a name, a number or a place in a list
  std::string_view type;
  std::string_view default_value;
  std::string_view range;  // what would be right, in words
  Change change;
  std::string_view description;
};

std::span<const Key> schema() noexcept;

// The keys that a map at `path` may have ("" is the file itself), in the table's order.
std::vector<std::string_view> keys_of(std::string_view path);

// The candidate nearest to `word` by edit distance, or nothing when none is near.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

// Rows of the reference table, as docs/configuration.md has them.
std::string markdown_row(const Key& key);

}  // namespace hecto::config
