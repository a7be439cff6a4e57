// The JSON samples of docs/api.md, so that the page, the program and the tests say the same.
#pragma once

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace hecto::test {

// By the heading that they stand under, in order. A block may hold one value only.
inline std::map<std::string, std::vector<std::string>> documented_samples() {
  std::ifstream file(HECTO_SOURCE_ROOT "/docs/api.md");
  std::map<std::string, std::vector<std::string>> samples;
  std::string heading, line, block;
  bool inside = false;
  while (std::getline(file, line)) {
    if (!inside && line.rfind('#', 0) == 0) {
      heading = line.substr(line.find(' ') + 1);
    } else if (line == "```json") {
      inside = true;
      block.clear();
    } else if (inside && line == "```") {
      inside = false;
      samples[heading].push_back(block);
    } else if (inside) {
      block += line + "\n";
    }
  }
  return samples;
}

inline nlohmann::json documented(const std::string& heading, size_t which = 0) {
  return nlohmann::json::parse(documented_samples().at(heading).at(which));
}

}  // namespace hecto::test
