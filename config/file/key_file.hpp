// Files with keys in them, that nobody but their owner may read.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "config/file/reader.hpp"

namespace hecto::config {

struct KeyFiles {
  std::string base;  // the file in whose folder relative key files lie
  std::function<std::string(const std::string& path)> limit;  // as LoadLimits
};

// The whole path of the file that `value` names.
std::optional<std::string> key_file_path(const Value& value, const KeyFiles& files);

// Its text, which the caller wipes; refuses what others may read, as ssh does. `right`: what belongs
// into it.
std::optional<std::string> read_key_file(const Value& value, const std::string& path,
                                         const KeyFiles& files, std::string_view right);

}  // namespace hecto::config
