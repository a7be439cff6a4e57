#include "router/ipsec/esp/selector.hpp"

#include <fmt/format.h>

namespace hecto::router {
namespace {

std::string port_word(uint16_t port, uint16_t mask) {
  if (mask == 0) return "any";
  return mask == 0xffff ? fmt::format("{}", port) : fmt::format("{}/0x{:x}", port, mask);
}

}  // namespace

std::string to_string(const IpsecSelector& selector) {
  std::string text =
      fmt::format("{} -> {}", selector.source.to_string(), selector.destination.to_string());
  if (selector.protocol != 0) text += fmt::format(" protocol {}", selector.protocol);
  if ((selector.source_port_mask | selector.destination_port_mask) != 0)
    text += fmt::format(" port {}:{}", port_word(selector.source_port, selector.source_port_mask),
                        port_word(selector.destination_port, selector.destination_port_mask));
  return text;
}

}  // namespace hecto::router
