#include "router/control/kept_text.hpp"

#include <fmt/format.h>

namespace hecto::router {
namespace {

constexpr std::string_view kName = "hecto kept ";
constexpr std::string_view kVersion = "1";
constexpr size_t kSumLine = sizeof "sum 0123456789abcdef\n" - 1;

// Without its line end; `text` goes on behind it.
std::string_view take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string sum_line(std::string_view text) {
  return fmt::format("sum {:016x}\n", text_sum(text));
}

std::string printable(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, 80)) shown += c < ' ' || c > '~' ? '?' : c;
  return shown;
}

}  // namespace

uint64_t text_sum(std::string_view text) {
  uint64_t sum = 14695981039346656037u;
  for (const char byte : text) sum = (sum ^ static_cast<uint8_t>(byte)) * 1099511628211u;
  return sum;
}

SecretBytes kept_text(const config::KeptItems& items, const std::string& api_socket) {
  const SecretBytes yaml = to_yaml(items);
  const std::string head = fmt::format("{}{}\nof {}\n", kName, kVersion, api_socket);
  SecretBytes text(head.begin(), head.end());
  text.insert(text.end(), yaml.begin(), yaml.end());
  const std::string sum = sum_line({reinterpret_cast<const char*>(text.data()), text.size()});
  text.insert(text.end(), sum.begin(), sum.end());
  return text;
}

Result<config::KeptItems> kept_items_from(std::string_view text, const std::string& api_socket) {
  std::string_view rest = text;
  const std::string_view first = take_line(rest);
  if (!first.starts_with(kName)) return fail("is something else, or damaged");
  if (first.substr(kName.size()) != kVersion)
    return fail(fmt::format("is of version {}, and this hectod reads version {}",
                            printable(first.substr(kName.size())), kVersion));
  const std::string_view of = take_line(rest);
  if (rest.size() < kSumLine ||
      text.substr(text.size() - kSumLine) != sum_line(text.substr(0, text.size() - kSumLine)))
    return fail("is damaged");
  if (of != "of " + api_socket)
    return fail(fmt::format("is another instance's ({})", printable(of)));
  auto items = config::parse_kept_items(rest.substr(0, rest.size() - kSumLine), "kept");
  if (!items) return fail("is damaged: " + items.error().front());
  return std::move(*items);
}

}  // namespace hecto::router
