// Reads `ipsec:` and its SAs. What is said of a key never holds the key.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/file/loading.hpp"

namespace hecto::config {

void load_ipsec(const Value& value, Loading& loading);
std::optional<Spi> read_spi(const Value& value);

// The keys of an item of the API, which has `persist` besides where it is asked for.
std::vector<std::string_view> api_names(std::span<const std::string_view> names,
                                        const bool* persist);
void read_persist(const Fields& fields, bool* persist);

// One SA from a map of its keys, as the file's list holds them; JSON is YAML. The file name stands
// in front of what is refused. `persist`: takes a key of that name, which no file has; null: unknown.
tl::expected<IpsecSaConfig, Problems> parse_ipsec_sa(std::string_view yaml,
                                                     const std::string& file_name,
                                                     const LoadLimits& limits = {},
                                                     bool* persist = nullptr);

}  // namespace hecto::config
