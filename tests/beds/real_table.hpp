// The whole table of a real router, where one is at hand (HECTO_DATA, or shared/data beside the
// project).
#pragma once

#include <zlib.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "lookup/fib.hpp"

namespace hecto::lookup {

inline constexpr const char* kRealTable = "full-table.prefixes.txt.gz";

// A prefix a line; empty where there is none.
inline std::vector<std::string> read_real_table() {
  const char* named = std::getenv("HECTO_DATA");
  std::string path = std::string(named != nullptr ? named : HECTO_DEFAULT_DATA) + "/" + kRealTable;
  std::vector<std::string> lines;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return lines;
  char line[128];
  while (gzgets(file, line, sizeof(line)) != nullptr) {
    std::string text(line);
    while (!text.empty() && text.back() <= ' ') text.pop_back();
    if (!text.empty()) lines.push_back(text);
  }
  gzclose(file);
  return lines;
}

// One of 64 for each prefix.
inline GroupId group_of(const std::string& text) {
  uint32_t hash = 2166136261u;
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  return static_cast<GroupId>(1 + hash % 64);
}

}  // namespace hecto::lookup
