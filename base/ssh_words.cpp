#include "base/ssh_words.hpp"

#include <algorithm>

namespace hecto {

bool is_ssh_host(std::string_view text) {
  const bool plain = std::ranges::all_of(
      text, [](unsigned char c) { return c > ' ' && c < 0x7f && c != '\'' && c != '"'; });
  return !text.empty() && text[0] != '-' && plain;
}

std::string shell_quoted(std::string_view word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace hecto
