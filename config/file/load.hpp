// Reading and checking the YAML file. One error a problem, each with file, line, key, the value
// seen and what would be right, as in
//   lab.yaml:7: ports.lan0.mtu: 90000 is out of range; use 576 to 9000
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "config/file/config.hpp"
#include "config/file/loading.hpp"
#include "config/file/reader.hpp"

namespace hecto::config {

tl::expected<Config, Problems> load(const std::string& file, const LoadLimits& limits = {});
// What Config::digest would be if the file were read now; nothing: it cannot be read.
std::optional<FileDigest> digest_of(const std::string& file);
tl::expected<Config, Problems> parse(std::string_view yaml, const std::string& file_name,
                                     const LoadLimits& limits = {});

}  // namespace hecto::config
