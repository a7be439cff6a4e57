// Reads `ipsec:` and its SAs. What is said of a key never holds the key.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/file/loading.hpp"

namespace hecto::config {

void load_ipsec(const Value& value, Loading& loading);
std::optional<uint32_t> read_spi(const Value& value);

// One SA from a map of its keys, as the file's list holds them; JSON is YAML. The file name stands
// in front of what is refused.
tl::expected<IpsecSaConfig, Problems> parse_ipsec_sa(std::string_view yaml,
                                                     const std::string& file_name,
                                                     const LoadLimits& limits = {});

}  // namespace hecto::config
